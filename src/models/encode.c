/**
 *  A call: its options, its division over threads, and which items failed.
 *
 *  Threads take items one by one from a shared counter and bring them into a panel of their own, which they run through the
 *  encoder when the next item does not fit: nothing is shared but the counter, and there is one fork-join a call. Where there
 *  are too few items to go round, the threads are a team, with one panel that they fill and run together.
 */
#include "models/encode.h"

#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/pooling.h"

enum {
    smallest_panel_k = 64, // tokens; below this, reading weights dominates
    member_columns_k = 32, // of the hidden state a member of a team has at least; below this, meeting dominates
    // To guess how many tokens there are in ordinary texts, and in images whose size decides.
    bytes_per_token_k = 4,
    tokens_per_image_k = 256,
};

void uform_fail_item_(uform_encode_call_t *call, size_t item, uform_status_t status) {
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

// What a thread has in hand: an item it prepared, and what it prepares them in.
typedef struct hand_t {
    uform_model_buffer_t *buffer;
    uform_prepared_t prepared;
    bool waits; // it didn't fit
} hand_t;

static uform_status_t prepare_item(uform_encode_call_t *call, size_t item, hand_t *hand) {
    if (!hand->buffer) hand->buffer = uform_model_take_buffer_(call->model);
    if (!hand->buffer) return uform_status_out_of_memory_k;
    hand->prepared = (uform_prepared_t){.item = item};
    return call->modality == uform_modality_texts_k ? uform_prepare_text_(call, item, hand->buffer, &hand->prepared)
                                                    : uform_prepare_image_(call, item, hand->buffer, &hand->prepared);
}

// Brings the item in hand into the panel, or lets it wait.
static uform_status_t place_item(uform_panel_t *panel, hand_t *hand) {
    uform_prepared_t const *prepared = &hand->prepared;
    size_t text = 0;
    uform_panel_answer_t const answer = uform_panel_add_(panel, prepared->item, prepared->tokens, &text);
    hand->waits = answer == uform_panel_full_k;
    if (answer == uform_panel_hopeless_k) return uform_status_out_of_memory_k;
    if (answer == uform_panel_added_k)
        (panel->call->modality == uform_modality_texts_k ? uform_place_text_ : uform_place_image_)(
            panel->call, &panel->batch, text, hand->buffer, prepared);
    return uform_status_ok_k;
}

// Takes items until there are none, or one doesn't fit.
static void fill_panel(uform_panel_t *panel, hand_t *hand) {
    uform_encode_call_t *call = panel->call;
    uform_status_t status = hand->waits ? place_item(panel, hand) : uform_status_ok_k;
    if (status) uform_fail_item_(call, hand->prepared.item, status);
    for (size_t item; !hand->waits;) {
        item = atomic_fetch_add_explicit(&call->next, 1, memory_order_relaxed);
        if (item >= call->count) break;
        status = prepare_item(call, item, hand);
        if (!status) status = place_item(panel, hand);
        if (status) uform_fail_item_(call, item, status);
    }
}

static void encode_share(void *context, uform_worker_t const *worker) {
    uform_encode_call_t *call = context;
    uform_panel_t own = {.call = call, .team.count = 1};
    bool const shared = call->shared.team.count > 1;
    uform_panel_t *const panel = shared ? &call->shared : &own;
    size_t const index = shared ? worker->index : 0;
    if (index >= panel->team.count) return;
    hand_t hand = {0};
    for (bool more = true; more;) {
        fill_panel(panel, &hand);
        uform_team_meet_(&panel->team);
        more = panel->batch.text_count || panel->waiting_tokens;
        uform_panel_run_(panel, index);
        uform_team_meet_(&panel->team);
        if (index == 0) uform_panel_empty_(panel, worker);
        uform_team_meet_(&panel->team);
    }
    uform_model_return_buffer_(call->model, hand.buffer);
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
    size_t const longest = call->plan.tokenize.max_tokens;
    for (size_t i = 0; i < call->count && tokens < enough; ++i) {
        size_t const guess = call->texts[i].length / bytes_per_token_k + 2;
        tokens += guess < longest ? guess : longest;
    }
    return tokens;
}

// Panels small enough that every thread gets some, large enough to be worth their weights. Where at most half of those that a
// team would have get one, there is a team.
static void divide(uform_encode_call_t *call, uform_executor_t executor, size_t threads) {
    size_t const tokens = guess_tokens(call, 4 * uform_panel_rows_k * threads);
    size_t const share = tokens / (2 * threads);
    call->panel_rows = threads == 1 || share > uform_panel_rows_k ? uform_panel_rows_k
                       : share > smallest_panel_k                 ? share
                                                                  : smallest_panel_k;
    size_t const panels = (tokens + smallest_panel_k - 1) / smallest_panel_k;
    size_t const busy = call->count < panels ? call->count : panels;
    size_t const most = call->tower_packing->encoder.width / member_columns_k;
    size_t const members = threads < most ? threads : most;
    call->shared = (uform_panel_t){.call = call, .team.count = 1};
    if (2 * busy > members || uform_executor_crowded_(executor)) return;
    call->shared.team.count = members;
    call->panel_rows = uform_panel_rows_k;
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
    divide(call, executor, description.threads);
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
    uform_encode_call_t *deferred = uform_allocate_aligned_(sizeof *deferred);
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
