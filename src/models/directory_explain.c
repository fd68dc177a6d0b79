/**
 *  What a directory holds in the place of a file that isn't there: a failure that names it says more than one that only names
 *  what is missing.
 */
#include "models/directory_explain.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"

enum { name_limit_k = 256 }; // as long as a name in a directory gets

static char const gguf_words[] = "a GGUF file, which is not read: take the model as transformers saves it";

/// Files by the end of their name, the most telling first.
static struct {
    char const *folder, *suffix, *words;
} const weights_files[] = {
    {NULL, "adapter_model.safetensors", "the weights of an adapter: merge them into those of its base model"},
    {NULL, "pytorch_model.bin", "pickled weights: convert them to safetensors"},
    {NULL, "pytorch_model.bin.index.json", "pickled weights: convert them to safetensors"},
    {NULL, "tf_model.h5", "weights of TensorFlow: convert them to safetensors"},
    {NULL, "model.ckpt.index", "weights of TensorFlow: convert them to safetensors"},
    {NULL, "flax_model.msgpack", "weights of Flax: convert them to safetensors"},
    {NULL, ".safetensors", "weights under another name, and no model.safetensors.index.json that places them"},
    {NULL, ".gguf", gguf_words},
    {NULL, ".onnx", "an ONNX graph, which is not read: take the model as transformers saves it"},
    {"onnx", ".onnx", "an ONNX graph, which is not read: take the model as transformers saves it"},
    {NULL, ".bin", "pickled weights: convert them to safetensors"},
    {NULL, ".pt", "pickled weights: convert them to safetensors"},
    {NULL, ".pth", "pickled weights: convert them to safetensors"},
    {NULL, ".ckpt", "pickled weights: convert them to safetensors"},
};

enum { weights_file_count_k = sizeof(weights_files) / sizeof(weights_files[0]) };

static bool ends_with(char const *name, char const *suffix) {
    size_t const length = strlen(name), end = strlen(suffix);
    return length >= end && !strcmp(name + length - end, suffix);
}

/// The first file by name that ends so; an empty name for none. A folder that can't be read has none.
static void find_file(char const *path, char const *suffix, char name[name_limit_k]) {
    *name = 0;
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent const *entry; (entry = readdir(folder));) {
        if (!ends_with(entry->d_name, suffix) || (*name && strcmp(entry->d_name, name) >= 0)) continue;
        snprintf(name, name_limit_k, "%s", entry->d_name);
    }
    closedir(folder);
}

/// Fails with the first of the table's files that is there; ok without one.
static uform_status_t name_weights(char const *directory, char const *missing) {
    for (size_t i = 0; i < weights_file_count_k; ++i) {
        char const *const folder = weights_files[i].folder;
        char *const path = uform_path_join_(directory, folder ? folder : "");
        char name[name_limit_k];
        if (!path) return uform_status_out_of_memory_k;
        find_file(path, weights_files[i].suffix, name);
        uform_status_t status = uform_status_ok_k;
        if (*name)
            status = uform_fail_(uform_status_unsupported_k, "%s/%s: expected %s, found %s", path, name, missing,
                weights_files[i].words);
        uform_free_(path);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

uform_status_t uform_directory_explain_weights_(char const *directory, char const *missing) {
    uform_status_t const status = name_weights(directory, missing);
    if (status != uform_status_ok_k) return status;
    return uform_fail_(uform_status_not_found_k, "%s/%s: no such file", directory, missing);
}

uform_status_t uform_directory_explain_config_(char const *directory) {
    static char const missing[] = "config.json";
    char *const snapshots = uform_path_join_(directory, "snapshots");
    if (!snapshots) return uform_status_out_of_memory_k;
    bool const is_cache = uform_file_exists_(snapshots);
    uform_status_t status = uform_status_ok_k;
    if (is_cache)
        status = uform_fail_(uform_status_not_found_k,
            "%s/%s: no such file: models in a cache of Hugging Face are the folders in %s", directory, missing,
            snapshots);
    uform_free_(snapshots);
    if (status != uform_status_ok_k) return status;
    char name[name_limit_k];
    find_file(directory, ".gguf", name);
    if (*name)
        return uform_fail_(uform_status_unsupported_k, "%s/%s: expected config.json and model.safetensors, found %s",
            directory, name, gguf_words);
    return uform_fail_(uform_status_not_found_k, "%s/%s: no such file", directory, missing);
}

uform_status_t uform_directory_explain_tokenizer_(char const *directory) {
    static char const *const names[] = {
        "vocab.txt", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model", "vocab.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        char *const path = uform_path_join_(directory, names[i]);
        if (!path) return uform_status_out_of_memory_k;
        bool const exists = uform_file_exists_(path);
        uform_free_(path);
        if (exists)
            return uform_fail_(uform_status_unsupported_k,
                "%s/tokenizer.json: no such file, and %s alone is not read: save the tokenizer with transformers",
                directory, names[i]);
    }
    return uform_fail_(uform_status_not_found_k, "%s/tokenizer.json: no such file", directory);
}
