// A linear layer with its bias, and an activation or a residual: y = activation(x Wᵀ + b) or x Wᵀ + b + residual.
// A gated one is two in one: y = activation(x Gᵀ + c) · (x Uᵀ + d).

#pragma once

#include "product.h"
#include "team.h"

template <class T>
struct Linear {
    const T* weight;  // packed, [K, N]
    const float* bias;  // [N], or null
    long k, n;
    Activation activation;
    long gated = 0;  // columns of each half where blocks of sixteen are of the gate and of the other by turns, else 0
};

template <class T>
struct LinearJob {
    Linear<T> layer;
    const T* x;
    const T* residual;  // [rows, N], or null
    T* y;
    long x_row, rows, row_block, row_blocks, panel;
};

// Packs weight [N, K] for products.
template <class T>
void pack_weight(const T* weight, long n, long k, T* packed) {
    constexpr long depth = Step<T>::depth;
    for (long block = 0; block < blocks_of(n); ++block)
        for (long step = 0; step < steps_of<T>(k); ++step)
            for (long lane = 0; lane < kLanes; ++lane)
                for (long d = 0; d < depth; ++d) {
                    const long column = block * kLanes + lane, at = step * depth + d;
                    *packed++ = column < n && at < k ? weight[column * k + at] : T{0};
                }
}

// What follows the product of a gated layer, for the sums of a tile, which holds whole pairs of blocks.
template <class T>
void let_through(const LinearJob<T>& job, const float* sums, long sums_row, long row, int rows, long column,
                 long columns) {
    const auto& layer = job.layer;
    const auto sum = [&](int m, long at) {
        const __m512 bias = layer.bias ? load(layer.bias + column + at) : _mm512_setzero_ps();
        return _mm512_add_ps(load(sums + m * sums_row + at), bias);
    };
    for (long at = 0; at < columns; at += 2 * kLanes) {
        const long place = (column + at) / 2;
        for (int m = 0; m < rows; ++m) {
            const __m512 value = _mm512_mul_ps(activate(sum(m, at), layer.activation), sum(m, at + kLanes));
            store(job.y + (row + m) * layer.gated + place, value, first(layer.gated - place));
        }
    }
}

// What follows the product, for the sums of a tile.
template <class T>
void finish(const LinearJob<T>& job, const float* sums, long sums_row, long row, int rows, long column, long columns) {
    const auto& layer = job.layer;
    if (layer.gated) return let_through(job, sums, sums_row, row, rows, column, columns);
    for (long at = 0; at < columns; at += kLanes) {
        const __mmask16 lanes = first(layer.n - column - at);
        const __m512 bias = layer.bias ? load(layer.bias + column + at, lanes) : _mm512_setzero_ps();
        for (int m = 0; m < rows; ++m) {
            const long place = (row + m) * layer.n + column + at;
            __m512 value = activate(_mm512_add_ps(load(sums + m * sums_row + at), bias), layer.activation);
            if (job.residual) value = _mm512_add_ps(value, load(job.residual + place, lanes));
            store(job.y + place, value, lanes);
        }
    }
}

template <class T>
void linear_part(const void* described, long part, void*) {
    const auto& job = *static_cast<const LinearJob<T>*>(described);
    const long blocks = blocks_of(job.layer.n), size = block_size<T>(job.layer.k);
    const long begin = part % job.row_blocks * job.row_block, block = part / job.row_blocks * job.panel;
    const long rows = std::min(job.row_block, job.rows - begin);
    const int wide = static_cast<int>(std::min(job.panel, blocks - block));
    const Columns<T> columns{job.layer.weight + block * size, size, steps_of<T>(job.layer.k)};
    alignas(64) float sums[kTileRows * kTileBlocks * kLanes];
    constexpr long sums_row = kTileBlocks * kLanes;
    each_tile(rows, [&](long at, int count) {
        const T* x = job.x + (begin + at) * job.x_row;
        tile_of<T>(count, wide, x, job.x_row, columns, sums, sums_row);
        finish(job, sums, sums_row, begin + at, count, block * kLanes, wide * kLanes);
    });
}

template <class T>
void linear(Team& team, const Linear<T>& layer, const T* x, long x_row, long rows, const T* residual, T* y) {
    // A part is some rows, which stay in the first two caches, times one panel of columns.
    const long fitting = std::max<long>(kTileRows * 4, 128 * 1024 / (layer.k * static_cast<long>(sizeof(T))));
    const long row_blocks = (rows + fitting - 1) / fitting;
    const long blocks = blocks_of(layer.n);
    const bool narrow = row_blocks * (blocks / kTileBlocks) < 3 * team.threads() && blocks % kTileBlocks != 1;
    const long panel = narrow && team.threads() > 1 ? kTileBlocks / 2 : kTileBlocks;
    const LinearJob<T> job{layer, x, residual, y, x_row, rows, (rows + row_blocks - 1) / row_blocks, row_blocks, panel};
    const bool small = rows * layer.k * layer.n < 1'000'000;
    team.run(linear_part<T>, &job, row_blocks * ((blocks + panel - 1) / panel), small);
}
