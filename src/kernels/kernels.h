/**
 *  THE CONTRACT between models and kernels: groups of function pointers with their pack formats and tile sizes.
 *
 *  Activations live in panels. A matrix [rows, width] of a scalar of `e` bytes is cut into columns of 64 bytes (`64 /
 *  e` elements, a line): panel p holds elements [p * 64 / e, (p + 1) * 64 / e) of every row, rows one behind the
 *  other, 64 bytes each:
 *
 *      element (row, column) is at  data + (column / lane) * stride_bytes + row * 64 + (column % lane) * e,  lane = 64 / e
 *
 *  so any 16 rows are contiguous whatever row they begin at, which is what ragged batches, tiles and vectors all
 *  want. Widths are padded to a multiple of 32 elements; the padding holds zeros. Every buffer has room for rows
 *  rounded up to a multiple of `uform_row_step_k`: kernels may read and write the rows up to there, and rows never
 *  influence each other.
 *
 *  Every output element is computed by one sequence of operations that depends on its own row alone, never on `rows`,
 *  on the row's position or on neighbours: that is what makes results independent of batch and threads, bit for bit.
 *
 *  Precisions: `f32` computes in f32 throughout. `bf16` rounds matrix operands (to nearest even) to bf16, multiplies
 *  exactly and sums in f32; norms, softmax sums and the residual stream stay f32. `i8` is bf16 whose multiplications take
 *  integers of 8 bits: weights are rounded to them when packed, inputs by the group's `quantize`; products and sums are exact.
 *
 *  A class inherits whole groups from its fallback (a NULL group), never single pointers: a group's pack format,
 *  multiply and sizes travel together.
 */
#ifndef UFORM_KERNELS_KERNELS_H
#define UFORM_KERNELS_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/types.h"

enum {
    uform_row_step_k = 32,   ///< rows are padded to a multiple of this
    uform_width_step_k = 32, ///< widths are padded to a multiple of this
    uform_rotation_k = 64,   ///< numbers that are rotated together before they are rounded to integers
};

/// A matrix in panels; see above. f32 panels are 16 elements wide, bf16 panels 32.
typedef struct uform_panels_t {
    void *data;          ///< aligned to 64 bytes
    size_t stride_bytes; ///< from one panel to the next, a multiple of 64
} uform_panels_t;

/// Element-wise functions; `gelu` is the erf form, `gelu_tanh` the tanh form (gelu_new, gelu_pytorch_tanh, gelu_fast),
/// `gelu_clipped` the erf form kept within -10 and 10.
#define UFORM_ACTIVATIONS(row)                                                                                         \
    row(identity) row(gelu) row(gelu_tanh) row(quick_gelu) row(relu) row(relu6) row(silu) row(mish) row(tanh)          \
        row(sigmoid) row(elu) row(selu) row(leaky_relu) row(softplus) row(relu_squared) row(laplace) row(gelu_clipped) \
            row(hardswish) row(sqrt_softplus)

typedef enum uform_activation_t {
#define UFORM_ACTIVATION_ROW_(name) uform_activation_##name##_k,
    UFORM_ACTIVATIONS(UFORM_ACTIVATION_ROW_)
#undef UFORM_ACTIVATION_ROW_
        uform_activation_count_k
} uform_activation_t;

/// What a row of integers stands for: `scale` times each of them. Their sum comes with it, for instructions that take one
/// operand without a sign.
typedef struct uform_quantized_row_t {
    float scale;
    int32_t sum;
} uform_quantized_row_t;

/**
 *  Rounding of rows to integers of 8 bits, -127 to 127. Every 64 numbers of a row (zeros behind its end) are rotated first:
 *  multiplied by the Hadamard matrix of order 64, as six rounds of (a, b) becoming (a + b, a - b) for elements 1, 2, 4, 8, 16 and
 *  32 apart. Weights are rotated too, and divided by 64, which leaves their products what they were. A few large numbers,
 *  which transformers have in every row, are so spread over 64, and don't make the steps coarse that all others are rounded
 *  to. Then
 *
 *      scale = largest magnitude of the rotated row / 127;  integer = rotated number * (127 / largest magnitude), to nearest even
 *
 *  in f32. A row whose largest magnitude is below 2^-100 holds zeros; of one with a NaN or an infinity the scale is no number.
 */
typedef struct uform_quantize_call_t {
    uform_panels_t inputs;  ///< [rows, depth] bf16
    size_t rows, depth;     ///< depth padded to `uform_width_step_k`
    uform_panels_t outputs; ///< [rows, depth rounded up to `uform_rotation_k`] integers, `input_lane` of them in a line
    uform_quantized_row_t *quantized; ///< [rows]
    float *scratch;                   ///< [depth rounded up to `uform_rotation_k`], aligned to 64 bytes
} uform_quantize_call_t;

