/**
 *  Images on their way to tokens: where they are, what their patches show, and the angles of rotary positions.
 */
#include <string.h>

#include "models/encoder_positions.h"
#include "models/pass.h"

// Where the tokens of every image are, before what they show is added: copies, next to nothing of the time.
static void place_patches(uform_pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_patches_t const *patches = &encoder->patches;
    for (size_t image = 0; image < pass->batch->text_count; ++image) {
        size_t const begin = pass->batch->text_begins[image], first = begin + patches->prefix_count;
        uform_grid_t const grid = pass->batch->grids[image];
        uform_set_residual_(pass, begin, patches->prefix_count, patches->prefix);
        if (grid.height == patches->usual_grid.height && grid.width == patches->usual_grid.width) {
            uform_set_residual_(pass, first, grid.height * grid.width, patches->usual);
            continue;
        }
        // Row by row through the memory of the projections, which nothing else needs yet.
        float *const positions = pass->projections.data;
        for (size_t row = 0; row < grid.height; ++row) {
            uform_resample_row_(encoder->architecture->positions_kind, patches->table, patches->table_grid, grid, row,
                encoder->width, positions);
            uform_set_residual_(pass, first + row * grid.width, grid.width, positions);
        }
    }
}

// One line of a patch's numbers out of its bytes, `count` of them from `begin` on, zeros behind them. Every third one is of
// the same channel.
#define FILL_LINE(name, scalar)                                                                                        \
    static void name(scalar const *values, uint8_t const *bytes, size_t begin, size_t count, scalar *line) {           \
        scalar const *const a = values + begin % 3 * 256, *const b = values + (begin + 1) % 3 * 256,                   \
                            *const c = values + (begin + 2) % 3 * 256;                                                 \
        size_t i = 0;                                                                                                  \
        for (; i + 3 <= count; i += 3) {                                                                               \
            line[i] = a[bytes[i]];                                                                                     \
            line[i + 1] = b[bytes[i + 1]];                                                                             \
            line[i + 2] = c[bytes[i + 2]];                                                                             \
        }                                                                                                              \
        if (i < count) line[i] = a[bytes[i]];                                                                          \
        if (i + 1 < count) line[i + 1] = b[bytes[i + 1]];                                                              \
        for (i = count; i < 64 / sizeof(scalar); ++i) line[i] = 0;                                                     \
    }
FILL_LINE(fill_line_f32, float)
FILL_LINE(fill_line_bf16, uint16_t)

// The same out of numbers.
static void fill_line_from_numbers(float const *numbers, size_t count, bool bf16, void *line) {
    memset(line, 0, 64);
    for (size_t i = 0; i < count; ++i)
        if (bf16) ((uint16_t *)line)[i] = uform_f32_to_bf16_(numbers[i]);
        else ((float *)line)[i] = numbers[i];
}

// Numbers [begin, end) of the patches of all images into panels; zeros where no patch is.
static void fill_patches(uform_pass_t const *pass, size_t begin, size_t end, uform_panels_t panels) {
    uform_patches_t const *patches = &pass->encoder->patches;
    uform_batch_t const *batch = pass->batch;
    bool const bf16 = pass->encoder->precision != uform_scalar_f32_k;
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->rows, 1);
    for (size_t image = 0; image < batch->text_count; ++image) {
        size_t const first = batch->text_begins[image] > share.begin ? batch->text_begins[image] : share.begin;
        for (size_t row = first; row < batch->text_begins[image + 1] && row < share.end; ++row)
            for (size_t place = begin; place < end; place += pass->lane) {
                void *const line = uform_line_at_(panels, (place - begin) / pass->lane, row);
                size_t const left = place < patches->depth ? patches->depth - place : 0;
                size_t const count = row < batch->text_begins[image] + patches->prefix_count ? 0
                                     : left < pass->lane                                     ? left
                                                                                             : pass->lane;
                size_t const offset = row * patches->depth + place;
                if (batch->numbers) fill_line_from_numbers(batch->numbers + offset, count, bf16, line);
                else if (bf16) fill_line_bf16(patches->values, batch->pixels + offset, place, count, line);
                else fill_line_f32(patches->values, batch->pixels + offset, place, count, line);
            }
    }
}

// Turns images into tokens: what their patches show is added to where they are, a part of the numbers at a time.
void uform_embed_patches_(uform_pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_linear_t const *linear = &encoder->patches.linear;
    size_t const room = uform_patch_columns_(encoder);
    if (uform_pass_leads_(pass)) place_patches(pass);
    uform_pass_meet_(pass);
    for (size_t begin = 0, end; begin < linear->depth; begin = end) {
        end = begin + room < linear->depth ? begin + room : linear->depth;
        fill_patches(pass, begin, end, pass->projections);
        uform_pass_meet_(pass);
        uform_operand_t const patches =
            uform_prepare_(pass, &pass->integers, pass->projections, begin, end, end - begin);
        uform_add_product_(pass, linear, begin, end, &patches);
        uform_pass_meet_(pass);
    }
}

bool uform_is_usual_(uform_pass_t const *pass, size_t image) {
    uform_grid_t const grid = pass->batch->grids[image], usual = pass->encoder->patches.usual_grid;
    return grid.height == usual.height && grid.width == usual.width;
}

// Angles of images on unusual grids, once for all layers.
void uform_prepare_angles_(uform_pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const half = encoder->head_width / 2;
    for (size_t image = 0; image < pass->batch->text_count; ++image) {
        size_t const first = pass->batch->text_begins[image] * half;
        if (!uform_is_usual_(pass, image))
            uform_rotary_angles_(encoder->sizes.rotary_base, encoder->patches.prefix_count, pass->batch->grids[image],
                encoder->sizes.head_width, half, pass->cosines + first, pass->sines + first);
    }
}
