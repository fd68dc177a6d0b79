/**
 *  The serial class: the reference every other class is checked against. Plain C for the baseline, no contraction, no
 *  reordering: what each function computes is what its contract in kernels.h says, one rounding an operation.
 *
 *  Packed weights: [columns / 8][depth][8] of the group's scalar, so that the innermost loops run over eight
 *  independent columns. Sums run over ascending depth from zero.
 */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

#include "kernels/generic/resample_plain.h"

enum {
    block_columns_k = 8, ///< columns multiplied at once
    block_rows_k = 4,    ///< rows multiplied at once
    lane_f32_k = 16,     ///< elements of a line
    lane_bf16_k = 32,
    lane_i8_k = 64,
};

/// Which scalar a group's matrices hold.
typedef enum precision_t { precision_f32_k, precision_bf16_k } precision_t;

static float *at_f32(uform_panels_t const *panels, size_t row, size_t column) {
    return (float *)((char *)panels->data + column / lane_f32_k * panels->stride_bytes + row * 64) +
           column % lane_f32_k;
}

static uint16_t *at_bf16(uform_panels_t const *panels, size_t row, size_t column) {
    return (uint16_t *)((char *)panels->data + column / lane_bf16_k * panels->stride_bytes + row * 64) +
           column % lane_bf16_k;
}

static float get(precision_t precision, uform_panels_t const *panels, size_t row, size_t column) {
    return precision == precision_f32_k ? *at_f32(panels, row, column)
                                        : uform_bf16_to_f32_(*at_bf16(panels, row, column));
}

static void set(precision_t precision, uform_panels_t const *panels, size_t row, size_t column, float value) {
    if (precision == precision_f32_k) *at_f32(panels, row, column) = value;
    else *at_bf16(panels, row, column) = uform_f32_to_bf16_(value);
}

/// An operand as the precision sees it.
static float rounded(precision_t precision, float value) {
    return precision == precision_f32_k ? value : uform_bf16_to_f32_(uform_f32_to_bf16_(value));
}

static size_t gemm_packed_bytes_f32(size_t columns, size_t depth) {
    return columns * depth * sizeof(float);
}
static size_t gemm_packed_bytes_bf16(size_t columns, size_t depth) {
    return columns * depth * sizeof(uint16_t);
}

/// Where element (column, k) of a packed matrix is.
static size_t packed_index(size_t column, size_t k, size_t depth) {
    return column / block_columns_k * depth * block_columns_k + k * block_columns_k + column % block_columns_k;
}

static void gemm_pack_f32(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    (void)columns;
    for (size_t column = 0; column < column_count; ++column)
        for (size_t k = 0; k < depth; ++k)
            ((float *)packed)[packed_index(column_begin + column, k, depth)] = weights[column * stride + k];
}

static void gemm_pack_bf16(float const *weights, size_t stride, size_t column_begin, size_t column_count,
    size_t columns, size_t depth, void *packed) {
    (void)columns;
    for (size_t column = 0; column < column_count; ++column)
        for (size_t k = 0; k < depth; ++k)
            ((uint16_t *)packed)[packed_index(column_begin + column, k, depth)] =
                uform_f32_to_bf16_(weights[column * stride + k]);
}

/// Products of up to four rows with eight columns; the loops have constant counts so that compilers keep the sums in
/// registers.
static void multiply_block(precision_t precision, uform_gemm_call_t const *call, size_t row, size_t column,
    float sums[block_rows_k][block_columns_k]) {
    size_t const row_count = call->rows - row < block_rows_k ? call->rows - row : block_rows_k;
    memset(sums, 0, sizeof(float) * block_rows_k * block_columns_k);
    for (size_t k = call->depth_begin; k < call->depth_end; ++k) {
        size_t const index = packed_index(column, k, call->depth);
        float weights[block_columns_k], inputs[block_rows_k] = {0};
        for (size_t i = 0; i < block_columns_k; ++i)
            weights[i] = precision == precision_f32_k
                             ? ((float const *)call->weights)[index + i]
                             : uform_bf16_to_f32_(((uint16_t const *)call->weights)[index + i]);
        for (size_t r = 0; r < row_count; ++r) inputs[r] = get(precision, &call->inputs, row + r, k);
        for (size_t r = 0; r < block_rows_k; ++r)
            for (size_t i = 0; i < block_columns_k; ++i) sums[r][i] += inputs[r] * weights[i];
    }
}

