/**
 *  Messages and progress. The line of progress is drawn over itself with a carriage return, so a message first wipes
 *  it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plain.h"
#include "progress.h"

enum { redraw_interval_ns_k = 200 * 1000 * 1000, path_shown_bytes_k = 2048 };

static char const wipe_line[] = "\r\033[K";
static bool line_is_drawn = false;

/// One write a line, so that lines of several processes on one terminal don't mix.
static void write_line(char *line, size_t length) {
    line[length] = '\n';
    fwrite(line, 1, length + 1, stderr);
    line_is_drawn = false;
}

void message_(char const *format, ...) {
    char line[4096];
    int const prefix = snprintf(line, sizeof(line), "%suform: ", line_is_drawn ? wipe_line : "");
    va_list arguments;
    va_start(arguments, format);
    // A byte is left for the line's end.
    int const length = vsnprintf(line + prefix, sizeof(line) - 1 - (size_t)prefix, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    // Names and values are quoted as they were found.
    make_plain_(line + prefix);
    write_line(line, strlen(line));
}

void message_status_(uform_status_t status) {
    char const *const detail = uform_last_detail();
    char const *const field = strncmp(detail, "options: ", 9) ? NULL : detail + 9;
    char const *const end = field ? strchr(field, ':') : NULL;
    if (end && end - field < 64) {
        // The library speaks of its options' fields; the command line has them under the same names, with dashes.
        char option[64];
        memcpy(option, field, (size_t)(end - field));
        option[end - field] = 0;
        for (char *dash = option; *dash; ++dash)
            if (*dash == '_') *dash = '-';
        message_("--%s%s", option, end);
        return;
    }
    message_("%s: %s", uform_status_name(status), detail[0] ? detail : uform_status_text(status));
}

char const *problem_of_one_(char const *problem, uform_status_t status) {
    // A call with one item calls it the first of the call, which says nothing where items have numbers or names.
    static char const *const firsts[] = {"text 0: ", "image 0: "};
    for (size_t row = 0; problem && row != sizeof(firsts) / sizeof(firsts[0]); ++row)
        if (strncmp(problem, firsts[row], strlen(firsts[row])) == 0) problem += strlen(firsts[row]);
    return problem && problem[0] ? problem : uform_status_text(status);
}

void message_item_(char const *place, char const *path, uform_status_t status, char const *problem) {
    // The words for a failure matter more than the end of a long path.
    int const shown = path ? (int)strnlen(path, path_shown_bytes_k) : 0;
    message_("%s%s%.*s%s%s%s: %s", place ? place : "", place ? ": " : "", shown, path ? path : "",
        path && path[shown] ? "..." : "", path ? ": " : "", uform_status_name(status),
        problem_of_one_(problem, status));
}

uform_status_t status_of_error_(int error) {
    return error == ENOENT || error == ENOTDIR ? uform_status_not_found_k
           : error == ENOMEM                   ? uform_status_out_of_memory_k
                                               : uform_status_io_failed_k;
}

uint64_t clock_ns_(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_begin_(progress_t *progress, uform_switch_t when) {
    memset(progress, 0, sizeof(*progress));
    progress->shown = when == uform_switch_on_k || (when == uform_switch_auto_k && isatty(STDERR_FILENO));
    progress->started_ns = clock_ns_();
}

/// "1:02:03" or "2:03".
static void format_duration(double seconds, char *words, size_t capacity) {
    unsigned long const whole = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000ul : (unsigned long)(seconds + 0.5);
    if (whole >= 3600) snprintf(words, capacity, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
    else snprintf(words, capacity, "%lu:%02lu", whole / 60, whole % 60);
}

/// "12 texts, 34 tokens, 5 pictures" or, with a rate, "12 texts/s, ..."; tokens belong to texts.
static void format_counts(progress_counts_t counts, double rate, char const *unit, char *words, size_t capacity) {
    struct {
        double count;
        bool shown;
        char const *name;
    } const rows[] = {{(double)counts.texts, counts.texts || !counts.pictures, "texts"},
        {(double)counts.tokens, counts.texts || !counts.pictures, "tokens"},
        {(double)counts.pictures, counts.pictures != 0, "pictures"}};
    size_t length = 0;
    for (size_t row = 0; row != sizeof(rows) / sizeof(rows[0]); ++row) {
        if (!rows[row].shown || length >= capacity) continue;
        int const written = snprintf(words + length, capacity - length, "%s%.0f %s%s", length ? ", " : "",
            rows[row].count * rate, rows[row].name, unit);
        length += written > 0 ? (size_t)written : 0;
    }
}

void progress_update_(progress_t *progress, progress_counts_t counts, uint64_t done, uint64_t total) {
    if (!progress->shown) return;
    uint64_t const now = clock_ns_();
    if (progress->drawn_ns && now - progress->drawn_ns < redraw_interval_ns_k) return;
    progress->drawn_ns = now;
    double const seconds = (double)(now - progress->started_ns) * 1e-9;
    double const rate = seconds > 0 ? 1 / seconds : 0;
    char left[64] = "", rates[160];
    if (total && done) {
        double const share = done < total ? (double)done / (double)total : 1;
        char duration[32];
        format_duration(seconds * (1 - share) / share, duration, sizeof(duration));
        snprintf(left, sizeof(left), ", %.0f %%, %s left", share * 100, duration);
    }
    format_counts(counts, rate, "/s", rates, sizeof(rates));
    fprintf(stderr, "%s%llu done, %s%s", wipe_line, (unsigned long long)(counts.texts + counts.pictures), rates, left);
    fflush(stderr);
    line_is_drawn = true;
}

void progress_end_(progress_t *progress, progress_counts_t counts) {
    if (!progress->shown) return;
    double const seconds = (double)(clock_ns_() - progress->started_ns) * 1e-9;
    char words[160], rates[160];
    format_counts(counts, 1, "", words, sizeof(words));
    format_counts(counts, seconds > 0 ? 1 / seconds : 0, "/s", rates, sizeof(rates));
    message_("%s in %.2f s: %s", words, seconds, rates);
}
