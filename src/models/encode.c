/**
 *  A call: its options, its division over threads, panels of whole items, and the rows that come out.
 *
 *  Threads take items one by one from a shared counter, bring them into a panel of their own, and run the panel
 *  through the encoder when the next item does not fit. Nothing is shared but the counter, so there is one fork-join
 *  a call.
 *
 *  A thread's scratch: [encoder's][ids, positions, types: rows each, or pixels][begins, items, grids][pooled rows][Dense
 *  inputs and outputs].
 */
#include "models/encode.h"

#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/pooling.h"

enum {
    smallest_panel_k = 64, // below this, reading weights dominates
    // To guess how many tokens there are in ordinary texts, and in images whose size decides.
    bytes_per_token_k = 4,
    tokens_per_image_k = 256,
};

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static void fail_item(uform_encode_call_t *call, size_t item, uform_status_t status) {
    static char const *const names[] = {[uform_modality_texts_k] = "text", [uform_modality_images_k] = "image"};
    uform_write_null_(call->plan.dimensions, call->plan.scalar, call->embeddings + item * call->stride_bytes);
    if (call->items) call->items[item].status = status;
    atomic_fetch_add_explicit(&call->failed_count, 1, memory_order_relaxed);
    pthread_mutex_lock(&call->failure_lock);
    if (call->failure == uform_status_ok_k || item < call->failed_item) {
        call->failed_item = item;
        call->failure = status;
        snprintf(call->failure_detail, sizeof call->failure_detail, "%s %zu: %s", names[call->modality], item,
            uform_last_detail());
    }
    pthread_mutex_unlock(&call->failure_lock);
}

static size_t dense_width(uform_encode_call_t const *call) {
    size_t widest = 0;
    for (size_t i = 0; i < call->plan.dense_count; ++i) {
        uform_linear_t const *linear = &call->tower_packing->dense[i];
        if (widest < linear->columns) widest = linear->columns;
        if (widest < linear->depth) widest = linear->depth;
    }
    return widest;
}

// Whether patches are numbers instead of bytes.
static bool has_numbers(uform_encode_call_t const *call) {
    return uform_preprocessor_has_planes_(&call->model->directory.preprocessor);
}

// What tokens are made of takes, of `rows` tokens: ids, or bytes or numbers of patches.
static size_t source_bytes(uform_encode_call_t const *call, size_t rows) {
    if (call->modality == uform_modality_texts_k) return 3 * aligned(rows * sizeof(uint32_t));
    size_t const number_bytes = has_numbers(call) ? sizeof(float) : sizeof(uint8_t);
    return aligned(rows * call->tower_packing->encoder.patches.depth * number_bytes);
}

static void lay_out_sources(uform_encode_call_t const *call, char *memory, size_t rows, uform_batch_t *batch) {
    size_t const row_bytes = aligned(rows * sizeof(uint32_t));
    *batch = (uform_batch_t){0};
    if (call->modality == uform_modality_texts_k) {
        batch->ids = (uint32_t *)memory;
        batch->position_ids = (uint32_t *)(memory + row_bytes);
        batch->type_ids = (uint32_t *)(memory + 2 * row_bytes);
    } else if (has_numbers(call)) batch->numbers = (float *)memory;
    else batch->pixels = (uint8_t *)memory;
}

// Lays out the thread's scratch for `rows` tokens, or with NULL only measures it.
static size_t lay_out(uform_panel_t *panel, size_t rows, char *memory) {
    uform_encode_call_t const *call = panel->call;
    size_t const pooled_width = uform_padded_width_(call->plan.pooled_width), widest = dense_width(call);
    size_t const dense_stride = (uform_panel_items_k + uform_row_step_k) * 64, dense_bytes = widest / 16 * dense_stride;
    size_t const sources =
        aligned(uform_encoder_scratch_bytes_(&call->tower_packing->encoder, call->kernels, rows, rows));
    size_t const begins = sources + source_bytes(call, rows);
    size_t const index_bytes = aligned((uform_panel_items_k + 1) * sizeof(size_t));
    size_t const grids = begins + 2 * index_bytes;
    size_t const pooled = grids + aligned(uform_panel_items_k * sizeof(uform_grid_t));
    size_t const dense = pooled + aligned(uform_panel_items_k * pooled_width * sizeof(float));
    size_t const vector = dense + 2 * dense_bytes;
    if (memory) {
        lay_out_sources(call, memory + sources, rows, &panel->batch);
        panel->batch.text_begins = (size_t *)(memory + begins);
        panel->batch.grids = (uform_grid_t *)(memory + grids);
        panel->capacity_rows = rows;
        panel->items = (size_t *)(memory + begins + index_bytes);
        panel->encoder_scratch = memory;
        panel->pooled = (float *)(memory + pooled);
        panel->dense[0] = (uform_panels_t){memory + dense, dense_stride};
        panel->dense[1] = (uform_panels_t){memory + dense + dense_bytes, dense_stride};
        panel->vector = (float *)(memory + vector);
    }
    return vector + aligned(widest * sizeof(float));
}

