/**
 *  Rotating and rounding to integers over the vocabularies of vectors and bytes.
 */
#ifndef UFORM_KERNELS_GENERIC_QUANTIZE_H
#define UFORM_KERNELS_GENERIC_QUANTIZE_H

#include "kernels/kernels.h"

enum { rotation_vectors_k = uform_rotation_k / vector_lanes_k };

UFORM_INLINED size_t quantize_depth(size_t depth) {
    return (depth + uform_rotation_k - 1) / uform_rotation_k * uform_rotation_k;
}

/// One round within vectors: (a, b) of lanes `apart` become (a + b, a - b).
UFORM_INLINED void rotate_lanes(vector_t numbers[rotation_vectors_k], size_t apart) {
    static float const signs[4][16] __attribute__((aligned(64))) = {
        {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1},
        {1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1},
        {1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1},
        {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1},
    };
    vector_t const sign = vector_load(signs[apart == 8 ? 3 : apart / 2]);
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; ++i)
        numbers[i] = vector_fma(numbers[i], sign, bytes_swap(numbers[i], apart));
}

/// Multiplies 64 numbers by the Hadamard matrix.
UFORM_INLINED void rotate_numbers(vector_t numbers[rotation_vectors_k]) {
    rotate_lanes(numbers, 1);
    rotate_lanes(numbers, 2);
    rotate_lanes(numbers, 4);
    if (vector_lanes_k > 8) rotate_lanes(numbers, 8);
    UFORM_UNROLLED
    for (size_t apart = 1; apart < rotation_vectors_k; apart *= 2) {
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) {
            if (i & apart) continue;
            vector_t const a = numbers[i], b = numbers[i + apart];
            numbers[i] = vector_add(a, b);
            numbers[i + apart] = vector_subtract(a, b);
        }
    }
}

/// 64 numbers of a row, zeros behind its end, which is a multiple of 32.
UFORM_INLINED void load_row(uform_quantize_call_t const *call, size_t row, size_t k, vector_t numbers[]) {
    UFORM_UNROLLED
    for (size_t half = 0; half < 2; ++half) {
        char const *const line =
            (char const *)call->inputs.data + (k / 32 + half) * call->inputs.stride_bytes + row * 64;
        bool const there = k + half * 32 < call->depth;
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k / 2; ++i)
            numbers[half * rotation_vectors_k / 2 + i] =
                there ? vector_load_bf16(line + i * vector_lanes_k * sizeof(uint16_t)) : vector_zero();
    }
}

static void quantize_row(uform_quantize_call_t const *call, size_t row) {
    size_t const depth = quantize_depth(call->depth);
    vector_t largest = vector_zero(), numbers[rotation_vectors_k];
    for (size_t k = 0; k < depth; k += uform_rotation_k) {
        load_row(call, row, k, numbers);
        rotate_numbers(numbers);
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) {
            largest = bytes_larger(largest, numbers[i]);
            vector_store(call->scratch + k + i * vector_lanes_k, numbers[i]);
        }
    }
    float factor;
    call->quantized[row].scale = uform_quantized_scale_(bytes_largest(largest), &factor);
    vector_t const factors = vector_set(factor);
    bytes_t sums = bytes_set(0), integers[rotation_vectors_k];
    for (size_t k = 0; k < depth; k += uform_rotation_k) {
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) {
            integers[i] = bytes_round(vector_multiply(vector_load(call->scratch + k + i * vector_lanes_k), factors));
            sums = bytes_add(sums, integers[i]);
        }
        bytes_store_inputs((char *)call->outputs.data + k / bytes_line_k * call->outputs.stride_bytes + row * 64,
            call->outputs.stride_bytes, integers);
    }
    call->quantized[row].sum = bytes_sum(sums);
}

static void quantize(uform_quantize_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row) quantize_row(call, row);
}

/// 64 weights of a column, rotated.
UFORM_INLINED void rotate_weights(float const *weights, size_t depth, size_t k, vector_t numbers[]) {
    vector_t const share = vector_set(1.0f / uform_rotation_k);
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; ++i) {
        size_t const place = k + i * vector_lanes_k;
        numbers[i] = place < depth ? vector_multiply(vector_load_unaligned(weights + place), share) : vector_zero();
    }
    rotate_numbers(numbers);
}

/// The scale of a column's weights, and the factor that makes them integers.
static float quantize_scale(float const *weights, size_t depth, float *factor) {
    vector_t largest = vector_zero(), numbers[rotation_vectors_k];
    for (size_t k = 0; k < depth; k += uform_rotation_k) {
        rotate_weights(weights, depth, k, numbers);
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) largest = bytes_larger(largest, numbers[i]);
    }
    return uform_quantized_scale_(bytes_largest(largest), factor);
}

/// 64 of a column's weights as integers.
static void quantize_weights(
    float const *weights, size_t depth, size_t k, float factor, int32_t integers[uform_rotation_k]) {
    vector_t numbers[rotation_vectors_k];
    rotate_weights(weights, depth, k, numbers);
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; ++i)
        bytes_store(integers + i * vector_lanes_k, bytes_round(vector_multiply(numbers[i], vector_set(factor))));
}

#endif