static inline __attribute__((always_inline)) void multiply(precision_t precision, uform_gemm_call_t const *call) {
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k)
        for (size_t row = 0; row < call->rows; row += block_rows_k) {
            float sums[block_rows_k][block_columns_k];
            multiply_block(precision, call, row, column, sums);
            for (size_t r = 0; r < block_rows_k && row + r < call->rows; ++r)
                for (size_t i = 0; i < block_columns_k; ++i) {
                    if (call->accumulate) *at_f32(&call->outputs, row + r, column + i) += sums[r][i];
                    else
                        set(precision, &call->outputs, row + r, column + i,
                            uform_activate_(call->activation, sums[r][i] + call->bias[column + i]));
                }
        }
}

static void gemm_multiply_f32(uform_gemm_call_t const *call) {
    multiply(precision_f32_k, call);
}
static void gemm_multiply_bf16(uform_gemm_call_t const *call) {
    multiply(precision_bf16_k, call);
}

/// Scales of the columns, then the integers.
static size_t gemm_packed_bytes_i8(size_t columns, size_t depth) {
    return columns * (sizeof(float) + uform_rotated_depth_(depth));
}

/// Multiplies 64 numbers by the Hadamard matrix.
static void rotate_numbers(float numbers[uform_rotation_k]) {
    for (size_t apart = 1; apart < uform_rotation_k; apart *= 2)
        for (size_t i = 0; i < uform_rotation_k; ++i) {
            if (i & apart) continue;
            float const a = numbers[i], b = numbers[i + apart];
            numbers[i] = a + b;
            numbers[i + apart] = a - b;
        }
}

/// NaN once there is one.
static float largest_magnitude(float const *numbers, size_t count) {
    float largest = 0.0f;
    for (size_t i = 0; i < count && !isnan(largest); ++i)
        if (!(fabsf(numbers[i]) <= largest)) largest = fabsf(numbers[i]);
    return largest;
}

/// A number as an integer; zero where it is none, which the scale tells.
static int8_t integer_of(float number, float factor) {
    float const integer = rintf(number * factor);
    return fabsf(integer) <= 127.0f ? (int8_t)integer : 0;
}

static void gemm_pack_i8(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    size_t const rotated = uform_rotated_depth_(depth);
    float *const scales = (float *)packed + column_begin;
    int8_t *const integers = (int8_t *)((float *)packed + columns);
    for (size_t column = 0; column < column_count; ++column) {
        float numbers[uform_rotation_k], largest = 0.0f, factor = 0.0f;
        // Once for the scale, and once more with it.
        for (size_t pass = 0; pass < 2; ++pass) {
            for (size_t begin = 0; begin < rotated; begin += uform_rotation_k) {
                for (size_t i = 0; i < uform_rotation_k; ++i)
                    numbers[i] =
                        begin + i < depth ? weights[column * stride + begin + i] * (1.0f / uform_rotation_k) : 0.0f;
                rotate_numbers(numbers);
                float const part = largest_magnitude(numbers, uform_rotation_k);
                if (!pass && !(part <= largest) && !isnan(largest)) largest = part;
                for (size_t i = 0; i < uform_rotation_k && pass; ++i)
                    integers[packed_index(column_begin + column, begin + i, rotated)] = integer_of(numbers[i], factor);
            }
            if (!pass) scales[column] = uform_quantized_scale_(largest, &factor);
        }
    }
}

static int8_t *at_i8(uform_panels_t const *panels, size_t row, size_t column) {
    return (int8_t *)panels->data + column / lane_i8_k * panels->stride_bytes + row * 64 + column % lane_i8_k;
}

static void quantize(uform_quantize_call_t const *call) {
    size_t const rotated = uform_rotated_depth_(call->depth);
    for (size_t row = 0; row < call->rows; ++row) {
        for (size_t k = 0; k < rotated; ++k)
            call->scratch[k] = k < call->depth ? get(precision_bf16_k, &call->inputs, row, k) : 0.0f;
        for (size_t k = 0; k < rotated; k += uform_rotation_k) rotate_numbers(call->scratch + k);
        float factor;
        uform_quantized_row_t quantized = {.sum = 0};
        quantized.scale = uform_quantized_scale_(largest_magnitude(call->scratch, rotated), &factor);
        for (size_t k = 0; k < rotated; ++k) {
            int8_t const integer = integer_of(call->scratch[k], factor);
            *at_i8(&call->outputs, row, k) = integer;
            quantized.sum += integer;
        }
        call->quantized[row] = quantized;
    }
}

