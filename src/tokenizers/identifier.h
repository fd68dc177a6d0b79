/**
 *  Ids in tokenizer.json. They stay below 2^31; nothing is allocated by their size.
 */
#ifndef UFORM_TOKENIZERS_IDENTIFIER_H
#define UFORM_TOKENIZERS_IDENTIFIER_H

#include "base/json.h"
#include <stdint.h>

#define UFORM_IDENTIFIER_EXPECTED_ "an integer from 0 to 2147483647"

static inline bool uform_identifier_read_(uform_json_t const *json, uint32_t *id) {
    if (!json || json->kind != uform_json_number_k || !json->integer) return false;
    if (!(json->number >= 0 && json->number <= INT32_MAX)) return false;
    *id = (uint32_t)json->number;
    return true;
}

#endif
