/**
 *  uform bench: how fast a model encodes texts or pictures here, and how near that is to what the machine can do at
 *  most. Pictures are in memory before the clock starts, as files: decoding them is part of the work. The limit is measured beside every run, on as many threads, since clocks move with heat and with neighbours.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "input.h"
#include "options.h"
#include "pictures.h"
#include "plain.h"
#include "progress.h"
#include "setup.h"

enum { repeats_by_default_k = 5, read_texts_k = 4096 };

static double const limit_seconds = 0.1;

/// All texts of the file, in one piece of memory; or all pictures, each in memory of its own.
typedef struct corpus_t {
    char const *name; ///< of the input
    char *bytes;
    size_t byte_count, byte_capacity;
    uform_text_t *texts;   ///< [count]; while reading, `data` is a distance from `bytes`
    uform_image_t *images; ///< [count]
    char **paths;          ///< [count], of the pictures, each in memory of its own
    size_t count, capacity, path_capacity;
    bool of_pictures;
} corpus_t;

/// What one run reached.
typedef struct run_t {
    double seconds;
    double tokens_per_second;
    double items_per_second;
    double limit_flops; ///< mean of the limits measured before and after, over all threads
} run_t;

typedef struct bench_t {
    setup_t setup;
    corpus_t corpus;
    char *rows;                  ///< [corpus.count, row_bytes]
    double load_seconds;         ///< executor and model
    double first_vector_seconds; ///< these, and one text
    size_t tokens_per_pass;
    run_t *runs; ///< [run_count]
    size_t run_count;
} bench_t;

static double seconds_since(uint64_t started_ns) {
    return (double)(clock_ns_() - started_ns) * 1e-9;
}

/// Room for `count` more of what `memory` holds; memory at least doubles when it grows.
static bool reserve(void **memory, size_t used, size_t *capacity, size_t count, size_t item_bytes) {
    if (*capacity - used >= count) return true;
    size_t const wanted = used + count > *capacity * 2 ? used + count : *capacity * 2;
    void *const grown = wanted <= SIZE_MAX / item_bytes ? realloc(*memory, wanted * item_bytes) : NULL;
    if (!grown) return message_("not enough memory for the input"), false;
    *memory = grown;
    *capacity = wanted;
    return true;
}

static bool add_text(corpus_t *corpus, uform_text_t text) {
    void *bytes = corpus->bytes, *texts = corpus->texts;
    bool const reserved = reserve(&bytes, corpus->byte_count, &corpus->byte_capacity, text.length, 1) &&
                          reserve(&texts, corpus->count, &corpus->capacity, 1, sizeof(*corpus->texts));
    corpus->bytes = bytes;
    corpus->texts = texts;
    if (!reserved) return false;
    if (text.length) memcpy(corpus->bytes + corpus->byte_count, text.data, text.length);
    corpus->texts[corpus->count++].length = text.length;
    corpus->byte_count += text.length;
    return true;
}

static bool add_picture(corpus_t *corpus, char const *path, char *problem, uform_status_t *status) {
    pictures_t one;
    void *images = corpus->images, *paths = corpus->paths;
    bool const reserved = reserve(&images, corpus->count, &corpus->capacity, 1, sizeof(*corpus->images)) &&
                          reserve(&paths, corpus->count, &corpus->path_capacity, 1, sizeof(*corpus->paths));
    corpus->images = images;
    corpus->paths = paths;
    if (!reserved || !pictures_open_(&one, 1)) return false;
    char *const copy = strdup(path);
    if (!copy) message_("not enough memory for the input");
    bool const added = copy && pictures_add_(&one, path, status, problem) == picture_added_k;
    if (added) corpus->images[corpus->count] = pictures_take_(&one), corpus->paths[corpus->count++] = copy;
    else free(copy);
    pictures_close_(&one);
    return added;
}

/// Adds an item, if it is of the kind that the first one was. On failure a message has been written.
static bool add_item(corpus_t *corpus, input_t const *input, size_t position) {
    input_item_t const *const item = &input->items[position];
    char problem[picture_problem_bytes_k] = "";
    uform_status_t status = item->status;
    if (!corpus->count) corpus->of_pictures = item->is_picture;
    if (status == uform_status_ok_k && item->is_picture != corpus->of_pictures) {
        status = uform_status_unsupported_k;
        snprintf(problem, sizeof(problem), "expected texts alone or pictures alone, found both");
    } else if (status == uform_status_ok_k) {
        bool const added = item->is_picture ? add_picture(corpus, input_path_(input, item), problem, &status)
                                            : add_text(corpus, input_text_(input, item));
        if (added || status == uform_status_ok_k) return added;
    }
    input_complain_(input, position, status, item->problem ? item->problem : problem);
    return false;
}

/// Reads every item; a benchmark of all but a few would say something else than it seems to.
static exit_status_t read_corpus(corpus_t *corpus, settings_t const *settings) {
    input_t input;
    if (!input_open_(&input, "input", settings->input, settings->format, read_texts_k)) return exit_status_usage_k;
    corpus->name = input.name;
    bool good = true;
    do {
        good = input_next_(&input);
        for (size_t position = 0; good && position != input.item_count; ++position)
            good = add_item(corpus, &input, position);
    } while (good && input.item_count);
    bool const empty = good && !corpus->count;
    if (empty) message_("%s: expected texts or pictures, found none", input.name);
    input_close_(&input);
    char const *next = corpus->bytes;
    for (size_t index = 0; !corpus->of_pictures && index != corpus->count; next += corpus->texts[index++].length)
        corpus->texts[index].data = next;
    return empty ? exit_status_usage_k : good ? exit_status_ok_k : exit_status_failed_k;
}

typedef struct limit_share_t {
    pthread_t thread;
    setup_t const *setup;
    uform_status_t status;
    double flops;
} limit_share_t;

static void *measure_share(void *context) {
    limit_share_t *const share = context;
    share->status = uform_limit_measure(
        share->setup->executor, share->setup->model_facts.precision, limit_seconds, &share->flops, NULL);
    return NULL;
}

/// What as many threads as the executor has reach together; zero where it can't be measured.
static double measure_limit(setup_t const *setup) {
    size_t const count = setup->executor_facts.threads;
    limit_share_t *const shares = calloc(count, sizeof(*shares));
    if (!shares) return 0;
    size_t started = 0;
    for (size_t index = 0; index != count; ++index) shares[index].setup = setup;
    // The calling thread measures too, as it does when it encodes.
    while (started + 1 < count && pthread_create(&shares[started].thread, NULL, measure_share, &shares[started]) == 0)
        ++started;
    measure_share(&shares[started]);
    double flops = 0;
    for (size_t index = 0; index != started; ++index) pthread_join(shares[index].thread, NULL);
    for (size_t index = 0; index <= started; ++index)
        if (shares[index].status == uform_status_ok_k) flops += shares[index].flops;
    free(shares);
    return started + 1 == count ? flops : 0;
}

/// Encodes some items of the corpus in one call.
static uform_status_t encode(bench_t const *bench, size_t first, size_t count, void *rows, size_t *tokens) {
    setup_t const *const setup = &bench->setup;
    uform_encode_report_t report = {.size = sizeof(report)};
    uform_status_t const status = bench->corpus.of_pictures
                                      ? uform_encode_images(setup->model, setup->executor, bench->corpus.images + first,
                                            count, &setup->encoding, rows, 0, &report)
                                      : uform_encode_texts(setup->model, setup->executor, bench->corpus.texts + first,
                                            count, &setup->encoding, rows, 0, &report);
    *tokens += report.token_count;
    return status;
}

/// Tells which item of a failed call is at fault, and how. A call keeps the words for one failure only, and calls its
/// items by their places in it.
static bool complain(bench_t const *bench, size_t first, size_t count, uform_status_t status) {
    char place[1024];
    size_t tokens = 0;
    for (size_t index = first; index != first + count; ++index) {
        uform_status_t const alone = encode(bench, index, 1, bench->rows, &tokens);
        if (alone == uform_status_ok_k) continue;
        snprintf(place, sizeof(place), "%.*s: item %zu", (int)sizeof(place) - 64, bench->corpus.name, index + 1);
        message_item_(place, bench->corpus.of_pictures ? bench->corpus.paths[index] : NULL, alone, uform_last_detail());
        return false;
    }
    message_("%s: %s", bench->corpus.name, uform_status_text(status));
    return false;
}

/// Encodes every item once, `batch` a call.
static bool encode_pass(bench_t *bench, size_t batch, size_t *tokens) {
    setup_t const *const setup = &bench->setup;
    for (size_t first = 0; first < bench->corpus.count; first += batch) {
        size_t const left = bench->corpus.count - first;
        size_t const count = left < batch ? left : batch;
        uform_status_t const status = encode(bench, first, count, bench->rows + first * setup->row_bytes, tokens);
        if (status != uform_status_ok_k) return complain(bench, first, count, status);
    }
    return true;
}

static bool measure_run(bench_t *bench, size_t batch, double seconds, run_t *run) {
    double const before = measure_limit(&bench->setup);
    uint64_t const started_ns = clock_ns_();
    size_t tokens = 0, passes = 0;
    do {
        if (!encode_pass(bench, batch, &tokens)) return false;
        ++passes;
    } while (seconds_since(started_ns) < seconds);
    run->seconds = seconds_since(started_ns);
    run->tokens_per_second = (double)tokens / run->seconds;
    run->items_per_second = (double)(bench->corpus.count * passes) / run->seconds;
    run->limit_flops = (before + measure_limit(&bench->setup)) / 2;
    bench->tokens_per_pass = tokens / passes;
    return true;
}

static exit_status_t measure_first_vector(bench_t *bench, settings_t const *settings) {
    uint64_t const started_ns = clock_ns_();
    unsigned const tower = bench->corpus.of_pictures ? setup_images_k : setup_texts_k;
    if (!setup_open_(&bench->setup, settings, tower)) return exit_status_usage_k;
    bench->load_seconds = seconds_since(started_ns);
    bench->rows = malloc(bench->setup.row_bytes);
    if (!bench->rows) return message_("not enough memory for an embedding"), exit_status_failed_k;
    size_t tokens = 0;
    uform_status_t const status = encode(bench, 0, 1, bench->rows, &tokens);
    bench->first_vector_seconds = seconds_since(started_ns);
    if (status != uform_status_ok_k) return complain(bench, 0, 1, status), exit_status_failed_k;
    return exit_status_ok_k;
}

static bool measure_all(bench_t *bench, settings_t const *settings) {
    size_t const repeats = settings->repeats ? settings->repeats : repeats_by_default_k;
    size_t const batch = settings->batch ? settings->batch : bench->corpus.count;
    free(bench->rows);
    bench->rows = calloc(bench->corpus.count, bench->setup.row_bytes);
    bench->runs = calloc(repeats, sizeof(*bench->runs));
    if (!bench->rows || !bench->runs) return message_("not enough memory for the embeddings"), false;
    size_t warm_tokens = 0;
    if (!encode_pass(bench, batch, &warm_tokens)) return false;
    for (; bench->run_count != repeats; ++bench->run_count)
        if (!measure_run(bench, batch, settings->seconds, &bench->runs[bench->run_count])) return false;
    return true;
}

static int compare_rates(void const *left, void const *right) {
    double const difference = ((run_t const *)left)->items_per_second - ((run_t const *)right)->items_per_second;
    return (difference > 0) - (difference < 0);
}

/// Multiplications and additions a second, in the matrices that a token or a picture passes.
static double flops_of(bench_t const *bench, run_t const *run) {
    uform_model_description_t const *const facts = &bench->setup.model_facts;
    return bench->corpus.of_pictures ? facts->flops_per_image * run->items_per_second
                                     : facts->flops_per_token * run->tokens_per_second;
}

/// Zero where the limit can't be measured, or the work depends on the picture.
static double share_of_limit(bench_t const *bench, run_t const *run) {
    return run->limit_flops > 0 ? flops_of(bench, run) / run->limit_flops : 0;
}

/// A number that isn't known is null.
static json_t *real_or_null(double number) {
    return number > 0 ? json_real(number) : json_null();
}

/// Runs are in ascending order of their rates.
static json_t *results_of(bench_t const *bench, settings_t const *settings) {
    run_t const *const median = &bench->runs[bench->run_count / 2];
    setup_t const *const setup = &bench->setup;
    bool const of_pictures = bench->corpus.of_pictures;
    json_t *const rates = json_array();
    for (size_t index = 0; index != bench->run_count; ++index)
        json_array_append_new(
            rates, json_real(of_pictures ? bench->runs[index].items_per_second : bench->runs[index].tokens_per_second));
    json_t *const results = json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "version",
        uform_version(), "model", settings->model, "threads", (json_int_t)setup->executor_facts.threads, "cpu_class",
        uform_cpu_class_name(setup->executor_facts.cpu_class), "precision",
        uform_scalar_name(setup->model_facts.precision), of_pictures ? "images" : "texts",
        (json_int_t)bench->corpus.count, "tokens", (json_int_t)bench->tokens_per_pass, "batch",
        (json_int_t)settings->batch, "load_seconds", bench->load_seconds, "first_vector_seconds",
        bench->first_vector_seconds, of_pictures ? "images_per_second" : "texts_per_second", median->items_per_second,
        "limit_flops", median->limit_flops);
    if (!results) return json_decref(rates), NULL;
    if (!of_pictures) json_object_set_new(results, "tokens_per_second", json_real(median->tokens_per_second));
    json_object_set_new(results, of_pictures ? "flops_per_image" : "flops_per_token",
        real_or_null(of_pictures ? setup->model_facts.flops_per_image : setup->model_facts.flops_per_token));
    json_object_set_new(results, "share_of_limit", real_or_null(share_of_limit(bench, median)));
    json_object_set_new(results, of_pictures ? "images_per_second_runs" : "tokens_per_second_runs", rates);
    return results;
}

static void print_rates(bench_t const *bench, run_t const *slowest, run_t const *median, run_t const *fastest) {
    if (bench->corpus.of_pictures) {
        printf("rate             %.1f images/s, %.3f ms an image; median of %zu runs\n", median->items_per_second,
            1e3 / median->items_per_second, bench->run_count);
        printf("spread           %.1f to %.1f images/s\n", slowest->items_per_second, fastest->items_per_second);
        return;
    }
    printf("rate             %.0f tokens/s, %.0f texts/s, %.3f ms a text; median of %zu runs\n",
        median->tokens_per_second, median->items_per_second, 1e3 / median->items_per_second, bench->run_count);
    printf("spread           %.0f to %.0f tokens/s\n", slowest->tokens_per_second, fastest->tokens_per_second);
}

static void print_results(bench_t const *bench, settings_t const *settings) {
    run_t const *const median = &bench->runs[bench->run_count / 2];
    setup_t const *const setup = &bench->setup;
    printf("model            ");
    print_plain_(settings->model);
    printf(", %zu dimensions\n", setup->dimensions);
    printf("machine          class %s, %zu thread%s, precision %s\n",
        uform_cpu_class_name(setup->executor_facts.cpu_class), setup->executor_facts.threads,
        setup->executor_facts.threads == 1 ? "" : "s", uform_scalar_name(setup->model_facts.precision));
    if (bench->corpus.of_pictures) printf("input            %zu images, ", bench->corpus.count);
    else printf("input            %zu texts, %zu tokens, ", bench->corpus.count, bench->tokens_per_pass);
    if (settings->batch) printf("%zu a call\n", settings->batch);
    else printf("all in one call\n");
    printf("loading          %.3f s, first vector after %.3f s\n", bench->load_seconds, bench->first_vector_seconds);
    print_rates(bench, &bench->runs[0], median, &bench->runs[bench->run_count - 1]);
    char const *const unit = setup->model_facts.precision == uform_scalar_i8_k ? "Top/s" : "Tflop/s";
    if (!(median->limit_flops > 0))
        printf("limit            not measured: this class has no measure for the precision\n");
    else if (share_of_limit(bench, median) > 0)
        printf(
            "limit            %.1f %% of %.3f %s, the most these threads reached beside the run; attention excluded\n",
            100 * share_of_limit(bench, median), median->limit_flops * 1e-12, unit);
    else
        printf("limit            %.3f %s; the share isn't known, as an image's work depends on its size\n",
            median->limit_flops * 1e-12, unit);
}

static exit_status_t run_measurements(bench_t *bench, settings_t const *settings) {
    exit_status_t const exit_status = measure_first_vector(bench, settings);
    if (exit_status != exit_status_ok_k) return exit_status;
    if (!measure_all(bench, settings)) return exit_status_failed_k;
    qsort(bench->runs, bench->run_count, sizeof(*bench->runs), compare_rates);
    if (!settings->json) return print_results(bench, settings), exit_status_ok_k;
    json_t *const results = results_of(bench, settings);
    if (!results)
        return message_("not enough memory for the results, or a path that isn't UTF-8"), exit_status_failed_k;
    json_dumpf(results, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(results);
    return exit_status_ok_k;
}

static exit_status_t run_bench(settings_t const *settings) {
    bench_t bench;
    memset(&bench, 0, sizeof(bench));
    exit_status_t exit_status = read_corpus(&bench.corpus, settings);
    if (exit_status == exit_status_ok_k) exit_status = run_measurements(&bench, settings);
    free(bench.rows);
    free(bench.runs);
    free(bench.corpus.bytes);
    free(bench.corpus.texts);
    for (size_t index = 0; bench.corpus.of_pictures && index != bench.corpus.count; ++index) {
        picture_free_(bench.corpus.images[index]);
        free(bench.corpus.paths[index]);
    }
    free(bench.corpus.images);
    free(bench.corpus.paths);
    setup_close_(&bench.setup);
    return exit_status;
}

command_t const command_bench_ = {
    .name = "bench",
    .bit = command_bench_k,
    .summary = "measure the rate of a model on this machine",
    .synopsis = "--model DIR --input FILE [options]",
    .manual =
        "Loads the model, encodes the input once to warm up, then again and again, and shows the median: tokens and texts\n"
        "a second, tokenizing included, or images a second, decoding and resizing included. The limit is what the same\n"
        "threads reach with multiplications alone, measured before and after every run; the share counts the matrices a\n"
        "token or an image passes and leaves attention out.\n"
        "\n"
        "Examples:\n"
        "  uform bench --model all-MiniLM-L6-v2 --input texts.txt\n"
        "  uform bench --model all-MiniLM-L6-v2 --input texts.txt --threads 1 --batch 1\n"
        "  uform bench --model all-MiniLM-L6-v2 --input texts.txt --precision f32 --repeats 9 --json\n"
        "  find Pictures -name '*.jpg' | uform bench --model clip --format images --threads 1\n",
    .run = run_bench,
};
