/**
 *  A call: its options, its division over threads, panels of whole texts, and the rows that come out.
 *
 *  Threads take texts one by one from a shared counter, tokenize them into a panel of their own, and run the panel
 *  through the encoder when the next text does not fit. Nothing is shared but the counter, so there is one fork-join
 *  a call.
 *
 *  A thread's scratch: [encoder's][ids, positions, types: rows each][begins, items][pooled rows][Dense inputs and
 *  outputs].
 */
#include "models/call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/executor.h"
#include "models/model.h"
#include "models/pooling.h"

enum {
    panel_rows_k = 512,    // tokens whose activations fit the second-level cache
    smallest_panel_k = 64, // below this, reading weights dominates
    panel_texts_k = 256,   // texts in a panel
    bytes_per_token_k = 4, // of ordinary text, to guess how many tokens there are
};

typedef struct call_t {
    uform_model_t model;
    uform_kernels_t const *kernels;
    uform_model_packing_t const *packing;
    uform_call_plan_t plan;
    uform_text_t const *texts;
    size_t count;
    char *embeddings;
    size_t stride_bytes;
    uform_encode_report_t *report; // NULL when not wanted
    uform_item_report_t *items;    // likewise
    size_t panel_rows;             // tokens after which a panel is run
    size_t capacity_rows;          // tokens a panel may hold: the longest text at least
    atomic_size_t next;
    atomic_size_t token_count, truncated_count, failed_count;
    pthread_mutex_t failure_lock; // of what follows: the first failed item and why
    size_t failed_item;
    uform_status_t failure;
    char failure_detail[512];
    char *prompt; // a deferred call's own copy
} call_t;

// One thread's panel.
typedef struct panel_t {
    call_t *call;
    uform_batch_t batch;
    size_t *items; // [text_count] positions in the call
    void *encoder_scratch;
    float *pooled;           // [texts, pooled width padded]
    uform_panels_t dense[2]; // f32 panels between Dense layers
    float *vector;           // one text's, on its way in and out of them, [widest Dense layer]
} panel_t;

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static void fail_item(call_t *call, size_t item, uform_status_t status) {
    uform_write_null_(call->plan.dimensions, call->plan.scalar, call->embeddings + item * call->stride_bytes);
    if (call->items) call->items[item].status = status;
    atomic_fetch_add_explicit(&call->failed_count, 1, memory_order_relaxed);
    pthread_mutex_lock(&call->failure_lock);
    if (call->failure == uform_status_ok_k || item < call->failed_item) {
        call->failed_item = item;
        call->failure = status;
        snprintf(call->failure_detail, sizeof call->failure_detail, "text %zu: %s", item, uform_last_detail());
    }
    pthread_mutex_unlock(&call->failure_lock);
}

static size_t dense_width(uform_model_packing_t const *packing, uform_directory_t const *directory) {
    size_t widest = 0;
    for (size_t i = 0; i < directory->dense_count; ++i) {
        uform_linear_t const *linear = &packing->dense[i];
        if (widest < linear->columns) widest = linear->columns;
        if (widest < linear->depth) widest = linear->depth;
    }
    return widest;
}

// Lays out the thread's scratch, or with NULL only measures it.
static size_t lay_out(call_t *call, char *memory, panel_t *panel) {
    size_t const rows = call->capacity_rows, pooled_width = uform_padded_width_(call->plan.pooled_width);
    size_t const widest = dense_width(call->packing, &call->model->directory);
    size_t const dense_bytes = widest / 16 * (panel_texts_k + uform_row_step_k) * 64;
    size_t offset = aligned(uform_encoder_scratch_bytes_(&call->packing->encoder, call->kernels, rows, rows));
    size_t const ids = offset, row_bytes = aligned(rows * sizeof(uint32_t));
    size_t const begins = ids + 3 * row_bytes, index_bytes = aligned((panel_texts_k + 1) * sizeof(size_t));
    size_t const pooled = begins + 2 * index_bytes;
    size_t const dense = pooled + aligned(panel_texts_k * pooled_width * sizeof(float));
    size_t const vector = dense + 2 * dense_bytes;
    if (memory)
        *panel = (panel_t){
            .call = call,
            .batch = {.ids = (uint32_t *)(memory + ids),
                .position_ids = (uint32_t *)(memory + ids + row_bytes),
                .type_ids = (uint32_t *)(memory + ids + 2 * row_bytes),
                .text_begins = (size_t *)(memory + begins)},
            .items = (size_t *)(memory + begins + index_bytes),
            .encoder_scratch = memory,
            .pooled = (float *)(memory + pooled),
            .dense = {{memory + dense, (panel_texts_k + uform_row_step_k) * 64},
                {memory + dense + dense_bytes, (panel_texts_k + uform_row_step_k) * 64}},
            .vector = (float *)(memory + vector),
        };
    return vector + aligned(widest * sizeof(float));
}

