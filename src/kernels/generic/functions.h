/**
 *  Exponentials and activations over the vector vocabulary, a NULL row of a table meaning "has no vector form": then
 *  the scalar reference serves.
 *
 *  The precise forms err by a few units in the last place of the result, or of x where the function cancels; the fast
 *  ones, for outputs that are rounded to bf16, by at most 2e-4, which is below what the rounding costs for results
 *  near 0.1 and above, or by that part of the result. NaN stays NaN everywhere. Polynomials were fitted for the least largest relative error over
 *  the ranges they state.
 */
#ifndef UFORM_KERNELS_GENERIC_FUNCTIONS_H
#define UFORM_KERNELS_GENERIC_FUNCTIONS_H

#include "kernels/kernels.h"

/// terms[0] + x (terms[1] + x (...)).
UFORM_INLINED vector_t vector_polynomial(vector_t x, float const *terms, size_t count) {
    vector_t sum = vector_set(terms[count - 1]);
    UFORM_UNROLLED
    for (size_t term = count - 1; term-- > 0;) sum = vector_fma(sum, x, vector_set(terms[term]));
    return sum;
}

/// e^x - 1 = 2^n - 1 + 2^n (e^r - 1), where x = n ln 2 + r: the first and the last part.
UFORM_INLINED vector_t vector_reduce_exp(vector_t x, vector_t *n) {
    static float const terms[] = {0.499999981f, 0.166665432f, 0.0416672018f, 0.00836658034f, 0.00138825101f};
    // Beyond these bounds the result is infinite or zero, and n would be of no use.
    x = vector_maximum(vector_set(-105.0f), vector_minimum(vector_set(89.0f), x));
    *n = vector_round(vector_multiply(x, vector_set(1.44269504f)));
    // ln 2 in two parts, the first short enough for exact products.
    vector_t r = vector_fma(*n, vector_set(-0.693359375f), x);
    r = vector_fma(*n, vector_set(2.12194440e-4f), r);
    return vector_fma(vector_multiply(r, r), vector_polynomial(r, terms, 5), r);
}

UFORM_INLINED vector_t vector_exp(vector_t x) {
    vector_t n;
    vector_t const part = vector_reduce_exp(x, &n);
    return vector_scale(vector_add(part, vector_set(1.0f)), n);
}

UFORM_INLINED vector_t vector_expm1(vector_t x) {
    vector_t n;
    vector_t const part = vector_reduce_exp(x, &n), power = vector_scale(vector_set(1.0f), n);
    return vector_fma(power, part, vector_subtract(power, vector_set(1.0f)));
}

/// 2^x for x within 0.5 of zero, with a relative error of 7.5e-5.
UFORM_INLINED vector_t vector_exp2_fast(vector_t fraction) {
    static float const terms[] = {0.999928074f, 0.693260986f, 0.242611122f, 0.055171668f};
    return vector_polynomial(fraction, terms, 4);
}

/// 2^x for the weights of a softmax, x <= 0, with a relative error of 1e-7, or of 7.5e-5 for weights that are rounded
/// to bf16. What would be subnormal is zero: it could not be felt, and such factors are slow to multiply.
UFORM_INLINED vector_t vector_exp2_weight(vector_t x, bool bf16) {
    static float const precise[] = {1.0f, 0.693146978f, 0.240222421f, 0.0555073374f, 0.00967151264f, 0.00132647271f};
    vector_t const bounded = vector_maximum(vector_set(-127.0f), x), n = vector_round(bounded);
    vector_t const fraction = vector_subtract(bounded, n);
    vector_t const power = bf16 ? vector_exp2_fast(fraction) : vector_polynomial(fraction, precise, 6);
    return vector_select(vector_above(vector_set(-125.0f), x), vector_zero(), vector_scale(power, n));
}

/// ln(1 + x) for x in [0, 1]: 2 artanh(s) with s = x / (2 + x).
UFORM_INLINED vector_t vector_log1p_unit(vector_t x) {
    static float const terms[] = {0.666664163f, 0.400215272f, 0.280018054f, 0.280119861f};
    vector_t const s = vector_divide(x, vector_add(x, vector_set(2.0f))), square = vector_multiply(s, s);
    return vector_fma(vector_multiply(s, square), vector_polynomial(square, terms, 4), vector_add(s, s));
}

