/**
 *  The table of activations and their reference values, one number at a time. Everything is computed in double
 *  precision by the C library and rounded once, so that no formula loses digits to cancellation; NaN stays NaN.
 */
#include <math.h>

#include "kernels/kernels.h"

/// Constants of selu, see "Self-Normalizing Neural Networks".
static double const selu_scale = 1.0507009873554804934193349852946;
static double const selu_alpha = 1.6732632423543772848170429916717;

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double activate_identity(double x) {
    return x;
}
static double activate_gelu(double x) {
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double activate_gelu_tanh(double x) {
    // 0.5 (1 + tanh(u)) is sigmoid(2u), which keeps its digits where tanh(u) nears -1.
    return x * sigmoid(2.0 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x));
}
static double activate_quick_gelu(double x) {
    return x * sigmoid(1.702 * x);
}
static double activate_relu(double x) {
    return x < 0.0 ? 0.0 : x;
}
static double activate_relu6(double x) {
    return x < 0.0 ? 0.0 : x > 6.0 ? 6.0 : x;
}
static double activate_silu(double x) {
    return x * sigmoid(x);
}
static double activate_mish(double x) {
    return x * tanh(x > 20.0 ? x : log1p(exp(x)));
}
static double activate_tanh(double x) {
    return tanh(x);
}
static double activate_sigmoid(double x) {
    return sigmoid(x);
}
static double activate_elu(double x) {
    return x > 0.0 ? x : expm1(x);
}
static double activate_selu(double x) {
    return selu_scale * (x > 0.0 ? x : selu_alpha * expm1(x));
}
static double activate_leaky_relu(double x) {
    return x < 0.0 ? 0.01 * x : x;
}
static double activate_softplus(double x) {
    return x > 20.0 ? x : log1p(exp(x));
}
static double activate_relu_squared(double x) {
    return x < 0.0 ? 0.0 : x * x;
}
static double activate_laplace(double x) {
    return 0.5 * erfc(-(x - 0.707107) / (0.282095 * M_SQRT2));
}
static double activate_gelu_clipped(double x) {
    double const y = activate_gelu(x);
    return y > 10.0 ? 10.0 : y; // never below -0.17, so the lower bound has nothing to do
}
static double activate_hardswish(double x) {
    return x * activate_relu6(x + 3.0) / 6.0;
}
static double activate_sqrt_softplus(double x) {
    return sqrt(activate_softplus(x));
}

static struct {
    char const *name;
    double (*activate)(double x);
} const activations[] = {
#define UFORM_ACTIVATION_ROW_(name) [uform_activation_##name##_k] = {#name, activate_##name},
    UFORM_ACTIVATIONS(UFORM_ACTIVATION_ROW_)
#undef UFORM_ACTIVATION_ROW_
};

char const *uform_activation_name_(uform_activation_t activation) {
    return (unsigned)activation < uform_activation_count_k ? activations[activation].name : "unknown";
}

float uform_activate_(uform_activation_t activation, float x) {
    if ((unsigned)activation >= uform_activation_count_k) return NAN;
    return (float)activations[activation].activate((double)x);
}
