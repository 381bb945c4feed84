// Every kernel, as steps between barriers: a step is what each thread of a block does until all of them have to wait for each
// other. On a card the steps of a block run with a barrier between them; on the processor each step runs for one thread after
// another. Nothing here knows which of the two it is.
#pragma once
#include "curve.h"

// Where a thread stands.
struct Place {
    u32 block, blocks, thread, threads;

    DW_HERE_IN u64 index(const Place &at) { return (u64)at.block * at.threads + at.thread; }
    DW_HERE_IN u64 all(const Place &at) { return (u64)at.blocks * at.threads; }
};

#if DW_CARD
DW_HERE u32 add_to(u32 *where, u32 much) { return atomicAdd(where, much); }
#else
DW_HERE u32 add_to(u32 *where, u32 much) {
    u32 before = *where;
    *where += much;
    return before;
}
#endif

struct Nothing {};

struct alignas(16) Quad {
    u32 v[4];
};

// ---- Memory of the card -------------------------------------------------------------------------------------------------

struct ReadMemory {
    struct Arguments {
        const Quad *from;
        u64 count;
        u32 *out; // one for each thread
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        u32 all = 0;
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            Quad q = a.from[i];
            all ^= q.v[0] ^ q.v[1] ^ q.v[2] ^ q.v[3];
        }
        a.out[Place::index(at)] = all;
    }
};

// Each quad is filled with its own number, so that what was written can be told.
struct WriteMemory {
    struct Arguments {
        Quad *to;
        u64 count;
        u32 seed, unused;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            u32 x = (u32)i * 2654435761u + a.seed;
            Quad q = {{x, x ^ 0x9e3779b9u, x + 0x7f4a7c15u, ~x}};
            a.to[i] = q;
        }
    }
};

struct CopyMemory {
    struct Arguments {
        Quad *to;
        const Quad *from;
        u64 count;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) a.to[i] = a.from[i];
    }
};

// ---- Rates of the integer unit ------------------------------------------------------------------------------------------

// Sixteen sums at once, so that none waits for another.
template <class Word> struct MultiplyAdd {
    struct Arguments {
        Word *out; // one for each thread
        u32 rounds, seed;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    static const int ROWS = 16;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        Word sum[ROWS];
        u32 factor = (u32)Place::index(at) * 2u + a.seed;
#pragma unroll
        for (int i = 0; i < ROWS; i++) sum[i] = i + 1;
        for (u32 round = 0; round < a.rounds; round++) {
#pragma unroll
            for (int i = 0; i < ROWS; i++) sum[i] += (Word)(u32)sum[i] * factor;
        }
        Word all = 0;
#pragma unroll
        for (int i = 0; i < ROWS; i++) all ^= sum[i];
        a.out[Place::index(at)] = all;
    }
};

// x becomes x y^rounds, for a thread each.
template <class F> struct Chain {
    struct Arguments {
        F *x;
        const F *y;
        u32 rounds, unused;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        F x = a.x[Place::index(at)], y = a.y[Place::index(at)];
        for (u32 round = 0; round < a.rounds; round++) x = mul(x, y);
        a.x[Place::index(at)] = x;
    }
};

// ---- Number-theoretic transform -----------------------------------------------------------------------------------------

// Bits of an exponent that the lower of the two tables of powers covers.
static const u32 WINDOW = 14;
// Elements that a block works on, and the order of the roots within it.
static const u32 TILE = 1024, TILE_LOG = 10;

// A root of unity of order 2^log.
DW_HERE Fr root_of_unity(u32 log) {
    Fr root;
#pragma unroll
    for (int i = 0; i < 8; i++) root.v[i] = DW_FR_ROOT[i];
    for (u32 i = log; i < 32; i++) root = mul(root, root);
    return root;
}

DW_HERE u32 reversed(u32 x, u32 bits) {
    u32 r = 0;
    for (u32 i = 0; i < bits; i++) r |= ((x >> i) & 1) << (bits - 1 - i);
    return r;
}

// out[i] = base^i, where base is a root of order 2^log, or its inverse, or, where log is 0, the given element.
struct Powers {
    struct Arguments {
        Fr *out;
        Fr base;
        u32 count, log, inverse, unused;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        Fr base = a.log ? root_of_unity(a.log) : a.base;
        if (a.inverse) base = inverse(base);
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) a.out[i] = power(base, i);
    }
};

// Levels `lo` to `lo + levels` of a transform of 2^log elements. Forward: natural order in, bits of the index reversed out,
// passes from the top down. Backward: the same undone, passes from the bottom up, without the division by 2^log.
struct Transform {
    struct Arguments {
        Fr *data;
        const Fr *inner; // 512 powers of a root of order 1024
        const Fr *near;  // powers of a root of order 2^log, the first 2^14
        const Fr *far;   // and every 2^14th
        u32 log, lo, levels, backward;
    };
    struct Shared {
        Fr tile[TILE];
    };
    typedef Nothing Kept;