static void multiply_block_i8(uform_gemm_call_t const *call, size_t row, size_t column, int32_t sums[block_columns_k]) {
    int8_t const *const weights = (int8_t const *)((float const *)call->weights + call->columns);
    memset(sums, 0, sizeof(int32_t) * block_columns_k);
    for (size_t k = call->depth_begin; k < uform_rotated_depth_(call->depth_end); ++k) {
        int8_t const *const line = weights + packed_index(column, k, uform_rotated_depth_(call->depth));
        int32_t const input = *at_i8(&call->inputs, row, k);
        for (size_t i = 0; i < block_columns_k; ++i) sums[i] += input * line[i];
    }
}

static void gemm_multiply_i8(uform_gemm_call_t const *call) {
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k)
        for (size_t row = 0; row < call->rows; ++row) {
            int32_t sums[block_columns_k];
            multiply_block_i8(call, row, column, sums);
            for (size_t i = 0; i < block_columns_k; ++i) {
                float const product =
                    (float)sums[i] * call->quantized[row].scale * ((float const *)call->weights)[column + i];
                if (call->accumulate) *at_f32(&call->outputs, row, column + i) += product;
                else
                    set(precision_bf16_k, &call->outputs, row, column + i,
                        uform_activate_(call->activation, product + call->bias[column + i]));
            }
        }
}

/// Thirty-two independent chains of a multiplication and an addition: this class has no fused ones.
static double gemm_limit(size_t rounds) {
    enum { chains_k = 32, repeats_k = 1000 };
    float volatile seed = 0.999999f;
    float const factor = seed;
    float sums[chains_k];
    for (size_t i = 0; i < chains_k; ++i) sums[i] = (float)i;
    for (size_t round = 0; round < rounds * repeats_k; ++round)
        for (size_t i = 0; i < chains_k; ++i) sums[i] = sums[i] * factor + factor;
    for (size_t i = 0; i < chains_k; ++i) seed = sums[i];
    return (double)rounds * repeats_k * chains_k * 2;
}

/// Scratch: keys [length, head_width], values likewise, a query, a row of outputs and one of scores, all f32.
static size_t attention_scratch_bytes(size_t length, size_t head_width) {
    return (2 * length * head_width + 2 * head_width + length) * sizeof(float);
}

/// Softmax over `length` scores in place, before the division; returns the sum.
static float exponentials(float *scores, size_t length, float scale) {
    float largest = scores[0], sum = 0.0f;
    for (size_t i = 1; i < length; ++i)
        if (scores[i] > largest) largest = scores[i];
    for (size_t i = 0; i < length; ++i) {
        scores[i] = expf(scale * (scores[i] - largest));
        sum += scores[i];
    }
    return sum;
}

/// One row of a head, consecutive and in f32.
static void read_head(
    precision_t precision, uform_panels_t const *panels, size_t row, size_t first, size_t count, float *target) {
    for (size_t i = 0; i < count; ++i) target[i] = get(precision, panels, row, first + i);
}

/// `visible` keys are seen; `bias` is that of the first one, or NULL.
static void attend_query(precision_t precision, uform_attention_call_t const *call, size_t visible, float const *bias,
    float const *keys, float const *values, float *scratch) {
    size_t const width = call->head_width;
    float *const query = scratch, *const outputs = query + width, *const scores = outputs + width;
    for (size_t key = 0; key < visible; ++key) {
        float sum = 0.0f;
        for (size_t i = 0; i < width; ++i) sum += query[i] * keys[key * width + i];
        scores[key] = bias ? sum + bias[key] : sum;
    }
    float const sum = exponentials(scores, visible, call->scale);
    memset(outputs, 0, width * sizeof(float));
    for (size_t key = 0; key < visible; ++key) {
        float const weight = rounded(precision, scores[key]);
        for (size_t i = 0; i < width; ++i) outputs[i] += weight * values[key * width + i];
    }
    for (size_t i = 0; i < width; ++i) outputs[i] /= sum;
}

