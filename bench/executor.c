/**
 *  What executors cost: a call that does next to nothing, by mood and by how long the executor was idle before it; the
 *  processor time of idling; two models that share an executor. One line of JSON a measurement, half a minute in all.
 *
 *      uform_executor MODEL [THREADS]     MODEL: a model's directory; THREADS: 2 unless given
 *
 *  The call is refused by its only text, which has no bytes where it says there are some. So what is measured is the way
 *  there and back: submission, every thread's share, the end. The same call on the null executor has no threads to reach.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <uform/uform.h>

enum {
    samples_k = 1000,
    texts_k = 64,
    round_calls_k = 8,
    rounds_k = 9,
};

static double clock_seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void) {
    return clock_seconds(CLOCK_MONOTONIC);
}

static void check(uform_status_t status, char const *what) {
    if (status == uform_status_ok_k) return;
    fprintf(stderr, "uform_executor: %s: %s: %s\n", what, uform_status_name(status), uform_last_detail());
    exit(2);
}

static int compare(void const *left, void const *right) {
    double const a = *(double const *)left, b = *(double const *)right;
    return (a > b) - (a < b);
}

static double quantile(double *sorted, size_t count, double share) {
    return sorted[(size_t)(share * (double)(count - 1))];
}

/// Idles as a caller would that has other work: without giving the processor up for short gaps.
static void idle(double seconds) {
    struct timespec const time = {0, (long)(seconds * 1e9)};
    if (seconds >= 0.001) nanosleep(&time, NULL);
    else
        for (double const begin = now(); now() - begin < seconds;) {}
}

/// One call, direct or deferred and awaited. It fails by design, but not otherwise.
static void call_once(uform_model_t model, uform_executor_t executor, int deferred, float *row) {
    static uform_text_t const refused = {NULL, 1};
    uform_status_t status;
    if (deferred) {
        uform_call_t call;
        check(uform_defer_texts(model, executor, &refused, 1, NULL, row, 0, NULL, &call), "deferring");
        status = uform_call_await(call, -1);
        uform_call_free(call);
    } else status = uform_encode_texts(model, executor, &refused, 1, NULL, row, 0, NULL);
    if (status != uform_status_invalid_argument_k) check(status, "the call");
}

static void measure_calls(
    uform_model_t model, uform_executor_t executor, char const *mood, int deferred, double gap_seconds, float *row) {
    static double seconds[samples_k];
    uform_executor_description_t description;
    check(uform_executor_describe(executor, &description), "describing");
    size_t const count = gap_seconds >= 0.001 ? samples_k / 4 : samples_k;
    for (size_t i = 0; i < count; i++) {
        idle(gap_seconds);
        double const begin = now();
        call_once(model, executor, deferred, row);
        seconds[i] = now() - begin;
    }
    qsort(seconds, count, sizeof(*seconds), compare);
    printf("{\"measure\": \"%s call\", \"mood\": \"%s\", \"threads\": %zu, \"idle_us\": %.0f, \"p10_us\": %.2f, "
           "\"p50_us\": %.2f, \"p90_us\": %.2f}\n",
        deferred ? "deferred" : "direct", mood, description.threads, gap_seconds * 1e6,
        quantile(seconds, count, 0.1) * 1e6, quantile(seconds, count, 0.5) * 1e6, quantile(seconds, count, 0.9) * 1e6);
}

static void measure_idling(char const *mood) {
    idle(0.01);
    double const begin = now(), spent = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct timespec const second = {1, 0};
    nanosleep(&second, NULL);
    double const used = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - spent, passed = now() - begin;
    printf(
        "{\"measure\": \"idling\", \"mood\": \"%s\", \"processor_ms_per_second\": %.3f}\n", mood, 1e3 * used / passed);
}

static double encode_round(
    uform_model_t *models, size_t model_count, uform_executor_t executor, uform_text_t const *texts, float *rows) {
    double const begin = now();
    for (size_t call = 0; call < round_calls_k; call++)
        check(
            uform_encode_texts(models[call % model_count], executor, texts, texts_k, NULL, rows, 0, NULL), "encoding");
    return now() - begin;
}

/// Two models in turn on one executor, beside each of them alone; rounds take turns, and their medians are compared.
static void measure_sharing(uform_model_t *models, uform_executor_t executor, float *rows) {
    static char const sentence[] = "An executor owns host threads, and several models share one machine's cores.";
    uform_text_t texts[texts_k];
    for (size_t i = 0; i < texts_k; i++) texts[i] = (uform_text_t){sentence, sizeof(sentence) - 1 - i % 32};
    double seconds[3][rounds_k];
    for (size_t round = 0; round < rounds_k; round++) {
        seconds[0][round] = encode_round(&models[0], 1, executor, texts, rows);
        seconds[1][round] = encode_round(&models[1], 1, executor, texts, rows);
        seconds[2][round] = encode_round(models, 2, executor, texts, rows);
    }
    double rate[3];
    for (size_t i = 0; i < 3; i++) {
        qsort(seconds[i], rounds_k, sizeof(double), compare);
        rate[i] = texts_k * round_calls_k / quantile(seconds[i], rounds_k, 0.5);
    }
    // Alone, each would do half of the texts of a shared round.
    printf("{\"measure\": \"two models\", \"first_texts_per_second\": %.0f, \"second_texts_per_second\": %.0f, "
           "\"shared_texts_per_second\": %.0f, \"share_of_both_alone\": %.3f}\n",
        rate[0], rate[1], rate[2], rate[2] / (2 / (1 / rate[0] + 1 / rate[1])));
}

int main(int count, char **arguments) {
    static double const gaps[] = {0, 10e-6, 2e-3};
    if (count < 2 || count > 3) {
        fprintf(stderr, "uform_executor MODEL [THREADS]\n");
        return 2;
    }
    size_t const threads = count > 2 ? strtoul(arguments[2], NULL, 10) : 2;
    uform_model_t models[2];
    uform_executor_t executor;
    uform_model_description_t description;
    for (size_t i = 0; i < 2; i++) check(uform_model_load_ram(arguments[1], NULL, 0, NULL, &models[i]), "loading");
    check(uform_model_describe(models[0], &description), "describing");
    check(uform_executor_for_ram(NULL, 0, uform_cpu_class_derived_k, threads, 0, &executor), "making the executor");
    float *const rows = calloc(texts_k * description.dimensions, sizeof(float));
    if (!rows) return 2;
    for (size_t gap = 0; gap < 3; gap++) measure_calls(models[0], NULL, "none", 0, gaps[gap], rows);
    for (uform_mood_t mood = uform_mood_spinning_k; mood <= uform_mood_sleeping_k; mood++) {
        check(uform_executor_drain(executor, mood), "draining");
        for (size_t gap = 0; gap < 3; gap++)
            measure_calls(models[0], executor, uform_mood_name(mood), 0, gaps[gap], rows);
        for (size_t gap = 0; gap < 3; gap += 2)
            measure_calls(models[0], executor, uform_mood_name(mood), 1, gaps[gap], rows);
        measure_idling(uform_mood_name(mood));
        fflush(stdout);
    }
    check(uform_executor_drain(executor, uform_mood_chilling_k), "draining");
    measure_sharing(models, executor, rows);
    uform_executor_free(executor);
    for (size_t i = 0; i < 2; i++) uform_model_free(models[i]);
    free(rows);
    return 0;
}
