/**
 *  What a loaded model holds. Immutable but for two caches behind a lock: packings for classes other than the first,
 *  and buffers of texts and images on their way in.
 */
#ifndef UFORM_MODELS_MODEL_H
#define UFORM_MODELS_MODEL_H

#include "executor/lock.h"
#include "models/directory.h"
#include "models/encoder.h"
#include "models/packing.h"

/// A tower's weights: zeroed for one that the model does not have.
typedef struct uform_tower_packing_t {
    uform_encoder_t encoder;
    uform_linear_t *dense; ///< [dense_count]
} uform_tower_packing_t;

/// The weights in the pack formats of one class. Executors of another class get packings of their own, made when first
/// needed.
typedef struct uform_model_packing_t {
    struct uform_model_packing_t *next;
    uform_gemm_t const *gemm;     ///< of the encoders
    uform_gemm_t const *gemm_f32; ///< of the Dense layers
    uform_tower_packing_t text, image;
    uform_weights_memory_t memory; ///< that all of it lives in
} uform_model_packing_t;

/// What texts are tokenized and images are decoded with, waiting for its next call.
typedef struct uform_model_buffer_t {
    struct uform_model_buffer_t *next;
    uform_tokenize_buffer_t tokens;
    uform_block_t decoded;
    uform_preprocess_buffer_t preprocessed;
} uform_model_buffer_t;

struct uform_model_s {
    uform_directory_t directory;
    uform_domains_t domains; ///< that the weights are spread over
    uform_scalar_t precision;
    uform_cpu_class_t cpu_class; ///< of the first packing
    uform_lock_t lock;
    uform_model_packing_t *packings; ///< under the lock; entries never change or leave
    uform_model_buffer_t *buffers;   ///< under the lock
};

/// What a caller's options say, whatever version of the struct they come in; the defaults for NULL.
/// `invalid_argument` for a size that can't be one.
uform_status_t uform_model_options_read_(uform_model_options_t const *given, uform_model_options_t *options);

/// The tower for texts, or the one for images where there is none: what describes the model and its rows.
static inline uform_tower_t const *uform_model_tower_(uform_model_t model) {
    return uform_tower_works_(&model->directory.text) ? &model->directory.text : &model->directory.image;
}

/// The packing for a class's kernels, made if it is the first time.
uform_status_t uform_model_packing_(
    uform_model_t model, uform_kernels_t const *kernels, uform_model_packing_t const **packing);

enum {
    /// Bytes that a buffer keeps for pictures between calls: enough for twelve megapixels that were turned upright, and not
    /// a whole life long what one giant took.
    uform_buffer_kept_bytes_k = 128 << 20
};

/// A buffer of one's own, until it is given back. NULL and a detail without memory.
uform_model_buffer_t *uform_model_take_buffer_(uform_model_t model);
void uform_model_return_buffer_(uform_model_t model, uform_model_buffer_t *buffer);

#endif
