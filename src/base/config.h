/**
 *  A JSON file of a directory, which must hold an object and may be absent.
 */
#ifndef UFORM_BASE_CONFIG_H
#define UFORM_BASE_CONFIG_H

#include "base/json.h"

/// The file with the path that details name it by. Zeroed is a valid closed one.
typedef struct uform_config_t {
    char *path;
    uform_json_document_t document;
    uform_json_t const *root; ///< the object; NULL when the file is optional and absent
} uform_config_t;

/// Opens `directory/name`, which must hold an object. An optional file that is absent leaves `root` NULL.
/// Close it in every case.
uform_status_t uform_config_open_(
    char const *directory, char const *name, uform_json_need_t need, uform_config_t *config);

/// The same for what describes a model: torch_config.json, which UForm 3's package looks for first, else config.json.
uform_status_t uform_config_open_model_(char const *directory, uform_json_need_t need, uform_config_t *config);

void uform_config_close_(uform_config_t *config);

#endif
