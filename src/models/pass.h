/**
 *  A pass of a batch through the layers, as one of the threads that run it together sees it: where everything lies in the
 *  scratch, which part of a step is its own, and the products every step is made of.
 */
#ifndef UFORM_MODELS_PASS_H
#define UFORM_MODELS_PASS_H

#include "models/encoder.h"

/// A matrix as products take it: as it is, or as integers. Its panels are numbered as those of the whole matrix.
typedef struct uform_operand_t {
    uform_panels_t panels;
    uform_quantized_row_t const *quantized; ///< [pieces, capacity] of integers; else NULL
    size_t begin, piece;                    ///< first column, and columns whose rows were rounded together
} uform_operand_t;

/// Integers, and what their rows stand for.
typedef struct uform_integers_t {
    uform_panels_t panels;
    uform_quantized_row_t *quantized;
} uform_integers_t;

typedef struct uform_pass_t {
    uform_encoder_t const *encoder;
    uform_batch_t const *batch;
    uform_member_t const *member;
    uform_gemm_t const *gemm;
    uform_attention_t const *attention;
    uform_rows_t const *kernels;
    size_t rows;     ///< that are passed on: one a text once no others count
    size_t capacity; ///< rows a panel has room for
    size_t lane;     ///< elements of the scalar in a line
    uform_panels_t residual, hidden, projections, attended, inner, gates;
    uform_panels_t branch; ///< where branches are summed instead of in the residual; NULL unless they are normalised
    uform_integers_t integers, hidden_integers; ///< of precisions that multiply them
    float const *bias;                          ///< of the layer's attention, see `distance_bias`; NULL for none
    size_t bias_stride;
    size_t window;               ///< keys either way that the layer's queries see; zero: all
    uform_rotations_t rotations; ///< of the layer; texts only
    float *cosines, *sines;      ///< [rows, head_width / 2] of images on unusual grids
} uform_pass_t;

/// What a member does of a step: elements [begin, end) of something.
typedef struct uform_share_t {
    size_t begin, end;
} uform_share_t;

/// A pass over scratch of `uform_encoder_scratch_bytes_`.
uform_pass_t uform_pass_begin_(uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    uform_batch_t const *batch, uform_member_t const *member, void *scratch);

/// Columns of the feed-forward layer whose products are added at once, and those that are there at once.
size_t uform_chunk_columns_(uform_encoder_t const *encoder);
size_t uform_stretch_columns_(uform_encoder_t const *encoder, size_t members);

/// Numbers of a patch that are multiplied at once: there is room for as many in the projections.
size_t uform_patch_columns_(uform_encoder_t const *encoder);

/// A member's part of [begin, end), cut at multiples of `step`, or where columns may be cut.
uform_share_t uform_share_of_(uform_member_t const *member, size_t begin, size_t end, size_t step);
uform_share_t uform_share_of_columns_(uform_pass_t const *pass, size_t begin, size_t end);

/// Whether the member does what isn't worth dividing.
static inline bool uform_pass_leads_(uform_pass_t const *pass) {
    return pass->member->index == 0;
}

/// Waits for the other members.
static inline void uform_pass_meet_(uform_pass_t const *pass) {
    uform_team_meet_(pass->member->team);
}

/// The same matrix without its first panels, or rows.
static inline uform_panels_t uform_panels_from_(uform_panels_t panels, size_t first) {
    return (uform_panels_t){(char *)panels.data + first * panels.stride_bytes, panels.stride_bytes};
}
static inline uform_panels_t uform_rows_from_(uform_panels_t panels, size_t first) {
    return (uform_panels_t){(char *)panels.data + first * 64, panels.stride_bytes};
}

/// Panels of a part of a matrix that are numbered as those of the whole one, which is never there; `lane` elements a line.
static inline uform_panels_t uform_numbered_from_(uform_panels_t panels, size_t column, size_t lane) {
    return (uform_panels_t){
        (char *)((uintptr_t)panels.data - column / lane * panels.stride_bytes), panels.stride_bytes};
}

static inline char *uform_line_at_(uform_panels_t panels, size_t panel, size_t row) {
    return (char *)panels.data + panel * panels.stride_bytes + row * 64;
}

/// Copies rows of floats, [rows, width], into the residual.
void uform_set_residual_(uform_pass_t const *pass, size_t row_begin, size_t rows, float const *floats);

/// Columns [begin, end) of a matrix, whose panels begin with the first of them, ready for products that take at most `piece` of
/// them at once. Members share what is to be done and meet.
uform_operand_t uform_prepare_(uform_pass_t const *pass, uform_integers_t const *integers, uform_panels_t panels,
    size_t begin, size_t end, size_t piece);
uform_operand_t uform_prepare_hidden_(uform_pass_t const *pass);
uform_operand_t uform_prepare_attended_(uform_pass_t const *pass);

/// Some columns of a product over the whole depth, with no outputs yet.
uform_gemm_call_t uform_shared_product_(
    uform_pass_t const *pass, uform_linear_t const *linear, uform_share_t share, uform_operand_t const *inputs);

/// Does a product, unless the member has no share of it.
void uform_pass_multiply_(uform_pass_t const *pass, uform_gemm_call_t const *call);

/// Columns [begin, end) of a product, all members together.
void uform_project_(uform_pass_t const *pass, uform_linear_t const *linear, uform_operand_t const *inputs, size_t begin,
    size_t end, uform_panels_t outputs);

/// Adds the member's columns of a product over a part of the depth to the residual: one piece, or all. They are the same in all
/// parts, so that members need not meet between them.
void uform_add_product_(uform_pass_t const *pass, uform_linear_t const *linear, size_t depth_begin, size_t depth_end,
    uform_operand_t const *inputs);

/// Turns images into tokens: the residual before the first layer.
void uform_embed_patches_(uform_pass_t const *pass);

/// Angles of images on unusual grids, once for all layers; of the first member alone.
void uform_prepare_angles_(uform_pass_t const *pass);

/// Whether an image is on the grid that most are on.
bool uform_is_usual_(uform_pass_t const *pass, size_t image);

#endif
