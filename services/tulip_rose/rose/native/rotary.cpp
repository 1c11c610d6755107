// The kernels of rotary models as C functions: what layers/native_rotary.py calls. Types are told by `wide`, as in
// kernels.cpp.

#include "rotary.h"

#include "linear.h"

namespace {

// A gate and what it lets through, as one packed layer whose blocks of sixteen columns are of the one and of the other by
// turns; `out` columns of each.
struct Gated {
    const void* weight;
    const float* bias;
    long k, n, out;
    int activation;
};

template <class T>
void run_gated(Team* team, const Gated* gated, const void* x, long x_row, long rows, void* y) {
    const Linear<T> typed{static_cast<const T*>(gated->weight), gated->bias, gated->k, gated->n,
                          static_cast<Activation>(gated->activation), gated->out};
    linear(*team, typed, static_cast<const T*>(x), x_row, rows, static_cast<const T*>(nullptr), static_cast<T*>(y));
}

struct Norm {
    const float *weight, *bias;
    long size;
    float epsilon;
};

template <class T>
void run_rms(Team* team, const Norm* norm, const void* x, const void* y, long rows, void* out) {
    rms_norm<T>(*team, {static_cast<const T*>(x), static_cast<const T*>(y), norm->weight, static_cast<T*>(out), rows,
                        norm->size, norm->epsilon});
}

struct Turned {
    const float* weight;
    long heads, size;
    float epsilon;
};

template <class T>
void run_turn(Team* team, const Turned* turned, void* x, long row, long rows, const float* cos, const float* sin) {
    turn<T>(*team, {static_cast<T*>(x), turned->weight, cos, sin, rows, row, turned->heads, turned->size,
                    turned->epsilon});
}

}  // namespace

extern "C" {

void rose_gated(Team* team, int wide, const Gated* gated, const void* x, long x_row, long rows, void* y) {
    (wide ? run_gated<float> : run_gated<bf16>)(team, gated, x, x_row, rows, y);
}

void rose_rms(Team* team, int wide, const Norm* norm, const void* x, const void* y, long rows, void* out) {
    (wide ? run_rms<float> : run_rms<bf16>)(team, norm, x, y, rows, out);
}

void rose_turn(Team* team, int wide, const Turned* turned, void* x, long row, long rows, const float* cos,
               const float* sin) {
    (wide ? run_turn<float> : run_turn<bf16>)(team, turned, x, row, rows, cos, sin);
}
}
