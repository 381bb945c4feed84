// The kernels as a card runs them.
#include "kernels.h"

#define DW_CARD_KERNEL(name, Kernel, THREADS_MAX, BLOCKS_MIN)                                          \
    extern "C" __global__ void __launch_bounds__(THREADS_MAX, BLOCKS_MIN) name(Kernel::Arguments a) { \
        __shared__ Kernel::Shared shared;                                                              \
        Place at = {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x};                                   \
        Kernel::Kept kept;                                                                             \
        const u32 steps = Kernel::steps(a);                                                            \
        for (u32 step = 0; step < steps; step++) {                                                     \
            if (step) __syncthreads();                                                                 \
            Kernel::step(a, at, kept, shared, step);                                                   \
        }                                                                                              \
    }

DW_KERNELS(DW_CARD_KERNEL)
