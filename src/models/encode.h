/**
 *  What calls on texts and on images share: options, the division over threads, and which items failed.
 */
#ifndef UFORM_MODELS_ENCODE_H
#define UFORM_MODELS_ENCODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "models/call.h"
#include "models/model.h"
#include "models/panel.h"

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
    uform_panel_t shared; ///< of the first threads, if they are a team of several; else each has a panel of its own
    atomic_size_t next;
    atomic_size_t token_count, truncated_count, failed_count;
    pthread_mutex_t failure_lock; ///< of what follows: the first failed item and why
    size_t failed_item;
    uform_status_t failure;
    char failure_detail[512];
    char *prompt; ///< a deferred call's own copy
} uform_encode_call_t;

/// An item on its way into a panel; what it is made of waits in the buffer it was prepared in.
typedef struct uform_prepared_t {
    size_t item;             ///< its position in the call
    size_t tokens;           ///< rows it takes
    size_t text_tokens;      ///< those of them that are its own; the rest is padding
    uform_picture_t picture; ///< images only, as is what follows
    uform_grid_t grid;
} uform_prepared_t;

/// Tokenizes a text, or decodes and resizes an image; failures are the item's own.
uform_status_t uform_prepare_text_(
    uform_encode_call_t *call, size_t item, uform_model_buffer_t *buffer, uform_prepared_t *prepared);
uform_status_t uform_prepare_image_(
    uform_encode_call_t *call, size_t item, uform_model_buffer_t *buffer, uform_prepared_t *prepared);

/// Writes what the rows of the batch's `text`-th item are made of.
void uform_place_text_(uform_encode_call_t const *call, uform_batch_t const *batch, size_t text,
    uform_model_buffer_t const *buffer, uform_prepared_t const *prepared);
void uform_place_image_(uform_encode_call_t const *call, uform_batch_t const *batch, size_t text,
    uform_model_buffer_t const *buffer, uform_prepared_t const *prepared);

/// Writes an item's row of nulls, and what the current thread's detail says into the call.
void uform_fail_item_(uform_encode_call_t *call, size_t item, uform_status_t status);

/// `uform_encode_texts` and `uform_encode_images`.
uform_status_t uform_encode_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows);

/// `uform_defer_texts` and `uform_defer_images`.
uform_status_t uform_encode_defer_(uform_model_t model, uform_executor_t executor, uform_items_t items,
    uform_encode_options_t const *options, uform_rows_out_t rows, uform_call_t *call);

#endif
