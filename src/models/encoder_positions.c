/**
 *  Resampling of position tables, one output place at a time, and rotary angles. Plain C: a few percent of a pass at most, and
 *  for the usual size of images done once at load.
 */
#include "models/encoder_positions.h"

#include <math.h>
#include <string.h>

enum { tap_limit_k = uform_largest_table_side_k + 4 };

size_t uform_distance_bucket_(size_t distance, bool after) {
    size_t const half = uform_distance_buckets_k / 2, exact = half / 2;
    size_t bucket = distance;
    if (distance >= exact) {
        // Groups begin at `exact` times powers of the root of two; squares keep that exact.
        bucket = exact;
        for (size_t square = 2 * exact * exact; bucket + 1 < half && distance * distance >= square; square *= 2)
            ++bucket;
    }
    return after ? half + bucket : bucket;
}

/// Which places of one axis of the table an output place takes, and how much of each.
typedef struct taps_t {
    size_t count;
    size_t places[tap_limit_k];
    float weights[tap_limit_k];
} taps_t;

/// Keys' cubic with the free parameter `a`.
static float cubic(float a, float x) {
    x = fabsf(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static float smooth_cubic(float x) {
    return cubic(-0.5f, x);
}

static float triangle(float x) {
    x = fabsf(x);
    return x < 1 ? 1 - x : 0;
}

/// Four places around the output's, those beyond the border being the border's.
static void take_sharp(size_t length, size_t outputs, size_t output, taps_t *taps) {
    float const scale = (float)length / (float)outputs, center = scale * ((float)output + 0.5f) - 0.5f;
    float const first = floorf(center), fraction = center - first;
    taps->count = 4;
    for (size_t i = 0; i < 4; ++i) {
        float const place = first + (float)i - 1;
        taps->places[i] = place < 0 ? 0 : place > (float)(length - 1) ? length - 1 : (size_t)place;
        taps->weights[i] = cubic(-0.75f, (float)i - 1 - fraction);
    }
}

/// All places within the filter's support, which grows with the table where the grid is smaller.
static void take_smooth(
    float (*filter)(float), float radius, size_t length, size_t outputs, size_t output, taps_t *taps) {
    float const scale = (float)length / (float)outputs, stretch = scale > 1 ? scale : 1;
    float const center = scale * ((float)output + 0.5f), support = radius * stretch;
    float const low = floorf(center - support + 0.5f), high = floorf(center + support + 0.5f);
    size_t const begin = low < 0 ? 0 : (size_t)low, end = high > (float)length ? length : (size_t)high;
    float sum = 0;
    taps->count = 0;
    for (size_t place = begin; place < end; ++place) {
        float const weight = filter(((float)place + 0.5f - center) / stretch);
        taps->places[taps->count] = place;
        taps->weights[taps->count++] = weight;
        sum += weight;
    }
    for (size_t i = 0; i < taps->count; ++i) taps->weights[i] /= sum;
}

static void take(uform_positions_t kind, size_t length, size_t outputs, size_t output, taps_t *taps) {
    if (kind == uform_positions_bicubic_k) take_sharp(length, outputs, output, taps);
    else if (kind == uform_positions_smoothed_k) take_smooth(smooth_cubic, 2, length, outputs, output, taps);
    else take_smooth(triangle, 1, length, outputs, output, taps);
}

void uform_resample_row_(uform_positions_t kind, float const *table, uform_grid_t table_grid, uform_grid_t grid,
    size_t row, size_t width, float *positions) {
    if (table_grid.height == grid.height && table_grid.width == grid.width) {
        memcpy(positions, table + row * grid.width * width, grid.width * width * sizeof(float));
        return;
    }
    taps_t rows, columns;
    take(kind, table_grid.height, grid.height, row, &rows);
    for (size_t column = 0; column < grid.width; ++column) {
        float *const sums = positions + column * width;
        take(kind, table_grid.width, grid.width, column, &columns);
        memset(sums, 0, width * sizeof(float));
        for (size_t i = 0; i < rows.count; ++i)
            for (size_t j = 0; j < columns.count; ++j) {
                float const weight = rows.weights[i] * columns.weights[j];
                float const *const source = table + (rows.places[i] * table_grid.width + columns.places[j]) * width;
                for (size_t k = 0; k < width; ++k) sums[k] += weight * source[k];
            }
    }
}

void uform_rotary_places_(float base, size_t count, size_t head, size_t half, float *cosines, float *sines) {
    for (size_t i = 0; i < half; ++i) {
        float const frequency = 2 * i < head ? 1.0f / powf(base, (float)(2 * i) / (float)head) : 0.0f;
        for (size_t place = 0; place < count; ++place) {
            float const angle = (float)place * frequency; // rounded as the reference rounds it
            cosines[place * half + i] = cosf(angle);
            sines[place * half + i] = sinf(angle);
        }
    }
}

void uform_rotary_angles_(
    float base, size_t prefix_count, uform_grid_t grid, size_t head, size_t half, float *cosines, float *sines) {
    size_t const quarter = head / 4, patches = grid.height * grid.width;
    for (size_t i = 0; i < (prefix_count + patches) * half; ++i) cosines[i] = 1, sines[i] = 0;
    for (size_t patch = 0; patch < patches; ++patch) {
        size_t const sides[2] = {grid.height, grid.width}, places[2] = {patch / grid.width, patch % grid.width};
        for (size_t axis = 0; axis < 2; ++axis) {
            float const place = 2.0f * (((float)places[axis] + 0.5f) / (float)sides[axis]) - 1.0f;
            for (size_t i = 0; i < quarter; ++i) {
                float const frequency = 1.0f / powf(base, (float)(4 * i) / (float)head);
                float const angle = 6.28318530718f * place * frequency;
                size_t const at = (prefix_count + patch) * half + axis * quarter + i;
                cosines[at] = cosf(angle);
                sines[at] = sinf(angle);
            }
        }
    }
}
