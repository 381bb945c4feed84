// The two fields of BLS12-381 in Montgomery form: the base field of 381 bits (`Fp`) and the scalar field of 255 bits (`Fr`).
//
// A product keeps two rows of accumulators, one for limbs at even places and one for those at odd places, so that each chain of
// carries is a run of mad.lo and madc.hi pairs, which the assembler turns into wide multiply-adds. After each reduced limb the
// rows change roles: that is the shift by one limb. Parameters: draft-irtf-cfrg-pairing-friendly-curves.
#pragma once
#include "carry.h"

DW_CONSTANT u32 DW_FP_MOD[12] =
    {0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
     0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
// 2^384 modulo p: one in Montgomery form.
DW_CONSTANT u32 DW_FP_ONE[12] =
    {0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
     0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};
// 2^768 modulo p: a product with it takes a number into Montgomery form.
DW_CONSTANT u32 DW_FP_R2[12] =
    {0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
     0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
DW_CONSTANT u32 DW_FR_MOD[8] =
    {0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402,
     0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
// 2^256 modulo r: one in Montgomery form.
DW_CONSTANT u32 DW_FR_ONE[8] =
    {0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa,
     0xecbc4ff5, 0x998c4fef, 0xacc5056f, 0x1824b159};
// 2^512 modulo r: a product with it takes a number into Montgomery form.
DW_CONSTANT u32 DW_FR_R2[8] =
    {0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb,
     0x7254398f, 0x05d31496, 0x9f59ff11, 0x0748d9d9};
// A root of unity of order 2^32 in Fr, 7^((r-1)/2^32), in Montgomery form.
DW_CONSTANT u32 DW_FR_ROOT[8] =
    {0x5f0e466a, 0xb9b58d8c, 0x1819d7ec, 0x5b1b4c80,
     0x52a31e64, 0x0af53ae3, 0x19e9b27b, 0x5bf3adda};

struct FpParameters {
    static const int N = 12;
    static const u32 M0 = 0xfffcfffd; // -1/p modulo 2^32
    DW_HERE_IN const u32 *mod() { return DW_FP_MOD; }
    DW_HERE_IN const u32 *one() { return DW_FP_ONE; }
    DW_HERE_IN const u32 *r2() { return DW_FP_R2; }
};

struct FrParameters {
    static const int N = 8;
    static const u32 M0 = 0xffffffff; // -1/r modulo 2^32
    DW_HERE_IN const u32 *mod() { return DW_FR_MOD; }
    DW_HERE_IN const u32 *one() { return DW_FR_ONE; }
    DW_HERE_IN const u32 *r2() { return DW_FR_R2; }
};

// row += a[0], a[2], .. times b, each product over two limbs. The carry out of the row is left in the flag.
template <int N> DW_HERE void add_products(u32 *row, const u32 *a, u32 b) {
    row[0] = mad_lo_cc(a[0], b, row[0]);
    row[1] = madc_hi_cc(a[0], b, row[1]);
#pragma unroll
    for (int i = 2; i < N; i += 2) {
        row[i] = madc_lo_cc(a[i], b, row[i]);
        row[i + 1] = madc_hi_cc(a[i], b, row[i + 1]);
    }
}

// row = row shifted down by two limbs, plus products, plus the carry that is in the flag. Nothing can carry out of it.
template <int N> DW_HERE void shift_and_add_products(u32 *row, const u32 *a, u32 b) {
#pragma unroll
    for (int i = 0; i < N - 2; i += 2) {
        row[i] = madc_lo_cc(a[i], b, row[i + 2]);
        row[i + 1] = madc_hi_cc(a[i], b, row[i + 3]);
    }
    row[N - 2] = madc_lo_cc(a[N - 2], b, 0);
    row[N - 1] = madc_hi(a[N - 2], b, 0);
}

// One limb of a product, reduced. `even` holds limbs of the running sum from place 0, `odd` from place 1; afterwards the
// sum is shifted down by one limb, with the roles of the two rows changed.
template <class P> DW_HERE void limb(u32 *even, u32 *odd, const u32 *a, u32 b, bool first) {
    const int N = P::N;
    if (first) {
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            even[i] = mul_lo(a[i], b);
            even[i + 1] = mul_hi(a[i], b);
            odd[i] = mul_lo(a[i + 1], b);
            odd[i + 1] = mul_hi(a[i + 1], b);
        }
    } else {
        even[0] = add_cc(even[0], odd[1]);
        shift_and_add_products<N>(odd, a + 1, b);
        add_products<N>(even, a, b);
        odd[N - 1] = addc(odd[N - 1], 0);
    }
    u32 m = even[0] * P::M0;
    add_products<N>(odd, P::mod() + 1, m);
    add_products<N>(even, P::mod(), m);
    odd[N - 1] = addc(odd[N - 1], 0);
}

template <class P> struct alignas(16) Field {
    static const int N = P::N;
    u32 v[P::N];

    DW_HERE_IN Field zero() {
        Field x;
#pragma unroll
        for (int i = 0; i < N; i++) x.v[i] = 0;
        return x;
    }
    DW_HERE_IN Field one() {
        Field x;
#pragma unroll
        for (int i = 0; i < N; i++) x.v[i] = P::one()[i];
        return x;
    }
};

template <class P> DW_HERE bool is_zero(const Field<P> &a) {
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < P::N; i++) any |= a.v[i];
    return any == 0;
}

template <class P> DW_HERE bool equal(const Field<P> &a, const Field<P> &b) {
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < P::N; i++) any |= a.v[i] ^ b.v[i];
    return any == 0;
}

