/**
 *  A panel: items brought together until it is full, run through the encoder, and written as rows of the result.
 *
 *  Its members, one thread or several, fill it side by side, run it together, and meet before and after:
 *
 *      fill with uform_panel_add_  ->  meet  ->  uform_panel_run_  ->  meet  ->  the first: uform_panel_empty_  ->  meet
 */
#ifndef UFORM_MODELS_PANEL_H
#define UFORM_MODELS_PANEL_H

#include <stddef.h>

#include "executor/executor.h"
#include "executor/lock.h"
#include "models/encoder.h"

enum {
    uform_panel_rows_k = 512,  ///< tokens whose activations fit the second-level cache
    uform_panel_items_k = 256, ///< items in a panel
};

/// Zeroed but for the call and the team's count is an empty one.
typedef struct uform_panel_t {
    struct uform_encode_call_t *call;
    uform_team_t team;
    uform_lock_t lock; ///< of what is written while it is filled: the batch's counts, items, and who waits
    uform_batch_t batch;
    size_t *items;         ///< [text_count] positions in the call
    size_t capacity_rows;  ///< tokens it has room for
    size_t waiting_tokens; ///< of the largest item that waits for the next filling; zero: none does
    size_t refused_tokens; ///< there was no memory for so many; zero: there was
    void *encoder_scratch;
    float *pooled;           ///< [items, pooled width padded]
    uform_panels_t dense[2]; ///< f32 panels between Dense layers
    float *vector;           ///< one item's, on its way in and out of them, [widest Dense layer]
    char *members;           ///< [team.count] scratch of their own, `member_bytes` each
    size_t member_bytes;
} uform_panel_t;

typedef enum uform_panel_answer_t {
    uform_panel_added_k,    ///< it is the batch's, and its rows wait to be written
    uform_panel_full_k,     ///< it waits for the next filling
    uform_panel_hopeless_k, ///< there is no memory for it, as the thread's detail says
} uform_panel_answer_t;

/// Counts an item of so many tokens as the batch's `text`-th, if there is room. Any member at any time while the panel is filled.
uform_panel_answer_t uform_panel_add_(uform_panel_t *panel, size_t item, size_t tokens, size_t *text);

/// Runs what is in the panel and writes its rows; the member's share of it.
void uform_panel_run_(uform_panel_t *panel, size_t index);

/// Empties it, and makes room for the largest item that waits. The first member only, whose scratch it lies in.
void uform_panel_empty_(uform_panel_t *panel, uform_worker_t const *worker);

#endif
