/**
 *  The `precompiled_charsmap` of a Precompiled normalizer: what SentencePiece replaces texts of one or a few characters by.
 */
#ifndef UFORM_TOKENIZERS_CHARSMAP_H
#define UFORM_TOKENIZERS_CHARSMAP_H

#include "tokenizers/buffers.h"
#include "uform/status.h"

typedef struct uform_charsmap_t {
    uint32_t *units; ///< [unit_count], owned: a double array
    size_t unit_count;
    char *replacements; ///< [replacements_length], owned: UTF-8, each ends with U+0000
    size_t replacements_length;
    size_t longest; ///< bytes of a replacement
} uform_charsmap_t;

/// Reads base64. `where` begins details.
uform_status_t uform_charsmap_load_(char const *text, size_t length, char const *where, uform_charsmap_t *charsmap);
void uform_charsmap_free_(uform_charsmap_t *charsmap);

/// Appends valid UTF-8 with its replacements. False without memory, with a detail.
bool uform_charsmap_append_(uform_charsmap_t const *charsmap, char const *text, size_t length, uform_bytes_t *output);

#endif