/**
 *  One multiplication: outputs (op)= inputs x weights^T, over a range of the weights' columns and of their depth.
 *  `column_begin`, `column_end`, `depth_begin`, `depth_end` are multiples of the group's `column_step` and `depth_step`, or the
 *  padded end of the matrix.
 */
typedef struct uform_gemm_call_t {
    uform_panels_t inputs; ///< [rows, depth] of the group's scalar, panel 0 holding depth 0
    /// [rows] Of integers: what `quantize` told of exactly the range of depth that is multiplied; readable up to whole steps of
    /// rows. Else NULL.
    uform_quantized_row_t const *quantized;
    void const *weights;   ///< packed by the same group
    size_t columns, depth; ///< of the whole packed matrix, padded to `uform_width_step_k`
    size_t column_begin, column_end;
    size_t depth_begin, depth_end;
    size_t rows; ///< not padded
    /// Accumulating: outputs are f32 panels and the product is added to what they hold; bias and activation are ignored.
    /// Else outputs are panels of the group's scalar, bf16 where that is integers, and receive activation(product + bias).
    bool accumulate;
    float const *bias; ///< [columns], padded with zeros, aligned to 64 bytes; never NULL unless accumulating
    uform_activation_t activation;
    uform_panels_t outputs; ///< [rows, columns], panel 0 holding column 0 of the whole matrix
    void *scratch;          ///< the group's `scratch_bytes`, aligned to 64 bytes, the calling thread's own
} uform_gemm_call_t;

/**
 *  Matrix multiplication with packed weights.
 */
typedef struct uform_gemm_t {
    size_t column_step;   ///< granularity of column ranges, a divisor or multiple of 32
    size_t depth_step;    ///< granularity of depth ranges
    size_t scratch_bytes; ///< scratch `multiply` needs
    /// Bytes of a packed [columns, depth] matrix, both padded to `uform_width_step_k` already.
    size_t (*packed_bytes)(size_t columns, size_t depth);
    /// Packs rows [column_begin, column_begin + column_count) of a row-major f32 weight matrix [columns, depth] (as files hold
    /// them: one row per output). `weights` points at the first of these rows, `stride` is in floats, all `depth` padded elements
    /// are readable. `column_begin` and `column_count` are multiples of `uform_width_step_k`. Safe to call for disjoint ranges at once.
    void (*pack)(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
        size_t depth, void *packed);
    void (*multiply)(uform_gemm_call_t const *call);
    /// Makes the integers that are multiplied from bf16; NULL where inputs are multiplied as they are. Ranges of depth are then
    /// multiples of `uform_rotation_k`.
    void (*quantize)(uform_quantize_call_t const *call);
    size_t input_lane; ///< inputs in a line of 64 bytes
    /// Does as many multiply-adds as the class can do at most, operands in registers or first-level cache, `rounds` times a fixed
    /// block, and returns the floating-point operations done (two a multiply-add).
    double (*limit)(size_t rounds);
} uform_gemm_t;

/**
 *  Self-attention of one text over its own length. For each head h: softmax(scale * Q_h K_h^T) V_h. Texts are rows of tokens:
 *  an image's patches are one as well. `causal` lets query i see keys 0 to i alone.
 *  Heads are padded: head h of queries is elements [h * head_width, (h + 1) * head_width) of its matrix, where `head_width` is a
 *  multiple of 32 whose padding holds zeros. Up to `uform_row_step_k` rows past the text's end may be read, and never matter.
 */
typedef struct uform_attention_call_t {
    uform_panels_t queries, keys, values; ///< [rows, heads * head_width] of the group's scalar
    uform_panels_t outputs;               ///< likewise; rows of this text's queries only are written
    size_t row_begin;                     ///< the text's first row in all four
    size_t length;                        ///< its tokens, at least one
    size_t heads, head_width;
    float scale;
    void *scratch; ///< `scratch_bytes(length, head_width)`, aligned to 64 bytes
    bool causal;   ///< query i sees keys 0 to i
    /// Only rows [query_begin, query_begin + query_count) of the text are queries, and written; a zero count: all of them.
    size_t query_begin, query_count;
    /// What the distance of query i and key k adds to their product, before it is scaled: bias[head * bias_stride + k - i]. Up to
    /// `uform_row_step_k` numbers beyond either end may be read. NULL for nothing.
    float const *bias;
    size_t bias_stride;
} uform_attention_call_t;

typedef struct uform_attention_t {
    size_t (*scratch_bytes)(size_t length, size_t head_width);
    void (*attend)(uform_attention_call_t const *call);
} uform_attention_t;

