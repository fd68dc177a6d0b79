/**
 *  What models have in common: the `vocab` of WordPiece and BPE, an object of tokens and their ids, and tokens that stand
 *  for bytes.
 */
#ifndef UFORM_TOKENIZERS_VOCABULARY_H
#define UFORM_TOKENIZERS_VOCABULARY_H

#include "base/json.h"
#include "tokenizers/token_map.h"

/// Reads the tokens into the map, where of equal ones the last counts, and raises `largest_id` to the largest id.
uform_status_t uform_vocabulary_read_(
    uform_json_t const *model, char const *where, uform_token_map_t *tokens, uint32_t *largest_id);

/// The id of a token spelled in the file, whose text needs no readable bytes after it. False without memory, with a
/// detail; `found` says whether there is one.
bool uform_vocabulary_find_(
    uform_token_map_t const *tokens, char const *content, size_t length, uint32_t *id, bool *found);

/// The tokens "<0x00>" to "<0xFF>", for characters that are no token.
typedef struct uform_vocabulary_bytes_t {
    uint32_t ids[256];
    bool known[256];
} uform_vocabulary_bytes_t;

void uform_vocabulary_bytes_(uform_token_map_t const *tokens, uform_vocabulary_bytes_t *bytes);

#endif
