/**
 *  Pooling and output rows. Sums run in sixteen lanes in the order of the rows, so that they depend on the text
 *  alone.
 */
#include "models/pooling.h"

#include <math.h>
#include <string.h>

enum { lanes_k = 16 };

static float const *line_of(uform_panels_t hidden, size_t panel, size_t row) {
    return (float const *)((char const *)hidden.data + panel * hidden.stride_bytes + row * 64);
}

static float weight_of(uform_pooling_t mode, size_t position) {
    return mode == uform_pooling_weightedmean_k ? (float)(position + 1) : 1.0f;
}

// Weighted sum of the rows and one over what the mode divides by.
static void pool_sum(
    uform_panels_t hidden, size_t begin, size_t end, size_t skip, size_t panel, uform_pooling_t mode, float *sums) {
    float total = 0.0f;
    for (size_t row = begin + skip; row < end; ++row) {
        float const weight = weight_of(mode, row - begin), *line = line_of(hidden, panel, row);
        total += weight;
        for (size_t lane = 0; lane < lanes_k; ++lane) sums[lane] += weight * line[lane];
    }
    float divisor = total > 1e-9f ? total : 1e-9f;
    if (mode == uform_pooling_mean_sqrt_len_k) divisor = sqrtf(divisor);
    for (size_t lane = 0; lane < lanes_k; ++lane) sums[lane] /= divisor;
}

static void pool_max(uform_panels_t hidden, size_t begin, size_t end, size_t panel, float *largest) {
    for (size_t lane = 0; lane < lanes_k; ++lane) largest[lane] = -INFINITY;
    for (size_t row = begin; row < end; ++row) {
        float const *line = line_of(hidden, panel, row);
        for (size_t lane = 0; lane < lanes_k; ++lane)
            if (!(line[lane] <= largest[lane])) largest[lane] = line[lane]; // a NaN is kept
    }
}

uform_pooled_rows_t uform_pooled_rows_(uform_pooling_t const *modes, size_t count) {
    if (count != 1) return uform_pooled_rows_all_k;
    return modes[0] == uform_pooling_cls_k         ? uform_pooled_rows_first_k
           : modes[0] == uform_pooling_lasttoken_k ? uform_pooled_rows_last_k
                                                   : uform_pooled_rows_all_k;
}

void uform_pool_(
    uform_panels_t hidden, size_t begin, size_t end, size_t skip, size_t width, uform_pooling_t mode, float *vector) {
    size_t const length = end - begin;
    if (skip > length) skip = length;
    for (size_t column = 0; column < width; column += lanes_k) {
        size_t const panel = column / lanes_k;
        float pooled[lanes_k] = {0};
        // Where the prompt is all there is, the first token and a zero vector are what the reference gives.
        if (mode == uform_pooling_cls_k)
            memcpy(pooled, line_of(hidden, panel, skip < length ? begin + skip : begin), sizeof pooled);
        else if (mode == uform_pooling_lasttoken_k) {
            if (skip < length) memcpy(pooled, line_of(hidden, panel, end - 1), sizeof pooled);
        } else if (mode == uform_pooling_max_k) pool_max(hidden, begin + skip, end, panel, pooled);
        else pool_sum(hidden, begin, end, skip, panel, mode, pooled);
        memcpy(vector + column, pooled, (width - column < lanes_k ? width - column : lanes_k) * sizeof(float));
    }
}

void uform_normalize_vector_(float *vector, size_t count) {
    float sums[lanes_k] = {0};
    size_t i = 0;
    for (; i + lanes_k <= count; i += lanes_k)
        for (size_t lane = 0; lane < lanes_k; ++lane) sums[lane] += vector[i + lane] * vector[i + lane];
    for (; i < count; ++i) sums[i % lanes_k] += vector[i] * vector[i];
    float total = 0.0f;
    for (size_t lane = 0; lane < lanes_k; ++lane) total += sums[lane];
    float const length = sqrtf(total), factor = 1.0f / (length > 1e-12f ? length : 1e-12f);
    for (i = 0; i < count; ++i) vector[i] *= factor;
}

