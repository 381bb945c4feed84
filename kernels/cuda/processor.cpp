// The kernels as the processor runs them, block after block and thread after thread; and what is left for it to do.
#include "kernels.h"

#include <cstring>
#include <memory>
#include <vector>

template <class Kernel> static void run(const void *arguments, u32 blocks, u32 threads) {
    typename Kernel::Arguments a;
    std::memcpy(&a, arguments, sizeof a);
    std::unique_ptr<typename Kernel::Shared> shared(new typename Kernel::Shared());
    const u32 steps = Kernel::steps(a);
    for (u32 block = 0; block < blocks; block++) {
        std::vector<typename Kernel::Kept> kept(threads);
        for (u32 step = 0; step < steps; step++) {
            for (u32 thread = 0; thread < threads; thread++) {
                Place at = {block, blocks, thread, threads};
                Kernel::step(a, at, kept[thread], *shared, step);
            }
        }
    }
}

#define DW_PROCESSOR_KERNEL(name, Kernel, THREADS_MAX, BLOCKS_MIN) \
    if (std::strcmp(kernel, #name) == 0) {                         \
        run<Kernel>(arguments, blocks, threads);                   \
        return 0;                                                  \
    }
#define DW_SIZE(name, Kernel, THREADS_MAX, BLOCKS_MIN) \
    if (std::strcmp(kernel, #name) == 0) return sizeof(Kernel::Arguments);

extern "C" {

// Runs a kernel. 1 where none has that name.
int dw_processor_run(const char *kernel, const void *arguments, u32 blocks, u32 threads) {
    DW_KERNELS(DW_PROCESSOR_KERNEL)
    return 1;
}

// Size of a kernel's arguments, bytes; 0 where none has that name.
u32 dw_processor_arguments(const char *kernel) {
    DW_KERNELS(DW_SIZE)
    return 0;
}

// The sum of sums, as an affine point.
void dw_processor_total(const Sum *sums, u64 count, Affine *out) {
    Sum total = infinity();
    for (u64 i = 0; i < count; i++) add_sum(total, sums[i]);
    *out = affine(total);
}

// Windows put together: the sum of 2^(16 i) windows[i].
void dw_processor_windows(const Sum *windows, u64 count, Affine *out) {
    Sum total = infinity();
    for (u64 i = count; i-- > 0;) {
        for (u32 bit = 0; bit < DIGIT; bit++) total = doubled(total);
        add_sum(total, windows[i]);
    }
    *out = affine(total);
}

// Operations one at a time, for tests. Fields in Montgomery form.
void dw_processor_fp(u32 what, const Fp *a, const Fp *b, Fp *out) {
    switch (what) {
    case 0: *out = add(*a, *b); break;
    case 1: *out = sub(*a, *b); break;
    case 2: *out = mul(*a, *b); break;
    case 3: *out = inverse(*a); break;
    case 4: *out = negated(*a); break;
    default: *out = plain(*a); break;
    }
}

void dw_processor_fr(u32 what, const Fr *a, const Fr *b, Fr *out) {
    switch (what) {
    case 0: *out = add(*a, *b); break;
    case 1: *out = sub(*a, *b); break;
    case 2: *out = mul(*a, *b); break;
    case 3: *out = inverse(*a); break;
    case 4: *out = negated(*a); break;
    default: *out = plain(*a); break;
    }
}

// A root of unity of order 2^log.
void dw_processor_root(u32 log, Fr *out) { *out = root_of_unity(log); }

// 2^512 modulo r.
void dw_processor_r2(Fr *out) {
    for (int i = 0; i < 8; i++) out->v[i] = DW_FR_R2[i];
}

// one + other, or one - other, by the mixed and by the general formula; they must agree.
int dw_processor_points(const Affine *one, const Affine *other, int minus, Affine *out) {
    Sum mixed = sum_of(*one);
    accumulate(mixed, *other, minus != 0);
    Affine negative = *other;
    if (minus) negative.y = negated(other->y);
    // A representative that is not the plain one: both coordinates scaled.
    Sum scaled = sum_of(is_infinity(negative) ? *other : negative);
    if (!is_infinity(scaled)) {
        Fp z = add(Fp::one(), Fp::one());
        Fp zz = squared(z), zzz = mul(zz, z);
        scaled.x = mul(scaled.x, zz);
        scaled.y = mul(scaled.y, zzz);
        scaled.zz = zz;
        scaled.zzz = zzz;
    }
    Sum general = sum_of(*one);
    add_sum(general, scaled);
    *out = affine(mixed);
    Affine again = affine(general);
    return equal(out->x, again.x) && equal(out->y, again.y);
}
}