static char *panel_line(uform_panels_t panels, size_t column, size_t text) {
    return (char *)panels.data + column / 16 * panels.stride_bytes + text * 64;
}

static void to_panels(panel_t *panel, size_t width) {
    size_t const padded = uform_padded_width_(width);
    for (size_t text = 0; text < panel->batch.text_count; ++text)
        for (size_t column = 0; column < padded; column += 16)
            memcpy(panel_line(panel->dense[0], column, text), panel->pooled + text * padded + column, 64);
}

// Copies a text's vector out of f32 panels; `vector` has room for the padded width.
static void from_panels(uform_panels_t panels, size_t text, size_t width, float *vector) {
    for (size_t column = 0; column < width; column += 16) memcpy(vector + column, panel_line(panels, column, text), 64);
}

static void normalize_panels(panel_t *panel, uform_panels_t panels, size_t width) {
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        from_panels(panels, text, width, panel->vector);
        uform_normalize_vector_(panel->vector, width);
        for (size_t column = 0; column < width; column += 16)
            memcpy(panel_line(panels, column, text), panel->vector + column, 64);
    }
}

// Runs the Dense layers over all texts of the panel; the answer says where their vectors are.
static uform_panels_t run_dense(panel_t *panel) {
    call_t *call = panel->call;
    uform_directory_t const *directory = &call->model->directory;
    to_panels(panel, call->plan.pooled_width);
    for (size_t i = 0; i < directory->dense_count; ++i) {
        uform_linear_t const *linear = &call->packing->dense[i];
        if (directory->dense[i].normalize_inputs)
            normalize_panels(panel, panel->dense[i % 2], directory->dense[i].inputs);
        uform_gemm_call_t const product = {
            .inputs = panel->dense[i % 2],
            .weights = linear->weights,
            .columns = linear->columns,
            .depth = linear->depth,
            .column_end = linear->columns,
            .depth_end = linear->depth,
            .rows = panel->batch.text_count,
            .bias = linear->bias,
            .activation = directory->dense[i].activation,
            .outputs = panel->dense[(i + 1) % 2],
            .scratch = panel->encoder_scratch,
        };
        call->packing->gemm_f32->multiply(&product);
    }
    return panel->dense[directory->dense_count % 2];
}

static void pool_texts(panel_t *panel, uform_panels_t hidden) {
    uform_call_plan_t const *plan = &panel->call->plan;
    size_t const width = panel->call->model->directory.sizes.width, padded = uform_padded_width_(plan->pooled_width);
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        float *vector = panel->pooled + text * padded;
        for (size_t mode = 0; mode < plan->pooling_count; ++mode)
            uform_pool_(hidden, panel->batch.text_begins[text], panel->batch.text_begins[text + 1],
                plan->skipped_tokens, width, plan->pooling[mode], vector + mode * width);
        memset(vector + plan->pooled_width, 0, (padded - plan->pooled_width) * sizeof(float));
    }
}