/**
 *  Layer normalisation of whole rows of the f32 residual stream, and its rounding to the group's scalar:
 *
 *      y = gain * (x - mean(x)) / sqrt(variance(x) + epsilon) + shift        over the real `width`
 *      outputs = y rounded to the group's scalar;  residual = y + next_bias
 *
 *  With `keep`, as models that normalise before each block want it, the residual stays what it was: residual = x + next_bias.
 *  With `root_mean_square` the mean is taken for zero, and the variance so is the mean of squares.
 */
typedef struct uform_normalize_call_t {
    uform_panels_t residual; ///< [rows, width] f32, read and written
    uform_panels_t outputs;  ///< [rows, width] of the group's scalar
    size_t rows, width;      ///< real width: padding is not part of the mean, and is written as zeros
    float epsilon;
    float const *gain, *shift; ///< [width] padded with zeros, aligned to 64 bytes
    float const *next_bias;    ///< likewise; NULL for none
    bool keep;                 ///< the residual is not replaced by what was normalised
    bool root_mean_square;
} uform_normalize_call_t;

/**
 *  Normalisation of every head of rows of queries or keys by its root mean square, in place:
 *
 *      y = gain * x / sqrt(mean(x^2) + epsilon)        over the real numbers of the head; its padding stays zeros
 */
typedef struct uform_normalize_heads_call_t {
    uform_panels_t panels; ///< [rows, heads * head_width] of the group's scalar, read and written
    size_t rows;
    size_t heads, head_width; ///< the padded width
    size_t width;             ///< of them, numbers that are real
    float epsilon;
    float const *gain; ///< [head_width], aligned to 64 bytes, zeros where the padding is
} uform_normalize_heads_call_t;

/**
 *  The sum of three embedding rows: residual[row] = words[ids[row]] + types[type_ids[row]] + positions[position_ids[row]].
 *  Where `types` or `positions` is NULL there are none, and their ids are ignored.
 */
typedef struct uform_lookup_call_t {
    void const *words, *positions,
        *types; ///< row-major [.., padded width] of the group's scalar, rows aligned to 64 bytes
    uint32_t const *ids, *position_ids; ///< [rows], within the tables: the caller checked
    uint32_t const *type_ids;           ///< [rows]
    size_t rows, width;
    uform_panels_t residual; ///< [rows, width] f32, padding written as zeros
} uform_lookup_call_t;

/**
 *  The product of two matrices, element by element, as gated feed-forwards want it: inner = inner * gates.
 */
typedef struct uform_gate_call_t {
    uform_panels_t inner; ///< [rows, width] of the group's scalar, read and written; products are rounded to it
    uform_panels_t gates; ///< likewise, read
    size_t rows, width;   ///< padded to `uform_width_step_k`
} uform_gate_call_t;

/**
 *  Rotary positions of one text's queries or keys, in place. Each head is a row of pairs: element i of its first half and element
 *  i of its second one. Row r of the text turns pair i by the angle whose cosine and sine are element [r, i] of the tables:
 *
 *      (a, b)  becomes  (a * cosine - b * sine, b * cosine + a * sine)
 *
 *  Half a head is a multiple of 32 elements, so both of a pair are at the same place of their lines. Products and sums are f32, their
 *  results rounded to the group's scalar.
 */
typedef struct uform_rotate_call_t {
    uform_panels_t panels;        ///< [.., heads * head_width] of the group's scalar, read and written
    size_t row_begin, rows;       ///< the text's first row in the panels, and its rows; no others are written
    size_t heads, head_width;     ///< the padded width, a multiple of 64
    float const *cosines, *sines; ///< row-major [rows, head_width / 2], aligned to 64 bytes, the same for all heads
} uform_rotate_call_t;

typedef struct uform_rows_t {
    void (*normalize)(uform_normalize_call_t const *call);
    void (*lookup)(uform_lookup_call_t const *call);
    void (*gate)(uform_gate_call_t const *call);
    void (*rotate)(uform_rotate_call_t const *call);
    void (*normalize_heads)(uform_normalize_heads_call_t const *call);
} uform_rows_t;

/**
 *  How one axis of a picture is resampled: every output sums a run of inputs, each times its weight. Weights are integers,
 *  the numbers times 2^precision, cut in two halves of 16 bits that multiply bytes without overflow: weight = low + 2048 * high.
 *  Where all of them fit 16 bits, `wide` is false, low is the weight and high is zero.
 */
