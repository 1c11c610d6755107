// The two ends of a model: from token ids to first states, and from last states to vectors.

#pragma once

#include "norm.h"

template <class T>
struct EmbedJob {
    const T *words, *places;  // [vocabulary, size], [positions, size]
    const int64_t *ids, *positions;
    long vocabulary, longest;
    NormJob<T> norm;  // x and y are set for each row
};

constexpr long kEmbedRows = 16;

template <class T>
void embed_part(const void* described, long part, void* scratch) {
    const auto& job = *static_cast<const EmbedJob<T>*>(described);
    const long size = job.norm.size;
    for (long row = part * kEmbedRows; row < std::min(job.norm.rows, (part + 1) * kEmbedRows); ++row) {
        NormJob<T> one = job.norm;
        one.x = job.words + job.ids[row] * size;
        one.y = job.places + job.positions[row] * size;
        one.out += row * size;
        norm_row(one, 0, static_cast<float*>(scratch));
    }
}

// out [rows, size] = LayerNorm(words[id] + places[position]); returns the first row whose id or position is in no table,
// and then does nothing, else -1.
template <class T>
long embed(Team& team, const EmbedJob<T>& job) {
    const auto outside = [](int64_t index, long count) { return index < 0 || index >= count; };
    for (long row = 0; row < job.norm.rows; ++row)
        if (outside(job.ids[row], job.vocabulary) || outside(job.positions[row], job.longest)) return row;
    team.reserve((job.norm.size + kLanes) * static_cast<long>(sizeof(float)));
    const long parts = (job.norm.rows + kEmbedRows - 1) / kEmbedRows;
    team.run(embed_part<T>, &job, parts, job.norm.rows * job.norm.size < 30'000);
    return -1;
}

// The values are those of `_POOLINGS` in layers/native.py.
enum class Pooling : int { mean, first, last };

template <class T>
struct PoolJob {
    const T* states;  // [T, size]
    const int* spans;  // [rows, 2]: begin and end
    Pooling pooling;
    long size, kept;  // a vector keeps the first `kept` values
    bool unit;  // whether it then gets unit norm
    float* out;  // [rows, kept]
    bool* finite;  // [rows]
};

// Tokens whose sum is made before it is added to the rest, so that a long text loses nothing.
constexpr long kPoolBlock = 64;

template <class T>
__m512 pooled(const PoolJob<T>& job, long begin, long end, long at, __mmask16 lanes) {
    if (job.pooling == Pooling::first) return load(job.states + begin * job.size + at, lanes);
    if (job.pooling == Pooling::last) return load(job.states + (end - 1) * job.size + at, lanes);
    __m512 total = _mm512_setzero_ps();
    for (long block = begin; block < end; block += kPoolBlock) {
        __m512 sum = _mm512_setzero_ps();
        for (long token = block; token < std::min(end, block + kPoolBlock); ++token)
            sum = _mm512_add_ps(sum, load(job.states + token * job.size + at, lanes));
        total = _mm512_add_ps(total, sum);
    }
    return _mm512_div_ps(total, _mm512_set1_ps(static_cast<float>(end - begin)));
}

// A row with a value that is not finite, kept or not, is zeros and told in `finite`.
template <class T>
void pool_part(const void* described, long row, void*) {
    const auto& job = *static_cast<const PoolJob<T>*>(described);
    const long begin = job.spans[2 * row], end = job.spans[2 * row + 1];
    float* out = job.out + row * job.kept;
    __m512 squares = _mm512_setzero_ps();
    __mmask16 wrong = 0;
    for (long at = 0; at < job.size; at += kLanes) {
        const __m512 value = pooled(job, begin, end, at, first(job.size - at));
        // x - x is 0 for finite numbers alone.
        wrong |= _mm512_cmp_ps_mask(_mm512_sub_ps(value, value), _mm512_setzero_ps(), _CMP_NEQ_UQ);
        if (at >= job.kept) continue;
        const __m512 own = _mm512_maskz_mov_ps(first(job.kept - at), value);
        squares = _mm512_fmadd_ps(own, own, squares);
        store(out + at, own, first(job.kept - at));
    }
    job.finite[row] = !wrong;
    const float norm = __builtin_sqrtf(_mm512_reduce_add_ps(squares));
    const float scale = wrong ? 0.f : job.unit ? 1.f / std::max(norm, 1e-12f) : 1.f;
    for (long at = 0; at < job.kept; at += kLanes) {
        const __mmask16 lanes = first(job.kept - at);
        const __m512 value = wrong ? _mm512_setzero_ps() : load(out + at, lanes);
        store(out + at, _mm512_mul_ps(value, _mm512_set1_ps(scale)), lanes);
    }
}

template <class T>
void pool(Team& team, const PoolJob<T>& job, long rows, long tokens) {
    team.run(pool_part<T>, &job, rows, tokens * job.size < 100'000);
}
