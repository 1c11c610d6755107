// The kernels as C functions: what layers/native.py calls. Types are told by `wide`: float32, else bfloat16.
// Every row of a matrix is contiguous; its rows may lie further apart where a `…_row` says so.

#include "attention.h"
#include "ends.h"
#include "linear.h"
#include "norm.h"

namespace {

struct Layer {
    const void* weight;
    const float* bias;
    long k, n;
    int activation;
};

template <class T>
void run_linear(Team* team, const Layer* layer, const void* x, long x_row, long rows, const void* residual, void* y) {
    const Linear<T> typed{static_cast<const T*>(layer->weight), layer->bias, layer->k, layer->n,
                          static_cast<Activation>(layer->activation)};
    linear(*team, typed, static_cast<const T*>(x), x_row, rows, static_cast<const T*>(residual), static_cast<T*>(y));
}

struct Heads {
    long heads, shared, size, left, right;
    float scale;
    const float* bias;
    long reach;
};

struct Rows {
    const void* at;
    long row;
};

template <class T>
void run_attention(Team* team, const Heads* heads, Rows q, Rows k, Rows v, const int* starts, long sequences,
                   long longest, void* out) {
    const AttentionJob<T> job{static_cast<const T*>(q.at), static_cast<const T*>(k.at), static_cast<const T*>(v.at),
                              q.row, k.row, v.row, static_cast<T*>(out), starts, heads->heads, heads->shared,
                              heads->size, {heads->left, heads->right}, heads->scale,
                              {heads->bias, heads->reach}};
    attention(*team, job, sequences, longest);
}

struct Norm {
    const float *weight, *bias;
    long size;
    float epsilon;
};

template <class T>
void run_norm(Team* team, const Norm* norm, const void* x, const void* y, long rows, void* out) {
    layer_norm<T>(*team, {static_cast<const T*>(x), static_cast<const T*>(y), norm->weight, norm->bias,
                          static_cast<T*>(out), rows, norm->size, 0, norm->epsilon});
}

struct Tables {
    const void *words, *places;
    long vocabulary, longest;
};

template <class T>
long run_embed(Team* team, const Norm* norm, const Tables* tables, const int64_t* ids, const int64_t* positions,
               long rows, void* out) {
    return embed<T>(*team, {static_cast<const T*>(tables->words), static_cast<const T*>(tables->places), ids, positions,
                            tables->vocabulary, tables->longest,
                            {nullptr, nullptr, norm->weight, norm->bias, static_cast<T*>(out), rows, norm->size, 0,
                             norm->epsilon}});
}

struct Form {
    int pooling;
    long size, kept;
    int unit;
};

template <class T>
void run_pool(Team* team, const Form* form, const void* states, long tokens, const int* spans, long rows, float* out,
              bool* finite) {
    pool<T>(*team, {static_cast<const T*>(states), spans, static_cast<Pooling>(form->pooling), form->size, form->kept,
                    form->unit != 0, out, finite}, rows, tokens);
}

// Attention and feed-forward, each followed by the add of its input and a norm.
struct Block {
    Layer qkv, out, up, down;
    Norm attention_norm, output_norm;
    Heads heads;
};

// What a block makes on its way, in the team's room.
template <class T>
struct Bench {
    T *qkv, *attended, *sum, *middle, *inner;

    Bench(Team& team, const Block& block, long rows) {
        const long hidden = block.out.n, total = block.qkv.n + 3 * hidden + block.up.n;
        qkv = static_cast<T*>(team.room(rows * total * static_cast<long>(sizeof(T))));
        attended = qkv + rows * block.qkv.n;
        sum = attended + rows * hidden;
        middle = sum + rows * hidden;
        inner = middle + rows * hidden;
    }
};

template <class T>
void run_block(Team* team, const Block* block, const void* x, const int* starts, long sequences, long longest,
               void* y) {
    const long rows = starts[sequences], step = block->qkv.n;
    const Bench<T> on(*team, *block, rows);
    const Heads& heads = block->heads;
    const T* k = on.qkv + heads.heads * heads.size;
    const T* v = k + heads.heads / heads.shared * heads.size;
    run_linear<T>(team, &block->qkv, x, block->qkv.k, rows, nullptr, on.qkv);
    run_attention<T>(team, &heads, {on.qkv, step}, {k, step}, {v, step}, starts, sequences, longest, on.attended);
    run_linear<T>(team, &block->out, on.attended, block->out.k, rows, x, on.sum);
    run_norm<T>(team, &block->attention_norm, on.sum, nullptr, rows, on.middle);
    run_linear<T>(team, &block->up, on.middle, block->up.k, rows, nullptr, on.inner);
    run_linear<T>(team, &block->down, on.inner, block->down.k, rows, on.middle, on.sum);
    run_norm<T>(team, &block->output_norm, on.sum, nullptr, rows, y);
}

}  // namespace

extern "C" {

Team* rose_team(int threads) { return new Team(threads, 1 << 20); }
void rose_disband(Team* team) { delete team; }

// Elements of a packed weight.
long rose_packed_size(int wide, long n, long k) {
    return blocks_of(n) * (wide ? block_size<float>(k) : block_size<bf16>(k));
}

void rose_pack(int wide, const void* weight, long n, long k, void* packed) {
    if (wide) return pack_weight(static_cast<const float*>(weight), n, k, static_cast<float*>(packed));
    pack_weight(static_cast<const bf16*>(weight), n, k, static_cast<bf16*>(packed));
}

void rose_linear(Team* team, int wide, const Layer* layer, const void* x, long x_row, long rows, const void* residual,
                 void* y) {
    (wide ? run_linear<float> : run_linear<bf16>)(team, layer, x, x_row, rows, residual, y);
}

void rose_attention(Team* team, int wide, const Heads* heads, const void* q, long q_row, const void* k, long k_row,
                    const void* v, long v_row, const int* starts, long sequences, long longest, void* out) {
    (wide ? run_attention<float> : run_attention<bf16>)(team, heads, {q, q_row}, {k, k_row}, {v, v_row}, starts,
                                                        sequences, longest, out);
}

void rose_block(Team* team, int wide, const Block* block, const void* x, const int* starts, long sequences,
                long longest, void* y) {
    (wide ? run_block<float> : run_block<bf16>)(team, block, x, starts, sequences, longest, y);
}

long rose_embed(Team* team, int wide, const Norm* norm, const Tables* tables, const int64_t* ids,
                const int64_t* positions, long rows, void* out) {
    return (wide ? run_embed<float> : run_embed<bf16>)(team, norm, tables, ids, positions, rows, out);
}

void rose_pool(Team* team, int wide, const Form* form, const void* states, long tokens, const int* spans, long rows,
               float* out, bool* finite) {
    (wide ? run_pool<float> : run_pool<bf16>)(team, form, states, tokens, spans, rows, out, finite);
}

void rose_norm(Team* team, int wide, const Norm* norm, const void* x, const void* y, long rows, void* out) {
    (wide ? run_norm<float> : run_norm<bf16>)(team, norm, x, y, rows, out);
}
}
