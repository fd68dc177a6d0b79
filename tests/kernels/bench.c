/**
 *  Times the groups on the shapes of a small text encoder and of two vision towers, and prints rates beside the class's
 *  own limit, measured just before and after in the same process: on shared machines only ratios mean something.
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

/// Only what has this in its name is timed; NULL for everything.
static char const *wanted_part;

static bool wanted(char const *name) {
    return !wanted_part || strstr(name, wanted_part);
}

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
    if (!wanted(name)) return;
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

/// A multiplication and the copies of its weights; chunks of the depth take turns, then copies.
typedef struct gemm_bench_t {
    uform_gemm_t const *gemm;
    uform_gemm_call_t call;
    char *weights;
    size_t packed_bytes, copies, next, chunk;
} gemm_bench_t;

static double gemm_once(void *context) {
    gemm_bench_t *const bench = context;
    uform_gemm_call_t *const call = &bench->call;
    call->weights = bench->weights + bench->next * bench->packed_bytes;
    call->depth_end = call->depth_begin + bench->chunk < call->depth ? call->depth_begin + bench->chunk : call->depth;
    double const work =
        2.0 * (double)call->rows * (double)call->columns * (double)(call->depth_end - call->depth_begin);
    bench->gemm->multiply(call);
    call->depth_begin = call->depth_end < call->depth ? call->depth_end : 0;
    if (!call->depth_begin) bench->next = (bench->next + 1) % bench->copies;
    return work;
}

/// Inputs as integers, and the call that makes them.
typedef struct integers_t {
    uform_gemm_t const *gemm;
    matrix_t lines;
    guarded_t quantized, scratch;
    uform_quantize_call_t call;
} integers_t;

static integers_t integers_new(uform_gemm_t const *gemm, uform_panels_t inputs, size_t rows, size_t depth) {
    size_t const rotated = round_up(depth, uform_rotation_k);
    integers_t integers = {
        .gemm = gemm,
        .lines = matrix_new(precision_f32_k, rows, rotated / gemm->input_lane * 16, 17, true),
        .quantized = guarded_new(round_up(rows, uform_row_step_k) * sizeof(uform_quantized_row_t), true),
        .scratch = guarded_new(rotated * sizeof(float), true),
    };
    integers.call = (uform_quantize_call_t){
        .inputs = inputs,
        .rows = rows,
        .depth = depth,
        .outputs = integers.lines.panels,
        .quantized = integers.quantized.data,
        .scratch = vector_of(&integers.scratch),
    };
    gemm->quantize(&integers.call);
    return integers;
}

static void integers_free(integers_t *integers) {
    matrix_free(&integers->lines);
    guarded_free(&integers->quantized);
    guarded_free(&integers->scratch);
}

static double quantize_once(void *context) {
    integers_t *const integers = context;
    integers->gemm->quantize(&integers->call);
    return 8.0 * (double)integers->call.rows * (double)integers->call.depth;
}

static void bench_quantize(uform_gemm_t const *gemm, size_t rows, size_t depth) {
    char name[96];
    snprintf(name, sizeof(name), "quantize %zu x %zu (8 operations a number)", rows, depth);
    if (!wanted(name)) return;
    matrix_t inputs = matrix_new(precision_i8_k, rows, depth, 17, true);
    matrix_fill(&inputs, rows, depth, contents_plain_k);
    integers_t integers = integers_new(gemm, inputs.panels, rows, depth);
    report(name, (timed_t){quantize_once, &integers}, gemm);
    integers_free(&integers);
    matrix_free(&inputs);
}

/// So much of the depth is multiplied at once. Integers are those of the whole depth, which takes as long as its parts' own.
static void bench_gemm(uform_gemm_t const *gemm, precision_t precision, size_t rows, size_t columns, size_t chunk,
    size_t depth, uform_activation_t activation, bool accumulate) {
    char name[96], whole[32] = "";
    if (depth != chunk) snprintf(whole, sizeof(whole), " of %zu", depth);
    snprintf(name, sizeof(name), "multiply %zu x %zu x %zu%s%s%s", rows, columns, chunk, whole,
        accumulate ? " accumulating" : " ", accumulate ? "" : uform_activation_name_(activation));
    if (!wanted(name)) return;
    matrix_t inputs = matrix_new(precision, rows, depth, 17, true);
    matrix_fill(&inputs, rows, depth, contents_plain_k);
    matrix_t outputs = matrix_new(accumulate ? precision_f32_k : precision, rows, columns, 17, true);
    matrix_fill(&outputs, rows, columns, contents_plain_k);
    size_t const packed_bytes = round_up(gemm->packed_bytes(columns, depth), 64);
    gemm_bench_t bench = {
        .gemm = gemm, .packed_bytes = packed_bytes, .copies = weights_bytes_k / packed_bytes, .chunk = chunk};
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
        .rows = rows,
        .accumulate = accumulate,
        .bias = accumulate ? NULL : vector_of(&bias),
        .activation = activation,
        .outputs = outputs.panels,
        .scratch = scratch.data,
    };
    integers_t integers;
    if (gemm->quantize) {
        integers = integers_new(gemm, inputs.panels, rows, depth);
        bench.call.inputs = integers.lines.panels, bench.call.quantized = integers.quantized.data;
    }
    report(name, (timed_t){gemm_once, &bench}, gemm);
    if (gemm->quantize) integers_free(&integers);
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
    double const queries = bench->call.query_count ? (double)bench->call.query_count : length;
    double const seen = bench->call.causal ? 0.5 * (queries + 1.0) : length; // by a query, on average
    return 4.0 * queries * seen * (double)(bench->call.heads * bench->call.head_width);
}

static void bench_attention(uform_attention_t const *attention, uform_gemm_t const *gemm, precision_t precision,
    size_t heads, size_t head_width, uform_attention_call_t const *options) {
    size_t const length = options->length;
    char name[96];
    snprintf(name, sizeof(name), "attention over %zu, heads of %zu%s%s", length, head_width,
        options->causal ? ", causal" : "", options->query_count ? ", one query" : "");
    if (!wanted(name)) return;
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
                                              .causal = options->causal,
                                              .query_count = options->query_count,
                                          }};
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

static void bench_normalize(uform_rows_t const *rows, uform_gemm_t const *gemm, precision_t precision, bool keep) {
    size_t const count = 512, width = 384;
    matrix_t residual = matrix_new(precision_f32_k, count, width, 17, true),
             outputs = matrix_new(precision, count, width, 17, true);
    matrix_fill(&residual, count, width, contents_plain_k);
    guarded_t ones = guarded_new(width * sizeof(float), true);
    for (size_t i = 0; i < width; ++i) vector_of(&ones)[i] = 1.0f;
    float const *const vector = vector_of(&ones);
    normalize_bench_t bench = {
        rows, {residual.panels, outputs.panels, count, width, 1e-12f, vector, vector, vector, keep, false}};
    report(keep ? "normalize 512 x 384, keeping (8 op. a number)" : "normalize 512 x 384 (8 operations a number)",
        (timed_t){normalize_once, &bench}, gemm);
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

typedef struct gate_bench_t {
    uform_rows_t const *rows;
    uform_gate_call_t call;
} gate_bench_t;

static double gate_once(void *context) {
    gate_bench_t *const bench = context;
    bench->rows->gate(&bench->call);
    return (double)bench->call.rows * (double)bench->call.width;
}

static void bench_gate(uform_rows_t const *rows, uform_gemm_t const *gemm, precision_t precision) {
    size_t const count = 512, width = 384;
    matrix_t inner = matrix_new(precision, count, width, 17, true),
             gates = matrix_new(precision, count, width, 17, true);
    matrix_fill(&inner, count, width, contents_plain_k);
    for (size_t row = 0; row < count; ++row)
        for (size_t column = 0; column < width; ++column) matrix_set(&gates, row, column, 1.0f);
    gate_bench_t bench = {rows, {inner.panels, gates.panels, count, width}};
    report("gate 512 x 384 (an operation a number)", (timed_t){gate_once, &bench}, gemm);
    matrix_free(&inner);
    matrix_free(&gates);
}

typedef struct rotate_bench_t {
    uform_rows_t const *rows;
    uform_rotate_call_t call;
} rotate_bench_t;

static double rotate_once(void *context) {
    rotate_bench_t *const bench = context;
    bench->rows->rotate(&bench->call);
    return 3.0 * (double)bench->call.rows * (double)(bench->call.heads * bench->call.head_width);
}

static void bench_rotate(uform_rows_t const *rows, uform_gemm_t const *gemm, precision_t precision) {
    size_t const count = 512, heads = 6, head_width = 64;
    matrix_t panels = matrix_new(precision, count, heads * head_width, 17, true);
    matrix_fill(&panels, count, heads * head_width, contents_plain_k);
    guarded_t cosines = guarded_new(count * head_width / 2 * sizeof(float), true),
              sines = guarded_new(count * head_width / 2 * sizeof(float), true);
    for (size_t i = 0; i < count * head_width / 2; ++i) vector_of(&cosines)[i] = 0.8f, vector_of(&sines)[i] = 0.6f;
    rotate_bench_t bench = {rows, {panels.panels, 0, count, heads, head_width, vector_of(&cosines), vector_of(&sines)}};
    report("rotate 512 x 384 (3 operations a number)", (timed_t){rotate_once, &bench}, gemm);
    matrix_free(&panels);
    guarded_free(&cosines);
    guarded_free(&sines);
}

enum { chunk_k = 384 }; ///< of the feed-forward's middle, as much as goes up and down at once

/// What one layer of a tower multiplies, and its attention.
typedef struct tower_t {
    size_t width, inner, heads, head_width;
    uform_activation_t activation;
    size_t row_counts[4], lengths[5]; ///< zeros at the end
    bool causal;
} tower_t;

static tower_t const towers[] = {
    {384, 1536, 12, 32, uform_activation_gelu_k, {16, 40, 128, 512}, {16, 40, 128, 512}, false},
    {512, 2048, 8, 64, uform_activation_quick_gelu_k, {77, 512}, {77}, true},
    {768, 3072, 12, 64, uform_activation_quick_gelu_k, {50, 197, 400, 788}, {50, 197, 577, 1370, 4096}, false},
    {1024, 4096, 16, 64, uform_activation_gelu_tanh_k, {257, 577}, {257}, false},
    {1152, 4320, 16, 96, uform_activation_gelu_tanh_k, {729}, {729}, false},
};

static uform_gemm_t const *gemm_of(uform_kernels_t const *kernels, precision_t precision) {
    uform_gemm_t const *const groups[] = {kernels->gemm_f32, kernels->gemm_bf16, kernels->gemm_i8};
    return groups[precision];
}

static void bench_tower_gemm(uform_gemm_t const *gemm, precision_t precision, tower_t const *tower) {
    size_t const heads_width = tower->heads * tower->head_width;
    uform_activation_t const identity = uform_activation_identity_k;
    for (size_t i = 0; i < 4 && tower->row_counts[i]; ++i) {
        size_t const rows = tower->row_counts[i];
        if (gemm->quantize) bench_quantize(gemm, rows, tower->width);
        bench_gemm(gemm, precision, rows, 3 * heads_width, tower->width, tower->width, identity, false);
        bench_gemm(gemm, precision, rows, tower->width, heads_width, heads_width, identity, true);
        bench_gemm(gemm, precision, rows, tower->inner, tower->width, tower->width, tower->activation, false);
        bench_gemm(gemm, precision, rows, tower->width, chunk_k, tower->inner, identity, true);
    }
}

static void bench_tower_attention(uform_kernels_t const *kernels, precision_t precision, tower_t const *tower) {
    uform_gemm_t const *const gemm = gemm_of(kernels, precision);
    uform_attention_t const *const attention =
        precision == precision_f32_k ? kernels->attention_f32 : kernels->attention_bf16;
    uform_attention_call_t options = {.causal = tower->causal};
    for (size_t i = 0; i < 5 && tower->lengths[i]; ++i) {
        options.length = tower->lengths[i];
        bench_attention(attention, gemm, precision, tower->heads, tower->head_width, &options);
    }
    // What pools a picture's patches.
    options.query_count = 1;
    if (!options.causal) bench_attention(attention, gemm, precision, tower->heads, tower->head_width, &options);
}

static void bench_precision(uform_kernels_t const *kernels, precision_t precision) {
    uform_gemm_t const *const gemm = gemm_of(kernels, precision);
    // Everything but multiplications is that of bf16.
    bool const integers = precision == precision_i8_k;
    for (size_t i = 0; i < sizeof(towers) / sizeof(towers[0]); ++i) {
        bench_tower_gemm(gemm, precision, &towers[i]);
        if (!integers) bench_tower_attention(kernels, precision, &towers[i]);
    }
    if (integers) return;
    uform_rows_t const *const rows = precision == precision_f32_k ? kernels->rows_f32 : kernels->rows_bf16;
    bench_normalize(rows, gemm, precision, false);
    bench_normalize(rows, gemm, precision, true);
    bench_lookup(rows, gemm, precision);
    bench_gate(rows, gemm, precision);
    bench_rotate(rows, gemm, precision);
}

int bench_classes(subject_t const *subjects, size_t count, char const *token, char const *part) {
    wanted_part = part;
    for (size_t i = 0; i < count; ++i) {
        char const *const name = uform_cpu_class_name(subjects[i].cpu_class);
        if (token && strcmp(token, name) != 0) continue;
        if (!subjects[i].kernels) {
            printf("%s: not offered by this machine or this build\n", name);
            continue;
        }
        for (precision_t precision = precision_f32_k; precision <= precision_i8_k; ++precision) {
            static char const *const precisions[] = {"f32", "bf16", "i8"};
            printf("%s, %s\n", name, precisions[precision]);
            bench_precision(subjects[i].kernels, precision);
        }
    }
    return 0;
}