static char *panel_line(uform_panels_t panels, size_t column, size_t text) {
    return (char *)panels.data + column / 16 * panels.stride_bytes + text * 64;
}

static void to_panels(uform_panel_t *panel, size_t width) {
    size_t const padded = uform_padded_width_(width);
    for (size_t text = 0; text < panel->batch.text_count; ++text)
        for (size_t column = 0; column < padded; column += 16)
            memcpy(panel_line(panel->dense[0], column, text), panel->pooled + text * padded + column, 64);
}

// Copies a text's vector out of f32 panels; `vector` has room for the padded width.
static void from_panels(uform_panels_t panels, size_t text, size_t width, float *vector) {
    for (size_t column = 0; column < width; column += 16) memcpy(vector + column, panel_line(panels, column, text), 64);
}

static void normalize_panels(uform_panel_t *panel, uform_panels_t panels, size_t width) {
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        from_panels(panels, text, width, panel->vector);
        uform_normalize_vector_(panel->vector, width);
        for (size_t column = 0; column < width; column += 16)
            memcpy(panel_line(panels, column, text), panel->vector + column, 64);
    }
}

// Runs the Dense layers over all texts of the panel; the answer says where their vectors are.
static uform_panels_t run_dense(uform_panel_t *panel) {
    uform_encode_call_t const *call = panel->call;
    uform_tower_t const *tower = call->tower;
    to_panels(panel, call->plan.pooled_width);
    for (size_t i = 0; i < call->plan.dense_count; ++i) {
        uform_linear_t const *linear = &call->tower_packing->dense[i];
        if (tower->dense[i].normalize_inputs) normalize_panels(panel, panel->dense[i % 2], tower->dense[i].inputs);
        uform_gemm_call_t const product = {
            .inputs = panel->dense[i % 2],
            .weights = linear->weights,
            .columns = linear->columns,
            .depth = linear->depth,
            .column_end = linear->columns,
            .depth_end = linear->depth,
            .rows = panel->batch.text_count,
            .bias = linear->bias,
            .activation = tower->dense[i].activation,
            .outputs = panel->dense[(i + 1) % 2],
            .scratch = panel->encoder_scratch,
        };
        call->packing->gemm_f32->multiply(&product);
    }
    return panel->dense[call->plan.dense_count % 2];
}

static void pool_items(uform_panel_t *panel, uform_panels_t hidden) {
    uform_call_plan_t const *plan = &panel->call->plan;
    size_t const width = panel->call->tower->sizes.width, padded = uform_padded_width_(plan->pooled_width);
    bool const one_row = panel->call->tower_packing->encoder.has_head;
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        float *vector = panel->pooled + text * padded;
        size_t const begin = one_row ? text : panel->batch.text_begins[text];
        size_t const end = one_row ? text + 1 : panel->batch.text_begins[text + 1];
        for (size_t mode = 0; mode < plan->pooling_count; ++mode)
            uform_pool_(hidden, begin, end, plan->skipped_tokens, width, plan->pooling[mode], vector + mode * width);
        memset(vector + plan->pooled_width, 0, (padded - plan->pooled_width) * sizeof(float));
    }
}