static void attend(precision_t precision, uform_attention_call_t const *call) {
    size_t const width = call->head_width;
    size_t const query_end = call->query_count ? call->query_begin + call->query_count : call->length;
    float *const keys = call->scratch, *const values = keys + call->length * width;
    float *const query = values + call->length * width, *const outputs = query + width;
    for (size_t head = 0; head < call->heads; ++head) {
        size_t const first = head * width;
        for (size_t key = 0; key < call->length; ++key) {
            read_head(precision, &call->keys, call->row_begin + key, first, width, keys + key * width);
            read_head(precision, &call->values, call->row_begin + key, first, width, values + key * width);
        }
        for (size_t i = call->query_begin; i < query_end; ++i) {
            size_t const row = call->row_begin + i;
            read_head(precision, &call->queries, row, first, width, query);
            float const *bias = call->bias ? call->bias + head * call->bias_stride - i : NULL;
            attend_query(precision, call, call->causal ? i + 1 : call->length, bias, keys, values, query);
            for (size_t k = 0; k < width; ++k) set(precision, &call->outputs, row, first + k, outputs[k]);
        }
    }
}

static void attend_f32(uform_attention_call_t const *call) {
    attend(precision_f32_k, call);
}
static void attend_bf16(uform_attention_call_t const *call) {
    attend(precision_bf16_k, call);
}

static size_t padded(size_t width) {
    return (width + uform_width_step_k - 1) / uform_width_step_k * uform_width_step_k;
}

static void normalize_row(precision_t precision, uform_normalize_call_t const *call, size_t row) {
    // Sums over whole rows lose digits that a reference should have.
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < call->width && !call->root_mean_square; ++i) sum += (double)*at_f32(&call->residual, row, i);
    float const mean = (float)(sum / (double)call->width);
    for (size_t i = 0; i < call->width; ++i) {
        double const difference = (double)(*at_f32(&call->residual, row, i) - mean);
        squares += difference * difference;
    }
    float const factor = (float)(1.0 / sqrt(squares / (double)call->width + (double)call->epsilon));
    for (size_t i = 0; i < padded(call->width); ++i) {
        float *const x = at_f32(&call->residual, row, i);
        float const y = i < call->width ? call->gain[i] * ((*x - mean) * factor) + call->shift[i] : 0.0f;
        set(precision, &call->outputs, row, i, y);
        float const kept = call->keep && i < call->width ? *x : y;
        *x = i < call->width && call->next_bias ? kept + call->next_bias[i] : kept;
    }
}

static void normalize_f32(uform_normalize_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row) normalize_row(precision_f32_k, call, row);
}

static void normalize_bf16(uform_normalize_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row) normalize_row(precision_bf16_k, call, row);
}

static void normalize_heads(precision_t precision, uform_normalize_heads_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row)
        for (size_t first = 0; first < call->heads * call->head_width; first += call->head_width) {
            double squares = 0.0;
            for (size_t i = first; i < first + call->head_width; ++i) {
                double const x = (double)get(precision, &call->panels, row, i);
                squares += x * x;
            }
            float const factor = (float)(1.0 / sqrt(squares / (double)call->width + (double)call->epsilon));
            for (size_t i = 0; i < call->head_width; ++i) {
                float const x = get(precision, &call->panels, row, first + i);
                set(precision, &call->panels, row, first + i, call->gain[i] * (x * factor));
            }
        }
}

static void normalize_heads_f32(uform_normalize_heads_call_t const *call) {
    normalize_heads(precision_f32_k, call);
}

static void normalize_heads_bf16(uform_normalize_heads_call_t const *call) {
    normalize_heads(precision_bf16_k, call);
}

static float table_at(precision_t precision, void const *table, size_t index) {
    return precision == precision_f32_k ? ((float const *)table)[index]
                                        : uform_bf16_to_f32_(((uint16_t const *)table)[index]);
}

