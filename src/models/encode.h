/**
 *  What calls on texts and on images share: the division over threads, panels of whole items, and the rows that come out.
 */
#ifndef UFORM_MODELS_ENCODE_H
#define UFORM_MODELS_ENCODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "executor/executor.h"
#include "models/call.h"
#include "models/model.h"

enum {
    uform_panel_rows_k = 512,  ///< tokens whose activations fit the second-level cache
    uform_panel_items_k = 256, ///< items in a panel
};

/// What a call is given: [count] texts or images, as the modality says.
typedef struct uform_items_t {
    uform_modality_t modality;
    uform_text_t const *texts;
    uform_image_t const *images;
    size_t count;
} uform_items_t;

/// Where its rows and its report go.
typedef struct uform_rows_out_t {
    void *embeddings;
    size_t stride_bytes;
    uform_encode_report_t *report; ///< NULL when not wanted
} uform_rows_out_t;

typedef struct uform_encode_call_t {
    uform_model_t model;
    uform_modality_t modality;
    uform_kernels_t const *kernels;
    uform_model_packing_t const *packing;
    uform_tower_t const *tower;
    uform_tower_packing_t const *tower_packing;
    uform_call_plan_t plan;
    uform_text_t const *texts;   ///< [count], or
    uform_image_t const *images; ///< [count]
    size_t count;
    char *embeddings;
    size_t stride_bytes;
    uform_encode_report_t *report; ///< NULL when not wanted
    uform_item_report_t *items;    ///< likewise
    size_t panel_rows;             ///< tokens after which a panel is run
    atomic_size_t next;
    atomic_size_t token_count, truncated_count, failed_count;
    pthread_mutex_t failure_lock; ///< of what follows: the first failed item and why
    size_t failed_item;
    uform_status_t failure;
    char failure_detail[512];
    char *prompt; ///< a deferred call's own copy
} uform_encode_call_t;

/// One thread's panel.
typedef struct uform_panel_t {
    uform_encode_call_t *call;
    uform_worker_t const *worker;
    uform_batch_t batch;
    size_t capacity_rows; ///< tokens it has room for
    size_t *items;        ///< [text_count] positions in the call
    void *encoder_scratch;
    float *pooled;           ///< [items, pooled width padded]
    uform_panels_t dense[2]; ///< f32 panels between Dense layers
    float *vector;           ///< one item's, on its way in and out of them, [widest Dense layer]
} uform_panel_t;

/// Makes room for another item of so many tokens: runs the panel if it is full, and lets it grow if it is too small.
/// On failure there is no memory, and the panel is empty.
uform_status_t uform_panel_reserve_(uform_panel_t *panel, size_t tokens);

/// Counts an item, whose tokens are written behind the batch's rows, as the batch's.
void uform_panel_add_(uform_panel_t *panel, size_t item, size_t tokens);

/// Brings one item into the panel; the failures are its own. One for each modality.
uform_status_t uform_panel_take_text_(uform_panel_t *panel, size_t item, uform_model_buffer_t *buffer);
uform_status_t uform_panel_take_image_(uform_panel_t *panel, size_t item, uform_model_buffer_t *buffer);

/// `uform_encode_texts` and `uform_encode_images`.
uform_status_t uform_encode_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows);

/// `uform_defer_texts` and `uform_defer_images`.
uform_status_t uform_encode_defer_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows, uform_call_t *call);

#endif