static void write_items(uform_panel_t *panel) {
    uform_encode_call_t *call = panel->call;
    uform_call_plan_t const *plan = &call->plan;
    size_t const padded = uform_padded_width_(plan->pooled_width);
    uform_panels_t dense = {0};
    if (call->plan.dense_count) dense = run_dense(panel);
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

static void run_panel(uform_panel_t *panel) {
    if (!panel->batch.text_count) return;
    pool_items(panel, uform_encoder_run_(&panel->call->tower_packing->encoder, panel->call->kernels, &panel->batch,
                          panel->encoder_scratch));
    write_items(panel);
    panel->batch.text_count = panel->batch.row_count = 0;
}

uform_status_t uform_panel_reserve_(uform_panel_t *panel, size_t tokens) {
    uform_batch_t const *batch = &panel->batch;
    bool const full = batch->text_count == uform_panel_items_k ||
                      (batch->text_count && batch->row_count + tokens > panel->call->panel_rows);
    if (full || batch->row_count + tokens > panel->capacity_rows) run_panel(panel);
    if (tokens <= panel->capacity_rows) return uform_status_ok_k;
    size_t const rows = tokens > uform_panel_rows_k ? tokens : uform_panel_rows_k;
    panel->capacity_rows = 0;
    char *memory = uform_scratch_(panel->worker, lay_out(panel, rows, NULL));
    if (!memory) return uform_status_out_of_memory_k;
    lay_out(panel, rows, memory);
    return uform_status_ok_k;
}

void uform_panel_add_(uform_panel_t *panel, size_t item, size_t tokens) {
    uform_batch_t *batch = &panel->batch;
    batch->text_begins[batch->text_count] = batch->row_count;
    batch->row_count += tokens;
    batch->text_begins[batch->text_count + 1] = batch->row_count;
    panel->items[batch->text_count++] = item;
}

static void encode_share(void *context, uform_worker_t const *worker) {
    static uform_status_t (*const take[])(uform_panel_t *, size_t, uform_model_buffer_t *) = {
        [uform_modality_texts_k] = uform_panel_take_text_,
        [uform_modality_images_k] = uform_panel_take_image_,
    };
    uform_encode_call_t *call = context;
    uform_panel_t panel = {.call = call, .worker = worker};
    uform_model_buffer_t *buffer = NULL;
    for (size_t item; (item = atomic_fetch_add_explicit(&call->next, 1, memory_order_relaxed)) < call->count;) {
        if (!buffer) buffer = uform_model_take_buffer_(call->model);
        uform_status_t const status =
            buffer ? take[call->modality](&panel, item, buffer) : uform_status_out_of_memory_k;
        if (status) fail_item(call, item, status);
    }
    run_panel(&panel);
    uform_model_return_buffer_(call->model, buffer);
}

// Tokens the items will have, or `enough` of them.
static size_t guess_tokens(uform_encode_call_t const *call, size_t enough) {
    size_t tokens = 0;
    if (call->modality == uform_modality_images_k) {
        uform_patches_t const *patches = &call->tower_packing->encoder.patches;
        size_t const usual = patches->usual_grid.height * patches->usual_grid.width;
        size_t const each = (usual ? usual : tokens_per_image_k) + patches->prefix_count;
        return call->count < enough / each ? call->count * each : enough;
    }
    for (size_t i = 0; i < call->count && tokens < enough; ++i) tokens += call->texts[i].length / bytes_per_token_k + 2;
    return tokens;
}

// Panels small enough that every thread gets some, large enough to be worth their weights.
static void size_panels(uform_encode_call_t *call, size_t threads) {
    size_t const tokens = guess_tokens(call, 4 * uform_panel_rows_k * threads);
    size_t const share = tokens / (2 * threads);
    call->panel_rows = threads == 1 || share > uform_panel_rows_k ? uform_panel_rows_k
                       : share > smallest_panel_k                 ? share
                                                                  : smallest_panel_k;
}

// More rows than memory has room for are a mistake of the caller's.
static uform_status_t check_count(uform_encode_call_t const *call) {
    size_t const row =
        call->stride_bytes > sizeof(uform_item_report_t) ? call->stride_bytes : sizeof(uform_item_report_t);
    if (call->count <= PTRDIFF_MAX / row) return uform_status_ok_k;
    return uform_fail_(uform_status_invalid_argument_k, "count: expected at most %zu rows of %zu bytes, found %zu",
        PTRDIFF_MAX / row, row, call->count);
}

static uform_status_t check_outputs(uform_encode_call_t *call) {
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

static uform_status_t check_pointers(uform_encode_call_t const *call) {
    bool const images = call->modality == uform_modality_images_k;
    bool const items = images ? call->images != NULL : call->texts != NULL;
    if (call->model && (!call->count || (items && call->embeddings))) return uform_status_ok_k;
    return uform_fail_(uform_status_invalid_argument_k, "%s: expected one, found NULL",
        !call->model ? "model"
        : items      ? "embeddings"
        : images     ? "images"
                     : "texts");
}

// Checks the parameters and plans the call. Until it ends, its lock is there.
static uform_status_t prepare(
    uform_encode_call_t *call, uform_executor_t executor, uform_encode_options_t const *options) {
    uform_status_t status = check_pointers(call);
    if (!status) status = check_count(call);
    if (!status) status = check_report(call->report, call->count);
    if (status) return status;
    bool const images = call->modality == uform_modality_images_k;
    call->items = call->report ? call->report->items : NULL;
    uform_cpu_class_t cpu_class;
    uform_executor_description_t description;
    status = uform_executor_class_(executor, &cpu_class);
    if (!status) status = uform_executor_domains_match_(executor, &call->model->domains);
    if (!status) status = uform_executor_describe(executor, &description);
    if (!status) status = uform_call_plan_(call->model, call->modality, options, &call->plan);
    if (!status) status = check_outputs(call);
    if (!status) status = check_count(call);
    if (status) return status;
    call->kernels = uform_kernels_(cpu_class);
    status = uform_model_packing_(call->model, call->kernels, &call->packing);
    if (status) return status;
    call->tower = images ? &call->model->directory.image : &call->model->directory.text;
    call->tower_packing = images ? &call->packing->image : &call->packing->text;
    size_panels(call, description.threads);
    pthread_mutex_init(&call->failure_lock, NULL);
    return uform_status_ok_k;
}

static void fill_report(uform_encode_call_t *call) {
    if (!call->report) return;
    call->report->token_count = atomic_load(&call->token_count);
    call->report->truncated_count = atomic_load(&call->truncated_count);
    call->report->failed_count = atomic_load(&call->failed_count);
}

static uform_encode_call_t make_call(uform_model_t model, uform_items_t items, uform_rows_out_t rows) {
    return (uform_encode_call_t){
        .model = model,
        .modality = items.modality,
        .texts = items.texts,
        .images = items.images,
        .count = items.count,
        .embeddings = rows.embeddings,
        .stride_bytes = rows.stride_bytes,
        .report = rows.report,
    };
}

uform_status_t uform_encode_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows) {
    uform_encode_call_t call = make_call(model, items, rows);
    uform_status_t status = prepare(&call, executor, options);
    if (status) return status;
    if (call.count) status = uform_executor_run_(executor, encode_share, &call);
    fill_report(&call);
    pthread_mutex_destroy(&call.failure_lock);
    if (status || !call.failure) return status;
    return uform_fail_(call.failure, "%s", call.failure_detail);
}

// Ends a deferred call: the report, and why it failed.
static uform_status_t finish_deferred(void *context) {
    uform_encode_call_t *call = context;
    fill_report(call);
    return call->failure ? uform_fail_(call->failure, "%s", call->failure_detail) : uform_status_ok_k;
}

static void release_deferred(void *context) {
    uform_encode_call_t *call = context;
    pthread_mutex_destroy(&call->failure_lock);
    uform_free_(call->prompt);
    uform_free_(call);
}

// Copies the prompt, which is the options', so that they needn't outlive the submission.
static uform_status_t keep_prompt(uform_encode_call_t *call) {
    uform_tokenize_options_t *tokenize = &call->plan.tokenize;
    call->prompt = uform_allocate_(tokenize->prefix_length, 1);
    if (!call->prompt) return uform_status_out_of_memory_k;
    if (tokenize->prefix_length) memcpy(call->prompt, tokenize->prefix, tokenize->prefix_length);
    tokenize->prefix = call->prompt;
    return uform_status_ok_k;
}

uform_status_t uform_encode_defer_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows, uform_call_t *call) {
    if (!call) return uform_fail_(uform_status_invalid_argument_k, "call: expected a pointer, found NULL");
    *call = NULL;
    uform_encode_call_t *deferred = uform_allocate_(1, sizeof *deferred);
    if (!deferred) return uform_status_out_of_memory_k;
    *deferred = make_call(model, items, rows);
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