static void lookup(precision_t precision, uform_lookup_call_t const *call) {
    size_t const stride = padded(call->width);
    for (size_t row = 0; row < call->rows; ++row)
        for (size_t i = 0; i < stride; ++i) {
            float const word = table_at(precision, call->words, call->ids[row] * stride + i);
            float const type = call->types ? table_at(precision, call->types, call->type_ids[row] * stride + i) : 0.0f;
            float const position =
                call->positions ? table_at(precision, call->positions, call->position_ids[row] * stride + i) : 0.0f;
            *at_f32(&call->residual, row, i) = i < call->width ? word + type + position : 0.0f;
        }
}

static void lookup_f32(uform_lookup_call_t const *call) {
    lookup(precision_f32_k, call);
}
static void lookup_bf16(uform_lookup_call_t const *call) {
    lookup(precision_bf16_k, call);
}

static void gate(precision_t precision, uform_gate_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row)
        for (size_t i = 0; i < call->width; ++i)
            set(precision, &call->inner, row, i,
                get(precision, &call->inner, row, i) * get(precision, &call->gates, row, i));
}

static void gate_f32(uform_gate_call_t const *call) {
    gate(precision_f32_k, call);
}
static void gate_bf16(uform_gate_call_t const *call) {
    gate(precision_bf16_k, call);
}

static void rotate(precision_t precision, uform_rotate_call_t const *call) {
    size_t const half = call->head_width / 2;
    for (size_t r = 0; r < call->rows; ++r)
        for (size_t head = 0; head < call->heads; ++head)
            for (size_t i = 0; i < half; ++i) {
                size_t const row = call->row_begin + r, column = head * call->head_width + i;
                float const cosine = call->cosines[r * half + i], sine = call->sines[r * half + i];
                float const a = get(precision, &call->panels, row, column);
                float const b = get(precision, &call->panels, row, column + half);
                set(precision, &call->panels, row, column, a * cosine - b * sine);
                set(precision, &call->panels, row, column + half, b * cosine + a * sine);
            }
}

static void rotate_f32(uform_rotate_call_t const *call) {
    rotate(precision_f32_k, call);
}
static void rotate_bf16(uform_rotate_call_t const *call) {
    rotate(precision_bf16_k, call);
}

static uform_gemm_t const gemm_f32 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_width_step_k,
    .packed_bytes = gemm_packed_bytes_f32,
    .pack = gemm_pack_f32,
    .multiply = gemm_multiply_f32,
    .input_lane = lane_f32_k,
    .limit = gemm_limit,
};

static uform_gemm_t const gemm_bf16 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_width_step_k,
    .packed_bytes = gemm_packed_bytes_bf16,
    .pack = gemm_pack_bf16,
    .multiply = gemm_multiply_bf16,
    .input_lane = lane_bf16_k,
    .limit = gemm_limit,
};

static uform_gemm_t const gemm_i8 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_rotation_k,
    .packed_bytes = gemm_packed_bytes_i8,
    .pack = gemm_pack_i8,
    .multiply = gemm_multiply_i8,
    .quantize = quantize,
    .input_lane = lane_i8_k,
    .limit = gemm_limit,
};

static uform_attention_t const attention_f32 = {.scratch_bytes = attention_scratch_bytes, .attend = attend_f32};
static uform_attention_t const attention_bf16 = {.scratch_bytes = attention_scratch_bytes, .attend = attend_bf16};
static uform_rows_t const rows_f32 = {.normalize = normalize_f32,
    .lookup = lookup_f32,
    .gate = gate_f32,
    .rotate = rotate_f32,
    .normalize_heads = normalize_heads_f32};
static uform_rows_t const rows_bf16 = {.normalize = normalize_bf16,
    .lookup = lookup_bf16,
    .gate = gate_bf16,
    .rotate = rotate_bf16,
    .normalize_heads = normalize_heads_bf16};
static uform_resample_t const resample = {.along = resample_along_plain,
    .across = resample_across_plain,
    .along_f32 = resample_along_f32_plain,
    .across_f32 = resample_across_f32};

extern uform_kernels_t const uform_kernels_serial_table_;
uform_kernels_t const uform_kernels_serial_table_ = {
    .compiled = true,
    .gemm_f32 = &gemm_f32,
    .gemm_bf16 = &gemm_bf16,
    .gemm_i8 = &gemm_i8,
    .attention_f32 = &attention_f32,
    .attention_bf16 = &attention_bf16,
    .rows_f32 = &rows_f32,
    .rows_bf16 = &rows_bf16,
    .resample = &resample,
};
