/**
 *  Times the groups on the shapes of a small encoder (width 384, feed-forward 1536, 12 heads of 32) and prints rates
 *  beside the class's own limit, measured just before and after in the same process: on shared machines only ratios
 *  mean something.
 *
 *  Weights are several copies that pass by in turn, so that they come from as far away as a whole model's do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "uform/types.h"

enum { weights_bytes_k = 48 << 20 };

/// A kernel call prepared for timing: does its work once and answers how many floating-point operations (or bytes) that
/// was.
typedef struct timed_t {
    double (*once)(void *context);
    void *context;
} timed_t;

/// The processor's time, not the clock's: others may want the same core.
static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// Work per second over about `seconds`, the first call left out.
static double rate_of(timed_t timed, double seconds) {
    timed.once(timed.context);
    double const begin = seconds_now();
    double work = 0.0, elapsed;
    do work += timed.once(timed.context);
    while ((elapsed = seconds_now() - begin) < seconds);
    return work / elapsed;
}

static double limit_once(void *context) {
    return ((uform_gemm_t const *)context)->limit(2);
}

/// The median over many short windows of the calls' rate and of its share of the limit's around them.
static void report(char const *name, timed_t timed, uform_gemm_t const *gemm) {
    enum { rounds_k = 31 };
    double shares[rounds_k], rates[rounds_k];
    union {
        uform_gemm_t const *constant;
        void *pointer;
    } limit = {gemm};
    timed_t const limited = {limit_once, limit.pointer};
    double before = rate_of(limited, 0.001);
    for (size_t i = 0; i < rounds_k; ++i) {
        double const rate = rate_of(timed, 0.003), after = rate_of(limited, 0.001);
        size_t place = i;
        for (; place && shares[place - 1] > 2.0 * rate / (before + after); --place)
            shares[place] = shares[place - 1], rates[place] = rates[place - 1];
        shares[place] = 2.0 * rate / (before + after), rates[place] = rate;
        before = after;
    }
    printf("  %-44s %9.1f G/s   %5.1f %% of the limit of %.0f GFLOP/s\n", name, rates[rounds_k / 2] * 1e-9,
        100.0 * shares[rounds_k / 2], rates[rounds_k / 2] / shares[rounds_k / 2] * 1e-9);
    fflush(stdout);
}

/// A multiplication and the copies of its weights.
typedef struct gemm_bench_t {
    uform_gemm_t const *gemm;
    uform_gemm_call_t call;
    char *weights;
    size_t packed_bytes, copies, next;
} gemm_bench_t;

static double gemm_once(void *context) {
    gemm_bench_t *const bench = context;
    bench->call.weights = bench->weights + bench->next * bench->packed_bytes;
    bench->next = (bench->next + 1) % bench->copies;
    bench->gemm->multiply(&bench->call);
    return 2.0 * (double)bench->call.rows * (double)bench->call.columns * (double)bench->call.depth;
}

static void bench_gemm(uform_gemm_t const *gemm, precision_t precision, size_t rows, size_t columns, size_t depth,
    uform_activation_t activation, bool accumulate) {
    matrix_t inputs = matrix_new(precision, rows, depth, 17, true);
    matrix_fill(&inputs, rows, depth, contents_plain_k);
    matrix_t outputs = matrix_new(accumulate ? precision_f32_k : precision, rows, columns, 17, true);
    matrix_fill(&outputs, rows, columns, contents_plain_k);
    size_t const packed_bytes = round_up(gemm->packed_bytes(columns, depth), 64);
    gemm_bench_t bench = {.gemm = gemm, .packed_bytes = packed_bytes, .copies = weights_bytes_k / packed_bytes};
    guarded_t weights = guarded_new(columns * depth * sizeof(float), true),
              bias = guarded_new(columns * sizeof(float), true);
    guarded_t packed = guarded_new(bench.copies * packed_bytes, true),
              scratch = guarded_new(round_up(gemm->scratch_bytes, 64), true);
    for (size_t i = 0; i < columns * depth; ++i) vector_of(&weights)[i] = random_float();
    for (size_t i = 0; i < columns; ++i) vector_of(&bias)[i] = random_float();
    bench.weights = packed.data;
    gemm->pack(vector_of(&weights), depth, 0, columns, columns, depth, bench.weights);
    for (size_t i = 1; i < bench.copies; ++i) memcpy(bench.weights + i * packed_bytes, bench.weights, packed_bytes);
    bench.call = (uform_gemm_call_t){
        .inputs = inputs.panels,
        .columns = columns,
        .depth = depth,
        .column_end = columns,
        .depth_end = depth,
        .rows = rows,
        .accumulate = accumulate,
        .bias = accumulate ? NULL : vector_of(&bias),
        .activation = activation,
        .outputs = outputs.panels,
        .scratch = scratch.data,
    };
    char name[96];
    snprintf(name, sizeof(name), "multiply %zu x %zu x %zu%s%s", rows, columns, depth,
        accumulate ? " accumulating" : " ", accumulate ? "" : uform_activation_name_(activation));
    report(name, (timed_t){gemm_once, &bench}, gemm);
    matrix_free(&inputs);
    matrix_free(&outputs);
    guarded_free(&weights);
    guarded_free(&bias);
    guarded_free(&packed);
    guarded_free(&scratch);
}

typedef struct attention_bench_t {
    uform_attention_t const *attention;
    uform_attention_call_t call;
} attention_bench_t;

static double attention_once(void *context) {
    attention_bench_t *const bench = context;
    bench->attention->attend(&bench->call);
    double const length = (double)bench->call.length;
    return 4.0 * length * length * (double)(bench->call.heads * bench->call.head_width);
}

static void bench_attention(
    uform_attention_t const *attention, uform_gemm_t const *gemm, precision_t precision, size_t length) {
    size_t const heads = 12, head_width = 32;
    matrix_t inputs[3], outputs = matrix_new(precision, length + 32, heads * head_width, 17, true);
    for (size_t i = 0; i < 3; ++i) {
        inputs[i] = matrix_new(precision, length + 32, heads * head_width, 17, true);
        matrix_fill(&inputs[i], length, heads * head_width, contents_plain_k);
    }
    guarded_t scratch = guarded_new(round_up(attention->scratch_bytes(length, head_width), 64), true);
    attention_bench_t bench = {attention, {
                                              .queries = inputs[0].panels,
                                              .keys = inputs[1].panels,
                                              .values = inputs[2].panels,
                                              .outputs = outputs.panels,
                                              .length = length,
                                              .heads = heads,
                                              .head_width = head_width,
                                              .scale = 0.17f,
                                              .scratch = scratch.data,
                                          }};
    char name[64];
    snprintf(name, sizeof(name), "attention over %zu", length);
    report(name, (timed_t){attention_once, &bench}, gemm);
    for (size_t i = 0; i < 3; ++i) matrix_free(&inputs[i]);
    matrix_free(&outputs);
    guarded_free(&scratch);
}

typedef struct normalize_bench_t {
    uform_rows_t const *rows;
    uform_normalize_call_t call;
} normalize_bench_t;

static double normalize_once(void *context) {
    normalize_bench_t *const bench = context;
    bench->rows->normalize(&bench->call);
    return 8.0 * (double)bench->call.rows * (double)bench->call.width;
}

static void bench_normalize(uform_rows_t const *rows, uform_gemm_t const *gemm, precision_t precision) {
    size_t const count = 512, width = 384;
    matrix_t residual = matrix_new(precision_f32_k, count, width, 17, true),
             outputs = matrix_new(precision, count, width, 17, true);
    matrix_fill(&residual, count, width, contents_plain_k);
    guarded_t ones = guarded_new(width * sizeof(float), true);
    for (size_t i = 0; i < width; ++i) vector_of(&ones)[i] = 1.0f;
    float const *const vector = vector_of(&ones);
    normalize_bench_t bench = {
        rows, {residual.panels, outputs.panels, count, width, 1e-12f, vector, vector, vector, false}};
    report("normalize 512 x 384 (8 operations a number)", (timed_t){normalize_once, &bench}, gemm);
    matrix_free(&residual);
    matrix_free(&outputs);
    guarded_free(&ones);
}

typedef struct lookup_bench_t {
    uform_rows_t const *rows;
    uform_lookup_call_t call;
} lookup_bench_t;

static double lookup_once(void *context) {
    lookup_bench_t *const bench = context;
    bench->rows->lookup(&bench->call);
    return 2.0 * (double)bench->call.rows * (double)bench->call.width;
}

static void bench_lookup(uform_rows_t const *rows, uform_gemm_t const *gemm, precision_t precision) {
    enum { count = 512, width = 384, word_count = 30000 };
    guarded_t words = guarded_new((size_t)word_count * width * (precision == precision_f32_k ? 4 : 2), true);
    memset(words.data, 0, words.bytes);
    matrix_t residual = matrix_new(precision_f32_k, count, width, 17, true);
    static uint32_t ids[count], positions[count], types[count];
    for (size_t row = 0; row < count; ++row) ids[row] = (uint32_t)random_below(word_count), positions[row] = row % 64;
    lookup_bench_t bench = {
        rows, {words.data, words.data, words.data, ids, positions, types, count, width, residual.panels}};
    report("lookup 512 x 384 (2 operations a number)", (timed_t){lookup_once, &bench}, gemm);
    matrix_free(&residual);
    guarded_free(&words);
}

static void bench_precision(uform_kernels_t const *kernels, precision_t precision) {
    uform_gemm_t const *const gemm = precision == precision_f32_k ? kernels->gemm_f32 : kernels->gemm_bf16;
    static size_t const row_counts[] = {16, 40, 128, 512};
    for (size_t i = 0; i < sizeof(row_counts) / sizeof(row_counts[0]); ++i) {
        bench_gemm(gemm, precision, row_counts[i], 1152, 384, uform_activation_identity_k, false);
        bench_gemm(gemm, precision, row_counts[i], 384, 384, uform_activation_identity_k, true);
        bench_gemm(gemm, precision, row_counts[i], 1536, 384, uform_activation_gelu_k, false);
        bench_gemm(gemm, precision, row_counts[i], 384, 1536, uform_activation_identity_k, true);
    }
    static size_t const lengths[] = {16, 40, 128, 512};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i)
        bench_attention(precision == precision_f32_k ? kernels->attention_f32 : kernels->attention_bf16, gemm,
            precision, lengths[i]);
    uform_rows_t const *const rows = precision == precision_f32_k ? kernels->rows_f32 : kernels->rows_bf16;
    bench_normalize(rows, gemm, precision);
    bench_lookup(rows, gemm, precision);
}

int bench_classes(subject_t const *subjects, size_t count, char const *token) {
    for (size_t i = 0; i < count; ++i) {
        char const *const name = uform_cpu_class_name(subjects[i].cpu_class);
        if (token && strcmp(token, name) != 0) continue;
        if (!subjects[i].kernels) {
            printf("%s: not offered by this machine or this build\n", name);
            continue;
        }
        for (precision_t precision = precision_f32_k; precision <= precision_bf16_k; ++precision) {
            printf("%s, %s\n", name, precision == precision_f32_k ? "f32" : "bf16");
            bench_precision(subjects[i].kernels, precision);
        }
    }
    return 0;
}