    DW_HERE_IN u32 steps(const Arguments &a) { return a.levels + 2; }

    // Element `i` of a block: its place in the tile, its row in the transform of the block, its column, its place in memory.
    struct Spot {
        u32 slot, row, column;
        u64 place;
    };
    DW_HERE_IN Spot spot(const Arguments &a, u32 block, u32 i) {
        u32 columns = TILE >> a.levels;
        Spot s;
        if (a.lo == 0) {
            s.row = i & ((1u << a.levels) - 1);
            s.column = i >> a.levels;
            s.place = ((u64)block << TILE_LOG) + i;
        } else {
            u32 tiles = (1u << a.lo) / columns;
            s.column = i % columns;
            s.row = i / columns;
            u64 high = block / tiles;
            s.column += (block % tiles) * columns;
            s.place = (high << (a.lo + a.levels)) + ((u64)s.row << a.lo) + s.column;
            s.slot = s.row * columns + i % columns;
            return s;
        }
        s.slot = s.row * columns + s.column;
        return s;
    }

    // What binds a row to its column across passes.
    DW_HERE_IN Fr twiddle(const Arguments &a, const Spot &s) {
        u64 exponent = (u64)s.column * reversed(s.row, a.levels) << (a.log - a.lo - a.levels);
        return mul(a.near[exponent & ((1u << WINDOW) - 1)], a.far[exponent >> WINDOW]);
    }

    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &shared, u32 step) {
        u32 columns = TILE >> a.levels;
        if (step == 0 || step == a.levels + 1) {
            bool load = step == 0;
            for (u32 i = at.thread; i < TILE; i += at.threads) {
                Spot s = spot(a, at.block, i);
                Fr x = load ? a.data[s.place] : shared.tile[s.slot];
                if (a.lo != 0 && load == (a.backward != 0)) x = mul(x, twiddle(a, s));
                if (load) shared.tile[s.slot] = x;
                else a.data[s.place] = x;
            }
            return;
        }
        u32 level = a.backward ? step - 1 : a.levels - step;
        u32 half = 1u << level;
        for (u32 i = at.thread; i < TILE / 2; i += at.threads) {
            u32 column = i % columns, row = i / columns;
            u32 j = row & (half - 1);
            u32 upper = ((((row >> level) << (level + 1)) | j) * columns) + column;
            u32 lower = upper + half * columns;
            Fr x = shared.tile[upper], y = shared.tile[lower];
            Fr w = a.inner[j << (TILE_LOG - 1 - level)];
            if (a.backward) {
                y = mul(y, w);
                shared.tile[upper] = add(x, y);
                shared.tile[lower] = sub(x, y);
            } else {
                shared.tile[upper] = add(x, y);
                shared.tile[lower] = mul(sub(x, y), w);
            }
        }
    }
};

// Element i times scale times base^i, by tables of powers of the base.
struct Scale {
    struct Arguments {
        Fr *data;
        const Fr *near;
        const Fr *far;
        Fr scale;
        u64 count;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            Fr factor = mul(a.near[i & ((1u << WINDOW) - 1)], a.far[i >> WINDOW]);
            a.data[i] = mul(a.data[i], mul(factor, a.scale));
        }
    }
};

// a becomes (a b - c) z: what the prover does between its transforms.
struct Quotient {
    struct Arguments {
        Fr *a;
        const Fr *b;
        const Fr *c;
        Fr z;
        u64 count;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            a.a[i] = mul(sub(mul(a.a[i], a.b[i]), a.c[i]), a.z);
        }
    }
};

// Puts elements in the order of their reversed index.
struct Reorder {
    struct Arguments {
        Fr *data;
        u32 log, unused;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < (1ull << a.log); i += Place::all(at)) {
            u64 j = reversed((u32)i, a.log);
            if (i < j) {
                Fr x = a.data[i];
                a.data[i] = a.data[j];
                a.data[j] = x;
            }
        }
    }
};

// ---- Points -------------------------------------------------------------------------------------------------------------

