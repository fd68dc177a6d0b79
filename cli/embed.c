/**
 *  uform embed: texts in, embeddings out. A window of texts is read, encoded in one call and written; the good texts
 *  of a window stand side by side for the call, and null rows are put back between them.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "protect.h"
#include "setup.h"

enum { window_texts_per_thread_k = 256, window_texts_limit_k = 16384, window_rows_bytes_k = 64 * 1024 * 1024 };

typedef struct embedding_t {
    setup_t setup;
    input_t input;
    output_t output;
    progress_t progress;
    uform_text_t *texts;        ///< [item_limit], the window's good ones
    uform_item_report_t *items; ///< [item_limit], theirs
    char *rows;                 ///< [item_limit, row_bytes], theirs
    uint64_t text_count, token_count, truncated_count, failed_count;
} embedding_t;

/// Enough texts to keep every thread busy, few enough for results to appear soon and for the rows to fit.
static size_t window_texts(setup_t const *setup) {
    size_t const wanted = window_texts_per_thread_k * setup->executor_facts.threads;
    size_t const fitting = window_rows_bytes_k / setup->row_bytes + 1;
    size_t const limit = fitting < window_texts_limit_k ? fitting : window_texts_limit_k;
    return wanted < limit ? wanted : limit;
}

static bool open_all(embedding_t *embedding, settings_t const *settings, output_format_t format) {
    setup_t const *const setup = &embedding->setup;
    size_t const limit = window_texts(setup);
    if (!input_open_(&embedding->input, settings->input, settings->format, limit)) return false;
    embedding->texts = calloc(limit, sizeof(*embedding->texts));
    embedding->items = calloc(limit, sizeof(*embedding->items));
    embedding->rows = calloc(limit, setup->row_bytes);
    bool const allocated = embedding->texts && embedding->items && embedding->rows;
    if (!allocated) message_("not enough memory for %zu embeddings of %zu bytes", limit, setup->row_bytes);
    // Opening the output empties it.
    if (allocated && output_permitted_(&embedding->input, settings) &&
        output_open_(&embedding->output, settings->output, format, setup->scalar, setup->dimensions))
        return true;
    input_close_(&embedding->input);
    return false;
}

/// Encodes the window's good texts. False when the call as a whole failed.
static bool encode_window(embedding_t *embedding) {
    input_t const *const input = &embedding->input;
    size_t count = 0;
    for (size_t position = 0; position != input->item_count; ++position)
        if (input->items[position].status == uform_status_ok_k)
            embedding->texts[count++] = input_text_(input, &input->items[position]);
    if (!count) return true;
    uform_encode_report_t report = {.size = sizeof(report), .items = embedding->items};
    uform_status_t const status = uform_encode_texts(embedding->setup.model, embedding->setup.executor,
        embedding->texts, count, &embedding->setup.encoding, embedding->rows, embedding->setup.row_bytes, &report);
    embedding->token_count += report.token_count;
    embedding->truncated_count += report.truncated_count;
    if (status == uform_status_ok_k || report.failed_count) return true;
    message_status_(status);
    return false;
}

/// Encodes a text that failed again, alone: a call keeps the words for one failure only. What failed for lack of memory
/// beside others may succeed now.
static uform_status_t encode_again(embedding_t *embedding, size_t encoded) {
    setup_t const *const setup = &embedding->setup;
    return uform_encode_texts(setup->model, setup->executor, &embedding->texts[encoded], 1, &setup->encoding,
        embedding->rows + encoded * setup->row_bytes, 0, NULL);
}

static bool write_window(embedding_t *embedding) {
    input_t const *const input = &embedding->input;
    size_t encoded = 0;
    for (size_t position = 0; position != input->item_count; ++position) {
        input_item_t const *const item = &input->items[position];
        bool const readable = item->status == uform_status_ok_k;
        uform_status_t status = readable ? embedding->items[encoded].status : item->status;
        char const *const row = embedding->rows + encoded * embedding->setup.row_bytes;
        char const *problem = item->problem;
        if (readable && status != uform_status_ok_k) {
            status = encode_again(embedding, encoded);
            problem = uform_last_detail();
        }
        encoded += readable;
        if (status != uform_status_ok_k) input_complain_(input, position, status, problem), ++embedding->failed_count;
        if (!output_row_(&embedding->output, status == uform_status_ok_k ? row : NULL)) return false;
    }
    embedding->text_count += input->item_count;
    return output_flush_(&embedding->output);
}

static bool embed_stream(embedding_t *embedding) {
    input_t *const input = &embedding->input;
    bool reading = true;
    while (reading) {
        reading = input_next_(input);
        if (!input->item_count) return reading;
        if (!encode_window(embedding) || !write_window(embedding)) return false;
        progress_update_(
            &embedding->progress, embedding->text_count, embedding->token_count, input->bytes, input->bytes_total);
    }
    return false;
}

static void report_truncated(embedding_t const *embedding, settings_t const *settings) {
    if (!embedding->truncated_count) return;
    message_("%llu of %llu texts were longer than %zu tokens and were cut",
        (unsigned long long)embedding->truncated_count, (unsigned long long)embedding->text_count,
        settings->max_tokens ? settings->max_tokens : embedding->setup.model_facts.max_tokens);
}

static exit_status_t run_embed(settings_t const *settings) {
    embedding_t embedding;
    memset(&embedding, 0, sizeof(embedding));
    output_format_t format;
    if (!output_format_resolve_(settings, &format) || !setup_open_(&embedding.setup, settings))
        return exit_status_usage_k;
    exit_status_t exit_status = exit_status_usage_k;
    if (open_all(&embedding, settings, format)) {
        progress_begin_(&embedding.progress, settings->progress);
        bool const streamed = embed_stream(&embedding);
        bool const written = output_close_(&embedding.output);
        progress_end_(&embedding.progress, embedding.text_count, embedding.token_count);
        report_truncated(&embedding, settings);
        input_close_(&embedding.input);
        exit_status = streamed && written && !embedding.failed_count ? exit_status_ok_k : exit_status_failed_k;
    }
    free(embedding.texts);
    free(embedding.items);
    free(embedding.rows);
    setup_close_(&embedding.setup);
    return exit_status;
}

command_t const command_embed_ = {
    .name = "embed",
    .bit = command_embed_k,
    .summary = "turn texts into embeddings",
    .synopsis = "--model DIR [--input FILE] [--output FILE] [options]",
    .manual =
        "Every text gives one row, in the input's order. A text longer than the model's limit is cut, and the number of\n"
        "such texts is told at the end. An item that can't be encoded gives a null row (null in jsonl, NaN in npy and\n"
        "f32, zeros in the scalars i8 and b1) and a message with its number; the exit status is then 1. A bad directory\n"
        "or option ends with status 2 before anything is read or written.\n"
        "\n"
        "Examples:\n"
        "  echo 'How do I boil an egg?' | uform embed --model all-MiniLM-L6-v2\n"
        "  uform embed --model all-MiniLM-L6-v2 --input texts.txt --output vectors.npy\n"
        "  uform embed --model all-MiniLM-L6-v2 --format jsonl --input texts.jsonl --scalar i8 --output vectors.npy\n"
        "  find . -name '*.txt' -exec cat {} \\; -printf '\\0' | uform embed --model DIR --format nul --dimensions 128\n",
    .run = run_embed,
};
