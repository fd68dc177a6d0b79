/**
 *  Reads rows as f32 into a stripe, lets the multiplication pack the stripe, and forgets the file's pages.
 */
#include "models/packing.h"

#include <string.h>

#include "base/detail.h"
#include "base/memory.h"

enum { stripe_rows_k = uform_width_step_k };

size_t uform_padded_width_(size_t width) {
    return (width + uform_width_step_k - 1) / uform_width_step_k * uform_width_step_k;
}

uform_grouping_t uform_ungrouped_(size_t count) {
    return (uform_grouping_t){1, count, uform_padded_width_(count)};
}

uform_status_t uform_packer_open_(uform_gemm_t const *gemm, size_t deepest, uform_packer_t *packer) {
    *packer = (uform_packer_t){.gemm = gemm, .deepest = deepest};
    packer->stripe = uform_allocate_aligned_(stripe_rows_k * deepest * sizeof(float));
    packer->row = uform_allocate_aligned_(deepest * sizeof(float));
    if (packer->stripe && packer->row) return uform_status_ok_k;
    uform_packer_close_(packer);
    return uform_status_out_of_memory_k;
}

void uform_packer_close_(uform_packer_t *packer) {
    uform_free_(packer->stripe);
    uform_free_(packer->row);
    packer->stripe = packer->row = NULL;
}

static float *allocate_zeros(uform_packer_t *packer, size_t count) {
    float *vector = uform_allocate_aligned_(count * sizeof(float));
    if (!vector) return NULL;
    memset(vector, 0, count * sizeof(float));
    packer->bytes += count * sizeof(float);
    return vector;
}

uform_status_t uform_packer_reserve_(uform_packer_t *packer, size_t columns, size_t depth, uform_linear_t *linear) {
    size_t const bytes = packer->gemm->packed_bytes(columns, depth);
    *linear = (uform_linear_t){.columns = columns, .depth = depth};
    linear->weights = uform_allocate_aligned_(bytes);
    linear->bias = allocate_zeros(packer, columns);
    if (!linear->weights || !linear->bias) {
        uform_linear_free_(linear);
        return uform_status_out_of_memory_k;
    }
    packer->bytes += bytes;
    return uform_status_ok_k;
}

// Where the packed position `target` comes from; false for padding.
static bool source_of(uform_grouping_t grouping, size_t target, size_t *source) {
    size_t const group = target / grouping.padded, within = target % grouping.padded;
    *source = group * grouping.real + within;
    return group < grouping.count && within < grouping.real;
}

// One row of the matrix, spread over the padded groups of its depth.
static uform_status_t read_row(
    uform_packer_t *packer, uform_tensor_t const *weight, size_t source, uform_grouping_t inputs, float *target) {
    if (inputs.count == 1) return uform_tensor_read_(weight, source, 1, target, packer->deepest);
    uform_status_t const status = uform_tensor_read_(weight, source, 1, packer->row, packer->deepest);
    if (status) return status;
    for (size_t group = 0; group < inputs.count; ++group)
        memcpy(target + group * inputs.padded, packer->row + group * inputs.real, inputs.real * sizeof(float));
    return uform_status_ok_k;
}

static uform_status_t fill_bias(
    uform_packer_t *packer, uform_tensor_t const *bias, uform_grouping_t outputs, float *target) {
    uform_status_t const status = uform_tensor_read_(bias, 0, 1, packer->row, packer->deepest);
    if (status) return status;
    for (size_t group = 0; group < outputs.count; ++group)
        memcpy(target + group * outputs.padded, packer->row + group * outputs.real, outputs.real * sizeof(float));
    return uform_status_ok_k;
}

uform_status_t uform_packer_fill_(uform_packer_t *packer, uform_tensor_t const *weight, uform_tensor_t const *bias,
    uform_grouping_t outputs, uform_grouping_t inputs, size_t column_begin, uform_linear_t *linear) {
    size_t const columns = outputs.count * outputs.padded, depth = linear->depth;
    for (size_t begin = 0; begin < columns; begin += stripe_rows_k) {
        memset(packer->stripe, 0, stripe_rows_k * depth * sizeof(float));
        for (size_t row = 0; row < stripe_rows_k; ++row) {
            size_t source;
            if (!source_of(outputs, begin + row, &source)) continue;
            uform_status_t const status = read_row(packer, weight, source, inputs, packer->stripe + row * depth);
            if (status) return status;
        }
        packer->gemm->pack(
            packer->stripe, depth, column_begin + begin, stripe_rows_k, linear->columns, depth, linear->weights);
    }
    uform_tensor_forget_(weight);
    return bias ? fill_bias(packer, bias, outputs, linear->bias + column_begin) : uform_status_ok_k;
}

uform_status_t uform_packer_vector_(uform_packer_t *packer, uform_tensor_t const *tensor, float **vector) {
    size_t const padded = uform_padded_width_(tensor->dimensions[0]);
    *vector = allocate_zeros(packer, padded);
    if (!*vector) return uform_status_out_of_memory_k;
    return uform_tensor_read_(tensor, 0, 1, *vector, padded);
}

uform_status_t uform_packer_table_(
    uform_packer_t *packer, uform_tensor_t const *tensor, uform_scalar_t scalar, void **table) {
    size_t const rows = tensor->dimensions[0], width = uform_padded_width_(tensor->dimensions[1]);
    size_t const bytes = rows * width * (scalar == uform_scalar_f32_k ? sizeof(float) : sizeof(uint16_t));
    *table = uform_allocate_aligned_(bytes);
    if (!*table) return uform_status_out_of_memory_k;
    packer->bytes += bytes;
    memset(packer->stripe, 0, stripe_rows_k * width * sizeof(float));
    for (size_t begin = 0; begin < rows; begin += stripe_rows_k) {
        size_t const count = rows - begin < stripe_rows_k ? rows - begin : stripe_rows_k;
        uform_status_t const status = uform_tensor_read_(tensor, begin, count, packer->stripe, width);
        if (status) return status;
        if (scalar == uform_scalar_f32_k) {
            memcpy((float *)*table + begin * width, packer->stripe, count * width * sizeof(float));
            continue;
        }
        uint16_t *target = (uint16_t *)*table + begin * width;
        for (size_t i = 0; i < count * width; ++i) target[i] = uform_f32_to_bf16_(packer->stripe[i]);
    }
    uform_tensor_forget_(tensor);
    return uform_status_ok_k;
}

void uform_linear_free_(uform_linear_t *linear) {
    uform_free_(linear->weights);
    uform_free_(linear->bias);
    *linear = (uform_linear_t){0};
}