size_t uform_embedding_bytes_(uform_scalar_t scalar, size_t dimensions) {
    switch (scalar) {
        case uform_scalar_f16_k:
        case uform_scalar_bf16_k:
            return dimensions * 2;
        case uform_scalar_i8_k:
            return dimensions;
        case uform_scalar_b1_k:
            return (dimensions + 7) / 8;
        default:
            return dimensions * 4;
    }
}

// To nearest even; what is too large becomes an infinity.
static uint16_t f32_to_f16(float value) {
    union {
        float value;
        uint32_t bits;
    } u = {value};
    uint16_t const sign = (uint16_t)(u.bits >> 16 & 0x8000u);
    u.bits &= 0x7FFFFFFFu;
    if (u.bits > 0x7F800000u) return sign | 0x7E00u;
    if (u.bits >= 0x477FF000u) return sign | 0x7C00u;
    if (u.bits < 0x38800000u) { // subnormal: adding a half lets the addition round
        u.value += 0.5f;
        return (uint16_t)(sign | (u.bits - 0x3F000000u));
    }
    return (uint16_t)(sign | ((u.bits - 0x38000000u + 0xFFFu + (u.bits >> 13 & 1u)) >> 13));
}

static bool all_finite(float const *vector, size_t count) {
    // The difference of a finite number with itself is zero.
    float sums[lanes_k] = {0};
    size_t i = 0;
    for (; i + lanes_k <= count; i += lanes_k)
        for (size_t lane = 0; lane < lanes_k; ++lane) sums[lane] += vector[i + lane] - vector[i + lane];
    for (; i < count; ++i) sums[i % lanes_k] += vector[i] - vector[i];
    float total = 0.0f;
    for (size_t lane = 0; lane < lanes_k; ++lane) total += sums[lane];
    return total == 0.0f;
}

static int8_t f32_to_i8(float value) {
    float const scaled = rintf(value * 127.0f);
    return (int8_t)(scaled > 127.0f ? 127.0f : scaled < -127.0f ? -127.0f : scaled);
}

void uform_write_null_(size_t dimensions, uform_scalar_t scalar, void *row) {
    if (scalar == uform_scalar_f32_k)
        for (size_t i = 0; i < dimensions; ++i) ((float *)row)[i] = NAN;
    else if (scalar == uform_scalar_f16_k || scalar == uform_scalar_bf16_k)
        for (size_t i = 0; i < dimensions; ++i)
            ((uint16_t *)row)[i] = scalar == uform_scalar_f16_k ? UINT16_C(0x7E00) : UINT16_C(0x7FC0);
    else memset(row, 0, uform_embedding_bytes_(scalar, dimensions));
}

bool uform_write_embedding_(float const *vector, size_t dimensions, uform_scalar_t scalar, void *row) {
    bool representable = all_finite(vector, dimensions);
    if (scalar == uform_scalar_f32_k) memcpy(row, vector, dimensions * sizeof(float));
    else if (scalar == uform_scalar_f16_k)
        for (size_t i = 0; i < dimensions; ++i) {
            ((uint16_t *)row)[i] = f32_to_f16(vector[i]);
            representable &= (((uint16_t *)row)[i] & 0x7C00u) != 0x7C00u;
        }
    else if (scalar == uform_scalar_bf16_k)
        for (size_t i = 0; i < dimensions; ++i) {
            ((uint16_t *)row)[i] = uform_f32_to_bf16_(vector[i]);
            representable &= (((uint16_t *)row)[i] & 0x7F80u) != 0x7F80u;
        }
    else if (scalar == uform_scalar_i8_k && representable)
        for (size_t i = 0; i < dimensions; ++i) ((int8_t *)row)[i] = f32_to_i8(vector[i]);
    else if (scalar == uform_scalar_b1_k) {
        memset(row, 0, uform_embedding_bytes_(scalar, dimensions));
        for (size_t i = 0; i < dimensions; ++i)
            if (vector[i] > 0.0f) ((uint8_t *)row)[i / 8] |= (uint8_t)(0x80u >> i % 8);
    }
    if (!representable) uform_write_null_(dimensions, scalar, row);
    return representable;
}
