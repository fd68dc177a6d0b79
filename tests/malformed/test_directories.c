/**
 *  Broken directories: a good one with one file changed. Every row must end in its status, and the detail must name the
 *  file and the key at fault. Before and after the rows the directory loads, so that it is the change that is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed/changes.h"

#define MALFORMED uform_status_malformed_k
#define UNSUPPORTED uform_status_unsupported_k
#define NOT_FOUND uform_status_not_found_k
#define GIT_LFS "version https://git-lfs.github.com/spec/v1\noid sha256:53aa\nsize 90868376\n"

static change_t const changes[] = {
    {"config.json", NULL, NULL, NOT_FOUND, "no such file"},
    {"config.json", NULL, "", MALFORMED, "line 1"},
    {"config.json", NULL, GIT_LFS, MALFORMED, "expected the file itself, found the pointer"},
    {"config.json", NULL, "[]", MALFORMED, "an object"},
    {"config.json", NULL, "{", MALFORMED, "line 1"},
    {"config.json", "\"bert\"", "3", MALFORMED, "model_type: expected a string, found 3"},
    {"config.json", "\"bert\"", "null", MALFORMED, "model_type"},
    {"config.json", "\"bert\"", "\"roberto\"", UNSUPPORTED,
        "model_type: expected a supported architecture (bert, roberta, xlm-roberta, camembert, distilbert, mpnet, modernbert, nomic_bert, qwen2, qwen3, gemma3_text, t5, mt5, clip, clip_text_model, clip_vision_model, siglip, siglip_text_model, siglip_vision_model, siglip2, siglip2_text_model, siglip2_vision_model, vit, deit, dinov2, dinov2_with_registers, dinov3_vit), found \"roberto\""},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": \"x\"", MALFORMED, "hidden_size: expected an integer"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 0", MALFORMED, "hidden_size"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": -32", MALFORMED,
        "hidden_size: expected an integer from 1 to 16384, found -32"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 32.5", MALFORMED, "hidden_size"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 1e99", MALFORMED, "hidden_size"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 99999999999999999999", MALFORMED, "hidden_size"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": true", MALFORMED, "hidden_size"},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": [32]", MALFORMED, "hidden_size"},
    {"config.json", "\"num_attention_heads\": 2", "\"num_attention_heads\": 3", MALFORMED, "hidden_size"},
    {"config.json", "\"num_attention_heads\": 2", "\"num_attention_heads\": 0", MALFORMED, "num_attention_heads"},
    {"config.json", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 1000000", MALFORMED, "num_hidden_layers"},
    {"config.json", "\"vocab_size\"", "\"vocab_size\": 0, \"x\"", MALFORMED, "vocab_size"},
    {"config.json", "\"type_vocab_size\": 2", "\"type_vocab_size\": 0", MALFORMED, "type_vocab_size"},
    {"config.json", "\"max_position_embeddings\": 40", "\"max_position_embeddings\": 0", MALFORMED,
        "max_position_embeddings"},
    {"config.json", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": -1", MALFORMED, "layer_norm_eps"},
    {"config.json", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 1e999", MALFORMED, "layer_norm_eps"},
    {"config.json", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": NaN", MALFORMED, "a value"},
    {"config.json", "\"gelu\"", "\"gelu_2\"", UNSUPPORTED, "hidden_act: the activation \"gelu_2\""},
    {"config.json", "\"gelu\"", "\"prelu\"", UNSUPPORTED, "hidden_act"},
    {"config.json", "\"gelu\"", "7", MALFORMED, "hidden_act"},
    {"config.json", "\"gelu\"", "\"ge\\u0000lu\"", MALFORMED, "hidden_act"},
    {"config.json", "\"gelu\"", "\"gelu\", \"is_decoder\": true", UNSUPPORTED, "is_decoder"},
    {"config.json", "\"gelu\"", "\"gelu\", \"add_cross_attention\": true", UNSUPPORTED, "add_cross_attention"},
    {"config.json", "\"gelu\"", "\"gelu\", \"is_causal\": true", UNSUPPORTED, "is_causal: not supported, found true"},
    {"config.json", "\"gelu\"", "\"gelu\", \"is_causal\": false", uform_status_ok_k, NULL},
    {"config.json", "\"hidden_size\": 32", "\"hidden_size\": 32.0", MALFORMED,
        "hidden_size: expected an integer from 1 to 16384, found 32.0"},
    {"config.json", "\"gelu\"", "\"gelu\", \"quantization_config\": {\"bits\": 4}", UNSUPPORTED, "quantization_config"},
    {"config.json", "\"gelu\"", "\"gelu\", \"position_embedding_type\": \"relative_key\"", UNSUPPORTED,
        "position_embedding_type: expected \"absolute\", found \"relative_key\""},
    {"config.json", "\"gelu\"", "\"gelu\", \"is_decoder\": false, \"position_embedding_type\": \"absolute\"",
        uform_status_ok_k, NULL},
    {"modules.json", NULL, "{}", MALFORMED, "an array"},
    {"modules.json", NULL, "[]", MALFORMED, "an array"},
    {"modules.json", NULL, "[1]", MALFORMED, "an object"},
    {"modules.json", "models.Transformer", "models.Pooling", UNSUPPORTED,
        "type: expected a Transformer first, found \"Pooling\""},
    {"modules.json", "models.Dropout", "models.LSTM", UNSUPPORTED,
        "type: expected Pooling, Dense, Normalize or Dropout, found \"LSTM\""},
    {"modules.json", "models.Dropout", "models.LayerNorm", UNSUPPORTED, "LayerNorm"},
    {"modules.json", "models.Dropout", "models.WeightedLayerPooling", UNSUPPORTED, "WeightedLayerPooling"},
    {"modules.json", "models.Dropout", "models.Router", UNSUPPORTED, "Router"},
    {"modules.json", "sentence_transformers.models.Dropout", "modeling.Custom", UNSUPPORTED,
        "type: expected a module of sentence_transformers, found \"modeling.Custom\""},
    {"modules.json", "\"sentence_transformers.models.Dropout\"", "5", MALFORMED, "type"},
    {"modules.json", "models.Pooling", "models.Dropout", UNSUPPORTED, "Pooling"},
    {"modules.json", "\"1_Pooling\"", "\"../1_Pooling\"", MALFORMED,
        "path: expected a path inside the directory, found \"../1_Pooling\""},
    {"modules.json", "\"1_Pooling\"", "\"a/../../b\"", MALFORMED, "path"},
    {"modules.json", "\"1_Pooling\"", "\"/etc\"", MALFORMED, "path"},
    {"modules.json", "\"1_Pooling\"", "7", MALFORMED, "path"},
    {"modules.json", "\"path\": \"1_Pooling\"", "\"x\": 0", MALFORMED, "path"},
    {"modules.json", "\"1_Pooling\"", "\"7_Pooling\"", NOT_FOUND, "7_Pooling/config.json"},
    {"1_Pooling/config.json", NULL, NULL, NOT_FOUND, "no such file"},
    {"1_Pooling/config.json", "\"word_embedding_dimension\": 32", "\"word_embedding_dimension\": 64", MALFORMED,
        "word_embedding_dimension: expected 32, the transformer's hidden_size, found 64"},
    {"1_Pooling/config.json", "\"word_embedding_dimension\": 32", "\"word_embedding_dimension\": \"x\"", MALFORMED,
        "word_embedding_dimension"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"pooling_mode_cls_token\": 3", MALFORMED,
        "pooling_mode_cls_token"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"pooling_mode\": \"median\"", UNSUPPORTED,
        "pooling_mode"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"pooling_mode\": []", MALFORMED, "pooling_mode"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"pooling_mode\": [1]", MALFORMED, "pooling_mode"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"pooling_mode\": null", MALFORMED, "pooling_mode"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": false", "\"include_prompt\": \"no\"", MALFORMED,
        "include_prompt"},
    {"2_Dense_1024/config.json", NULL, NULL, NOT_FOUND, "no such file"},
    {"2_Dense_1024/config.json", "64", "63", MALFORMED,
        "in_features: expected 64, what the module before gives, found 63"},
    {"2_Dense_1024/config.json", "24", "0", MALFORMED, "out_features"},
    {"2_Dense_1024/config.json", "24", "1000000", MALFORMED, "out_features"},
    {"2_Dense_1024/config.json", "\"out_features\"", "\"x\"", MALFORMED, "out_features"},
    {"2_Dense_1024/config.json", "activation.Tanh", "activation.PReLU", UNSUPPORTED, "activation_function"},
    {"2_Dense_1024/config.json", "torch.nn.modules.activation.Tanh", "os.system", UNSUPPORTED,
        "activation_function: the activation \"os.system\""},
    {"2_Dense_1024/config.json", "torch.nn.modules.activation.Tanh", "Tanh", UNSUPPORTED, "activation_function"},
    {"2_Dense_1024/config.json", "true", "\"x\"", MALFORMED, "bias"},
    {"2_Dense_1024/config.json", "true", "false", MALFORMED, "bias"},
    {"2_Dense_1024/config.json", "true", "true, \"use_residual\": true", UNSUPPORTED, "use_residual"},
    {"2_Dense_1024/config.json", "true", "true, \"module_input_name\": \"token_embeddings\"", UNSUPPORTED,
        "module_input_name"},
    {"2_Dense_1024/config.json", "true", "true, \"module_output_name\": \"x\"", UNSUPPORTED, "module_output_name"},
    {"2_Dense_1024/model.safetensors", NULL, NULL, NOT_FOUND, "no such file"},
    {"2_Dense_1024/model.safetensors", "linear.weight", "linear.height", NOT_FOUND, "linear.weight: missing"},
    {"2_Dense_1024/model.safetensors", "linear.bias", "linear.base", NOT_FOUND, "linear.bias: missing"},
    {"odd folder/projection/config.json", "50", "51", MALFORMED,
        "linear.weight: shape: expected [51, 24], found [50, 24]"},
    {"model.safetensors", NULL, NULL, NOT_FOUND, "no such file"},
    {"model.safetensors", NULL, "", MALFORMED, "header length"},
    {"model.safetensors", NULL, GIT_LFS, MALFORMED, "expected the file itself, found the pointer"},
    {"model.safetensors", "\"F32\"", "\"I32\"", UNSUPPORTED, "dtype: expected F32, F16, BF16 or F64, found I32"},
    {"model.safetensors", "encoder.layer.0.output.dense.weight", "encoder.layer.0.output.dense.height", NOT_FOUND,
        "encoder.layer.0.output.dense.weight: missing"},
    {"model.safetensors", "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bill", NOT_FOUND,
        "embeddings.LayerNorm.bias: missing"},
    {"model.safetensors", "[2,32]", "[32,2]", MALFORMED,
        "embeddings.token_type_embeddings.weight: shape: expected [2, 32], found [32, 2]"},
    {"tokenizer.json", NULL, NULL, NOT_FOUND, "no such file"},
    {"tokenizer.json", NULL, "", MALFORMED, "line 1"},
    {"tokenizer.json", NULL, "[]", MALFORMED, ""},
    {"tokenizer.json", NULL, "{}", MALFORMED, "model"},
    {"tokenizer.json", NULL, "{\"model\": null}", MALFORMED, "model"},
    {"tokenizer.json", NULL, "{\"model\": {\"type\": \"Morse\", \"vocab\": {}}}", UNSUPPORTED, "Morse"},
    {"tokenizer.json", "\"vocab\"", "\"vocabulary\"", MALFORMED, "vocab"},
    {"tokenizer.json", "\"[PAD]\": 0", "\"[PAD]\": -1", MALFORMED, "vocab"},
    {"tokenizer.json", "\"[PAD]\": 0", "\"[PAD]\": \"0\"", MALFORMED, "vocab"},
    {"tokenizer.json", "\"[PAD]\": 0", "\"[PAD]\": 99999999999", MALFORMED, "vocab"},
    {"tokenizer.json", "\"BertNormalizer\"", "\"Scrambler\"", UNSUPPORTED, "Scrambler"},
    {"tokenizer.json", "\"BertPreTokenizer\"", "\"Chopper\"", UNSUPPORTED, "Chopper"},
    {"tokenizer.json", "\"TemplateProcessing\"", "\"Framing\"", UNSUPPORTED, "Framing"},
    {"tokenizer_config.json", "512", "\"x\"", MALFORMED, "model_max_length"},
    {"tokenizer_config.json", "512", "-1", MALFORMED, "model_max_length"},
    {"tokenizer_config.json", "512", "1000000000000000019884624838656", uform_status_ok_k, NULL},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": []}", MALFORMED,
        "added_tokens_decoder: expected an object, found an array"},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", MALFORMED,
        "added_tokens_decoder: expected tokens by their ids"},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"9\": \"a\"}}", MALFORMED,
        "added_tokens_decoder: expected tokens by their ids, found \"a\""},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"9\": {\"content\": 1}}}", MALFORMED, "content"},
    {"tokenizer_config.json", NULL, "{\"added_tokens_decoder\": {\"9\": {\"content\": \"a\", \"lstrip\": 1}}}",
        MALFORMED, "lstrip: expected true or false, found 1"},
    {"tokenizer_config.json", NULL, "{\"mask_token\": 7}", MALFORMED, "mask_token: expected a token or an object"},
    {"tokenizer_config.json", NULL, "{\"additional_special_tokens\": [null]}", MALFORMED, "additional_special_tokens"},
    {"tokenizer_config.json", NULL, "{\"mask_token\": null, \"extra_special_tokens\": {\"a\": \"b\"}}",
        uform_status_ok_k, NULL},
    {"tokenizer_config.json", NULL, "{\"split_special_tokens\": 1}", MALFORMED, "split_special_tokens"},
    {"special_tokens_map.json", NULL, "[]", MALFORMED, "an object"},
    {"special_tokens_map.json", NULL, "{\"cls_token\": false}", MALFORMED, "cls_token: expected a token or an object"},
    {"added_tokens.json", NULL, "{\"a\": \"b\"}", MALFORMED, "a: expected the id of a token, found \"b\""},
    {"sentence_bert_config.json", NULL, "{\"tokenizer_args\": {\"do_lower_case\": 1}}", MALFORMED, "do_lower_case"},
    {"sentence_bert_config.json", NULL, "{\"tokenizer_args\": {\"truncation_side\": \"up\"}}", MALFORMED,
        "truncation_side: expected \"left\" or \"right\", found \"up\""},
    {"sentence_bert_config.json", NULL, "{\"processor_kwargs\": {\"add_eos_token\": true}}", UNSUPPORTED,
        "add_eos_token: not supported as an argument of the tokenizer, found true"},
    {"sentence_bert_config.json", NULL, "{\"model_kwargs\": {\"variant\": \"fp16\"}}", UNSUPPORTED,
        "variant: not supported, found \"fp16\""},
    {"sentence_bert_config.json", NULL, "{\"max_seq_length\": 0}", MALFORMED, "max_seq_length"},
    {"sentence_bert_config.json", NULL, "{\"max_seq_length\": -5}", MALFORMED,
        "max_seq_length: expected a positive integer, found -5"},
    {"sentence_bert_config.json", NULL, "{\"max_seq_length\": \"x\"}", MALFORMED, "max_seq_length"},
    {"sentence_bert_config.json", NULL, "{\"do_lower_case\": \"x\"}", MALFORMED, "do_lower_case"},
    {"sentence_bert_config.json", NULL, "{\"transformer_task\": \"fill-mask\"}", UNSUPPORTED, "transformer_task"},
    {"sentence_bert_config.json", NULL, "{\"config_args\": {\"hidden_act\": \"relu\"}}", UNSUPPORTED, "config_args"},
    {"sentence_bert_config.json", NULL, "{\"config_args\": {}, \"model_args\": {\"x\": 1}}", uform_status_ok_k, NULL},
    {"config_sentence_transformers.json", NULL, "[]", MALFORMED, "an object"},
    {"config_sentence_transformers.json", NULL, "{\"prompts\": []}", MALFORMED, "prompts"},
    {"config_sentence_transformers.json", NULL, "{\"prompts\": {\"a\": 1}}", MALFORMED,
        "prompts: expected a string for \"a\""},
    {"config_sentence_transformers.json", NULL, "{\"prompts\": {\"a\\u0000b\": \"\"}}", MALFORMED, "prompts"},
    {"config_sentence_transformers.json", NULL, "{\"default_prompt_name\": \"nope\"}", MALFORMED,
        "default_prompt_name"},
    {"config_sentence_transformers.json", NULL, "{\"default_prompt_name\": 3}", MALFORMED, "default_prompt_name"},
    {"config_sentence_transformers.json", NULL, "{\"default_prompt_name\": \"query\"}", uform_status_ok_k, NULL},
    {"config_sentence_transformers.json", NULL, "{\"truncate_dim\": 0}", MALFORMED, "truncate_dim"},
    {"config_sentence_transformers.json", NULL, "{\"model_type\": \"CrossEncoder\"}", UNSUPPORTED, "model_type"},
    {"adapter_config.json", NULL, "{}", UNSUPPORTED, "adapters"},
    {"model.safetensors.index.json", NULL, "{}", MALFORMED, "weight_map"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": []}", MALFORMED, "weight_map"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": 3}}", MALFORMED, "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"../x.safetensors\"}}", MALFORMED,
        "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"/etc/passwd\"}}", MALFORMED, "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"\"}}", MALFORMED, "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"x\\u0000y\"}}", MALFORMED, "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"gone.safetensors\"}}", NOT_FOUND,
        "weight_map: a: expected the shard \"gone.safetensors\""},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"a\": \"model.safetensors\"}}", MALFORMED,
        "weight_map: a"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {}}", NOT_FOUND,
        "embeddings.word_embeddings.weight: missing"},
    {"model.safetensors.index.json", NULL, "{\"weight_map\": {\"embeddings.LayerNorm.bias\": \"model.safetensors\"}}",
        NOT_FOUND, "embeddings.word_embeddings.weight: missing"},
};

static void one_change_is_refused(void **state) {
    changes_check(*state, "dense_stack", changes, sizeof(changes) / sizeof(changes[0]));
}

static void the_unchanged_directory_loads(void **state) {
    workspace_copy_model(*state, "dense_stack");
    if (changes_load(*state)) fail_msg("%s", uform_last_detail());
}

/// A file in the place of another, which is removed, and what the detail must say.
static void what_is_there_instead_is_named(void **state) {
    workspace_t const *workspace = *state;
    static struct {
        char const *missing, *found;
        uform_status_t status;
        char const *words;
    } const rows[] = {
        {"2_Dense_1024/model.safetensors", "2_Dense_1024/pytorch_model.bin", UNSUPPORTED,
            "2_Dense_1024/pytorch_model.bin: expected model.safetensors, found pickled weights: convert them"},
        {"model.safetensors", "pytorch_model.bin", UNSUPPORTED, "/pytorch_model.bin: expected model.safetensors"},
        {"model.safetensors", "pytorch_model-00001-of-00002.bin", UNSUPPORTED, "-of-00002.bin: expected"},
        {"model.safetensors", "model.fp16.safetensors", UNSUPPORTED,
            "model.fp16.safetensors: expected model.safetensors"},
        {"model.safetensors", "model-00001-of-00002.safetensors", UNSUPPORTED, "no model.safetensors.index.json"},
        {"model.safetensors", "adapter_model.safetensors", UNSUPPORTED, "the weights of an adapter"},
        {"model.safetensors", "onnx/model_quantized.onnx", UNSUPPORTED, "onnx/model_quantized.onnx: expected"},
        {"model.safetensors", "model.onnx", UNSUPPORTED, "an ONNX graph"},
        {"model.safetensors", "model-q8_0.gguf", UNSUPPORTED,
            "model-q8_0.gguf: expected model.safetensors, found a GGUF"},
        {"model.safetensors", "readme.md", NOT_FOUND, "model.safetensors: no such file"},
        {"config.json", "model-q8_0.gguf", UNSUPPORTED, "expected config.json and model.safetensors, found a GGUF"},
        {"config.json", "snapshots/0123/config.json", NOT_FOUND, "config.json: no such file: models in a cache"},
        {"tokenizer.json", "vocab.txt", MALFORMED, "vocab.txt: expected a line that is \"[UNK]\", found none"},
        {"tokenizer.json", "vocab.json", UNSUPPORTED, "tokenizer.json: no such file, and vocab.json alone is not read"},
        {"tokenizer.json", "sentencepiece.bpe.model", UNSUPPORTED, "sentencepiece.bpe.model alone is not read"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        workspace_copy_model(workspace, "dense_stack");
        workspace_remove(workspace, rows[i].missing);
        workspace_write_text(workspace, rows[i].found, "x");
        uform_status_t const status = changes_load(workspace);
        if (status != rows[i].status || !strstr(uform_last_detail(), rows[i].words))
            fail_msg("%s: found %s: %s", rows[i].found, uform_status_name(status), uform_last_detail());
    }
}

static void lines_of_a_vocabulary_are_checked(void **state) {
    workspace_t const *workspace = *state;
    static struct {
        char const *lines, *settings;
        uform_status_t status;
        char const *words;
    } const rows[] = {
        {"[UNK]\n[CLS]\n[SEP]\na", "{}", uform_status_ok_k, ""},
        {"[UNK]\n[CLS]\n[SEP]\na\n\xFF\n", "{}", MALFORMED, "vocab.txt: line 5: expected UTF-8"},
        {"[UNK]\n[CLS]\n[SEP]\n\xE2\x82", "{}", MALFORMED, "vocab.txt: line 4: expected UTF-8"},
        {"[UNK]\n[CLS]\n", "{}", MALFORMED, "vocab.txt: expected a line that is \"[SEP]\", found none"},
        {"[UNK]\n[SEP]\n", "{}", MALFORMED, "vocab.txt: expected a line that is \"[CLS]\", found none"},
        {"<x>\n[SEP]\n[CLS]", "{\"unk_token\": {\"content\": \"<x>\"}}", uform_status_ok_k, ""},
        {"", "{}", MALFORMED, "vocab.txt: expected a line"},
        {GIT_LFS, "{}", MALFORMED, "vocab.txt: expected the file itself"},
        {"[UNK]\n[CLS]\n[SEP]\na", "{\"tokenizer_class\": \"BertJapaneseTokenizer\"}", UNSUPPORTED,
            "tokenizer.json: no such file, and vocab.txt alone is not read"},
    };
    workspace_copy_model(workspace, "mean");
    workspace_remove(workspace, "tokenizer.json");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        workspace_write_text(workspace, "vocab.txt", rows[i].lines);
        workspace_write_text(workspace, "tokenizer_config.json", rows[i].settings);
        uform_status_t const status = changes_load(workspace);
        if (status != rows[i].status || (status && !strstr(uform_last_detail(), rows[i].words)))
            fail_msg("row %zu: found %s: %s", i, uform_status_name(status), uform_last_detail());
    }
}

static void directories_that_are_none_are_named(void **state) {
    workspace_t const *workspace = *state;
    uform_model_t model;
    char path[workspace_path_bytes_k];
    assert_int_equal(uform_model_load_ram(workspace_file(workspace, "absent", path), NULL, 0, NULL, &model),
        uform_status_not_found_k);
    assert_non_null(strstr(uform_last_detail(), "absent: no such directory"));
    workspace_write_text(workspace, "file", "x");
    assert_int_equal(
        uform_model_load_ram(workspace_file(workspace, "file", path), NULL, 0, NULL, &model), uform_status_not_found_k);
    assert_non_null(strstr(uform_last_detail(), "expected a directory"));
    assert_int_equal(uform_model_load_ram("", NULL, 0, NULL, &model), uform_status_not_found_k);
}

// What BERT's kin have that it does not.
static void families_are_checked(void **state) {
    static change_t const roberta[] = {
        {"config.json", "\"pad_token_id\": 1", "\"pad_token_id\": 41", MALFORMED,
            "max_position_embeddings: expected more than 42, found 42"},
        {"config.json", "\"pad_token_id\": 1", "\"pad_token_id\": -1", MALFORMED, "pad_token_id"},
        {"config.json", "\"pad_token_id\": 1", "\"x\": 1", uform_status_ok_k, NULL},
        {"config.json", "\"type_vocab_size\": 1", "\"type_vocab_size\": 2", MALFORMED,
            "token_type_embeddings.weight: shape: expected [2, 40], found [1, 40]"},
    };
    static change_t const mpnet[] = {
        {"config.json", "\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 16", MALFORMED,
            "relative_attention_num_buckets: expected an integer from 32"},
        {"config.json", "\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 33", MALFORMED,
            "relative_attention_bias.weight: shape: expected [33, 2], found [32, 2]"},
        {"model.safetensors", "relative_attention_bias", "relative_attention_bill", NOT_FOUND,
            "encoder.relative_attention_bias.weight: missing"},
    };
    static change_t const distilbert[] = {
        {"config.json", "\"n_heads\": 2", "\"n_heads\": 3", MALFORMED, "n_heads"},
        {"model.safetensors", "sa_layer_norm", "sa_layer_nerm", NOT_FOUND, "sa_layer_norm.weight: missing"},
    };
    static change_t const modernbert[] = {
        {"config.json", "[\n    \"full_attention\"", "[\n    \"sliding_attention\"", UNSUPPORTED, "layer_types"},
        {"config.json", "[\n    \"full_attention\"", "[\n    \"wide\"", MALFORMED,
            "layer_types: expected \"full_attention\" or"},
        {"config.json", "\"layer_types\": [", "\"layer_types\": [], \"x\": [", MALFORMED, "layer_types"},
        {"config.json", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", UNSUPPORTED,
            "full_attention: rope_type: expected \"default\", found \"yarn\""},
        {"config.json", "\"rope_theta\": 500.0", "\"rope_theta\": 0", MALFORMED, "full_attention: rope_theta"},
        {"config.json", "\"rope_theta\": 30.0", "\"x\": 1", uform_status_ok_k, NULL},
        {"config.json", "\"full_attention\": {", "\"full_attention\": 3, \"x\": {", MALFORMED, "full_attention"},
        {"config.json", "\"rope_parameters\": {", "\"rope_parameters\": [], \"x\": {", MALFORMED,
            "rope_parameters: expected an object"},
        {"config.json", "\"num_attention_heads\": 2", "\"num_attention_heads\": 8", UNSUPPORTED, "even width"},
        {"config.json", "\"max_position_embeddings\": 160", "\"max_position_embeddings\": 1000000", MALFORMED,
            "max_position_embeddings: expected an integer from 1 to 131072"},
        {"config.json", NULL,
            "{\"model_type\": \"modernbert\", \"hidden_size\": 1024, \"num_attention_heads\": 2, \"max_position_embeddings\": 32769}",
            UNSUPPORTED, "max_position_embeddings: expected at most 32768 with heads of 512 numbers, found 32769"},
        {"config.json", "\"model_type\"", "\"rope_scaling\": {\"type\": \"yarn\"}, \"model_type\"", UNSUPPORTED,
            "rope_scaling"},
        {"model.safetensors", "layers.3.attn.Wqkv.weight", "layers.3.attn.wqkv.weight", NOT_FOUND,
            "layers.3.attn.Wqkv.weight: missing"},
        {"model.safetensors", "[120,40]", "[40,120]", MALFORMED, "Wqkv.weight: shape: expected [120, 40]"},
    };
    static change_t const nomic[] = {
        {"config.json", "\"rope_type\": \"default\"", "\"rope_type\": \"dynamic\"", UNSUPPORTED,
            "rope_parameters: rope_type: expected \"default\", found \"dynamic\""},
        {"config.json", "\"rope_parameters\": {", "\"rope_parameters\": [], \"x\": {", MALFORMED, "rope_parameters"},
        {"model.safetensors", "layers.1.self_attn.k_proj.weight", "layers.1.self_attn.k_prod.weight", NOT_FOUND,
            "layers.1.self_attn.k_proj.weight: missing"},
    };
    static change_t const qwen3[] = {
        {"config.json", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", MALFORMED,
            "num_key_value_heads: expected a divisor of the 4 num_attention_heads, found 3"},
        {"config.json", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": null", MALFORMED,
            "k_proj.weight: shape: expected [72, 40], found [36, 40]"},
        {"config.json", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 1", MALFORMED,
            "k_proj.weight: shape: expected [18, 40], found [36, 40]"},
        {"config.json", "\"head_dim\": 18", "\"head_dim\": 9", UNSUPPORTED, "even width, found 9"},
        {"config.json", "\"head_dim\": 18", "\"head_dim\": 4097", MALFORMED, "head_dim"},
        {"config.json", "\"head_dim\": 18", "\"head_dim\": 4096", UNSUPPORTED, "heads of at most"},
        {"config.json", "\"num_attention_heads\": 4", "\"num_attention_heads\": 4000", UNSUPPORTED,
            "numbers in all, found 72000"},
        {"config.json", "\"model_type\"", "\"is_causal\": 3, \"model_type\"", MALFORMED, "is_causal"},
        {"config.json", "\"use_sliding_window\": false", "\"use_sliding_window\": true", UNSUPPORTED,
            "use_sliding_window"},
        {"config.json", "\"full_attention\",", "\"sliding_attention\",", UNSUPPORTED, "layer_types"},
        {"config.json", "\"full_attention\"\n", "\"sliding_attention\"\n", UNSUPPORTED,
            "layer_types: expected \"full_attention\" for all layers"},
        {"config.json", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", UNSUPPORTED, "rope_type"},
        {"config.json", "\"rope_type\": \"default\"", "\"type\": \"linear\"", UNSUPPORTED,
            "rope_parameters: type: expected \"default\", found \"linear\""},
        {"config.json", "\"rope_type\": \"default\"", "\"full_attention\": {\"rope_theta\": 50.0}", UNSUPPORTED,
            "rope_parameters: full_attention"},
        {"config.json", "\"layer_types\": [", "\"layer_types\": [\"full_attention\",", MALFORMED, "layer_types"},
        {"model.safetensors", "layers.1.self_attn.q_norm", "layers.1.self_attn.q_narm", NOT_FOUND,
            "layers.1.self_attn.q_norm.weight: missing"},
        {"model.safetensors", "layers.0.self_attn.k_norm.weight\":{\"dtype\":\"F32\",\"shape\":[18]",
            "layers.0.self_attn.k_norm.weight\":{\"dtype\":\"F32\",\"shape\":[81]", MALFORMED, "k_norm.weight"},
    };
    static change_t const gemma3[] = {
        {"config.json", "\"use_bidirectional_attention\": true", "\"use_bidirectional_attention\": 1", MALFORMED,
            "use_bidirectional_attention"},
        {"config.json", "\"attn_logit_softcapping\": null", "\"attn_logit_softcapping\": 50.0", UNSUPPORTED,
            "attn_logit_softcapping"},
        {"config.json", "\"sliding_window\": 8", "\"sliding_window\": 0", MALFORMED, "sliding_window"},
        {"config.json", "\"model_type\"", "\"is_causal\": null, \"model_type\"", MALFORMED,
            "is_causal: expected true or false, found null"},
        {"config.json", "\"query_pre_attn_scalar\": 256", "\"query_pre_attn_scalar\": 0", MALFORMED,
            "query_pre_attn_scalar"},
        {"model.safetensors", "layers.4.post_feedforward_layernorm", "layers.4.post_feedforward_layernerm", NOT_FOUND,
            "layers.4.post_feedforward_layernorm.weight: missing"},
    };
    static change_t const t5[] = {
        {"config.json", "\"gated-gelu\"", "\"gated-swoosh\"", UNSUPPORTED, "feed_forward_proj"},
        {"config.json", "\"gated-gelu\"", "\"gelu\"", uform_status_ok_k, NULL}, // is_gated_act counts more
        {"config.json", "\"is_gated_act\": true", "\"is_gated_act\": false", NOT_FOUND,
            "DenseReluDense.wi.weight: missing"},
        {"config.json", "\"gelu_new\"", "\"swoosh\"", UNSUPPORTED, "dense_act_fn"},
        {"config.json", "\"gated-gelu\"", "3", MALFORMED, "feed_forward_proj"},
        {"config.json", "\"relative_attention_max_distance\": 128", "\"relative_attention_max_distance\": 64",
            MALFORMED, "relative_attention_max_distance"},
        {"config.json", "\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 33", MALFORMED,
            "relative_attention_num_buckets"},
        {"config.json", "\"d_kv\": 18", "\"d_kv\": 17", MALFORMED, "SelfAttention.q.weight: shape"},
    };
    changes_check(*state, "t5_gated", t5, sizeof t5 / sizeof *t5);
    changes_check(*state, "gemma3", gemma3, sizeof gemma3 / sizeof *gemma3);
    changes_check(*state, "qwen3", qwen3, sizeof qwen3 / sizeof *qwen3);
    changes_check(*state, "nomic_bert", nomic, sizeof nomic / sizeof *nomic);
    changes_check(*state, "modernbert_biases", modernbert, sizeof modernbert / sizeof *modernbert);
    changes_check(*state, "roberta", roberta, sizeof roberta / sizeof *roberta);
    changes_check(*state, "mpnet", mpnet, sizeof mpnet / sizeof *mpnet);
    changes_check(*state, "distilbert", distilbert, sizeof distilbert / sizeof *distilbert);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(the_unchanged_directory_loads),
        cmocka_unit_test(one_change_is_refused),
        cmocka_unit_test(families_are_checked),
        cmocka_unit_test(what_is_there_instead_is_named),
        cmocka_unit_test(lines_of_a_vocabulary_are_checked),
        cmocka_unit_test(directories_that_are_none_are_named),
    };
    return cmocka_run_group_tests_name("directories", tests, workspace_setup, workspace_teardown);
}
