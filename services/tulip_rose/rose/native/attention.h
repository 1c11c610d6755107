// Attention in each sequence alone: softmax(q kᵀ · scale + bias) v.
//
// A part is one sequence and one head of k and v: its k and v are packed once, then the queries go by in blocks of rows.

#pragma once

#include "product.h"
#include "team.h"

struct Window {
    long left, right;  // tokens that a query sees on either side of itself
};

// What is added to logits by the distance from query to key, distances -reach … reach of each head of queries; or null.
struct Bias {
    const float* by_distance;
    long reach;
};

template <class T>
struct AttentionJob {
    const T *q, *k, *v;
    long q_row, k_row, v_row;  // elements from one token to the next
    T* out;  // [T, heads · size]
    const int* starts;  // [S + 1]
    long heads, shared, size;  // `shared` query heads use one head of k and v
    Window window;
    float scale;
    Bias bias;
};

constexpr long kQueryRows = 4 * kTileRows;

inline long padded(long length) { return blocks_of(length) * kLanes; }

// Bytes of scratch for a sequence of that length: packed k, packed v, scores.
template <class T>
long attention_scratch(long length, long size) {
    const long keys = padded(length) * size * static_cast<long>(sizeof(T));
    const long sums = kTileRows * size * static_cast<long>(sizeof(float));
    return 2 * keys + kQueryRows * padded(length) * static_cast<long>(sizeof(float)) + sums;
}

// k [length, size] as `b` of q kᵀ: keys are its columns. Pairs of values move as one, so both types are gathers of words.
template <class T>
void pack_keys(const T* k, long row, long length, long size, T* packed) {
    constexpr long depth = Step<T>::depth;
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i offsets = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(row / depth)));
    for (long begin = 0; begin < length; begin += kLanes) {
        const __mmask16 lanes = first(length - begin);
        for (long step = 0; step < size / depth; ++step) {
            const T* from = k + begin * row + step * depth;
            const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, offsets, from, 4);
            _mm512_storeu_si512(packed, words);
            packed += depth * kLanes;
        }
    }
}

// v [length, size] as `b` of p v: keys are its rows.
inline void pack_values(const float* v, long row, long length, long size, float* packed) {
    for (long column = 0; column < size; column += kLanes)
        for (long at = 0; at < padded(length); ++at, packed += kLanes)
            store(packed, at < length ? load(v + at * row + column) : _mm512_setzero_ps());
}

inline void pack_values(const bf16* v, long row, long length, long size, bf16* packed) {
    const auto half = [&](long at, long column) {
        if (at >= length) return _mm512_setzero_si512();
        const auto* from = reinterpret_cast<const __m256i*>(v + at * row + column);
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
    };
    for (long column = 0; column < size; column += kLanes)
        for (long at = 0; at < padded(length); at += 2, packed += 2 * kLanes) {
            const __m512i odd = _mm512_slli_epi32(half(at + 1, column), 16);
            _mm512_storeu_si512(packed, _mm512_or_si512(half(at, column), odd));
        }
}

// Turns a row of scores into weights of type T in the same place, zeros where the query does not see; returns what they
// are yet to be divided by. A row that is not finite gives a sum that is none.
template <class T>
float soften(float* scores, long columns, long from, long until, float scale) {
    const auto seen = [&](long at) {
        return static_cast<__mmask16>(first(until - at) & ~(from > at ? first(from - at) : 0));
    };
    const __m512 factor = _mm512_set1_ps(scale);
    const long low = from / kLanes * kLanes;
    __m512 largest = _mm512_set1_ps(-3.4e38f);
    for (long at = low; at < until; at += kLanes) {
        const __m512 row = _mm512_loadu_ps(scores + at);
        largest = _mm512_mask_max_ps(largest, seen(at), largest, row);
    }
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest) * scale);
    __m512 sum = _mm512_setzero_ps();
    T* weights = reinterpret_cast<T*>(scores);
    for (long at = 0; at < columns; at += kLanes) {
        if (at + kLanes <= low || at >= until) {
            store(weights + at, _mm512_setzero_ps());
            continue;
        }
        const __m512 row = _mm512_loadu_ps(scores + at);
        const __m512 weight = _mm512_maskz_mov_ps(seen(at), exp(_mm512_fmsub_ps(row, factor, top)));
        sum = _mm512_add_ps(sum, weight);
        store(weights + at, weight);
    }
    return _mm512_reduce_add_ps(sum);
}

// Where a part keeps what it makes.
template <class T>
struct Desk {
    T *k, *v;
    float *scores, *sums;

    Desk(void* scratch, long length, long size) {
        const long keys = padded(length) * size;
        k = static_cast<T*>(scratch);
        v = k + keys;
        scores = reinterpret_cast<float*>(v + keys);
        sums = scores + kQueryRows * padded(length);
    }
};

struct Sequence {
    long start, length;
};

// Columns of the scores that a block of queries needs, in whole vectors.
struct Seen {
    long low, high;
};

