/**
 *  Reads rows as f32 into a stripe, lets the multiplication pack the stripe, and forgets the file's pages.
 */
#include "models/packing.h"

#include <string.h>

#include "base/detail.h"
#include "base/memory.h"

/// One allocation. What is mapped must be given back with its size.
typedef struct uform_weights_block_t {
    struct uform_weights_block_t *next;
    void *memory;
    size_t bytes;
    bool mapped;
} uform_weights_block_t;

enum { stripe_rows_k = uform_width_step_k };

size_t uform_padded_width_(size_t width) {
    return (width + uform_width_step_k - 1) / uform_width_step_k * uform_width_step_k;
}

uform_grouping_t uform_ungrouped_(size_t count) {
    return (uform_grouping_t){1, count, uform_padded_width_(count)};
}

uform_status_t uform_weights_allocate_(uform_weights_memory_t *memory, size_t bytes, void **block) {
    *block = NULL;
    uform_weights_block_t *const made = uform_allocate_(1, sizeof *made);
    if (!made) return uform_status_out_of_memory_k;
    uform_status_t status = uform_status_ok_k;
    *made = (uform_weights_block_t){memory->blocks, NULL, bytes, memory->domains->bound};
    if (made->mapped) status = uform_domains_map_(memory->domains, bytes, &made->memory);
    else made->memory = uform_allocate_aligned_(bytes);
    if (!made->memory) {
        uform_free_(made);
        return status ? status : uform_status_out_of_memory_k;
    }
    memory->blocks = made;
    memory->bytes += bytes;
    *block = made->memory;
    return uform_status_ok_k;
}

void uform_weights_release_(uform_weights_memory_t *memory) {
    for (uform_weights_block_t *block = memory->blocks, *next; block; block = next) {
        next = block->next;
        if (block->mapped) uform_domains_unmap_(block->memory, block->bytes);
        else uform_free_(block->memory);
        uform_free_(block);
    }
    memory->blocks = NULL;
}

uform_status_t uform_packer_open_(
    uform_gemm_t const *gemm, size_t deepest, uform_weights_memory_t *memory, uform_packer_t *packer) {
    *packer = (uform_packer_t){.gemm = gemm, .memory = memory, .deepest = deepest};
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

static uform_status_t allocate_zeros(uform_packer_t *packer, size_t count, float **vector) {
    void *block;
    uform_status_t const status = uform_weights_allocate_(packer->memory, count * sizeof(float), &block);
    *vector = block;
    if (!status) memset(block, 0, count * sizeof(float));
    return status;
}

uform_status_t uform_packer_reserve_(uform_packer_t *packer, size_t columns, size_t depth, uform_linear_t *linear) {
    size_t const bytes = packer->gemm->packed_bytes(columns, depth);
    *linear = (uform_linear_t){.columns = columns, .depth = depth};
    uform_status_t const status = uform_weights_allocate_(packer->memory, bytes, &linear->weights);
    return status ? status : allocate_zeros(packer, columns, &linear->bias);
}

// Where the packed position `target` comes from; false for padding.
static bool source_of(uform_grouping_t grouping, size_t target, size_t *source) {
    size_t const group = target / grouping.padded, within = target % grouping.padded;
    *source = group * grouping.real + within;
    return group < grouping.count && within < grouping.real;
}

// One row of the matrix, spread over the padded groups of its depth, or its planes' numbers in turn.
static uform_status_t read_row(
    uform_packer_t *packer, uform_tensor_t const *weight, size_t source, uform_grouping_t inputs, float *target) {
    if (inputs.count == 1 && packer->planes < 2) return uform_tensor_read_(weight, source, 1, target, packer->deepest);
    uform_status_t const status = uform_tensor_read_(weight, source, 1, packer->row, packer->deepest);
    if (status) return status;
    if (packer->planes > 1) {
        size_t const numbers = inputs.real / packer->planes;
        for (size_t i = 0; i < inputs.real; ++i) target[i % numbers * packer->planes + i / numbers] = packer->row[i];
        return uform_status_ok_k;
    }
    for (size_t group = 0; group < inputs.count; ++group)
        memcpy(target + group * inputs.padded, packer->row + group * inputs.real, inputs.real * sizeof(float));
    return uform_status_ok_k;
}

static uform_status_t fill_bias(
    uform_packer_t *packer, uform_tensor_t const *bias, uform_grouping_t outputs, float *target) {
    uform_status_t const status = uform_tensor_read_(bias, 0, 1, packer->row, packer->deepest);
    if (status) return status;
    for (size_t i = 0; i < outputs.count * outputs.real && packer->row_scale; ++i)
        packer->row[i] *= packer->row_scale[i];
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
            float *const target = packer->stripe + row * depth;
            uform_status_t const status = read_row(packer, weight, source, inputs, target);
            if (status) return status;
            for (size_t i = 0; i < depth && packer->row_scale; ++i) target[i] *= packer->row_scale[source];
        }
        packer->gemm->pack(
            packer->stripe, depth, column_begin + begin, stripe_rows_k, linear->columns, depth, linear->weights);
    }
    uform_tensor_forget_(weight);
    return bias ? fill_bias(packer, bias, outputs, linear->bias + column_begin) : uform_status_ok_k;
}

uform_status_t uform_packer_vector_(uform_packer_t *packer, uform_tensor_t const *tensor, float **vector) {
    size_t const padded = uform_padded_width_(tensor->dimensions[0]);
    uform_status_t const status = allocate_zeros(packer, padded, vector);
    return status ? status : uform_tensor_read_(tensor, 0, 1, *vector, padded);
}

uform_status_t uform_packer_table_(
    uform_packer_t *packer, uform_tensor_t const *tensor, uform_scalar_t scalar, void **table) {
    size_t const rows = tensor->dimensions[0], width = uform_padded_width_(tensor->dimensions[1]);
    size_t const bytes = rows * width * (scalar == uform_scalar_f32_k ? sizeof(float) : sizeof(uint16_t));
    uform_status_t const allocated = uform_weights_allocate_(packer->memory, bytes, table);
    if (allocated) return allocated;
    memset(packer->stripe, 0, stripe_rows_k * width * sizeof(float));
    for (size_t begin = 0; begin < rows; begin += stripe_rows_k) {
        size_t const count = rows - begin < stripe_rows_k ? rows - begin : stripe_rows_k;
        uform_status_t const status = uform_tensor_read_(tensor, begin, count, packer->stripe, width);
        if (status) return status;
        for (size_t i = 0; i < count * width && packer->table_scale > 0; ++i) packer->stripe[i] *= packer->table_scale;
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
