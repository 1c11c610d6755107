// What rotary models do between their products: norms by the root of the mean square, and the turning of heads.

#pragma once

#include <algorithm>

#include "team.h"
#include "vector.h"

constexpr long kRotaryRows = 16;

// 1 / sqrt(mean(x²) + epsilon)
template <class T>
float rms_factor(const T* x, long size, float epsilon) {
    __m512 squares = _mm512_setzero_ps();
    for (long at = 0; at < size; at += kLanes) {
        const __m512 value = load(x + at, first(size - at));
        squares = _mm512_fmadd_ps(value, value, squares);
    }
    return 1.f / __builtin_sqrtf(_mm512_reduce_add_ps(squares) / static_cast<float>(size) + epsilon);
}

template <class T>
struct RmsJob {
    const T *x, *y;  // y is added to x before the norm, or null
    const float* weight;
    T* out;
    long rows, size;
    float epsilon;
};

template <class T>
void rms_part(const void* described, long part, void* scratch) {
    const auto& job = *static_cast<const RmsJob<T>*>(described);
    auto* sums = static_cast<float*>(scratch);
    for (long row = part * kRotaryRows; row < std::min(job.rows, (part + 1) * kRotaryRows); ++row) {
        const long begin = row * job.size;
        for (long at = 0; at < job.size; at += kLanes) {
            const __mmask16 lanes = first(job.size - at);
            __m512 value = load(job.x + begin + at, lanes);
            if (job.y) value = _mm512_add_ps(value, load(job.y + begin + at, lanes));
            store(sums + at, value);
        }
        const __m512 factor = _mm512_set1_ps(rms_factor(sums, job.size, job.epsilon));
        for (long at = 0; at < job.size; at += kLanes) {
            const __mmask16 lanes = first(job.size - at);
            const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(sums + at), factor);
            store(job.out + begin + at, _mm512_mul_ps(scaled, load(job.weight + at, lanes)), lanes);
        }
    }
}

template <class T>
void rms_norm(Team& team, const RmsJob<T>& job) {
    team.reserve((job.size + kLanes) * static_cast<long>(sizeof(float)));
    team.run(rms_part<T>, &job, (job.rows + kRotaryRows - 1) / kRotaryRows, job.rows * job.size < 30'000);
}

template <class T>
struct TurnJob {
    T* x;  // changed where it lies; `row` elements from one token to the next, its turned heads first
    const float* weight;  // of a norm within each head, [heads, size], or null: no norm
    const float *cos, *sin;  // [rows, size / 2]
    long rows, row, heads, size;
    float epsilon;
};

// A head's first half and second half, as pairs, by the angles of its token.
template <class T>
void turn_head(T* x, const float* weight, const float* cos, const float* sin, long half, float epsilon) {
    const __m512 factor = _mm512_set1_ps(weight ? rms_factor(x, 2 * half, epsilon) : 1.f);
    for (long at = 0; at < half; at += kLanes) {
        const __mmask16 lanes = first(half - at);
        __m512 a = load(x + at, lanes), b = load(x + half + at, lanes);
        if (weight) {
            a = _mm512_mul_ps(_mm512_mul_ps(a, factor), load(weight + at, lanes));
            b = _mm512_mul_ps(_mm512_mul_ps(b, factor), load(weight + half + at, lanes));
        }
        const __m512 c = load(cos + at, lanes), s = load(sin + at, lanes);
        store(x + at, _mm512_fmsub_ps(a, c, _mm512_mul_ps(b, s)), lanes);
        store(x + half + at, _mm512_fmadd_ps(a, s, _mm512_mul_ps(b, c)), lanes);
    }
}

template <class T>
void turn_part(const void* described, long part, void*) {
    const auto& job = *static_cast<const TurnJob<T>*>(described);
    const long half = job.size / 2;
    for (long row = part * kRotaryRows; row < std::min(job.rows, (part + 1) * kRotaryRows); ++row)
        for (long head = 0; head < job.heads; ++head) {
            const float* weight = job.weight ? job.weight + head * job.size : nullptr;
            T* x = job.x + row * job.row + head * job.size;
            turn_head(x, weight, job.cos + row * half, job.sin + row * half, half, job.epsilon);
        }
}

template <class T>
void turn(Team& team, const TurnJob<T>& job) {
    const bool small = job.rows * job.heads * job.size < 30'000;
    team.run(turn_part<T>, &job, (job.rows + kRotaryRows - 1) / kRotaryRows, small);
}