template <class T>
void score(const AttentionJob<T>& job, const Desk<T>& desk, Sequence own, long head, long begin, long rows, Seen seen) {
    const T* q = job.q + (own.start + begin) * job.q_row + head * job.size;
    const long wide = padded(own.length), block = job.size * kLanes;
    for (long at = seen.low; at < seen.high; at += kTileBlocks * kLanes) {
        const Columns<T> keys{desk.k + at * job.size, block, job.size / Step<T>::depth};
        const int blocks = static_cast<int>(std::min<long>(kTileBlocks, (seen.high - at) / kLanes));
        each_tile(rows, [&](long row, int count) {
            float* scores = desk.scores + row * wide + at - seen.low;
            tile_of<T>(count, blocks, q + row * job.q_row, job.q_row, keys, scores, wide);
        });
    }
}

template <class T>
void mix(const AttentionJob<T>& job, const Desk<T>& desk, Sequence own, long head, long begin, long rows, Seen seen,
         const float* totals) {
    const long wide = padded(own.length), block = wide * kLanes;
    const T* weights = reinterpret_cast<const T*>(desk.scores);
    const long weights_row = wide * static_cast<long>(sizeof(float) / sizeof(T));
    for (long column = 0; column < job.size; column += kTileBlocks * kLanes) {
        const Columns<T> values{desk.v + column / kLanes * block + seen.low * kLanes, block,
                                (seen.high - seen.low) / Step<T>::depth};
        const int blocks = static_cast<int>(std::min<long>(kTileBlocks, (job.size - column) / kLanes));
        each_tile(rows, [&](long row, int count) {
            tile_of<T>(count, blocks, weights + row * weights_row, weights_row, values, desk.sums, blocks * kLanes);
            for (int m = 0; m < count; ++m) {
                const __m512 share = _mm512_set1_ps(1.f / totals[row + m]);
                T* out = job.out + ((own.start + begin + row + m) * job.heads + head) * job.size + column;
                for (int n = 0; n < blocks; ++n)
                    store(out + n * kLanes, _mm512_mul_ps(load(desk.sums + (m * blocks + n) * kLanes), share));
            }
        });
    }
}

// Scores of one query, keys [from, until) of a row that begins at key `low`, times the scale, plus the bias.
inline void lean(float* scores, long low, long from, long until, float scale, const float* bias) {
    for (long key = from; key < until; key += kLanes) {
        const __mmask16 lanes = first(until - key);
        const __m512 row = _mm512_maskz_loadu_ps(lanes, scores + key - low);
        const __m512 added = _mm512_maskz_loadu_ps(lanes, bias + key);
        _mm512_mask_storeu_ps(scores + key - low, lanes, _mm512_fmadd_ps(row, _mm512_set1_ps(scale), added));
    }
}

// Queries [begin, begin + rows) of one head.
template <class T>
void attend(const AttentionJob<T>& job, const Desk<T>& desk, Sequence own, long head, long begin, long rows) {
    const auto from = [&](long query) { return std::max<long>(0, query - job.window.left); };
    const auto until = [&](long query) { return std::min(own.length, query + job.window.right + 1); };
    const Seen seen{from(begin) / kLanes * kLanes, padded(until(begin + rows - 1))};
    score(job, desk, own, head, begin, rows, seen);
    const Bias bias = job.bias;
    float totals[kQueryRows];
    for (long row = 0; row < rows; ++row) {
        const long query = begin + row, low = from(query), high = until(query);
        float* scores = desk.scores + row * padded(own.length);
        if (bias.by_distance)
            lean(scores, seen.low, low, high, job.scale,
                 bias.by_distance + head * (2 * bias.reach + 1) + bias.reach - query);
        totals[row] = soften<T>(scores, seen.high - seen.low, low - seen.low, high - seen.low,
                                bias.by_distance ? 1.f : job.scale);
    }
    mix(job, desk, own, head, begin, rows, seen, totals);
}

template <class T>
void attention_part(const void* described, long part, void* scratch) {
    const auto& job = *static_cast<const AttentionJob<T>*>(described);
    const long kv_heads = job.heads / job.shared, shared_head = part % kv_heads;
    const int* start = job.starts + part / kv_heads;
    const Sequence own{start[0], start[1] - start[0]};
    const Desk<T> desk(scratch, own.length, job.size);
    pack_keys(job.k + own.start * job.k_row + shared_head * job.size, job.k_row, own.length, job.size, desk.k);
    pack_values(job.v + own.start * job.v_row + shared_head * job.size, job.v_row, own.length, job.size, desk.v);
    for (long head = shared_head * job.shared; head < (shared_head + 1) * job.shared; ++head)
        for (long begin = 0; begin < own.length; begin += kQueryRows)
            attend(job, desk, own, head, begin, std::min(kQueryRows, own.length - begin));
}

template <class T>
void attention(Team& team, const AttentionJob<T>& job, long sequences, long longest) {
    team.reserve(attention_scratch<T>(longest, job.size));
    const bool small = job.starts[sequences] * job.heads * job.size * longest < 250'000;
    team.run(attention_part<T>, &job, sequences * (job.heads / job.shared), small);
}