// What is not below the modulus, and below twice the modulus, is taken below it.
template <class P> DW_HERE Field<P> reduced(const Field<P> &a) {
    Field<P> less;
    less.v[0] = sub_cc(a.v[0], P::mod()[0]);
#pragma unroll
    for (int i = 1; i < P::N; i++) less.v[i] = subc_cc(a.v[i], P::mod()[i]);
    u32 borrowed = subc(0, 0);
#pragma unroll
    for (int i = 0; i < P::N; i++) less.v[i] = borrowed ? a.v[i] : less.v[i];
    return less;
}

template <class P> DW_HERE Field<P> add(const Field<P> &a, const Field<P> &b) {
    Field<P> sum;
    sum.v[0] = add_cc(a.v[0], b.v[0]);
#pragma unroll
    for (int i = 1; i < P::N - 1; i++) sum.v[i] = addc_cc(a.v[i], b.v[i]);
    // Both moduli leave a bit free: nothing carries out.
    sum.v[P::N - 1] = addc(a.v[P::N - 1], b.v[P::N - 1]);
    return reduced(sum);
}

template <class P> DW_HERE Field<P> sub(const Field<P> &a, const Field<P> &b) {
    Field<P> less;
    less.v[0] = sub_cc(a.v[0], b.v[0]);
#pragma unroll
    for (int i = 1; i < P::N; i++) less.v[i] = subc_cc(a.v[i], b.v[i]);
    u32 borrowed = subc(0, 0);
    less.v[0] = add_cc(less.v[0], borrowed & P::mod()[0]);
#pragma unroll
    for (int i = 1; i < P::N - 1; i++) less.v[i] = addc_cc(less.v[i], borrowed & P::mod()[i]);
    less.v[P::N - 1] = addc(less.v[P::N - 1], borrowed & P::mod()[P::N - 1]);
    return less;
}

template <class P> DW_HERE Field<P> negated(const Field<P> &a) { return sub(Field<P>::zero(), a); }
template <class P> DW_HERE Field<P> twice(const Field<P> &a) { return add(a, a); }

template <class P> DW_HERE Field<P> product(const Field<P> &a, const Field<P> &b) {
    const int N = P::N;
    u32 even[P::N], odd[P::N];
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        limb<P>(even, odd, a.v, b.v[i], i == 0);
        limb<P>(odd, even, a.v, b.v[i + 1], false);
    }
    Field<P> sum;
    sum.v[0] = add_cc(even[0], odd[1]);
#pragma unroll
    for (int i = 1; i < N - 1; i++) sum.v[i] = addc_cc(even[i], odd[i + 1]);
    sum.v[N - 1] = addc(even[N - 1], 0);
    return reduced(sum);
}

typedef Field<FpParameters> Fp;
typedef Field<FrParameters> Fr;

// The scalar product is small enough to stand wherever it is used; that of the base field is called, which keeps the code of a
// point addition within the instruction cache.
DW_HERE Fr mul(const Fr &a, const Fr &b) { return product(a, b); }
DW_CALL Fp mul(Fp a, Fp b) { return product(a, b); }
DW_HERE Fp squared(const Fp &a) { return mul(a, a); }

// The number that a Montgomery form stands for.
template <class P> DW_HERE Field<P> plain(const Field<P> &a) {
    Field<P> one = Field<P>::zero();
    one.v[0] = 1;
    return mul(a, one);
}

// x to a power of 64 bits.
DW_HERE Fr power(Fr x, u64 exponent) {
    Fr result = Fr::one();
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = mul(result, x);
        x = mul(x, x);
    }
    return result;
}

// 1/x by Fermat; 0 gives 0.
template <class P> DW_HERE Field<P> inverse(Field<P> x) {
    Field<P> result = Field<P>::one();
    u32 borrow = 2;
    for (int i = 0; i < P::N; i++) {
        u32 word = P::mod()[i];
        u32 less = word - borrow;
        borrow = word < borrow ? 1 : 0;
        for (int bit = 0; bit < 32; bit++) {
            if ((less >> bit) & 1) result = mul(result, x);
            x = mul(x, x);
        }
    }
    return result;
}
