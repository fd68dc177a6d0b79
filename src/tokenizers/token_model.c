/**
 *  The table of models.
 */
#include "tokenizers/token_model.h"

#include "base/detail.h"
#include "tokenizers/where.h"

static uform_token_model_kind_t const *const kinds[] = {
    &uform_token_model_bpe_,
    &uform_token_model_wordpiece_,
    &uform_token_model_unigram_,
};

enum { kinds_count_k = sizeof(kinds) / sizeof(*kinds) };

uform_status_t uform_token_model_load_(uform_json_t const *json, char const *path, uform_token_model_t *model) {
    *model = (uform_token_model_t){0};
    if (!json || json->kind != uform_json_object_k) return uform_json_unexpected_(path, "model", "an object", json);
    uform_where_t where;
    uform_where_start_(&where, path, "model");
    uform_json_t const *const type = uform_json_find_(json, "type");
    char const *names[kinds_count_k];
    for (size_t i = 0; i < kinds_count_k; ++i) {
        names[i] = kinds[i]->type;
        if (!(type ? uform_json_equals_(type, kinds[i]->type) : kinds[i]->recognize(json))) continue;
        uform_status_t const status = kinds[i]->load(json, where.text, &model->state);
        if (status == uform_status_ok_k) model->kind = kinds[i];
        return status;
    }
    return uform_where_unknown_type_(&where, json, "an object", names, kinds_count_k, sizeof(*names));
}

void uform_token_model_free_(uform_token_model_t *model) {
    if (model->kind) model->kind->free(model->state);
    *model = (uform_token_model_t){0};
}
