/**
 *  The parts `uform_directory_open_` is made of, one file each. Every function reads its own JSON file and fills its
 *  own fields; what an earlier one filled is there for the later ones, and `uform_directory_close_` frees it all.
 */
#ifndef UFORM_MODELS_DIRECTORY_PARTS_H
#define UFORM_MODELS_DIRECTORY_PARTS_H

#include "base/config.h"
#include "models/directory.h"
#include "tokenizers/buffers.h"

/// Tokens a text's frame is made of, and those that stand for what no text holds.
typedef enum uform_role_t {
    uform_role_unknown_k,
    uform_role_sep_k,
    uform_role_pad_k,
    uform_role_cls_k,
    uform_role_mask_k,
    uform_role_count_k,
} uform_role_t;

typedef struct uform_token_name_t {
    char const *content; ///< [length]
    size_t length;
} uform_token_name_t;

/// Makes a tokenizer.json of a vocab.txt and the names of the tokens with a role. The caller frees `text`, on failure too.
uform_status_t uform_directory_make_tokenizer_(
    char const *path, uform_token_name_t const roles[uform_role_count_k], uform_bytes_t *text);

/// Refuses a string that is neither absent nor the one value this library computes.
uform_status_t uform_config_require_string_(
    uform_json_t const *object, char const *where, char const *key, char const *expected);

/// Refuses an option that would change results and is not off.
uform_status_t uform_config_require_off_(uform_json_t const *object, char const *where, char const *key);

/// What transformers calls an activation in `hidden_act`; `unsupported` names one that can't be computed exactly.
/// Without the key the output is left as it is.
uform_status_t uform_hidden_act_parse_(
    uform_json_t const *object, char const *where, char const *key, uform_activation_t *activation);

/// The same of a feed-forward layer: an activation, or "gated-" and one. Without the key it is ReLU.
uform_status_t uform_gated_act_parse_(
    uform_json_t const *object, char const *where, char const *key, bool *gated, uform_activation_t *activation);

/// A torch class path as Dense modules spell their `activation_function`; Tanh without one, as sentence-transformers
/// does.
uform_status_t uform_torch_activation_parse_(
    uform_json_t const *object, char const *where, char const *key, uform_activation_t *activation);

/// config.json of the transformer, or UForm 3's torch_config.json: `family` and the towers' `architecture`, `sizes` and `layer_numbers`.
uform_status_t uform_directory_read_config_(char const *transformer, uform_directory_t *directory);

/// Opens the weights of a tower's projection, of images' own file, and the logits' scale and bias. Needs `weights`.
uform_status_t uform_directory_read_projections_(uform_directory_t *directory);

/// A limit as files spell it: an integer of any size, of which only what the positions allow matters.
uform_status_t uform_config_read_limit_(uform_json_t const *object, char const *where, char const *key, size_t *limit);

/// tokenizer_config.json, special_tokens_map.json, added_tokens.json, and what the Transformer module's options, if it has any, pass
/// to the tokenizer: `truncate_left`, what is said of padding, `named_tokens` and `tokenizer_settings`. `limit` is the module's.
uform_status_t uform_directory_read_tokenizer_(char const *transformer, uform_config_t const *module, size_t *limit,
    size_t *tokenizer_limit, uform_directory_t *directory);

/// sentence_bert_config.json (or its older names), which sentence-transformers ignores without modules.json, and the files beside
/// tokenizer.json: `max_tokens` and what the function above fills.
uform_status_t uform_directory_read_limits_(
    char const *transformer, bool is_sentence_transformer, uform_directory_t *directory);

/// Whether a value is the name of a tokenizer's class, with Fast behind it or not.
bool uform_config_names_class_(uform_json_t const *name, char const *class_name);

/// A side as files spell it, NULL and null for none; on is the left one.
uform_status_t uform_config_read_side_(
    uform_json_t const *side, char const *where, char const *key, uform_switch_t *left);

/// tokenizer_config.json and special_tokens_map.json, opened, the latter only where it counts: `pad_token`, `pads_left`, and what
/// follows from the tokenizer's class.
uform_status_t uform_directory_read_padding_(
    uform_config_t const *config, uform_config_t const *map, uform_directory_t *directory);

/// vocab.json and merges.txt of CLIP: `tokenizer`; it stays NULL where the architecture or the directory has no such files.
uform_status_t uform_directory_open_old_clip_(char const *transformer, uform_directory_t *directory);

/// Where texts are padded: settles `pads_left` and the text tower's `sizes.pad_token`. Needs `tokenizer`, whose path is in details.
uform_status_t uform_directory_settle_padding_(char const *path, uform_directory_t *directory);

/// config_sentence_transformers.json: `prompts`, `default_prompt` and `truncate_dimensions`.
uform_status_t uform_directory_read_prompts_(uform_directory_t *directory);

/// modules.json: finds the transformer's folder (memory of the caller's) and whether the file exists at all.
uform_status_t uform_directory_find_transformer_(
    uform_directory_t const *directory, char **transformer, bool *is_sentence_transformer);

/// modules.json behind the transformer: `pooling`, `include_prompt`, `dense`, `normalize`; without the file, what the family
/// does. Needs the towers' sizes.
uform_status_t uform_directory_read_modules_(uform_directory_t *directory);

#endif
