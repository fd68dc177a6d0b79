/**
 *  Weights of one axis.
 *
 *  An output lies at `(output + 1/2) * inputs / outputs` and takes the inputs whose centres are within the filter's support of
 *  it, stretched by the ratio when shrinking; weights are made to sum to one. Pillow and torch compute that in doubles and round
 *  to integers, torch's tensors of f32 in floats with contracted cubics: the order of operations below is theirs.
 *
 *  A block holds firsts, taps, weights and a line of numbers to compute in, each from a multiple of 64 bytes on.
 */
#include <math.h>
#include <string.h>

#include "base/detail.h"
#include "images/resize.h"

enum { precision_pillow_k = 22, precision_limit_k = 22, narrow_limit_k = 1 << 15, split_k = 11 };

static double const pi = 3.14159265358979323846;

static double box(double x) {
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double bilinear(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= pi;
    return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x)); // Pillow has these constants as floats
}

static double bicubic(double x) {
    double const a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= pi;
    return sin(x) / x;
}

static double lanczos(double x) {
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

static float bilinear_f32(float x) {
    x = fabsf(x);
    return x < 1.0f ? 1.0f - x : 0.0f;
}

static float bicubic_f32(float x) {
    x = fabsf(x);
    if (x < 1.0f) return fmaf(fmaf(1.5f, x, -2.5f) * x, x, 1.0f);
    if (x < 2.0f) return fmaf(fmaf(fmaf(-0.5f, x, 2.5f), x, -4.0f), x, 2.0f);
    return 0.0f;
}

static float lanczos_f32(float x) {
    return (float)lanczos(x);
}

static struct {
    double support;
    double (*weigh)(double);
    float (*weigh_f32)(float); ///< NULL where torch has no such filter
} const filters[uform_filter_count_k] = {
    [uform_filter_lanczos_k] = {3.0, lanczos, lanczos_f32},
    [uform_filter_bilinear_k] = {1.0, bilinear, bilinear_f32},
    [uform_filter_bicubic_k] = {2.0, bicubic, bicubic_f32},
    [uform_filter_box_k] = {0.5, box, NULL},
    [uform_filter_hamming_k] = {1.0, hamming, NULL},
};

/// The run of inputs one output takes.
typedef struct run_t {
    size_t first, taps;
} run_t;

/// Geometry of an axis, in the precision of its arithmetic.
typedef struct geometry_t {
    uform_filter_t filter;
    size_t inputs;
    bool single;
    double scale, support, inverse;
} geometry_t;

static geometry_t geometry_of(uform_arithmetic_t arithmetic, uform_filter_t filter, size_t inputs, size_t outputs) {
    geometry_t geometry = {filter, inputs, arithmetic == uform_arithmetic_tensor_k, 0, 0, 0};
    double const support = filters[filter].support;
    if (geometry.single) {
        float const scale = (float)inputs / (float)outputs;
        geometry.scale = scale;
        geometry.support = scale >= 1.0f ? (float)support * scale : (float)support;
        geometry.inverse = scale >= 1.0f ? 1.0f / scale : 1.0f;
    } else {
        geometry.scale = (double)inputs / (double)outputs;
        double const stretch = geometry.scale < 1.0 ? 1.0 : geometry.scale;
        geometry.support = support * stretch;
        geometry.inverse = 1.0 / stretch;
    }
    return geometry;
}

/// Floats where the arithmetic is single: each operation of two floats is rounded to a float.
static double centre_of(geometry_t const *geometry, size_t output) {
    if (geometry->single) return (float)geometry->scale * ((float)output + 0.5f);
    return ((double)output + 0.5) * geometry->scale;
}

static run_t run_of(geometry_t const *geometry, size_t output) {
    double const centre = centre_of(geometry, output), support = geometry->support;
    double begin = centre - support + 0.5, end = centre + support + 0.5;
    if (geometry->single) {
        begin = (float)centre - (float)support + 0.5f;
        end = (float)centre + (float)support + 0.5f;
    }
    size_t const first = begin < 1 ? 0 : (size_t)begin;
    size_t const last = end < (double)geometry->inputs ? (size_t)end : geometry->inputs;
    if (first >= last) return (run_t){last ? last - 1 : 0, 0}; // rounding left nothing within reach: the sum is zero
    return (run_t){first, last - first};
}

size_t uform_axis_span_(
    uform_arithmetic_t arithmetic, uform_filter_t filter, size_t inputs, size_t outputs, size_t begin, size_t count) {
    geometry_t const geometry = geometry_of(arithmetic, filter, inputs, outputs);
    run_t const last = run_of(&geometry, begin + count - 1);
    return last.first + last.taps - run_of(&geometry, begin).first;
}

/// Weights of one output, summing to one.
static void weigh(geometry_t const *geometry, size_t output, run_t run, double *weights) {
    double const centre = centre_of(geometry, output);
    double sum = 0;
    for (size_t i = 0; i < run.taps; ++i) {
        weights[i] = filters[geometry->filter].weigh(((double)(i + run.first) - centre + 0.5) * geometry->inverse);
        sum += weights[i];
    }
    for (size_t i = 0; i < run.taps && sum != 0; ++i) weights[i] /= sum;
}

static void weigh_f32(geometry_t const *geometry, size_t output, run_t run, float *weights) {
    float const centre = (float)centre_of(geometry, output), inverse = (float)geometry->inverse;
    float sum = 0;
    for (size_t i = 0; i < run.taps; ++i) {
        weights[i] = filters[geometry->filter].weigh_f32(((float)(i + run.first) - centre + 0.5f) * inverse);
        sum += weights[i];
    }
    for (size_t i = 0; i < run.taps && sum != 0; ++i) weights[i] /= sum;
}

/// As many bits as let the largest weight of the whole axis, window or not, fit 16.
static unsigned torch_precision(geometry_t const *geometry, size_t outputs, double *line) {
    double largest = 0;
    for (size_t output = 0; output < outputs; ++output) {
        run_t const run = run_of(geometry, output);
        weigh(geometry, output, run, line);
        for (size_t i = 0; i < run.taps; ++i)
            if (line[i] > largest) largest = line[i];
    }
    unsigned precision = 0;
    while (precision < precision_limit_k && (int)(0.5 + largest * (1 << (precision + 1))) < narrow_limit_k) ++precision;
    return precision;
}

static size_t align(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// Lays the block out for the longest run and fills in the runs.
static uform_status_t lay_out(uform_axis_t *axis, geometry_t const *geometry, double **line) {
    size_t longest = 1;
    bool const whole = axis->arithmetic == uform_arithmetic_torch_k;
    for (size_t i = 0; i < (whole ? axis->outputs : axis->count); ++i) {
        run_t const run = run_of(geometry, whole ? i : axis->begin + i);
        if (run.taps > longest) longest = run.taps;
    }
    size_t const quads = (longest + 3) / 4, count = axis->count;
    if (quads * 4 > uform_weight_limit_k / count)
        return uform_fail_(uform_status_unsupported_k,
            "resizing an edge of %zu pixels to %zu: expected at most %d weights, found %zu outputs of %zu",
            axis->inputs, axis->outputs, (int)uform_weight_limit_k, count, longest);
    size_t const list = align(count * sizeof(uint32_t)), weights = align(count * quads * 4 * sizeof(uint32_t));
    uform_status_t const status =
        uform_block_reserve_(&axis->block, 2 * list + weights + align(quads * 4 * sizeof(double)));
    if (status != uform_status_ok_k) return status;
    char *const memory = axis->block.memory;
    uint32_t *const firsts = (uint32_t *)(void *)memory, *const taps = (uint32_t *)(void *)(memory + list);
    axis->longest = longest;
    axis->base = run_of(geometry, axis->begin).first;
    for (size_t i = 0; i < count; ++i) {
        run_t const run = run_of(geometry, axis->begin + i);
        firsts[i] = (uint32_t)(run.first - axis->base), taps[i] = run.taps ? (uint32_t)run.taps : 1; // weighing nothing
    }
    axis->span = firsts[count - 1] + taps[count - 1];
    void *const table = memory + 2 * list;
    memset(table, 0, weights);
    *line = (double *)(void *)(memory + 2 * list + weights);
    axis->axis = (uform_resample_axis_t){.outputs = count, .quads = quads, .firsts = firsts, .taps = taps};
    if (geometry->single) axis->axis.weights_f32 = table;
    else axis->axis.weights = table;
    return uform_status_ok_k;
}

static int32_t round_weight(double weight, unsigned precision) {
    return (int32_t)((weight < 0 ? -0.5 : 0.5) + weight * (1 << precision));
}

static void fill_integers(uform_axis_t *axis, geometry_t const *geometry, double *line) {
    bool const torch = axis->arithmetic == uform_arithmetic_torch_k;
    axis->axis.wide = !torch;
    axis->axis.precision = torch ? torch_precision(geometry, axis->outputs, line) : precision_pillow_k;
    int16_t *const table = (int16_t *)(void *)((char *)axis->block.memory +
                                               2 * align(axis->count * sizeof(uint32_t))); // axis.weights, writable
    for (size_t output = 0; output < axis->count; ++output) {
        run_t const run = run_of(geometry, axis->begin + output);
        weigh(geometry, axis->begin + output, run, line);
        for (size_t i = 0; i < run.taps; ++i) {
            int32_t const weight = round_weight(line[i], axis->axis.precision);
            int16_t *const quad = table + (output * axis->axis.quads + i / 4) * 8 + i % 4;
            quad[0] = (int16_t)(torch ? weight : weight & ((1 << split_k) - 1));
            quad[4] = (int16_t)(torch ? 0 : weight >> split_k);
        }
    }
}

static void fill_floats(uform_axis_t *axis, geometry_t const *geometry) {
    float *const table = (float *)(void *)((char *)axis->block.memory + 2 * align(axis->count * sizeof(uint32_t)));
    for (size_t output = 0; output < axis->count; ++output)
        weigh_f32(geometry, axis->begin + output, run_of(geometry, axis->begin + output),
            table + output * axis->axis.quads * 4);
}

uform_status_t uform_axis_make_(uform_axis_t *axis, uform_arithmetic_t arithmetic, uform_filter_t filter, size_t inputs,
    size_t outputs, size_t begin, size_t count) {
    if (axis->known && axis->arithmetic == arithmetic && axis->filter == filter && axis->inputs == inputs &&
        axis->outputs == outputs && axis->begin == begin && axis->count == count)
        return uform_status_ok_k;
    axis->known = false;
    if (inputs > UINT32_MAX || outputs > uform_edge_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "resizing an edge of %zu pixels to %zu: expected at most %u and %d", inputs, outputs, UINT32_MAX,
            (int)uform_edge_limit_k);
    axis->arithmetic = arithmetic, axis->filter = filter, axis->inputs = inputs, axis->outputs = outputs;
    axis->begin = begin, axis->count = count;
    geometry_t const geometry = geometry_of(arithmetic, filter, inputs, outputs);
    double *line = NULL;
    uform_status_t const status = lay_out(axis, &geometry, &line);
    if (status != uform_status_ok_k) return status;
    if (geometry.single) fill_floats(axis, &geometry);
    else fill_integers(axis, &geometry, line);
    axis->known = true;
    return uform_status_ok_k;
}
