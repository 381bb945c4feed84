// G1 of BLS12-381: y^2 = x^3 + 4 over Fp. Sums are kept as (X, Y, ZZ, ZZZ) with x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2, where adding an
// affine point costs ten products. Formulas: Explicit-Formulas Database, short Weierstrass, xyzz (madd-2008-s, add-2008-s,
// dbl-2008-s-1, mdbl-2008-s-1).
#pragma once
#include "field.h"

// A point with coordinates in Montgomery form. (0, 0) is on no such curve, and stands for the point at infinity.
struct alignas(16) Affine {
    Fp x, y;
};

// ZZ = 0 is the point at infinity.
struct alignas(16) Sum {
    Fp x, y, zz, zzz;
};

DW_HERE bool is_infinity(const Affine &p) { return is_zero(p.x) && is_zero(p.y); }
DW_HERE bool is_infinity(const Sum &p) { return is_zero(p.zz); }

DW_HERE Sum infinity() {
    Sum s;
    s.x = s.y = s.zz = s.zzz = Fp::zero();
    return s;
}

DW_HERE Sum sum_of(const Affine &p) {
    if (is_infinity(p)) return infinity();
    Sum s;
    s.x = p.x;
    s.y = p.y;
    s.zz = s.zzz = Fp::one();
    return s;
}

// Twice a point whose ZZ and ZZZ are given; with one for both it is the affine case.
DW_CALL Sum doubled(Sum p) {
    if (is_infinity(p)) return p;
    Fp u = twice(p.y);
    Fp v = squared(u);
    Fp w = mul(u, v);
    Fp s = mul(p.x, v);
    Fp xx = squared(p.x);
    Fp m = add(twice(xx), xx);
    Sum d;
    d.x = sub(squared(m), twice(s));
    d.y = sub(mul(m, sub(s, d.x)), mul(w, p.y));
    d.zz = mul(v, p.zz);
    d.zzz = mul(w, p.zzz);
    return d;
}

// sum + p, or sum - p. Equal and opposite points, and infinity on either side, are seen and told apart.
DW_HERE void accumulate(Sum &sum, Affine p, bool minus) {
    if (is_infinity(p)) return;
    if (minus) p.y = negated(p.y);
    if (is_infinity(sum)) {
        sum = sum_of(p);
        return;
    }
    Fp h = sub(mul(p.x, sum.zz), sum.x);
    Fp r = sub(mul(p.y, sum.zzz), sum.y);
    if (is_zero(h)) {
        sum = is_zero(r) ? doubled(sum) : infinity();
        return;
    }
    Fp hh = squared(h);
    Fp hhh = mul(h, hh);
    Fp q = mul(sum.x, hh);
    sum.x = sub(sub(squared(r), hhh), twice(q));
    sum.y = sub(mul(r, sub(q, sum.x)), mul(sum.y, hhh));
    sum.zz = mul(sum.zz, hh);
    sum.zzz = mul(sum.zzz, hhh);
}

// one += other. By reference: two sums and what is between do not fit the registers.
DW_CALL void add_sum(Sum &one, const Sum &other) {
    if (is_infinity(other)) return;
    if (is_infinity(one)) {
        one = other;
        return;
    }
    Fp u = mul(one.x, other.zz);
    Fp s = mul(one.y, other.zzz);
    Fp h = sub(mul(other.x, one.zz), u);
    Fp r = sub(mul(other.y, one.zzz), s);
    if (is_zero(h)) {
        one = is_zero(r) ? doubled(one) : infinity();
        return;
    }
    Fp hh = squared(h);
    one.zz = mul(mul(one.zz, other.zz), hh);
    Fp q = mul(u, hh);
    Fp hhh = mul(h, hh);
    one.zzz = mul(mul(one.zzz, other.zzz), hhh);
    one.x = sub(sub(squared(r), hhh), twice(q));
    one.y = sub(mul(r, sub(q, one.x)), mul(s, hhh));
}

// The affine point that a sum is.
DW_HERE Affine affine(const Sum &s) {
    Affine p;
    if (is_infinity(s)) {
        p.x = p.y = Fp::zero();
        return p;
    }
    // One inversion for both: 1/ZZZ, and 1/ZZ = ZZ^2/ZZZ^2.
    Fp i = inverse(s.zzz);
    Fp ii = squared(mul(i, s.zz));
    p.x = mul(s.x, ii);
    p.y = mul(s.y, i);
    return p;
}
