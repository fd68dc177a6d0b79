/**
 *  UForm's side of the benchmark: a process that stays loaded and does one measurement for each line it is given, so
 * that engines can take turns on a machine whose speed changes from minute to minute.
 *
 *      uform_throughput MODEL f32|bf16|i8 THREADS
 *
 *  It says {"ready": ...} once the first vector is there, then answers every command with one line of JSON:
 *
 *      texts BATCH FILE    reads one text a line and encodes them once; BATCH texts a call, zero for all in one call
 *      run TIMES           encodes all texts or images so many times, tokenizing or decoding included
 *      images BATCH FILE   reads the images whose paths FILE lists, one a line, into memory and encodes them once
 *      raw BATCH COUNT WIDTH HEIGHT   makes so many raw pictures: at the model's own size, its tower and nothing else
 *      limit SECONDS       what this core can multiply at most
 *      rows FILE           writes the vectors of the last run, f32, [texts, dimensions]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uform/uform.h>

typedef struct state_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_model_description_t description;
    char *file;            // the texts' bytes, or all images'
    uform_text_t *texts;   // [count], into `file`; null for images
    uform_image_t *images; // [count], into `file`; null for texts
    size_t count, batch;
    float *rows; // [count, dimensions]
} state_t;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void check(uform_status_t status, char const *what) {
    if (status == uform_status_ok_k) return;
    fprintf(stderr, "uform_throughput: %s: %s: %s\n", what, uform_status_name(status), uform_last_detail());
    exit(2);
}

static void require(int condition, char const *what) {
    if (condition) return;
    fprintf(stderr, "uform_throughput: %s\n", what);
    exit(2);
}

static char *read_file(char const *path, size_t *length) {
    FILE *stream = fopen(path, "rb");
    require(stream != NULL && fseek(stream, 0, SEEK_END) == 0, path);
    long const size = ftell(stream);
    rewind(stream);
    char *bytes = malloc((size_t)size + 1);
    require(bytes != NULL && fread(bytes, 1, (size_t)size, stream) == (size_t)size, path);
    fclose(stream);
    *length = (size_t)size;
    return bytes;
}

static size_t encode(state_t *state) {
    size_t const step = state->batch ? state->batch : state->count, width = state->description.dimensions;
    size_t token_count = 0;
    for (size_t begin = 0; begin < state->count; begin += step) {
        size_t const count = state->count - begin < step ? state->count - begin : step;
        uform_encode_report_t report = {.size = sizeof(report)};
        float *rows = state->rows + begin * width;
        check(state->texts ? uform_encode_texts(
                                 state->model, state->executor, state->texts + begin, count, NULL, rows, 0, &report)
                           : uform_encode_images(
                                 state->model, state->executor, state->images + begin, count, NULL, rows, 0, &report),
            "encoding");
        token_count += report.token_count;
    }
    return token_count;
}

static void forget(state_t *state) {
    free(state->file), free(state->texts), free(state->images), free(state->rows);
    state->file = NULL, state->texts = NULL, state->images = NULL, state->rows = NULL, state->count = 0;
}

static void use_texts(state_t *state, size_t batch, char const *path) {
    forget(state);
    size_t length = 0;
    state->file = read_file(path, &length);
    state->batch = batch;
    for (size_t i = 0; i < length; ++i) state->count += state->file[i] == '\n';
    require(state->count > 0, "no texts");
    state->texts = calloc(state->count, sizeof(uform_text_t));
    state->rows = calloc(state->count * state->description.dimensions, sizeof(float));
    require(state->texts && state->rows, "out of memory");
    char const *begin = state->file;
    for (size_t i = 0; i < state->count; ++i) {
        char const *end = strchr(begin, '\n');
        state->texts[i] = (uform_text_t){begin, (size_t)(end - begin)};
        begin = end + 1;
    }
    size_t const token_count = encode(state); // the warm-up
    printf("{\"texts\": %zu, \"tokens\": %zu}\n", state->count, token_count);
}

static void begin_images(state_t *state, size_t batch, size_t count) {
    require(count > 0, "no images");
    state->images = calloc(count, sizeof(uform_image_t));
    state->rows = calloc(count * state->description.dimensions, sizeof(float));
    require(state->images && state->rows, "out of memory");
    state->count = count, state->batch = batch;
}

static void use_images(state_t *state, size_t batch, char const *path) {
    forget(state);
    size_t length = 0, count = 0, total = 0;
    char *list = read_file(path, &length);
    for (size_t i = 0; i < length; ++i) count += list[i] == '\n';
    begin_images(state, batch, count);
    char *line = list;
    for (size_t i = 0; i < count; ++i) {
        char *end = strchr(line, '\n');
        *end = 0;
        char *bytes = read_file(line, &length);
        state->file = realloc(state->file, total + length);
        require(state->file != NULL, "out of memory");
        memcpy(state->file + total, bytes, length);
        state->images[i].length = length, total += length, line = end + 1;
        free(bytes);
    }
    char const *place = state->file;
    for (size_t i = 0; i < count; place += state->images[i++].length) state->images[i].data = place;
    free(list);
    encode(state); // the warm-up
    printf("{\"images\": %zu, \"bytes\": %zu}\n", count, total);
}

static void use_raw(state_t *state, size_t batch, size_t count, size_t width, size_t height) {
    forget(state);
    begin_images(state, batch, count);
    size_t const bytes = width * height * 3;
    state->file = malloc(count * bytes);
    require(state->file != NULL, "out of memory");
    unsigned noise = 1;
    for (size_t i = 0; i < count * bytes; ++i)
        noise = noise * 1664525u + 1013904223u, state->file[i] = (char)(noise >> 24);
    for (size_t i = 0; i < count; ++i)
        state->images[i] = (uform_image_t){state->file + i * bytes, bytes, uform_image_layout_rgb_k, width, height, 0};
    encode(state); // the warm-up
    printf("{\"images\": %zu, \"bytes\": %zu}\n", count, count * bytes);
}

static void run(state_t *state, size_t times) {
    require(state->count > 0, "no texts or images yet");
    double const start = now();
    for (size_t i = 0; i < times; ++i) encode(state);
    printf("{\"seconds\": %.6f}\n", now() - start);
}

static void limit(state_t *state, double seconds) {
    double flops = 0;
    check(uform_limit_measure(state->executor, state->description.precision, seconds, &flops, NULL), "limit");
    printf("{\"flops\": %.6g}\n", flops);
}

static void write_rows(state_t *state, char const *path) {
    FILE *stream = fopen(path, "wb");
    require(stream != NULL, path);
    size_t const wanted = state->count * state->description.dimensions;
    require(fwrite(state->rows, sizeof(float), wanted, stream) == wanted && fclose(stream) == 0, path);
    printf("{\"dimensions\": %zu}\n", state->description.dimensions);
}

static void load(state_t *state, char const *directory, char const *precision, size_t threads) {
    uform_model_options_t options = {.size = sizeof(options)};
    check(uform_scalar_parse(precision, &options.precision), "precision");
    double const start = now();
    check(uform_executor_for_ram(NULL, 0, uform_cpu_class_derived_k, threads, 0, &state->executor), "executor");
    check(uform_model_load_ram(directory, NULL, 0, &options, &state->model), "model");
    check(uform_model_describe(state->model, &state->description), "model");
    float *first = calloc(state->description.dimensions, sizeof(float));
    require(first != NULL, "out of memory");
    if (state->description.encodes_texts)
        check(uform_encode_texts(state->model, state->executor, &(uform_text_t){"hello", 5}, 1, NULL, first, 0, NULL),
            "hello");
    double const seconds = now() - start;
    free(first);
    printf("{\"ready\": \"uform %s\", \"load_seconds\": %.6f, \"class\": \"%s\", \"flops_per_token\": %.6g, "
           "\"flops_per_image\": %.6g, \"weights_bytes\": %zu}\n",
        uform_version(), seconds, uform_cpu_class_name(state->description.cpu_class),
        state->description.flops_per_token, state->description.flops_per_image, state->description.weights_bytes);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) {
        fprintf(stderr, "usage: uform_throughput MODEL f32|bf16|i8 THREADS, then commands on standard input\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    state_t state = {0};
    load(&state, arguments[1], arguments[2], strtoul(arguments[3], NULL, 10));
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = NULL;
        if (!strncmp(line, "run ", 4)) run(&state, strtoul(line + 4, NULL, 10));
        else if (!strncmp(line, "limit ", 6)) limit(&state, strtod(line + 6, NULL));
        else if (!strncmp(line, "rows ", 5)) write_rows(&state, line + 5);
        else if (!strncmp(line, "texts ", 6)) {
            size_t const batch = strtoul(line + 6, &rest, 10);
            use_texts(&state, batch, rest + (*rest == ' '));
        } else if (!strncmp(line, "images ", 7)) {
            size_t const batch = strtoul(line + 7, &rest, 10);
            use_images(&state, batch, rest + (*rest == ' '));
        } else if (!strncmp(line, "raw ", 4)) {
            size_t const batch = strtoul(line + 4, &rest, 10), count = strtoul(rest, &rest, 10);
            size_t const width = strtoul(rest, &rest, 10), height = strtoul(rest, &rest, 10);
            use_raw(&state, batch, count, width, height);
        } else require(0, "unknown command");
    }
    forget(&state);
    uform_model_free(state.model);
    uform_executor_free(state.executor);
    return 0;
}
