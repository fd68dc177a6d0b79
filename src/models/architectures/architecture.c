/**
 *  The table of families: one row each.
 */
#include "models/architectures/architecture.h"

#include <string.h>

static uform_architecture_t const *const architectures[] = {
    &uform_architecture_bert_,
};

uform_architecture_t const *uform_architecture_find_(char const *model_type) {
    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); ++i)
        for (char const *const *name = architectures[i]->model_types; *name; ++name)
            if (!strcmp(*name, model_type)) return architectures[i];
    return NULL;
}
