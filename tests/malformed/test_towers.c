/**
 *  Broken directories of models with towers for images: what only they have in config.json, in their weights and beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed/changes.h"

#define MALFORMED uform_status_malformed_k
#define UNSUPPORTED uform_status_unsupported_k
#define NOT_FOUND uform_status_not_found_k
#define MISMATCHED uform_status_mismatched_k
#define OK uform_status_ok_k

static change_t const clip_changes[] = {
    {"config.json", "\"hidden_size\": 48", "\"hidden_size\": \"x\"", MALFORMED,
        "vision_config: hidden_size: expected an integer"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 0", MALFORMED, "text_config: hidden_size"},
    {"config.json", "\"image_size\": 32", "\"image_size\": 0", MALFORMED, "vision_config: image_size"},
    {"config.json", "\"image_size\": 32", "\"image_size\": 4", MALFORMED, "image_size: expected at least one patch"},
    {"config.json", "\"image_size\": 32", "\"image_size\": [32]", MALFORMED, "image_size"},
    {"config.json", "\"image_size\": 32", "\"image_size\": [32, \"x\"]", MALFORMED, "image_size"},
    {"config.json", "\"image_size\": 32", "\"image_size\": [32, 32]", OK, NULL},
    {"config.json", "\"image_size\": 32", "\"image_size\": 40", MISMATCHED, "size: expected 5 x 5 patches"},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": 0", MALFORMED, "patch_size"},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": [8, 4]", MALFORMED,
        "patch_size: expected an integer or two equal"},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": [8, 8]", OK, NULL},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": 100000", MALFORMED, "patch_size"},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": 16", MALFORMED,
        "patch_embedding.weight: shape: expected [48, 3, 16, 16]"},
    {"config.json", "\"num_channels\": 3", "\"num_channels\": 1", UNSUPPORTED, "num_channels: expected 3, found 1"},
    {"config.json", "\"num_attention_heads\": 3", "\"num_attention_heads\": 5", MALFORMED, "hidden_size"},
    {"config.json", "quick_gelu", "quick_glue", UNSUPPORTED, "hidden_act"},
    {"config.json", "\"eos_token_id\": 555", "\"eos_token_id\": [555]", MALFORMED, "eos_token_id"},
    {"config.json", "\"clip\"", "\"clap\"", UNSUPPORTED, "expected a supported architecture"},
    {"config.json", "\"vision_config\"", "\"vision\"", MALFORMED, "shape"},
    {"config.json", "\"vision_config\"", "\"vision_config\": [], \"vision\"", MALFORMED,
        "config.json: vision_config: expected an object, found an array"},
    {"config.json", "\"text_config\"", "\"text_config_dict\": \"x\", \"text_config\"", MALFORMED, "text_config_dict"},
    {"config.json", "\"text_config\"", "\"text_config_dict\": null, \"text_config\"", OK, NULL},
    {"config.json", "\"text_config\"", "\"quantization_config\": {\"bits\": 4}, \"text_config\"", UNSUPPORTED,
        "config.json: quantization_config"},
    {"config.json", NULL, "{\"architecture\": \"vit_base_patch16_224\", \"num_classes\": 0}", UNSUPPORTED,
        "config.json: architecture: found \"vit_base_patch16_224\" of timm"},
    {"config.json", "\"patch_size\": 8", "\"patch_size\": 8.0", MALFORMED,
        "patch_size: expected an integer from 1 to 256, found 8.0"},
    {"config.json", "\"projection_dim\": 28", "\"quantization_config\": {\"bits\": 4}", UNSUPPORTED,
        "quantization_config"},
    {"model.safetensors", "visual_projection.weight", "visual_production.weight", NOT_FOUND,
        "visual_projection.weight: missing"},
    {"model.safetensors", "vision_model.pre_layrnorm.bias", "vision_model.pre_layernorm.bia", NOT_FOUND,
        "vision_model.pre_layrnorm.bias: missing"},
    {"model.safetensors", "vision_model.embeddings.class_embedding", "vision_model.embeddings.class_embodying",
        NOT_FOUND, "class_embedding: missing"},
    {"model.safetensors", "[48,3,8,8]", "[48,8,3,8]", MALFORMED, "shape: expected [48, 3, 8, 8], found [48, 8, 3, 8]"},
    {"model.safetensors", "[48,3,8,8]", "[3,48,8,8]", MALFORMED, "shape: expected [48, 3, 8, 8], found [3, 48, 8, 8]"},
    {"model.safetensors", "[28,48]", "[48,28]", MALFORMED, "visual_projection.weight: shape"},
    {"preprocessor_config.json", NULL, "", MALFORMED, "line 1"},
    {"preprocessor_config.json", NULL, "[]", MALFORMED, ""},
    {"preprocessor_config.json", "CLIPImageProcessor", "ClapImageProcessor", UNSUPPORTED, "ClapImageProcessor"},
    {"preprocessor_config.json", "\"resample\": 3", "\"resample\": 9", MALFORMED, "resample"},
    {"preprocessor_config.json", "\"do_center_crop\": true", "\"do_center_crop\": false", UNSUPPORTED,
        "expected one size for all images"},
    {"preprocessor_config.json", NULL, NULL, OK, NULL}, // texts are still encoded
    {"tokenizer.json", NULL, NULL, OK, NULL},           // and so are images
    {"tokenizer.json", NULL, "{}", MALFORMED, "model"},
};

static change_t const old_clip_changes[] = {
    {"vocab.json", NULL, "[]", MALFORMED, "vocab.json: expected an object"},
    {"vocab.json", NULL, "{\"a\": 0}", MALFORMED, "vocab.json: expected the bos_token \"<|startoftext|>\" and its id"},
    {"vocab.json", "\"<|endoftext|>\": 555", "\"<|endoftext|>\": \"x\"", MALFORMED,
        "vocab.json: expected the eos_token"},
    {"vocab.json", NULL, NULL, OK, NULL}, // images are still encoded
    {"merges.txt", "#version: 0.2\n", "#version: 0.2\na b c\n", MALFORMED,
        "vocab.json and merges.txt: model: merges[1]"},
    {"merges.txt", "#version: 0.2\n", "", OK, NULL},
    {"merges.txt", NULL, NULL, OK, NULL},
    {"special_tokens_map.json", "\"pad_token\": \"!\"", "\"pad_token\": \"<none>\"", OK, NULL},
    {"special_tokens_map.json", NULL, "[]", MALFORMED, "special_tokens_map.json: expected an object"},
    {"added_tokens.json", NULL, "{\"<|extra|>\": 556.5}", MALFORMED,
        "added_tokens.json: <|extra|>: expected an id, found 556.5"},
    {"added_tokens.json", NULL, "{\"a\\\"b\": 556}", OK, NULL},
    {"tokenizer_config.json", "CLIPTokenizer", "GPT2Tokenizer", OK, NULL},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", MALFORMED,
        "tokenizer_config.json: added_tokens_decoder: expected tokens by their ids"},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"556\": {\"content\": \"a\", \"special\": true}}}",
        OK, NULL},
};

static change_t const siglip_changes[] = {
    // Only CLIP's files have these.
    {"config.json", "\"text_config\"", "\"text_config_dict\": {\"hidden_size\": 8}, \"text_config\"", OK, NULL},
    {"model.safetensors", "logit_bias", "logit_bill", OK, NULL},
    {"model.safetensors", "vision_model.head.probe", "vision_model.head.prone", NOT_FOUND, "head.probe: missing"},
    {"model.safetensors", "in_proj_bias", "in_proj_bill", NOT_FOUND, "head.attention.in_proj_bias: missing"},
    {"config.json", "\"vision_use_head\": true", "\"vision_use_head\": false", UNSUPPORTED, "vision_use_head"},
    {"tokenizer_config.json", "\"pad_token\": \"</s>\"", "\"pad_token\": \"<none>\"", MISMATCHED,
        "tokenizer.json: expected tokenizer_config.json's pad_token \"<none>\", found no such token"},
    {"tokenizer_config.json", NULL, "{\"padding_side\": \"middle\"}", MALFORMED, "padding_side"},
    {"special_tokens_map.json", NULL, "[]", MALFORMED, "special_tokens_map.json"},
    {"special_tokens_map.json", NULL, "{\"pad_token\": \"<none>\"}", MISMATCHED, "special_tokens_map.json's pad_token"},
    {"tokenizer.json", "\"padding\": null", "\"padding\": 3", MALFORMED, "padding: expected an object, found 3"},
    {"tokenizer.json", "\"padding\": null", "\"padding\": {\"direction\": \"Up\"}", MALFORMED,
        "padding: direction: expected \"Left\" or \"Right\""},
    // Without any word about padding, config.json's number is it.
    {"tokenizer_config.json", NULL, NULL, OK, NULL},
};

static change_t const unpadded_changes[] = {
    {"config.json", "\"pad_token_id\": 1", "\"pad_token_id\": 4000000000", OK, NULL}, // tokenizer_config.json says it
};

static change_t const naflex_changes[] = {
    {"preprocessor_config.json", "\"patch_size\": 6", "\"patch_size\": 8", MISMATCHED, "patch_size: expected 6"},
    {"config.json", "\"num_patches\"", "\"num_patches\": 7, \"x\"", MALFORMED,
        "num_patches: expected a square, found 7"},
};

static change_t const dino_changes[] = {
    {"preprocessor_config.json", "\"height\": 32", "\"height\": 7", UNSUPPORTED, "size: expected 1 to 16384 patches"},
    {"preprocessor_config.json", "32", "16000", UNSUPPORTED, "size: expected 1 to 16384 patches"},
};

static change_t const uform_changes[] = {
    {"config.json", "\"dim\"", "\"dimm\"", MALFORMED, "dim: expected an integer"},
    {"config.json", "\"bert\"", "\"albert\"", UNSUPPORTED, "model_type: expected \"bert\" or \"roberta\""},
    {"config.json", "\"multimodal_layers_ids\": [", "\"multimodal_layers_ids\": [\"x\", ", MALFORMED,
        "multimodal_layers_ids"},
    {"config.json", "\"multimodal_layers_ids\": [", "\"multimodal_layers_ids\": [7, ", MALFORMED,
        "multimodal_layers_ids: expected numbers of layers there are, found 7"},
    {"config.json", "\"multimodal_layers_ids\": [", "\"multimodal_layers_ids\": [0.5, ", MALFORMED, "found 0.5"},
    {"image_encoder.safetensors", NULL, NULL, OK, NULL},
    {"text_encoder.safetensors", NULL, NULL, OK, NULL},
    {"image_encoder.safetensors", NULL, "", MALFORMED, "header length"},
};

#define CHECK(model, changes)                                                                                          \
    changes_check(*state, "../vision/models/" model, changes, sizeof(changes) / sizeof(changes[0]))

static void towers_are_checked(void **state) {
    CHECK("clip", clip_changes);
    CHECK("clip_old_tokenizer", old_clip_changes);
    CHECK("siglip", siglip_changes);
    CHECK("siglip", unpadded_changes);
    CHECK("siglip2", naflex_changes);
    CHECK("dinov3", dino_changes);
    CHECK("uform_bert", uform_changes);
}

/// What texts are padded with has to be a row of the embedding table, also where only config.json says it.
static void padding_is_checked(void **state) {
    static char const wanted[] = "\"pad_token_id\": 1,", grown[] = "\"pad_token_id\": 4000000000,";
    workspace_t const *workspace = *state;
    workspace_copy_model(workspace, "../vision/models/siglip");
    workspace_remove(workspace, "tokenizer_config.json");
    size_t length;
    unsigned char *const bytes = workspace_read(workspace, "config.json", &length);
    char *const changed = calloc(length + sizeof(grown), 1);
    assert_non_null(changed);
    bytes[length] = 0;
    char const *const key = strstr((char *)bytes, wanted);
    assert_non_null(key);
    size_t const before = (size_t)(key - (char *)bytes);
    memcpy(changed, bytes, before);
    strcat(strcat(changed, grown), key + sizeof(wanted) - 1);
    workspace_write_text(workspace, "config.json", changed);
    free(changed);
    free(bytes);
    assert_int_equal(changes_load(workspace), uform_status_mismatched_k);
    assert_non_null(strstr(uform_last_detail(), "the padding token, 4000000000, is beyond"));
}

static void directories_of_open_clip_are_known(void **state) {
    workspace_t const *workspace = *state;
    workspace_copy_model(workspace, "../vision/models/clip");
    workspace_write_text(workspace, "open_clip_config.json", "{}");
    assert_int_equal(changes_load(workspace), uform_status_ok_k); // many have both
    workspace_remove(workspace, "config.json");
    assert_int_equal(changes_load(workspace), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "open_clip_config.json: found a directory of open_clip"));
}

/// One tower whose file is missing leaves the other usable, and its own calls name the file.
static void a_missing_file_leaves_one_tower(void **state) {
    static struct {
        char const *model, *file;
        bool texts;
    } const rows[] = {
        {"../vision/models/clip", "preprocessor_config.json", true},
        {"../vision/models/clip", "tokenizer.json", false},
        {"../vision/models/uform_bert", "image_encoder.safetensors", true},
        {"../vision/models/uform_bert", "text_encoder.safetensors", false},
    };
    workspace_t const *workspace = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        workspace_copy_model(workspace, rows[i].model);
        workspace_remove(workspace, rows[i].file);
        uform_model_t model;
        if (uform_model_load_ram(workspace->path, NULL, 0, NULL, &model)) fail_msg("%s", uform_last_detail());
        uform_model_description_t description;
        assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
        assert_int_equal(description.encodes_texts, rows[i].texts);
        assert_int_equal(description.encodes_images, !rows[i].texts);
        float row[256];
        unsigned char const pixels[3] = {1, 2, 3};
        uform_text_t const text = {"a", 1};
        uform_image_t const image = {pixels, 3, uform_image_layout_rgb_k, 1, 1, 0};
        assert_true(description.dimensions <= sizeof(row) / sizeof(row[0]));
        assert_int_equal(uform_encode_texts(model, NULL, &text, 1, NULL, row, 0, NULL),
            rows[i].texts ? uform_status_ok_k : uform_status_unsupported_k);
        assert_int_equal(uform_encode_images(model, NULL, &image, 1, NULL, row, 0, NULL),
            rows[i].texts ? uform_status_unsupported_k : uform_status_ok_k);
        uform_status_t const refused = rows[i].texts ? uform_encode_images(model, NULL, &image, 1, NULL, row, 0, NULL)
                                                     : uform_encode_texts(model, NULL, &text, 1, NULL, row, 0, NULL);
        assert_int_equal(refused, uform_status_unsupported_k);
        assert_non_null(strstr(uform_last_detail(), rows[i].file));
        uform_model_free(model);
    }
}

/// A class that ends with the tower has its vectors, though the file holds a projection.
static void a_bare_class_is_not_projected(void **state) {
    static char const config[] = "config.json", named[] = "CLIPVisionModelWithProjection", bare[] = "CLIPVisionModel";
    workspace_t const *workspace = *state;
    for (int projected = 0; projected < 2; ++projected) {
        workspace_copy_model(workspace, "../vision/models/clip_vision_projection");
        size_t length;
        unsigned char *const bytes = workspace_read(workspace, config, &length);
        bytes[length] = 0;
        char *const name = strstr((char *)bytes, named);
        assert_non_null(name);
        if (!projected)
            memset(name + sizeof(bare) - 1, ' ', sizeof(named) - sizeof(bare)), name[sizeof(bare) - 1] = '"';
        if (!projected) name[sizeof(named) - 1] = ' '; // the quote that was there
        workspace_write(workspace, config, bytes, length);
        free(bytes);
        uform_model_t model;
        uform_model_description_t description;
        if (uform_model_load_ram(workspace->path, NULL, 0, NULL, &model)) fail_msg("%s", uform_last_detail());
        assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
        assert_int_equal(description.dense_count, projected);
        uform_model_free(model);
    }
}

#define TRANSFORMER                                                                                                    \
    "{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.base.modules.transformer.Transformer\"}"
#define POOLING                                                                                                        \
    "{\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.sentence_transformer.modules.pooling.Pooling\"}"

/// Directories as sentence-transformers 6.2 saves these models: two towers give what they give by themselves, the tokens of one
/// for images are pooled.
static void sentence_transformers_layouts_load(void **state) {
    static struct {
        char const *model, *modules, *settings;
        uint32_t pooling;
        size_t dense_count;
        uform_status_t status;
    } const rows[] = {
        {"../vision/models/clip", "[" TRANSFORMER "]",
            "{\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}, \"image\": {\"method_output_name\": "
            "\"pooler_output\"}}, \"module_output_name\": \"sentence_embedding\"}",
            uform_pooling_lasttoken_k, 1, OK},
        {"../vision/models/clip", "[" TRANSFORMER "]", "{\"module_output_name\": \"token_embeddings\"}", 0, 0,
            UNSUPPORTED},
        {"../vision/models/clip", "[" TRANSFORMER ", " POOLING "]", "{}", 0, 0, UNSUPPORTED},
        {"../vision/models/dinov2", "[" TRANSFORMER ", " POOLING "]",
            "{\"modality_config\": {\"image\": {\"method_output_name\": \"last_hidden_state\"}}, \"module_output_name\": "
            "\"token_embeddings\"}",
            uform_pooling_mean_k, 0, OK},
        {"../vision/models/vit", "[" TRANSFORMER ", " POOLING "]", "{}", uform_pooling_mean_k, 0, OK},
        {"../vision/models/vit", "[" TRANSFORMER "]", "{}", uform_pooling_cls_k, 1, OK},
        {"../vision/models/siglip_vision", "[" TRANSFORMER ", " POOLING "]", "{}", uform_pooling_mean_k, 0, OK},
        {"../vision/models/clip_vision", "[" TRANSFORMER ", " POOLING "]", "{}", 0, 0, UNSUPPORTED},
    };
    workspace_t const *workspace = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        workspace_copy_model(workspace, rows[i].model);
        workspace_write_text(workspace, "modules.json", rows[i].modules);
        workspace_write_text(workspace, "sentence_bert_config.json", rows[i].settings);
        workspace_write_text(workspace, "1_Pooling/config.json", "{\"pooling_mode\": \"mean\"}");
        uform_model_t model;
        uform_status_t const status = uform_model_load_ram(workspace->path, NULL, 0, NULL, &model);
        if (status != rows[i].status) fail_msg("row %zu: %s: %s", i, uform_status_name(status), uform_last_detail());
        if (status) continue;
        uform_model_description_t description;
        assert_int_equal(uform_model_describe(model, &description), OK);
        assert_int_equal(description.pooling, rows[i].pooling);
        assert_int_equal(description.dense_count, rows[i].dense_count);
        assert_false(description.normalize);
        float row[256];
        unsigned char const pixels[3] = {1, 2, 3};
        uform_image_t const image = {pixels, 3, uform_image_layout_rgb_k, 1, 1, 0};
        assert_int_equal(uform_encode_images(model, NULL, &image, 1, NULL, row, 0, NULL), OK);
        uform_model_free(model);
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(towers_are_checked),
        cmocka_unit_test(padding_is_checked),
        cmocka_unit_test(directories_of_open_clip_are_known),
        cmocka_unit_test(a_missing_file_leaves_one_tower),
        cmocka_unit_test(a_bare_class_is_not_projected),
        cmocka_unit_test(sentence_transformers_layouts_load),
    };
    return cmocka_run_group_tests_name("towers", tests, workspace_setup, workspace_teardown);
}
