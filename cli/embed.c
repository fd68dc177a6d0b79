/**
 *  uform embed: texts and pictures in, embeddings out. A window of items is read, encoded and written. The good texts
 *  of a part of it stand side by side for one call, its pictures for another, and null rows are put back between them.
 *  A part is as much of a window as its pictures fit in memory: their files are read when it is their turn.
 *
 *      rows: [ text | text | ... | picture | picture | ... ]
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "options.h"
#include "output.h"
#include "pictures.h"
#include "progress.h"
#include "protect.h"
#include "setup.h"

enum { window_texts_per_thread_k = 256, window_texts_limit_k = 16384, window_rows_bytes_k = 64 * 1024 * 1024 };

typedef struct embedding_t {
    setup_t setup;
    input_t input;
    output_t output;
    progress_t progress;
    uform_text_t *texts;        ///< [item_limit], the part's good ones
    uform_item_report_t *items; ///< [item_limit], theirs
    size_t text_count;
    pictures_t pictures; ///< the part's
    char *rows;          ///< [item_limit, row_bytes], the texts', then the pictures'
    progress_counts_t counts;
    uint64_t truncated_count, failed_count;
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
    if (!input_open_(&embedding->input, "input", settings->input, settings->format, limit)) return false;
    embedding->texts = calloc(limit, sizeof(*embedding->texts));
    embedding->items = calloc(limit, sizeof(*embedding->items));
    embedding->rows = calloc(limit, setup->row_bytes);
    bool allocated = embedding->texts && embedding->items && embedding->rows;
    if (!allocated) message_("not enough memory for %zu embeddings of %zu bytes", limit, setup->row_bytes);
    allocated = allocated && pictures_open_(&embedding->pictures, pictures_a_call_(setup));
    // Opening the output empties it.
    if (allocated && output_permitted_(embedding->input.descriptor, settings) &&
        output_open_(&embedding->output, settings->output, format, setup->scalar, setup->dimensions))
        return true;
    input_close_(&embedding->input);
    return false;
}

/// Why an item that could be read isn't for this model, or NULL.
static char const *unfit(uform_model_description_t const *facts, input_item_t const *item) {
    if (item->is_picture) return facts->encodes_images ? NULL : "image: the model has no image tower";
    return facts->encodes_texts ? NULL : "text: the model has no text tower";
}

static void refuse_item(input_item_t *item, uform_status_t status, char const *problem) {
    item->status = status;
    item->problem = strdup(problem);
}

/// Takes the items from a position into a part; the position behind the last.
static size_t gather_part(embedding_t *embedding, size_t first) {
    input_t *const input = &embedding->input;
    size_t position = first;
    embedding->text_count = 0;
    pictures_clear_(&embedding->pictures);
    for (; position != input->item_count; ++position) {
        input_item_t *const item = &input->items[position];
        if (item->status != uform_status_ok_k) continue;
        char const *const reason = unfit(&embedding->setup.model_facts, item);
        if (reason) {
            refuse_item(item, uform_status_unsupported_k, reason);
            continue;
        }
        if (!item->is_picture) {
            embedding->texts[embedding->text_count++] = input_text_(input, item);
            continue;
        }
        uform_status_t status = uform_status_ok_k;
        char problem[picture_problem_bytes_k];
        picture_outcome_t const outcome =
            pictures_add_(&embedding->pictures, input_path_(input, item), &status, problem);
        if (outcome == picture_full_k) break;
        if (outcome == picture_refused_k) refuse_item(item, status, problem);
    }
    return position;
}

/// Encodes the part. False when a call as a whole failed.
static bool encode_part(embedding_t *embedding) {
    setup_t const *const setup = &embedding->setup;
    uform_encode_report_t report = {.size = sizeof(report), .items = embedding->items};
    uform_status_t const status =
        embedding->text_count ? uform_encode_texts(setup->model, setup->executor, embedding->texts,
                                    embedding->text_count, &setup->encoding, embedding->rows, setup->row_bytes, &report)
                              : uform_status_ok_k;
    embedding->counts.tokens += report.token_count;
    embedding->truncated_count += report.truncated_count;
    if (status != uform_status_ok_k && !report.failed_count) return message_status_(status), false;
    return pictures_encode_(&embedding->pictures, setup, embedding->rows + embedding->text_count * setup->row_bytes);
}

/// Encodes a text that failed again, alone: a call keeps the words for one failure only. What failed for lack of memory
/// beside others may succeed now.
static uform_status_t encode_again(embedding_t *embedding, size_t encoded, void *row) {
    setup_t const *const setup = &embedding->setup;
    return uform_encode_texts(
        setup->model, setup->executor, &embedding->texts[encoded], 1, &setup->encoding, row, 0, NULL);
}

/// Writes the rows of the items from `first` to `stop`, which are the part.
static bool write_part(embedding_t *embedding, size_t first, size_t stop) {
    input_t const *const input = &embedding->input;
    pictures_t *const pictures = &embedding->pictures;
    size_t texts = 0, encoded_pictures = 0;
    for (size_t position = first; position != stop; ++position) {
        input_item_t const *const item = &input->items[position];
        bool const readable = item->status == uform_status_ok_k;
        size_t const encoded = item->is_picture ? encoded_pictures : texts;
        char *const row = embedding->rows +
                          (item->is_picture ? embedding->text_count + encoded : encoded) * embedding->setup.row_bytes;
        uform_status_t status = item->status;
        char const *problem = item->problem;
        if (readable) {
            status = item->is_picture ? pictures->items[encoded].status : embedding->items[encoded].status;
            ++*(item->is_picture ? &encoded_pictures : &texts);
        }
        if (readable && status != uform_status_ok_k) {
            status = item->is_picture ? pictures_encode_again_(pictures, &embedding->setup, encoded, row)
                                      : encode_again(embedding, encoded, row);
            problem = uform_last_detail();
        }
        if (status != uform_status_ok_k) input_complain_(input, position, status, problem), ++embedding->failed_count;
        ++*(item->is_picture ? &embedding->counts.pictures : &embedding->counts.texts);
        if (!output_row_(&embedding->output, status == uform_status_ok_k ? row : NULL)) return false;
    }
    return output_flush_(&embedding->output);
}

static bool embed_window(embedding_t *embedding, uint64_t bytes_before) {
    input_t const *const input = &embedding->input;
    for (size_t first = 0, stop; first != input->item_count; first = stop) {
        stop = gather_part(embedding, first);
        if (!encode_part(embedding) || !write_part(embedding, first, stop)) return false;
        uint64_t const done = bytes_before + (input->bytes - bytes_before) * stop / input->item_count;
        progress_update_(&embedding->progress, embedding->counts, done, input->bytes_total);
    }
    return true;
}

static bool embed_stream(embedding_t *embedding) {
    bool reading = true;
    while (reading) {
        uint64_t const bytes_before = embedding->input.bytes;
        reading = input_next_(&embedding->input);
        if (!embedding->input.item_count) return reading;
        if (!embed_window(embedding, bytes_before)) return false;
    }
    return false;
}

static void report_truncated(embedding_t const *embedding, settings_t const *settings) {
    if (!embedding->truncated_count) return;
    message_("%llu of %llu texts were longer than %zu tokens and were cut",
        (unsigned long long)embedding->truncated_count, (unsigned long long)embedding->counts.texts,
        settings->max_tokens ? settings->max_tokens : embedding->setup.model_facts.max_tokens);
}

/// Numbers beyond -1 and 1 have no i8 of their own, and rows that aren't of length one are full of them.
static void warn_of_saturation(setup_t const *setup, settings_t const *settings) {
    bool const normalizes = settings->normalize == uform_switch_on_k ||
                            (settings->normalize == uform_switch_auto_k && setup->model_facts.normalize);
    if (setup->scalar != uform_scalar_i8_k || normalizes) return;
    message_("--scalar: i8 holds -1 to 1, and rows of %s aren't scaled to length one: what is beyond is cut off; "
             "--normalize on scales them",
        settings->model);
}

static exit_status_t run_embed(settings_t const *settings) {
    embedding_t embedding;
    memset(&embedding, 0, sizeof(embedding));
    output_format_t format;
    if (!output_format_resolve_(settings, &format) ||
        !setup_open_(&embedding.setup, settings, setup_towers_of_(settings)))
        return exit_status_usage_k;
    exit_status_t exit_status = exit_status_usage_k;
    if (open_all(&embedding, settings, format)) {
        warn_of_saturation(&embedding.setup, settings);
        progress_begin_(&embedding.progress, settings->progress);
        bool const streamed = embed_stream(&embedding);
        bool const written = output_close_(&embedding.output);
        progress_end_(&embedding.progress, embedding.counts);
        report_truncated(&embedding, settings);
        input_close_(&embedding.input);
        exit_status = streamed && written && !embedding.failed_count ? exit_status_ok_k : exit_status_failed_k;
    }
    free(embedding.texts);
    free(embedding.items);
    free(embedding.rows);
    pictures_close_(&embedding.pictures);
    setup_close_(&embedding.setup);
    return exit_status;
}

command_t const command_embed_ = {
    .name = "embed",
    .bit = command_embed_k,
    .summary = "turn texts and pictures into embeddings",
    .synopsis = "--model DIR [--input FILE] [--output FILE] [options]",
    .manual =
        "Every text and picture gives one row, in the input's order. Paths of pictures are relative to the current\n"
        "directory. A text longer than the model's limit is cut, and the number of such texts is told at the end. An\n"
        "item that can't be read or encoded gives a null row (null in jsonl, NaN in npy and f32, zeros in the scalars\n"
        "i8 and b1) and a message with its number; the exit status is then 1. A bad directory or option ends with\n"
        "status 2 before anything is read or written.\n"
        "\n"
        "Examples:\n"
        "  echo 'How do I boil an egg?' | uform embed --model all-MiniLM-L6-v2\n"
        "  uform embed --model all-MiniLM-L6-v2 --input texts.txt --output vectors.npy\n"
        "  uform embed --model all-MiniLM-L6-v2 --format jsonl --input texts.jsonl --scalar i8 --output vectors.npy\n"
        "  find . -name '*.txt' -exec cat {} \\; -printf '\\0' | uform embed --model DIR --format nul --dimensions 128\n"
        "  find Pictures -name '*.jpg' | uform embed --model clip --format images --output pictures.npy\n",
    .run = run_embed,
};
