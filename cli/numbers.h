/**
 *  Numbers as decimal text, and the narrow floats of embeddings. printf needs a tenth of a microsecond a number,
 *  which for hundreds of numbers a text is a share of the whole job that shows.
 */
#ifndef UFORM_CLI_NUMBERS_H
#define UFORM_CLI_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

enum { number_text_bytes_k = 24 };

/// Writes a float with up to nine significant digits, enough to read the same float back; it always looks like a float
/// ("1.0"). JSON knows no NaN and no infinity, both are "null". Returns the bytes written, at most
/// `number_text_bytes_k`.
size_t number_from_float_(float value, char *text);

/// Writes an unsigned integer. Returns the bytes written.
size_t number_from_unsigned_(uint32_t value, char *text);

/// The float that a half-precision or bfloat16 pattern stands for.
float float_from_f16_(uint16_t bits);
float float_from_bf16_(uint16_t bits);

#endif