static void write_texts(panel_t *panel) {
    call_t *call = panel->call;
    uform_call_plan_t const *plan = &call->plan;
    size_t const padded = uform_padded_width_(plan->pooled_width);
    uform_panels_t dense = {0};
    if (call->model->directory.dense_count) dense = run_dense(panel);
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        float *vector = panel->pooled + text * padded;
        if (dense.data) {
            vector = panel->vector;
            from_panels(dense, text, plan->normalized_dimensions, vector);
        }
        if (plan->normalize) uform_normalize_vector_(vector, plan->normalized_dimensions);
        size_t const item = panel->items[text];
        if (!uform_write_embedding_(
                vector, plan->dimensions, plan->scalar, call->embeddings + item * call->stride_bytes))
            fail_item(call, item,
                uform_fail_(uform_status_not_finite_k,
                    "the embedding holds a NaN, an infinity or a number too large for %s",
                    uform_scalar_name(plan->scalar)));
    }
}

static void run_panel(panel_t *panel) {
    if (!panel->batch.text_count) return;
    pool_texts(panel, uform_encoder_run_(
                          &panel->call->packing->encoder, panel->call->kernels, &panel->batch, panel->encoder_scratch));
    write_texts(panel);
    panel->batch.text_count = panel->batch.row_count = 0;
}

// Checks a tokenized text against the embedding tables.
static uform_status_t check_tokens(call_t const *call, uform_tokenize_buffer_t const *tokens) {
    uform_architecture_sizes_t const *sizes = &call->packing->encoder.sizes;
    if (!tokens->count)
        return uform_fail_(
            uform_status_malformed_k, "it has no tokens, and tokenizer.json has no post_processor that adds any");
    for (size_t i = 0; i < tokens->count; ++i) {
        if (tokens->ids[i] >= sizes->vocabulary_count)
            return uform_fail_(uform_status_mismatched_k,
                "%s/tokenizer.json: token %u is beyond config.json's vocab_size of %zu", call->model->directory.path,
                tokens->ids[i], sizes->vocabulary_count);
        if (tokens->type_ids[i] >= sizes->type_count)
            return uform_fail_(uform_status_mismatched_k,
                "%s/tokenizer.json: token type %u is beyond config.json's type_vocab_size of %zu",
                call->model->directory.path, tokens->type_ids[i], sizes->type_count);
    }
    return uform_status_ok_k;
}

static void add_text(panel_t *panel, size_t item, uform_tokenize_buffer_t const *tokens) {
    uform_batch_t *batch = &panel->batch;
    size_t const begin = batch->row_count, first = panel->call->packing->encoder.first_position;
    memcpy(batch->ids + begin, tokens->ids, tokens->count * sizeof(uint32_t));
    for (size_t i = 0; i < tokens->count; ++i) {
        batch->position_ids[begin + i] = (uint32_t)(first + i);
        batch->type_ids[begin + i] = tokens->type_ids[i];
    }
    batch->row_count += tokens->count;
    batch->text_begins[batch->text_count] = begin;
    batch->text_begins[batch->text_count + 1] = batch->row_count;
    panel->items[batch->text_count++] = item;
}

static void take_text(panel_t *panel, size_t item, uform_tokenize_buffer_t *tokens) {
    call_t *call = panel->call;
    uform_text_t const text = call->texts[item];
    uform_status_t status = uform_status_ok_k;
    if (!text.data && text.length)
        status = uform_fail_(uform_status_invalid_argument_k, "data: expected a pointer, found NULL");
    if (!status)
        status = uform_tokenizer_run_(
            call->model->directory.tokenizer, text.data ? text.data : "", text.length, &call->plan.tokenize, tokens);
    if (!status) {
        atomic_fetch_add_explicit(&call->token_count, tokens->count, memory_order_relaxed);
        if (tokens->truncated) atomic_fetch_add_explicit(&call->truncated_count, 1, memory_order_relaxed);
        if (call->items)
            call->items[item] =
                (uform_item_report_t){.token_count = (uint32_t)tokens->count, .truncated = tokens->truncated};
        status = check_tokens(call, tokens);
    }
    if (status) {
        fail_item(call, item, status);
        return;
    }
    size_t const rows = panel->batch.row_count + tokens->count;
    if (panel->batch.text_count == panel_texts_k || (rows > call->panel_rows && panel->batch.text_count))
        run_panel(panel);
    add_text(panel, item, tokens);
}

