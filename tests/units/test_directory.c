/**
 *  What is made of a directory beyond its vectors: prompts, limits, chains, names of tensors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed/workspace.h"
#include "models/directory.h"

static uform_directory_t open_directory(char const *path) {
    uform_directory_t directory;
    if (uform_directory_open_(path, &directory)) fail_msg("%s", uform_last_detail());
    return directory;
}

static uform_directory_t open_golden(char const *model) {
    char path[workspace_path_bytes_k];
    snprintf(path, sizeof(path), "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, model);
    return open_directory(path);
}

static void prompts_are_read(void **state) {
    workspace_t const *workspace = *state;
    workspace_copy_model(workspace, "mean");
    workspace_write_text(workspace, "config_sentence_transformers.json",
        "{\"prompts\": {\"a\": \"old\", \"null\": null, \"a\": \"x\\u0000y\", \"\": \"nameless\"}, \"default_prompt_name\": \"a\","
        " \"truncate_dim\": 12, \"similarity_fn_name\": \"maxsim\", \"requirements\": null}");
    uform_directory_t directory = open_directory(workspace->path);
    assert_int_equal(directory.prompt_count, 3);
    assert_string_equal(directory.prompts[0].name, "null");
    assert_int_equal(directory.prompts[0].text_length, 0);
    assert_string_equal(directory.prompts[1].name, "a");
    assert_int_equal(directory.prompts[1].text_length, 3);
    assert_memory_equal(directory.prompts[1].text, "x\0y", 4);
    assert_string_equal(directory.prompts[2].text, "nameless");
    assert_int_equal(directory.default_prompt, 1);
    assert_int_equal(directory.truncate_dimensions, 12);
    uform_directory_close_(&directory);
    workspace_write_text(workspace, "config_sentence_transformers.json", "{\"default_prompt_name\": \"document\"}");
    directory = open_directory(workspace->path);
    assert_int_equal(directory.default_prompt, directory.prompt_count);
    uform_directory_close_(&directory);
    workspace_remove(workspace, "modules.json"); // then sentence-transformers reads no prompts at all
    workspace_write_text(workspace, "config_sentence_transformers.json", "{\"prompts\": 3}");
    directory = open_directory(workspace->path);
    assert_int_equal(directory.prompt_count, 0);
    uform_directory_close_(&directory);
}

static void chains_are_read(void **state) {
    (void)state;
    uform_directory_t directory = open_golden("dense_stack");
    assert_int_equal(directory.text.pooling_count, 2);
    assert_int_equal(directory.text.pooling[0], uform_pooling_max_k);
    assert_int_equal(directory.text.pooling[1], uform_pooling_mean_k);
    assert_true(directory.include_prompt && directory.text.normalize);
    assert_int_equal(directory.text.dense_count, 2);
    assert_int_equal(directory.text.dense[0].inputs, 64);
    assert_int_equal(directory.text.dense[0].outputs, 24);
    assert_int_equal(directory.text.dense[0].activation, uform_activation_tanh_k);
    assert_non_null(directory.text.dense[0].bias.data);
    assert_int_equal(directory.text.dense[1].activation, uform_activation_identity_k);
    assert_null(directory.text.dense[1].bias.data);
    assert_false(directory.text.dense[0].normalize_inputs || directory.text.dense[1].normalize_inputs);
    uform_directory_close_(&directory);
    directory = open_golden("normalize_before_dense");
    assert_true(directory.text.dense[0].normalize_inputs);
    assert_false(directory.text.normalize);
    uform_directory_close_(&directory);
    directory = open_golden("pooling_list_order");
    assert_int_equal(directory.text.pooling_count, 3);
    assert_int_equal(directory.text.pooling[0], uform_pooling_lasttoken_k);
    uform_directory_close_(&directory);
    directory = open_golden("no_modules");
    assert_int_equal(directory.text.pooling_count, 1);
    assert_int_equal(directory.text.pooling[0], uform_pooling_mean_k);
    assert_false(directory.text.normalize);
    assert_int_equal(directory.max_tokens, 40);
    uform_directory_close_(&directory);
}

static void limits_follow_the_files(void **state) {
    workspace_t const *workspace = *state;
    static struct {
        char const *module, *tokenizer;
        size_t max_tokens;
    } const rows[] = {
        {"{\"max_seq_length\": 16}", "{\"model_max_length\": 8}", 16}, // the module's limit wins, larger or not
        {"{\"max_seq_length\": 16}", "{}", 16},
        {"{\"max_seq_length\": 512}", "{\"model_max_length\": 8}", 40}, // but there are no more positions
        {"{\"max_seq_length\": null}", "{\"model_max_length\": 8}", 8},
        {"{\"max_seq_length\": 16, \"tokenizer_args\": {\"model_max_length\": 20}}", "{}", 20},
        {"{\"max_seq_length\": 16, \"processor_kwargs\": {\"model_max_length\": 21}}", "{}", 21},
        {"{}", "{\"model_max_length\": 8}", 8},
        {"{}", "{\"model_max_length\": null}", 40},
        {"{}", "{\"max_len\": 13}", 13},
        {"{}", "{\"max_len\": 13, \"model_max_length\": 8}", 8},
        {"{}", "{}", 40},
        {"{}", "{\"model_max_length\": 1000000000000000019884624838656}", 40},
        {"{}", "{\"model_max_length\": 1e30}", 40},
    };
    workspace_copy_model(workspace, "mean");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        workspace_write_text(workspace, "sentence_bert_config.json", rows[i].module);
        workspace_write_text(workspace, "tokenizer_config.json", rows[i].tokenizer);
        uform_directory_t directory = open_directory(workspace->path);
        if (directory.max_tokens != rows[i].max_tokens) fail_msg("row %zu: found %zu", i, directory.max_tokens);
        uform_directory_close_(&directory);
    }
    workspace_remove(workspace, "tokenizer_config.json");
    workspace_remove(workspace, "sentence_bert_config.json");
    workspace_write_text(workspace, "sentence_xlnet_config.json", "{\"max_seq_length\": 9, \"do_lower_case\": true}");
    uform_directory_t directory = open_directory(workspace->path);
    assert_int_equal(directory.max_tokens, 9);
    assert_true(directory.tokenizer_settings.lower_case);
    uform_directory_close_(&directory);
}

/// Puts a padding into tokenizer.json, which has none.
static void write_padding(workspace_t const *workspace, char const *padding) {
    static char const wanted[] = "\"padding\": null";
    size_t length;
    unsigned char *const bytes = workspace_read(workspace, "tokenizer.json", &length);
    bytes[length] = 0;
    char *const key = strstr((char *)bytes, wanted), *const changed = calloc(length + strlen(padding) + 1, 1);
    assert_non_null(key);
    assert_non_null(changed);
    memcpy(changed, bytes, (size_t)(key - (char *)bytes));
    strcat(strcat(strcat(changed, "\"padding\": "), padding), key + sizeof(wanted) - 1);
    workspace_write_text(workspace, "tokenizer.json", changed);
    free(changed);
    free(bytes);
}

/// What transformers' AutoTokenizer pads with. In both models, `<pad>` is 0 and config.json's number is 1.
static void padding_follows_the_files(void **state) {
    static struct {
        char const *model, *config, *map, *padding;
        size_t pad_token;
        bool left, lower_case;
    } const rows[] = {
        {"siglip", "{\"pad_token\": \"</s>\"}", NULL, NULL, 1, false, false},
        {"siglip", "{\"pad_token\": {\"content\": \"<unk>\"}}", NULL, NULL, 2, false, false},
        {"siglip", "{\"pad_token\": \"<unk>\", \"padding_side\": \"left\"}", NULL, NULL, 2, true, false},
        {"siglip", "{}", NULL, NULL, 1, false, false},
        {"siglip", "{\"pad_token\": null, \"padding_side\": null}", NULL, NULL, 1, false, false},
        {"siglip", NULL, "{\"pad_token\": \"<unk>\"}", NULL, 2, false, false},
        {"siglip", "{\"pad_token\": \"</s>\"}", "{\"pad_token\": {\"content\": \"<unk>\"}}", NULL, 2, false, false},
        {"siglip", "{\"pad_token\": \"</s>\", \"added_tokens_decoder\": {}}", "{\"pad_token\": \"<unk>\"}", NULL, 1,
            false, false},
        {"siglip", "{}", NULL, "{\"pad_token\": \"<unk>\", \"direction\": \"Left\"}", 2, true, false},
        {"siglip", "{\"pad_token\": \"</s>\", \"padding_side\": \"right\"}", NULL,
            "{\"pad_token\": \"<unk>\", \"direction\": \"Left\"}", 1, false, false},
        {"siglip", "{\"tokenizer_class\": \"T5TokenizerFast\"}", NULL, NULL, 0, false, false},
        {"siglip", "{\"tokenizer_class\": \"SiglipTokenizer\"}", NULL, "{\"pad_token\": \"<unk>\"}", 1, false, false},
        {"siglip_gemma", "{\"tokenizer_class\": \"GemmaTokenizer\"}", NULL, NULL, 0, true, false},
        {"siglip_gemma", "{\"tokenizer_class\": \"GemmaTokenizerFast\"}", NULL, "{\"direction\": \"Right\"}", 0, false,
            false},
        {"siglip_gemma", "{\"tokenizer_class\": \"Siglip2Tokenizer\"}", NULL, NULL, 0, true, true},
        {"siglip2", NULL, NULL, NULL, 0, true, true},
        {"siglip2", "{\"tokenizer_class\": \"GemmaTokenizer\", \"padding_side\": \"right\"}", NULL, NULL, 0, false,
            true},
    };
    workspace_t const *workspace = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char model[workspace_path_bytes_k];
        snprintf(model, sizeof(model), "../vision/models/%s", rows[i].model);
        workspace_copy_model(workspace, model);
        if (rows[i].config) workspace_write_text(workspace, "tokenizer_config.json", rows[i].config);
        else workspace_remove(workspace, "tokenizer_config.json");
        if (rows[i].map) workspace_write_text(workspace, "special_tokens_map.json", rows[i].map);
        if (rows[i].padding) write_padding(workspace, rows[i].padding);
        uform_directory_t directory = open_directory(workspace->path);
        bool const left = directory.pads_left == uform_switch_on_k;
        if (directory.text.sizes.pad_token != rows[i].pad_token || left != rows[i].left ||
            directory.tokenizer_settings.lower_case != rows[i].lower_case)
            fail_msg("row %zu: found %zu, %s", i, directory.text.sizes.pad_token, left ? "left" : "right");
        uform_directory_close_(&directory);
    }
}

static void tensors_are_found_under_every_name(void **state) {
    (void)state;
    static char const *const models[] = {
        "names_bare", "names_bert", "names_model", "names_auto_model", "names_gamma_beta"};
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); ++i) {
        uform_directory_t directory = open_golden(models[i]);
        uform_architecture_t const *bert = directory.text.architecture;
        uform_tensor_t tensor;
        assert_int_equal(
            uform_directory_tensor_(&directory, &directory.text, bert->attention_norm, 0, "bias", 32, 0, &tensor),
            uform_status_ok_k);
        assert_int_equal(
            uform_directory_tensor_(&directory, &directory.text, bert->feed_forward_up, 0, "weight", 64, 32, &tensor),
            uform_status_ok_k);
        assert_int_equal(
            uform_directory_tensor_(&directory, &directory.text, bert->feed_forward_up, 0, "weight", 32, 64, &tensor),
            uform_status_malformed_k);
        assert_non_null(strstr(uform_last_detail(), "shape: expected [32, 64], found [64, 32]"));
        assert_int_equal(
            uform_directory_tensor_(&directory, &directory.text, bert->query, 7, "weight", 32, 32, &tensor),
            uform_status_not_found_k);
        assert_non_null(strstr(uform_last_detail(), "encoder.layer.7.attention.self.query.weight: missing"));
        uform_directory_close_(&directory);
    }
    uform_directory_t directory = open_golden("names_bert");
    uform_tensor_t tensor;
    assert_int_equal(
        uform_directory_tensor_(&directory, &directory.text, "encoder.layer.%zu.x", 3, "bias", 1, 0, &tensor),
        uform_status_not_found_k);
    assert_non_null(strstr(uform_last_detail(), "model.safetensors: bert.encoder.layer.3.x.bias: missing"));
    uform_directory_close_(&directory);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(prompts_are_read),
        cmocka_unit_test(chains_are_read),
        cmocka_unit_test(limits_follow_the_files),
        cmocka_unit_test(padding_follows_the_files),
        cmocka_unit_test(tensors_are_found_under_every_name),
    };
    return cmocka_run_group_tests_name("directory", tests, workspace_setup, workspace_teardown);
}