// out[i] = (start + i stride) G. Distinct points for every i, and a sum over them with known factors is one scalar times G.
struct MakePoints {
    struct Arguments {
        Affine *out;
        Affine generator;
        Affine step; // stride G
        u64 start, stride, count;
    };
    static const u32 TOGETHER = 8; // points that a thread makes with one inversion
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 first = Place::index(at) * TOGETHER; first < a.count; first += Place::all(at) * TOGETHER) {
            Sum sums[TOGETHER];
            Fp before[TOGETHER];
            Sum sum = infinity();
            u64 factor = a.start + first * a.stride;
            for (int bit = 63; bit >= 0; bit--) {
                sum = doubled(sum);
                if ((factor >> bit) & 1) accumulate(sum, a.generator, false);
            }
            Fp all = Fp::one();
            for (u32 i = 0; i < TOGETHER; i++) {
                sums[i] = sum;
                before[i] = all;
                if (!is_infinity(sum)) all = mul(all, sum.zzz);
                accumulate(sum, a.step, false);
            }
            Fp rest = inverse(all);
            for (u32 i = TOGETHER; i-- > 0;) {
                Affine p;
                p.x = p.y = Fp::zero();
                if (!is_infinity(sums[i])) {
                    Fp inverted = mul(rest, before[i]);
                    rest = mul(rest, sums[i].zzz);
                    p.x = mul(sums[i].x, squared(mul(inverted, sums[i].zz)));
                    p.y = mul(sums[i].y, inverted);
                }
                if (first + i < a.count) a.out[first + i] = p;
            }
        }
    }
};

// ---- Sum of products of scalars and points, by buckets ------------------------------------------------------------------

// Bits of a digit; digits are signed, from -(2^15 - 1) to 2^15.
static const u32 DIGIT = 16;
static const u32 WINDOWS = 16;
static const u32 BUCKETS = 1u << (DIGIT - 1);

// The bucket of a digit from 0, or BUCKETS where the digit is zero; the sign beside it.
struct Digit {
    u32 bucket;
    bool minus;
};
DW_HERE Digit digit(const Fr &scalar, u32 window) {
    u32 carry = 0;
    u32 value = 0;
    for (u32 w = 0; w <= window; w++) {
        value = ((scalar.v[w >> 1] >> ((w & 1) * 16)) & 0xffffu) + carry;
        carry = value > BUCKETS ? 1 : 0;
    }
    Digit d;
    d.minus = carry != 0;
    u32 magnitude = d.minus ? 0x10000u - value : value;
    d.bucket = magnitude ? magnitude - 1 : BUCKETS;
    return d;
}

struct BucketArguments {
    const Fr *scalars; // plain, not in Montgomery form
    u32 *counts;       // [windows][BUCKETS]: how many, then where the next goes
    u32 *entries;      // [windows][count]: index of the point, sign in the top bit
    u32 count, first_window, windows, unused;
};

struct Count {
    typedef BucketArguments Arguments;
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            Fr scalar = a.scalars[i];
            for (u32 w = 0; w < a.windows; w++) {
                Digit d = digit(scalar, a.first_window + w);
                if (d.bucket < BUCKETS) add_to(a.counts + (u64)w * BUCKETS + d.bucket, 1);
            }
        }
    }
};

// Counts become places: where the entries of each bucket begin, a block a window. The places are written twice.
struct Prefix {
    struct Arguments {
        u32 *counts;
        u32 *starts; // [windows][BUCKETS + 1]
    };
    static const u32 THREADS = 256;
    struct Shared {
        u32 sums[THREADS];
    };
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 3; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &shared, u32 step) {
        const u32 each = BUCKETS / THREADS;
        u32 *counts = a.counts + (u64)at.block * BUCKETS + at.thread * each;
        u32 *starts = a.starts + (u64)at.block * (BUCKETS + 1) + at.thread * each;
        if (step == 0) {
            u32 sum = 0;
#pragma unroll 4
            for (u32 i = 0; i < each; i++) sum += counts[i];
            shared.sums[at.thread] = sum;
        } else if (step == 1) {
            if (at.thread != 0) return;
            u32 sum = 0;
            for (u32 i = 0; i < THREADS; i++) {
                u32 own = shared.sums[i];
                shared.sums[i] = sum;
                sum += own;
            }
        } else {
            u32 place = shared.sums[at.thread];
#pragma unroll 4
            for (u32 i = 0; i < each; i++) {
                u32 own = counts[i];
                starts[i] = counts[i] = place;
                place += own;
            }
            if (at.thread == THREADS - 1) starts[each] = place;
        }
    }
};

struct Scatter {
    typedef BucketArguments Arguments;
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            Fr scalar = a.scalars[i];
            for (u32 w = 0; w < a.windows; w++) {
                Digit d = digit(scalar, a.first_window + w);
                if (d.bucket == BUCKETS) continue;
                u32 place = add_to(a.counts + (u64)w * BUCKETS + d.bucket, 1);
                a.entries[(u64)w * a.count + place] = (u32)i | (d.minus ? 0x80000000u : 0);
            }
        }
    }
};

