// The dozen operations with a carry that everything else stands on. On a card each is one PTX instruction; on the processor
// each is the same thing in 64 bits, with the carry in a variable, so that the arithmetic above is tested where there is no card.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define DW_CARD 1
#define DW_HERE __device__ __forceinline__
#define DW_HERE_IN static __device__ __forceinline__
#define DW_CALL __device__ __noinline__
#define DW_CONSTANT __device__ __constant__
#else
#define DW_CARD 0
#define DW_HERE static inline
#define DW_HERE_IN static inline
#define DW_CALL static inline
#define DW_CONSTANT static const
#endif

#if DW_CARD

// `volatile`: the carry flag is an operand that the compiler does not see. Nothing may stand between the links of a chain.
#define DW_TWO(name, ptx)                                                      \
    DW_HERE u32 name(u32 a, u32 b) {                                           \
        u32 r;                                                                 \
        asm volatile(ptx " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));           \
        return r;                                                              \
    }
#define DW_THREE(name, ptx)                                                    \
    DW_HERE u32 name(u32 a, u32 b, u32 c) {                                    \
        u32 r;                                                                 \
        asm volatile(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
        return r;                                                              \
    }

DW_TWO(add_cc, "add.cc.u32")
DW_TWO(addc_cc, "addc.cc.u32")
DW_TWO(addc, "addc.u32")
DW_TWO(sub_cc, "sub.cc.u32")
DW_TWO(subc_cc, "subc.cc.u32")
DW_TWO(subc, "subc.u32")
DW_TWO(mul_lo, "mul.lo.u32")
DW_TWO(mul_hi, "mul.hi.u32")
DW_THREE(mad_lo_cc, "mad.lo.cc.u32")
DW_THREE(madc_lo_cc, "madc.lo.cc.u32")
DW_THREE(madc_hi_cc, "madc.hi.cc.u32")
DW_THREE(madc_hi, "madc.hi.u32")

#undef DW_TWO
#undef DW_THREE

#else

static thread_local u32 dw_carry;

DW_HERE u32 dw_put(u64 wide) {
    dw_carry = (u32)(wide >> 32);
    return (u32)wide;
}
DW_HERE u32 dw_put_borrow(u64 wide) {
    dw_carry = (u32)(wide >> 63);
    return (u32)wide;
}

DW_HERE u32 add_cc(u32 a, u32 b) { return dw_put((u64)a + b); }
DW_HERE u32 addc_cc(u32 a, u32 b) { return dw_put((u64)a + b + dw_carry); }
DW_HERE u32 addc(u32 a, u32 b) { return a + b + dw_carry; }
DW_HERE u32 sub_cc(u32 a, u32 b) { return dw_put_borrow((u64)a - b); }
DW_HERE u32 subc_cc(u32 a, u32 b) { return dw_put_borrow((u64)a - b - dw_carry); }
DW_HERE u32 subc(u32 a, u32 b) { return a - b - dw_carry; }
DW_HERE u32 mul_lo(u32 a, u32 b) { return a * b; }
DW_HERE u32 mul_hi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
DW_HERE u32 mad_lo_cc(u32 a, u32 b, u32 c) { return dw_put((u64)(u32)(a * b) + c); }
DW_HERE u32 madc_lo_cc(u32 a, u32 b, u32 c) { return dw_put((u64)(u32)(a * b) + c + dw_carry); }
DW_HERE u32 madc_hi_cc(u32 a, u32 b, u32 c) { return dw_put((u64)mul_hi(a, b) + c + dw_carry); }
DW_HERE u32 madc_hi(u32 a, u32 b, u32 c) { return mul_hi(a, b) + c + dw_carry; }

#endif