static void encode_share(void *context, uform_worker_t const *worker) {
    call_t *call = context;
    char *memory = NULL;
    uform_model_buffer_t *buffer = NULL;
    panel_t panel;
    for (size_t item; (item = atomic_fetch_add_explicit(&call->next, 1, memory_order_relaxed)) < call->count;) {
        if (!buffer) buffer = uform_model_take_buffer_(call->model);
        if (!memory && buffer) {
            memory = uform_scratch_(worker, lay_out(call, NULL, NULL));
            if (memory) lay_out(call, memory, &panel);
        }
        if (memory) take_text(&panel, item, &buffer->tokens);
        else fail_item(call, item, uform_status_out_of_memory_k);
    }
    if (memory) run_panel(&panel);
    uform_model_return_buffer_(call->model, buffer);
}

// Panels small enough that every thread gets some, large enough to be worth their weights.
static void size_panels(call_t *call, size_t threads) {
    size_t tokens = 0;
    for (size_t i = 0; i < call->count && tokens / threads < 4 * panel_rows_k; ++i)
        tokens += call->texts[i].length / bytes_per_token_k + 2;
    size_t const share = tokens / (2 * threads);
    call->panel_rows = threads == 1 || share > panel_rows_k ? panel_rows_k
                       : share > smallest_panel_k           ? share
                                                            : smallest_panel_k;
    size_t const longest = call->plan.tokenize.max_tokens;
    call->capacity_rows = longest > panel_rows_k ? longest : panel_rows_k;
}

static uform_status_t check_outputs(call_t *call) {
    size_t const bytes = uform_embedding_bytes_(call->plan.scalar, call->plan.dimensions);
    if (!call->stride_bytes) call->stride_bytes = bytes;
    if (call->stride_bytes < bytes)
        return uform_fail_(uform_status_invalid_argument_k, "stride_bytes: expected zero or at least %zu, found %zu",
            bytes, call->stride_bytes);
    size_t const element = call->plan.scalar == uform_scalar_f32_k ? 4 : uform_embedding_bytes_(call->plan.scalar, 1);
    if (call->stride_bytes % element || (uintptr_t)call->embeddings % element)
        return uform_fail_(uform_status_invalid_argument_k,
            "embeddings, stride_bytes: expected multiples of %zu bytes, the size of %s", element,
            uform_scalar_name(call->plan.scalar));
    return uform_status_ok_k;
}

static uform_status_t check_report(uform_encode_report_t *report, size_t count) {
    if (!report) return uform_status_ok_k;
    if (report->size < sizeof *report)
        return uform_fail_(uform_status_invalid_argument_k,
            "report: size: expected sizeof(uform_encode_report_t), found %zu", report->size);
    report->token_count = report->truncated_count = report->failed_count = 0;
    if (report->items) memset(report->items, 0, count * sizeof *report->items);
    return uform_status_ok_k;
}

// Checks the parameters and plans the call. Until it ends, its lock is there.
static uform_status_t prepare(call_t *call, uform_executor_t executor, uform_encode_options_t const *options) {
    if (!call->model || (call->count && (!call->texts || !call->embeddings)))
        return uform_fail_(uform_status_invalid_argument_k, "%s: expected one, found NULL",
            !call->model   ? "model"
            : !call->texts ? "texts"
                           : "embeddings");
    uform_status_t status = check_report(call->report, call->count);
    if (status) return status;
    call->items = call->report ? call->report->items : NULL;
    uform_cpu_class_t cpu_class;
    uform_executor_description_t description;
    status = uform_executor_class_(executor, &cpu_class);
    if (!status) status = uform_executor_domains_match_(executor, &call->model->domains);
    if (!status) status = uform_executor_describe(executor, &description);
    if (!status) status = uform_call_plan_(call->model, options, &call->plan);
    if (!status) status = check_outputs(call);
    if (status) return status;
    call->kernels = uform_kernels_(cpu_class);
    status = uform_model_packing_(call->model, call->kernels, &call->packing);
    if (status) return status;
    size_panels(call, description.threads);
    pthread_mutex_init(&call->failure_lock, NULL);
    return uform_status_ok_k;
}

