// What this processor can do, and which sources the kernels were made of. Compiled without any instruction set beyond the
// base, so that it may be asked anywhere.

extern "C" {

// As `recipe.digest` makes it: whoever calls with other structures than these would be misunderstood in silence.
const char* rose_sources() { return ROSE_SOURCES; }

// Bit 0: AVX-512 (F, BW, DQ, VL) with FMA. Bit 1: bfloat16 products (AVX512_BF16). 0 where no kernels were compiled.
int rose_cpu() {
#ifdef ROSE_KERNELS
    __builtin_cpu_init();
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("fma");
    return wide ? 1 | (__builtin_cpu_supports("avx512bf16") ? 2 : 0) : 0;
#else
    return 0;
#endif
}
}
