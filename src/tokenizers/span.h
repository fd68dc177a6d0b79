/**
 *  A part of a text.
 */
#ifndef UFORM_TOKENIZERS_SPAN_H
#define UFORM_TOKENIZERS_SPAN_H

#include <stddef.h>

/// [start, end), in bytes.
typedef struct uform_span_t {
    size_t start, end;
} uform_span_t;

#endif
