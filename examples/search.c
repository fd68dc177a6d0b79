/**
 *  Searches passages by meaning: encodes every line of a file and a question, and shows the lines whose embeddings
 *  are nearest to the question's, with what that took.
 *
 *      uform_search MODEL_DIRECTORY PASSAGES_FILE "question" [how many]
 *
 *  The whole use of the library is in `main`: an executor, a model, two calls. The passages' embeddings are one
 *  matrix, [passages, dimensions], of rows of length one, so that a dot product is the cosine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uform/uform.h>

enum { shown_by_default_k = 5, shown_columns_k = 110 };

typedef struct passages_t {
    char *bytes;         ///< the whole file
    uform_text_t *texts; ///< [count], its lines, the empty ones left out
    size_t count;
} passages_t;

typedef struct match_t {
    float score;
    size_t passage;
} match_t;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int fail(char const *what, char const *why) {
    fprintf(stderr, "uform_search: %s: %s\n", what, why);
    return EXIT_FAILURE;
}

static int refuse(char const *what, char const *why) {
    fail(what, why);
    return 2;
}

static char *read_file(char const *path, size_t *length) {
    FILE *const file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    char *const bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (bytes) {
        rewind(file);
        *length = fread(bytes, 1, (size_t)size, file);
    }
    if (file) fclose(file);
    return bytes;
}

static bool read_passages(char const *path, passages_t *passages) {
    size_t length = 0, line_count = 1;
    passages->bytes = read_file(path, &length);
    if (!passages->bytes) return false;
    for (size_t at = 0; at != length; ++at) line_count += passages->bytes[at] == '\n';
    passages->texts = calloc(line_count, sizeof(*passages->texts));
    if (!passages->texts) return false;
    for (size_t start = 0, stop; start < length; start = stop + 1) {
        char const *const line = passages->bytes + start;
        char const *const end = memchr(line, '\n', length - start);
        stop = end ? (size_t)(end - passages->bytes) : length;
        if (stop != start) passages->texts[passages->count++] = (uform_text_t){line, stop - start};
    }
    return true;
}

static int compare_matches(void const *left, void const *right) {
    float const difference = ((match_t const *)right)->score - ((match_t const *)left)->score;
    return (difference > 0) - (difference < 0);
}

/// Scores every passage against the question, best first. NULL without memory.
static match_t *rank(float const *passages, size_t count, float const *question, size_t dimensions) {
    match_t *const matches = calloc(count + 1, sizeof(*matches));
    for (size_t passage = 0; matches && passage != count; ++passage) {
        float score = 0;
        for (size_t at = 0; at != dimensions; ++at) score += passages[passage * dimensions + at] * question[at];
        matches[passage] = (match_t){score, passage};
    }
    if (matches) qsort(matches, count, sizeof(*matches), compare_matches);
    return matches;
}

/// As much of a passage as fits a line, never a part of a character.
static void print_match(match_t const *match, uform_text_t text) {
    size_t length = text.length;
    if (length > shown_columns_k) {
        length = shown_columns_k;
        while (length && ((unsigned char)text.data[length] & 0xC0) == 0x80) --length;
    }
    printf("  %.3f  %.*s%s\n", (double)match->score, (int)length, text.data, length != text.length ? "..." : "");
}

static void print_cost(size_t text_count, size_t token_count, double seconds, double question_seconds,
    double load_seconds, uform_executor_description_t const *executor, uform_model_description_t const *model) {
    printf("\n%zu passages, %zu tokens in %.2f s: %.0f texts/s, %.0f tokens/s\n", text_count, token_count, seconds,
        (double)text_count / seconds, (double)token_count / seconds);
    printf("The question took %.1f ms, loading the model %.0f ms.\n", question_seconds * 1e3, load_seconds * 1e3);
    printf("Class %s, %zu thread%s, %s arithmetic, %zu dimensions.\n", uform_cpu_class_name(executor->cpu_class),
        executor->threads, executor->threads == 1 ? "" : "s", uform_scalar_name(model->precision), model->dimensions);
}

int main(int argument_count, char **arguments) {
    if (argument_count < 4 || argument_count > 5) {
        fputs("usage: uform_search MODEL_DIRECTORY PASSAGES_FILE \"question\" [how many]\n", stderr);
        return 2;
    }
    if (!arguments[3][strspn(arguments[3], " \t\r\n")]) return refuse("question", "expected words, found none");
    passages_t passages = {0};
    size_t const wanted = argument_count == 5 ? (size_t)strtoul(arguments[4], NULL, 10) : shown_by_default_k;
    if (!read_passages(arguments[2], &passages)) return fail(arguments[2], "can't be read");
    if (!passages.count) return refuse(arguments[2], "expected a passage a line, found none");

    double const load_started = now();
    uform_executor_t executor = NULL;
    uform_model_t model = NULL;
    uform_executor_description_t executor_facts;
    uform_model_description_t model_facts;
    if (uform_executor_for_ram(NULL, 0, uform_cpu_class_derived_k, 0, 0, &executor) != uform_status_ok_k ||
        uform_executor_describe(executor, &executor_facts) != uform_status_ok_k ||
        uform_model_load_ram(arguments[1], NULL, 0, NULL, &model) != uform_status_ok_k ||
        uform_model_describe(model, &model_facts) != uform_status_ok_k)
        return fail("loading", uform_last_detail());
    double const load_seconds = now() - load_started;

    uform_encode_options_t const options = {.size = sizeof(options), .normalize = uform_switch_on_k};
    uform_encode_report_t report = {.size = sizeof(report)};
    float *const rows = calloc(passages.count + 1, model_facts.dimensions * sizeof(float));
    if (!rows) return fail("embeddings", "not enough memory");
    double const encode_started = now();
    if (uform_encode_texts(model, executor, passages.texts, passages.count, &options, rows, 0, &report) !=
        uform_status_ok_k)
        return fail("encoding the passages", uform_last_detail());
    double const encode_seconds = now() - encode_started;

    uform_text_t const question = {arguments[3], strlen(arguments[3])};
    float *const question_row = rows + passages.count * model_facts.dimensions;
    double const question_started = now();
    if (uform_encode_texts(model, executor, &question, 1, &options, question_row, 0, NULL) != uform_status_ok_k)
        return fail("encoding the question", uform_last_detail());
    double const question_seconds = now() - question_started;

    match_t *const matches = rank(rows, passages.count, question_row, model_facts.dimensions);
    if (!matches) return fail("matches", "not enough memory");
    printf("%s\n\n", arguments[3]);
    for (size_t place = 0; place != passages.count && place != wanted; ++place)
        print_match(&matches[place], passages.texts[matches[place].passage]);
    print_cost(passages.count, report.token_count, encode_seconds, question_seconds, load_seconds, &executor_facts,
        &model_facts);

    free(matches);
    free(rows);
    uform_model_free(model);
    uform_executor_free(executor);
    free(passages.texts);
    free(passages.bytes);
    return EXIT_SUCCESS;
}