typedef struct uform_resample_axis_t {
    size_t outputs;
    size_t quads;           ///< taps of an output in fours, rounded up: from one output's weights to the next's
    uint32_t const *firsts; ///< [outputs] the first input of each, never less than the one before
    uint32_t const *taps;   ///< [outputs] inputs each sums, at least one
    int16_t const
        *weights; ///< [outputs, quads, 2, 4]: the low halves of four weights, then their high ones; zeros past the taps
    float const *weights_f32; ///< [outputs, 4 * quads] instead, for pictures of f32
    unsigned precision;       ///< 1 to 22
    bool wide;
} uform_resample_axis_t;

/**
 *  One pass over pixels of three channels, [rows, width, 3]. A pass along rows writes [rows, outputs], one across them
 *  [outputs, width]. Bytes are the sum plus half of 2^precision, shifted right by precision (arithmetically) and clamped to 0 to
 *  255; sums are exact as long as they fit 32 bits, which the makers of weights see to, and wrap around otherwise.
 *  Numbers of f32 are summed from the first tap on, one rounding an operation.
 */
typedef struct uform_resample_call_t {
    uform_resample_axis_t const *axis;
    void const *source;
    size_t source_stride_bytes;
    size_t source_first; ///< of a pass across rows: the input that `source` begins with
    void *target;
    size_t target_stride_bytes;
    size_t rows, width; ///< pixels; `along` takes the rows of both, `across` the width of both
    float scale;        ///< a byte times this is what `along_f32` sums
} uform_resample_call_t;

enum {
    /// Bytes behind the last byte of the last row that `along` may read; they never matter.
    uform_resample_slack_k = 16
};

typedef struct uform_resample_t {
    void (*along)(uform_resample_call_t const *call);      ///< bytes to bytes
    void (*across)(uform_resample_call_t const *call);     ///< bytes to bytes
    void (*along_f32)(uform_resample_call_t const *call);  ///< bytes, each times `scale`, to f32
    void (*across_f32)(uform_resample_call_t const *call); ///< f32 to f32
} uform_resample_t;

/**
 *  All groups of one class. A NULL group is inherited from the fallback; a class that can't be compiled here has an empty table.
 *  Class `<token>` exports its own table as `uform_kernels_t const uform_kernels_<token>_table_`.
 */
typedef struct uform_kernels_t {
    bool compiled; ///< this build holds the class, though it may inherit every group
    uform_gemm_t const *gemm_f32, *gemm_bf16, *gemm_i8;
    uform_attention_t const *attention_f32, *attention_bf16;
    uform_rows_t const *rows_f32, *rows_bf16;
    uform_resample_t const *resample;
} uform_kernels_t;

/// The groups a class dispatches to, inheritance resolved; NULL when this build does not hold the class.
uform_kernels_t const *uform_kernels_(uform_cpu_class_t cpu_class);

/// Whether the class multiplies bf16 natively, which makes bf16 its default precision.
bool uform_kernels_prefer_bf16_(uform_cpu_class_t cpu_class);

/// The class zero derives: the best one available, or what `UFORM_CPU_CLASS` forces if that is available.
/// With a wrong or unavailable `UFORM_CPU_CLASS` the status says why.
uform_status_t uform_cpu_class_derive_(uform_cpu_class_t *cpu_class);

/// Ok when the class is compiled and available; else `unsupported` with a detail that names what is missing.
uform_status_t uform_cpu_class_require_(uform_cpu_class_t cpu_class);

/// An activation's token, for tables and tests.
char const *uform_activation_name_(uform_activation_t activation);

/// The activation of one f32 number as `serial` computes it (libm, correctly within a few units in the last place).
float uform_activate_(uform_activation_t activation, float x);

static inline float uform_bf16_to_f32_(uint16_t half) {
    union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)half << 16};
    return u.value;
}

/// A depth rounded up to whole rotations.
static inline size_t uform_rotated_depth_(size_t depth) {
    return (depth + uform_rotation_k - 1) / uform_rotation_k * uform_rotation_k;
}

/// The scale of integers for numbers of this largest magnitude, and what turns the numbers into them; see `uform_quantize_call_t`.
static inline float uform_quantized_scale_(float largest, float *factor) {
    *factor = 0.0f;
    if (!(largest <= FLT_MAX)) return NAN;
    if (largest < 0x1p-100f) return 0.0f;
    *factor = 127.0f / largest;
    return largest / 127.0f;
}

/// To nearest even; NaN stays NaN.
static inline uint16_t uform_f32_to_bf16_(float value) {
    union {
        float value;
        uint32_t bits;
    } u = {value};
    if ((u.bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)((u.bits >> 16) | 0x40u);
    return (uint16_t)((u.bits + 0x7FFFu + ((u.bits >> 16) & 1u)) >> 16);
}

#endif