/// A rational function of x^2 times x; beyond 3.95 the result is one.
UFORM_INLINED vector_t vector_erf(vector_t x) {
    static float const above[] = {
        1.1283791f, 0.202582652f, 0.0509232236f, 0.00380782936f, 0.000143808907f, -1.95089801e-06f, 1.96038012e-08f};
    static float const below[] = {1.0f, 0.512865711f, 0.116094403f, 0.0145757252f, 0.000979843187f};
    x = vector_maximum(vector_set(-3.95f), vector_minimum(vector_set(3.95f), x));
    vector_t const square = vector_multiply(x, x);
    vector_t const y =
        vector_divide(vector_multiply(x, vector_polynomial(square, above, 7)), vector_polynomial(square, below, 5));
    return vector_maximum(vector_set(-1.0f), vector_minimum(vector_set(1.0f), y));
}

/// 1 / (1 + e^-x).
UFORM_INLINED vector_t vector_sigmoid(vector_t x) {
    vector_t const one = vector_set(1.0f);
    return vector_divide(one, vector_add(one, vector_exp(vector_subtract(vector_zero(), x))));
}

/// x / (1 + e^-y): one rounding less than x * sigmoid(y).
UFORM_INLINED vector_t vector_gate(vector_t x, vector_t y) {
    return vector_divide(x, vector_add(vector_set(1.0f), vector_exp(vector_subtract(vector_zero(), y))));
}

UFORM_INLINED vector_t vector_gelu(vector_t x) {
    vector_t const half = vector_multiply(x, vector_set(0.5f));
    return vector_multiply(
        half, vector_add(vector_set(1.0f), vector_erf(vector_multiply(x, vector_set(0.707106781f)))));
}

UFORM_INLINED vector_t vector_gelu_tanh(vector_t x) {
    vector_t const square = vector_multiply(x, x);
    // 2 sqrt(2 / pi) (x + 0.044715 x^3).
    vector_t const factor = vector_fma(square, vector_set(0.0713548163f), vector_set(1.59576912f));
    return vector_gate(x, vector_multiply(x, factor));
}

/// x Phi(x) = max(x, 0) - |x| Phi(-|x|), the last as a polynomial of min(|x|, 3.9) without constant term.
UFORM_INLINED vector_t vector_gelu_fast(vector_t x, float const *terms) {
    vector_t const size = vector_minimum(vector_set(3.9f), vector_absolute(x));
    return vector_fma(vector_polynomial(size, terms, 7), size, vector_maximum(vector_zero(), x));
}

UFORM_INLINED vector_t vector_gelu_erf_fast(vector_t x) {
    static float const terms[] = {
        -0.499329491f, 0.385195304f, 0.0521834556f, -0.147275098f, 0.0604670725f, -0.0104904794f, 0.000686554605f};
    return vector_gelu_fast(x, terms);
}

UFORM_INLINED vector_t vector_gelu_tanh_fast(vector_t x) {
    static float const terms[] = {
        -0.499674404f, 0.387593484f, 0.0469285472f, -0.142766046f, 0.0586827166f, -0.0101593618f, 0.00066311349f};
    return vector_gelu_fast(x, terms);
}

/// x / (1 + 2^y). Beyond the bounds the power is one part in 2^24 of the sum, or infinite.
UFORM_INLINED vector_t vector_gate_fast(vector_t x, vector_t y) {
    vector_t const bounded = vector_maximum(vector_set(-30.0f), vector_minimum(vector_set(200.0f), y));
    vector_t const n = vector_round(bounded), power = vector_scale(vector_exp2_fast(vector_subtract(bounded, n)), n);
    return vector_multiply(x, vector_reciprocal(vector_add(vector_set(1.0f), power)));
}
UFORM_INLINED vector_t vector_quick_gelu_fast(vector_t x) {
    return vector_gate_fast(x, vector_multiply(x, vector_set(-1.702f * 1.44269504f)));
}
UFORM_INLINED vector_t vector_silu_fast(vector_t x) {
    return vector_gate_fast(x, vector_multiply(x, vector_set(-1.44269504f)));
}

UFORM_INLINED vector_t vector_quick_gelu(vector_t x) {
    return vector_gate(x, vector_multiply(x, vector_set(1.702f)));
}
UFORM_INLINED vector_t vector_relu(vector_t x) {
    return vector_maximum(vector_zero(), x);
}
UFORM_INLINED vector_t vector_relu6(vector_t x) {
    return vector_minimum(vector_set(6.0f), vector_relu(x));
}
UFORM_INLINED vector_t vector_silu(vector_t x) {
    return vector_gate(x, x);
}

