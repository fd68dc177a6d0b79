/**
 *  Rows of embeddings on their way out: JSON lines, a NumPy file, or bare floats.
 */
#ifndef UFORM_CLI_OUTPUT_H
#define UFORM_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

typedef struct output_t {
    char const *name;
    int descriptor; ///< where it ends up
    int spool;      ///< a temporary file for what can't be written before the number of rows is known; else -1
    int64_t start;  ///< of a NumPy file within `descriptor`
    output_format_t format;
    uform_scalar_t scalar;
    size_t dimensions;
    size_t inner; ///< of a row that is a matrix, the columns; a NumPy file then has three dimensions
    size_t row_bytes;
    uint64_t rows;
    char *buffer;
    size_t used;
    char *null_row; ///< [row_bytes]
    bool failed;    ///< nothing more is written
} output_t;

/// The format that options and the file's name ask for. False, with a message, for a scalar it can't hold.
bool output_format_resolve_(settings_t const *settings, output_format_t *format);

/// Bytes a row takes; b1 packs eight dimensions a byte.
size_t output_row_bytes_(uform_scalar_t scalar, size_t dimensions);

/// Opens a file, or standard output for NULL and "-". An existing file is emptied. On failure a message has been
/// written.
bool output_open_(output_t *output, char const *path, output_format_t format, uform_scalar_t scalar, size_t dimensions);

/// One row, [row_bytes]; NULL writes the null row. The first failure writes a message, further ones do nothing.
bool output_row_(output_t *output, void const *row);

/// A JSON array of ids on a line of its own; NULL writes null.
bool output_ids_(output_t *output, uint32_t const *ids, size_t count);

/// Hands what is buffered to the system, so that a reader at the other end of a pipe sees it.
bool output_flush_(output_t *output);

/// Completes and closes the output. False when anything written to it was lost.
bool output_close_(output_t *output);

#endif
