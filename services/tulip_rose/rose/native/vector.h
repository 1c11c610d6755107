// float32 and bfloat16 in vectors of sixteen, and the functions that layers need of them.

#pragma once

#include <immintrin.h>

#include <cstdint>

constexpr long kLanes = 16;

using bf16 = uint16_t;

inline __mmask16 first(long lanes) { return lanes >= kLanes ? 0xffff : static_cast<__mmask16>((1u << lanes) - 1); }

inline __m512 load(const float* at, __mmask16 lanes = 0xffff) { return _mm512_maskz_loadu_ps(lanes, at); }
inline __m512 load(const bf16* at, __mmask16 lanes = 0xffff) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store(float* at, __m512 x, __mmask16 lanes = 0xffff) { _mm512_mask_storeu_ps(at, lanes, x); }
inline void store(bf16* at, __m512 x, __mmask16 lanes = 0xffff) {
    _mm256_mask_storeu_epi16(at, lanes, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}

// e^x within 2 units in the last place; not a number stays so. Range reduction to [-ln2/2, ln2/2] and Taylor's series.
inline __m512 exp(__m512 x) {
    x = _mm512_min_ps(_mm512_set1_ps(88.7f), _mm512_max_ps(_mm512_set1_ps(-87.3f), x));
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 8);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.f / 720);
    for (const float next : {1.f / 120, 1.f / 24, 1.f / 6, 1.f / 2, 1.f, 1.f})
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(next));
    return _mm512_scalef_ps(p, n);
}

inline __m512 sigmoid(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.f);
    return _mm512_div_ps(one, _mm512_add_ps(one, exp(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

// The error function within 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
inline __m512 erf(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.f), size = _mm512_abs_ps(x);
    const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.3275911f), size, one));
    __m512 p = _mm512_set1_ps(1.061405429f);
    for (const float next : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f})
        p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(next));
    const __m512 tail = exp(_mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(x, x)));
    const __m512 found = _mm512_fnmadd_ps(_mm512_mul_ps(p, t), tail, one);
    return _mm512_or_ps(found, _mm512_and_ps(x, _mm512_set1_ps(-0.f)));
}

// The values are those of `Activation` in layers/native.py.
enum class Activation : int { none, gelu, gelu_tanh, relu, silu };

inline __m512 activate(__m512 x, Activation activation) {
    switch (activation) {
        case Activation::gelu: {
            const __m512 half = _mm512_mul_ps(x, _mm512_set1_ps(0.5f));
            return _mm512_fmadd_ps(half, erf(_mm512_mul_ps(x, _mm512_set1_ps(0.70710678f))), half);
        }
        case Activation::gelu_tanh: {
            // 0.5 (1 + tanh y) is sigmoid(2 y).
            const __m512 cubic = _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(0.044715f), _mm512_set1_ps(1.f));
            return _mm512_mul_ps(x, sigmoid(_mm512_mul_ps(_mm512_mul_ps(x, cubic), _mm512_set1_ps(1.59576912f))));
        }
        // The operand that is kept where one is not a number comes second.
        case Activation::relu: return _mm512_max_ps(_mm512_setzero_ps(), x);
        case Activation::silu: return _mm512_mul_ps(x, sigmoid(x));
        default: return x;
    }
}