/// tanh(ln(1 + e)) is n / (n + 2) with n = e (e + 2); at 30 that is one, and beyond n would overflow.
UFORM_INLINED vector_t vector_mish(vector_t x) {
    vector_t const e = vector_exp(vector_minimum(vector_set(30.0f), x));
    vector_t const n = vector_multiply(e, vector_add(e, vector_set(2.0f)));
    return vector_multiply(x, vector_divide(n, vector_add(n, vector_set(2.0f))));
}

/// (e^2|x| - 1) / (e^2|x| + 1), which is one from 10 on.
UFORM_INLINED vector_t vector_tanh(vector_t x) {
    vector_t const size = vector_minimum(vector_set(10.0f), vector_absolute(x));
    vector_t const e = vector_expm1(vector_add(size, size));
    return vector_copy_sign(vector_divide(e, vector_add(e, vector_set(2.0f))), x);
}

UFORM_INLINED vector_t vector_elu(vector_t x) {
    return vector_select(vector_above(x, vector_zero()), x, vector_expm1(x));
}

UFORM_INLINED vector_t vector_selu(vector_t x) {
    vector_t const below = vector_multiply(vector_set(1.67326324f), vector_expm1(x));
    return vector_multiply(vector_set(1.05070099f), vector_select(vector_above(x, vector_zero()), x, below));
}

UFORM_INLINED vector_t vector_leaky_relu(vector_t x) {
    return vector_select(vector_above(vector_zero(), x), vector_multiply(x, vector_set(0.01f)), x);
}

/// Beyond 20, where torch switches to x itself, the logarithm is below what rounding leaves.
UFORM_INLINED vector_t vector_softplus(vector_t x) {
    vector_t const e = vector_exp(vector_subtract(vector_zero(), vector_absolute(x)));
    return vector_add(vector_relu(x), vector_log1p_unit(e));
}

UFORM_INLINED vector_t vector_relu_squared(vector_t x) {
    vector_t const y = vector_relu(x);
    return vector_multiply(y, y);
}

/// 0.5 (1 + erf((x - mu) / (sigma sqrt(2)))) with mu = 0.707107 and sigma = 0.282095.
UFORM_INLINED vector_t vector_laplace(vector_t x) {
    vector_t const scaled = vector_multiply(vector_subtract(x, vector_set(0.707107f)), vector_set(2.50662874f));
    return vector_multiply(vector_set(0.5f), vector_add(vector_set(1.0f), vector_erf(scaled)));
}

/// In place over `count` numbers, a multiple of the vector's lanes, aligned to a line.
typedef void (*activate_function_t)(float *values, size_t count);

#define UFORM_ACTIVATE_(name)                                                                                          \
    static void activate_##name(float *values, size_t count) {                                                         \
        for (size_t i = 0; i < count; i += vector_lanes_k)                                                             \
            vector_store(values + i, vector_##name(vector_load(values + i)));                                          \
    }
UFORM_ACTIVATE_(relu)
UFORM_ACTIVATE_(relu6)
UFORM_ACTIVATE_(mish)
UFORM_ACTIVATE_(tanh)
UFORM_ACTIVATE_(sigmoid)
UFORM_ACTIVATE_(elu)
UFORM_ACTIVATE_(selu)
UFORM_ACTIVATE_(leaky_relu)
UFORM_ACTIVATE_(softplus)
UFORM_ACTIVATE_(relu_squared)
UFORM_ACTIVATE_(laplace)

/// The rows that precise and fast tables share.
#define UFORM_ACTIVATE_ROW_(name) [uform_activation_##name##_k] = activate_##name
#define UFORM_ACTIVATE_SHARED_ROWS_                                                                                    \
    UFORM_ACTIVATE_ROW_(relu), UFORM_ACTIVATE_ROW_(relu6), UFORM_ACTIVATE_ROW_(mish), UFORM_ACTIVATE_ROW_(tanh),       \
        UFORM_ACTIVATE_ROW_(sigmoid), UFORM_ACTIVATE_ROW_(elu), UFORM_ACTIVATE_ROW_(selu),                             \
        UFORM_ACTIVATE_ROW_(leaky_relu), UFORM_ACTIVATE_ROW_(softplus), UFORM_ACTIVATE_ROW_(relu_squared),             \
        UFORM_ACTIVATE_ROW_(laplace)

static inline void activate(
    activate_function_t const *functions, uform_activation_t activation, float *values, size_t count) {
    if (activation == uform_activation_identity_k) return;
    if (functions[activation]) functions[activation](values, count);
    else
        for (size_t i = 0; i < count; ++i) values[i] = uform_activate_(activation, values[i]);
}

#endif
