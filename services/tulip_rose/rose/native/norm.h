// Norms over rows, in float32 whatever the type of the rows.

#pragma once

#include <algorithm>

#include "team.h"
#include "vector.h"

template <class T>
struct NormJob {
    const T *x, *y;  // y is added to x before the norm, or null
    const float *weight, *bias;  // bias may be null
    T* out;
    long rows, size, row_block;
    float epsilon;
};

template <class T>
void norm_row(const NormJob<T>& job, long row, float* sums) {
    const long begin = row * job.size;
    __m512 total = _mm512_setzero_ps();
    for (long at = 0; at < job.size; at += kLanes) {
        const __mmask16 lanes = first(job.size - at);
        __m512 value = load(job.x + begin + at, lanes);
        if (job.y) value = _mm512_add_ps(value, load(job.y + begin + at, lanes));
        total = _mm512_add_ps(total, value);
        store(sums + at, value);
    }
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(total) / static_cast<float>(job.size));
    __m512 squares = _mm512_setzero_ps();
    for (long at = 0; at < job.size; at += kLanes) {
        const __m512 off = _mm512_maskz_sub_ps(first(job.size - at), load(sums + at), mean);
        squares = _mm512_fmadd_ps(off, off, squares);
    }
    const float variance = _mm512_reduce_add_ps(squares) / static_cast<float>(job.size);
    const __m512 factor = _mm512_set1_ps(1.f / __builtin_sqrtf(variance + job.epsilon));
    for (long at = 0; at < job.size; at += kLanes) {
        const __mmask16 lanes = first(job.size - at);
        const __m512 scaled = _mm512_mul_ps(_mm512_sub_ps(load(sums + at), mean), factor);
        const __m512 bias = job.bias ? load(job.bias + at, lanes) : _mm512_setzero_ps();
        store(job.out + begin + at, _mm512_fmadd_ps(scaled, load(job.weight + at, lanes), bias), lanes);
    }
}

template <class T>
void norm_part(const void* described, long part, void* scratch) {
    const auto& job = *static_cast<const NormJob<T>*>(described);
    const long end = part * job.row_block + job.row_block;
    for (long row = part * job.row_block; row < std::min(end, job.rows); ++row)
        norm_row(job, row, static_cast<float*>(scratch));
}

// out = LayerNorm(x + y)
template <class T>
void layer_norm(Team& team, NormJob<T> job) {
    team.reserve((job.size + kLanes) * static_cast<long>(sizeof(float)));
    job.row_block = 16;
    team.run(norm_part<T>, &job, (job.rows + 15) / 16, job.rows * job.size < 30'000);
}
