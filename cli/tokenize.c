/**
 *  uform tokenize: the ids a model would be given, a JSON array a text.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "protect.h"
#include "setup.h"

enum { window_texts_k = 4096, ids_at_first_k = 32 };

typedef struct tokenizing_t {
    setup_t setup;
    input_t input;
    output_t output;
    uint32_t *ids; ///< [capacity]
    size_t capacity;
    uint64_t failed_count;
} tokenizing_t;

/// The ids of one text in `ids`, which grows when they don't fit.
static uform_status_t tokenize_text(tokenizing_t *tokenizing, uform_text_t text, size_t *count) {
    uform_encode_options_t const *const options = &tokenizing->setup.encoding;
    uform_status_t status =
        uform_tokenize(tokenizing->setup.model, text, options, tokenizing->ids, tokenizing->capacity, count);
    if (status != uform_status_ok_k || *count <= tokenizing->capacity) return status;
    uint32_t *const ids = realloc(tokenizing->ids, *count * sizeof(*ids));
    if (!ids) return uform_status_out_of_memory_k;
    tokenizing->ids = ids;
    tokenizing->capacity = *count;
    return uform_tokenize(tokenizing->setup.model, text, options, ids, tokenizing->capacity, count);
}

static bool tokenize_window(tokenizing_t *tokenizing) {
    input_t const *const input = &tokenizing->input;
    for (size_t position = 0; position != input->item_count; ++position) {
        input_item_t const *const item = &input->items[position];
        size_t count = 0;
        uform_status_t status = item->status;
        char const *problem = item->problem;
        if (status == uform_status_ok_k && item->is_picture) {
            status = uform_status_unsupported_k;
            problem = "image: only texts have tokens";
        } else if (status == uform_status_ok_k) {
            status = tokenize_text(tokenizing, input_text_(input, item), &count);
            problem = uform_last_detail();
        }
        bool const good = status == uform_status_ok_k;
        if (!good) input_complain_(input, position, status, problem), ++tokenizing->failed_count;
        if (!output_ids_(&tokenizing->output, good ? tokenizing->ids : NULL, count)) return false;
    }
    return output_flush_(&tokenizing->output);
}

static bool tokenize_stream(tokenizing_t *tokenizing) {
    bool reading = true;
    while (reading) {
        reading = input_next_(&tokenizing->input);
        if (!tokenizing->input.item_count) return reading;
        if (!tokenize_window(tokenizing)) return false;
    }
    return false;
}

static exit_status_t run_tokenize(settings_t const *settings) {
    tokenizing_t tokenizing;
    memset(&tokenizing, 0, sizeof(tokenizing));
    // Ids are found one text at a time, so threads would only wait.
    settings_t alone = *settings;
    alone.threads = 1;
    if (!setup_open_(&tokenizing.setup, &alone, setup_texts_k)) return exit_status_usage_k;
    exit_status_t exit_status = exit_status_usage_k;
    tokenizing.capacity = ids_at_first_k;
    tokenizing.ids = calloc(tokenizing.capacity, sizeof(*tokenizing.ids));
    if (!tokenizing.ids) message_("not enough memory for %zu ids", tokenizing.capacity);
    if (tokenizing.ids && input_open_(&tokenizing.input, "input", settings->input, settings->format, window_texts_k)) {
        // Opening the output empties it.
        if (output_permitted_(tokenizing.input.descriptor, settings) &&
            output_open_(&tokenizing.output, settings->output, output_format_jsonl_k, uform_scalar_f32_k, 0)) {
            bool const streamed = tokenize_stream(&tokenizing);
            bool const written = output_close_(&tokenizing.output);
            exit_status = streamed && written && !tokenizing.failed_count ? exit_status_ok_k : exit_status_failed_k;
        }
        input_close_(&tokenizing.input);
    }
    free(tokenizing.ids);
    setup_close_(&tokenizing.setup);
    return exit_status;
}

command_t const command_tokenize_ = {
    .name = "tokenize",
    .bit = command_tokenize_k,
    .summary = "show the token ids a model is given",
    .synopsis = "--model DIR [--input FILE] [--output FILE] [options]",
    .manual =
        "Every text gives one JSON array of ids, special tokens included, after prompt and truncation, as 'uform embed'\n"
        "would encode it. An item that can't be read gives null and a message with its number; the exit status is\n"
        "then 1.\n"
        "\n"
        "Examples:\n"
        "  echo 'How do I boil an egg?' | uform tokenize --model all-MiniLM-L6-v2\n"
        "  uform tokenize --model all-MiniLM-L6-v2 --format jsonl --input texts.jsonl --literal-specials\n",
    .run = run_tokenize,
};
