// Matrix products: rows of `a` times a packed `b`, into float32.
//
// `b` [K, N] is packed in blocks of sixteen columns: [N/16][K][16] in float32, [N/16][K/2][16][2] in bfloat16, zeros
// where N is not a multiple of sixteen. A tile of six rows by four blocks keeps 24 sums in registers, which leaves room
// for four vectors of `b` and a broadcast of `a`: enough independent sums to fill two multipliers of four to six cycles.

#pragma once

#include <algorithm>

#include "vector.h"

constexpr int kTileRows = 6;
constexpr int kTileBlocks = 4;

inline long blocks_of(long columns) { return (columns + kLanes - 1) / kLanes; }

// How a product goes through K: one k a step in float32; in bfloat16 two, whose products one instruction adds.
template <class T>
struct Step;

template <>
struct Step<float> {
    static constexpr long depth = 1;
    using Vector = __m512;
    static Vector spread(const float* a) { return _mm512_set1_ps(*a); }
    static Vector columns(const float* b) { return _mm512_loadu_ps(b); }
    static __m512 add(__m512 sum, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, sum); }
};

template <>
struct Step<bf16> {
    static constexpr long depth = 2;
    using Vector = __m512bh;
    static Vector spread(const bf16* a) {
        int pair;
        __builtin_memcpy(&pair, a, sizeof pair);
        return reinterpret_cast<Vector>(_mm512_set1_epi32(pair));
    }
    static Vector columns(const bf16* b) { return reinterpret_cast<Vector>(_mm512_loadu_si512(b)); }
    static __m512 add(__m512 sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
};

template <class T>
long steps_of(long k) {
    return (k + Step<T>::depth - 1) / Step<T>::depth;
}

// Elements of one packed block of sixteen columns.
template <class T>
long block_size(long k) {
    return steps_of<T>(k) * Step<T>::depth * kLanes;
}

// A packed `b`, or steps of it: `block` elements lie between two blocks of columns.
template <class T>
struct Columns {
    const T* at;
    long block, steps;
};

template <class T, int Rows, int Blocks>
void tile(const T* a, long a_row, const Columns<T>& b, float* c, long c_row) {
    using S = Step<T>;
    __m512 sums[Rows][Blocks];
    for (auto& row : sums)
        for (auto& sum : row) sum = _mm512_setzero_ps();
    for (long step = 0; step < b.steps; ++step) {
        typename S::Vector columns[Blocks];
        for (int n = 0; n < Blocks; ++n) columns[n] = S::columns(b.at + n * b.block + step * S::depth * kLanes);
        for (int m = 0; m < Rows; ++m) {
            const auto value = S::spread(a + m * a_row + step * S::depth);
            for (int n = 0; n < Blocks; ++n) sums[m][n] = S::add(sums[m][n], value, columns[n]);
        }
    }
    for (int m = 0; m < Rows; ++m)
        for (int n = 0; n < Blocks; ++n) _mm512_storeu_ps(c + m * c_row + n * kLanes, sums[m][n]);
}

template <class T, int Rows>
void tile_of(int blocks, const T* a, long a_row, const Columns<T>& b, float* c, long c_row) {
    switch (blocks) {
        case 1: return tile<T, Rows, 1>(a, a_row, b, c, c_row);
        case 2: return tile<T, Rows, 2>(a, a_row, b, c, c_row);
        case 3: return tile<T, Rows, 3>(a, a_row, b, c, c_row);
        default: return tile<T, Rows, 4>(a, a_row, b, c, c_row);
    }
}

// At most six rows and four blocks.
template <class T>
void tile_of(int rows, int blocks, const T* a, long a_row, const Columns<T>& b, float* c, long c_row) {
    switch (rows) {
        case 1: return tile_of<T, 1>(blocks, a, a_row, b, c, c_row);
        case 2: return tile_of<T, 2>(blocks, a, a_row, b, c, c_row);
        case 3: return tile_of<T, 3>(blocks, a, a_row, b, c, c_row);
        case 4: return tile_of<T, 4>(blocks, a, a_row, b, c, c_row);
        case 5: return tile_of<T, 5>(blocks, a, a_row, b, c, c_row);
        default: return tile_of<T, 6>(blocks, a, a_row, b, c, c_row);
    }
}

// Splits rows into tiles of equal height as far as they go, so that no tile is left with a row or two.
template <class Work>
void each_tile(long rows, Work work) {
    const long tiles = (rows + kTileRows - 1) / kTileRows;
    for (long index = 0, begin = 0; index < tiles; ++index) {
        const long end = rows * (index + 1) / tiles;
        work(begin, static_cast<int>(end - begin));
        begin = end;
    }
}
