/**
 *  Where tokens and patches are: biases by distance, learned positions resampled for other grids, and angles of rotations.
 */
#ifndef UFORM_MODELS_ENCODER_POSITIONS_H
#define UFORM_MODELS_ENCODER_POSITIONS_H

#include "models/architectures/architecture.h"
#include "models/encoder.h"

enum { uform_largest_table_side_k = 256 }; ///< of a table of positions that is resampled

/// The row of a table of biases, [`uform_distance_buckets_k`], that stands for a token and one `distance` away, which comes
/// `after` it or not. Near ones have rows of their own, farther ones share them in ever larger groups, and so do all from 91 on.
size_t uform_distance_bucket_(size_t distance, bool after);

/// Cosines and sines, [count, half], of the pairs of a head whose real width is `head`, by the token's number.
void uform_rotary_places_(float base, size_t count, size_t head, size_t half, float *cosines, float *sines);

/// Positions of one row of a grid, [grid.width, width], out of a learned table, [table_grid, width], as torch's interpolate gives
/// them without aligning corners. Sides of the table are at most `uform_largest_table_side_k` unless the grids are equal.
void uform_resample_row_(uform_positions_t kind, float const *table, uform_grid_t table_grid, uform_grid_t grid,
    size_t row, size_t width, float *positions);

/// Cosines and sines, [prefix_count + grid, half] each, of the pairs of a head whose real width is `head`: the first quarter of
/// its numbers turns with the patch's row, the next with its column. Prefix tokens and padding don't turn.
void uform_rotary_angles_(
    float base, size_t prefix_count, uform_grid_t grid, size_t head, size_t half, float *cosines, float *sines);

#endif