static void fill_report(call_t *call) {
    if (!call->report) return;
    call->report->token_count = atomic_load(&call->token_count);
    call->report->truncated_count = atomic_load(&call->truncated_count);
    call->report->failed_count = atomic_load(&call->failed_count);
}

uform_status_t uform_encode_texts(uform_model_t model, uform_executor_t executor, uform_text_t const *texts,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report) {
    call_t call = {
        .model = model,
        .texts = texts,
        .count = count,
        .embeddings = embeddings,
        .stride_bytes = stride_bytes,
        .report = report,
    };
    uform_status_t status = prepare(&call, executor, options);
    if (status) return status;
    if (count) status = uform_executor_run_(executor, encode_share, &call);
    fill_report(&call);
    pthread_mutex_destroy(&call.failure_lock);
    if (status || !call.failure) return status;
    return uform_fail_(call.failure, "%s", call.failure_detail);
}

// Ends a deferred call: the report, and why it failed.
static uform_status_t finish_deferred(void *context) {
    call_t *call = context;
    fill_report(call);
    return call->failure ? uform_fail_(call->failure, "%s", call->failure_detail) : uform_status_ok_k;
}

static void release_deferred(void *context) {
    call_t *call = context;
    pthread_mutex_destroy(&call->failure_lock);
    uform_free_(call->prompt);
    uform_free_(call);
}

// Copies the prompt, which is the options', so that they needn't outlive the submission.
static uform_status_t keep_prompt(call_t *call) {
    uform_tokenize_options_t *tokenize = &call->plan.tokenize;
    call->prompt = uform_allocate_(tokenize->prefix_length, 1);
    if (!call->prompt) return uform_status_out_of_memory_k;
    if (tokenize->prefix_length) memcpy(call->prompt, tokenize->prefix, tokenize->prefix_length);
    tokenize->prefix = call->prompt;
    return uform_status_ok_k;
}

uform_status_t uform_defer_texts(uform_model_t model, uform_executor_t executor, uform_text_t const *texts,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report, uform_call_t *call) {
    if (!call) return uform_fail_(uform_status_invalid_argument_k, "call: expected a pointer, found NULL");
    *call = NULL;
    call_t *deferred = uform_allocate_(1, sizeof *deferred);
    if (!deferred) return uform_status_out_of_memory_k;
    deferred->model = model;
    deferred->texts = texts;
    deferred->count = count;
    deferred->embeddings = embeddings;
    deferred->stride_bytes = stride_bytes;
    deferred->report = report;
    uform_status_t status = prepare(deferred, executor, options);
    if (status) {
        uform_free_(deferred);
        return status;
    }
    uform_work_t const work = {encode_share, finish_deferred, release_deferred, deferred};
    status = keep_prompt(deferred);
    if (!status) status = uform_executor_defer_(executor, &work, call);
    if (status) release_deferred(deferred);
    return status;
}

uform_status_t uform_tokenize(uform_model_t model, uform_text_t text, uform_encode_options_t const *options,
    uint32_t *ids, size_t capacity, size_t *count) {
    if (!model || !count || (capacity && !ids) || (text.length && !text.data))
        return uform_fail_(uform_status_invalid_argument_k, "%s: expected one, found NULL",
            !model             ? "model"
            : !count           ? "count"
            : capacity && !ids ? "ids"
                               : "text.data");
    *count = 0;
    uform_call_plan_t plan;
    uform_status_t status = uform_call_plan_(model, options, &plan);
    if (status) return status;
    uform_model_buffer_t *buffer = uform_model_take_buffer_(model);
    if (!buffer) return uform_status_out_of_memory_k;
    status = uform_tokenizer_run_(
        model->directory.tokenizer, text.data ? text.data : "", text.length, &plan.tokenize, &buffer->tokens);
    if (!status) {
        *count = buffer->tokens.count;
        size_t const copied = capacity < *count ? capacity : *count;
        if (copied) memcpy(ids, buffer->tokens.ids, copied * sizeof(uint32_t));
    }
    uform_model_return_buffer_(model, buffer);
    return status;
}