// A thread a bucket.
struct Accumulate {
    struct Arguments {
        const Affine *points;
        const u32 *starts;
        const u32 *entries;
        Sum *buckets; // [windows][BUCKETS]
        u32 count, windows;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        u64 index = Place::index(at);
        if (index >= (u64)a.windows * BUCKETS) return;
        u64 window = index / BUCKETS;
        const u32 *starts = a.starts + window * (BUCKETS + 1) + index % BUCKETS;
        const u32 *entries = a.entries + window * a.count;
        Sum sum = infinity();
        for (u32 i = starts[0]; i < starts[1]; i++) {
            u32 entry = entries[i];
            accumulate(sum, a.points[entry & 0x7fffffffu], (entry >> 31) != 0);
        }
        a.buckets[index] = sum;
    }
};

// Groups of 32 (S, T), where what is wanted is the sum of S_i + unit i T_i, become one each, with a unit 32 times as large.
// From the buckets: S and T are both the buckets, and the unit is one.
struct Reduce {
    struct Arguments {
        const Sum *s;
        const Sum *t;
        Sum *s_out;
        Sum *t_out;
        u32 groups, unit_log;
    };
    static const u32 GROUP = 32, GROUP_LOG = 5;
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        u64 group = Place::index(at);
        if (group >= a.groups) return;
        const Sum *s = a.s + group * GROUP, *t = a.t + group * GROUP;
        Sum weighted = infinity(), running = infinity(), plain = infinity();
        for (u32 i = GROUP; i-- > 0;) {
            add_sum(plain, s[i]);
            // After place 1 the running sum has been counted as often as each place says.
            add_sum(weighted, running);
            add_sum(running, t[i]);
        }
        for (u32 i = 0; i < a.unit_log; i++) weighted = doubled(weighted);
        add_sum(plain, weighted);
        a.s_out[group] = plain;
        a.t_out[group] = running;
    }
};

// The sum of the points whose bit is set: what the prover does with witnesses that are one. A sum a block.
struct SelectedSum {
    struct Arguments {
        const Affine *points;
        const u32 *bits;
        Sum *out; // one for each block
        u64 count;
    };
    static const u32 THREADS = 128;
    struct Shared {
        Sum sums[THREADS];
    };
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 9; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &shared, u32 step) {
        if (step == 0) {
            Sum sum = infinity();
            for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
                if ((a.bits[i >> 5] >> (i & 31)) & 1) accumulate(sum, a.points[i], false);
            }
            shared.sums[at.thread] = sum;
        } else if (step < 8) {
            u32 half = THREADS >> step;
            if (at.thread < half) add_sum(shared.sums[at.thread], shared.sums[at.thread + half]);
        } else if (at.thread == 0) {
            a.out[at.block] = shared.sums[0];
        }
    }
};

// Plain scalars into Montgomery form, or back.
struct Convert {
    struct Arguments {
        Fr *data;
        u64 count;
        u32 to_plain, unused;
    };
    typedef Nothing Shared;
    typedef Nothing Kept;
    DW_HERE_IN u32 steps(const Arguments &) { return 1; }
    DW_HERE_IN void step(const Arguments &a, const Place &at, Kept &, Shared &, u32) {
        Fr r2;
#pragma unroll
        for (int i = 0; i < 8; i++) r2.v[i] = DW_FR_R2[i];
        for (u64 i = Place::index(at); i < a.count; i += Place::all(at)) {
            a.data[i] = a.to_plain ? plain(a.data[i]) : mul(a.data[i], r2);
        }
    }
};

// Kernel, type, threads of a block at most, blocks that a processor of the card should hold at least.
#define DW_KERNELS(X)                                   \
    X(dw_read_memory, ReadMemory, 256, 1)               \
    X(dw_write_memory, WriteMemory, 256, 1)             \
    X(dw_copy_memory, CopyMemory, 256, 1)               \
    X(dw_multiply_add, MultiplyAdd<u32>, 256, 1)        \
    X(dw_multiply_add_wide, MultiplyAdd<u64>, 256, 1)   \
    X(dw_fr_chain, Chain<Fr>, 256, 1)                   \
    X(dw_fp_chain, Chain<Fp>, 256, 1)                   \
    X(dw_powers, Powers, 256, 1)                        \
    X(dw_transform, Transform, 256, 2)                  \
    X(dw_scale, Scale, 256, 1)                          \
    X(dw_quotient, Quotient, 256, 1)                    \
    X(dw_reorder, Reorder, 256, 1)                      \
    X(dw_make_points, MakePoints, 128, 1)               \
    X(dw_count, Count, 256, 1)                          \
    X(dw_prefix, Prefix, 256, 1)                        \
    X(dw_scatter, Scatter, 256, 1)                      \
    X(dw_accumulate, Accumulate, 128, 2)                \
    X(dw_reduce, Reduce, 64, 1)                         \
    X(dw_selected_sum, SelectedSum, 128, 2)             \
    X(dw_convert, Convert, 256, 1)
