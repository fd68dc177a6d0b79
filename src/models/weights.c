/**
 *  Tensors by name over one or many mapped safetensors files, and their conversion to f32.
 *
 *  Rows are converted while they are read, straight from the mapped pages, so no tensor is ever held twice. The
 *  files' numbers are little-endian and need not be aligned: everything goes through memcpy, which compilers turn
 *  into plain vector loads.
 */
#include "models/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/detail.h"
#include "base/json.h"
#include "base/memory.h"
#include "kernels/kernels.h"
#include "models/directory_explain.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and so are the conversions below"
#endif

static char const single_file[] = "model.safetensors";
static char const index_file[] = "model.safetensors.index.json";

/// One line of an index: which tensor is in which shard.
typedef struct placement_t {
    char const *name, *file;
} placement_t;

static int compare_by_name(void const *left, void const *right) {
    placement_t const *a = left, *b = right;
    int const order = strcmp(a->name, b->name);
    return order ? order : (a->name > b->name) - (a->name < b->name);
}

static int compare_by_file(void const *left, void const *right) {
    placement_t const *a = left, *b = right;
    int const order = strcmp(a->file, b->file);
    return order ? order : strcmp(a->name, b->name);
}

static uform_status_t check_placement(uform_json_t const *entry, char const *where, placement_t *placement) {
    if (entry->kind != uform_json_string_k)
        return uform_json_unexpected_(where, entry->key, "the name of a shard", entry);
    bool const usable = entry->length && strlen(entry->text) == entry->length && uform_path_stays_inside_(entry->text);
    if (!usable) return uform_json_unexpected_(where, entry->key, "the name of a shard inside the directory", entry);
    *placement = (placement_t){entry->key, entry->text};
    return uform_status_ok_k;
}

static int compare_names(void const *left, void const *right) {
    uform_safetensor_t const *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/// Keeps of a shard only the [count] tensors the index places there, so that a name is in one file only.
static uform_status_t keep_placed(
    uform_safetensors_t *shard, char const *where, placement_t const *placements, size_t count) {
    uform_safetensor_t *kept = uform_allocate_(count, sizeof(*kept));
    if (!kept) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < count; ++i) {
        uform_safetensor_t const *tensor = uform_safetensors_find_(shard, placements[i].name);
        if (tensor) {
            kept[i] = *tensor;
            continue;
        }
        uform_free_(kept);
        return uform_fail_(uform_status_malformed_k, "%s: %s: expected a tensor of %s, which has none of this name",
            where, placements[i].name, shard->path);
    }
    uform_free_(shard->tensors);
    shard->tensors = kept, shard->tensor_count = count;
    qsort(kept, count, sizeof(*kept), compare_names);
    return uform_status_ok_k;
}

/// Opens the shard of [count] placements that all name the same file.
static uform_status_t open_shard(
    char const *directory, char const *where, placement_t const *placements, size_t count, uform_weights_t *weights) {
    char *path = uform_path_join_(directory, placements->file);
    if (!path) return uform_status_out_of_memory_k;
    uform_safetensors_t *shard = &weights->files[weights->file_count];
    uform_status_t status = uform_safetensors_open_(path, shard);
    if (status == uform_status_ok_k) {
        ++weights->file_count;
        status = keep_placed(shard, where, placements, count);
    } else if (status == uform_status_not_found_k)
        status = uform_fail_(status, "%s: %s: expected the shard \"%s\", which does not exist", where, placements->name,
            placements->file);
    uform_free_(path);
    return status;
}

static uform_status_t open_shards(
    char const *directory, char const *where, placement_t *placements, size_t count, uform_weights_t *weights) {
    qsort(placements, count, sizeof(*placements), compare_by_file);
    size_t shard_count = 0;
    for (size_t i = 0; i < count; ++i) shard_count += !i || strcmp(placements[i].file, placements[i - 1].file) != 0;
    weights->files = uform_allocate_(shard_count, sizeof(*weights->files));
    if (!weights->files) return uform_status_out_of_memory_k;
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && !strcmp(placements[end].file, placements[begin].file);) ++end;
        uform_status_t const status = open_shard(directory, where, placements + begin, end - begin, weights);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

/// Keeps the last of placements with the same name, as Python does; their order in the file is that of their keys in
/// memory.
static size_t drop_duplicates(placement_t *placements, size_t count) {
    qsort(placements, count, sizeof(*placements), compare_by_name);
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        bool const duplicate = kept && !strcmp(placements[kept - 1].name, placements[i].name);
        placements[duplicate ? kept - 1 : kept++] = placements[i];
    }
    return kept;
}

/// Collects the placements of the weight map. Names with U+0000 are left out: nothing looks them up.
static uform_status_t open_map(
    char const *directory, char const *where, uform_json_t const *map, uform_weights_t *weights) {
    placement_t *placements = uform_allocate_(map->length, sizeof(*placements));
    if (!placements) return uform_status_out_of_memory_k;
    size_t count = 0;
    uform_status_t status = uform_status_ok_k;
    for (uform_json_t const *entry = map->first; entry && status == uform_status_ok_k; entry = entry->next) {
        if (strlen(entry->key) != entry->key_length) continue;
        status = check_placement(entry, where, &placements[count++]);
    }
    if (status == uform_status_ok_k) {
        count = drop_duplicates(placements, count);
        status = open_shards(directory, where, placements, count, weights);
    }
    uform_free_(placements);
    return status;
}

static uform_status_t open_index(char const *directory, char const *path, uform_weights_t *weights) {
    uform_json_document_t index;
    uform_status_t status = uform_json_open_(path, &index);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *map = NULL;
    status = uform_json_member_(index.root, path, "weight_map", uform_json_object_k, uform_json_required_k, &map);
    if (status == uform_status_ok_k) {
        char *where = uform_allocate_(strlen(path) + sizeof(": weight_map"), 1);
        if (where) {
            strcpy(stpcpy(where, path), ": weight_map");
            status = open_map(directory, where, map, weights);
        } else status = uform_status_out_of_memory_k;
        uform_free_(where);
    }
    uform_json_close_(&index);
    return status;
}

static uform_status_t open_single(char const *directory, char const *name, uform_weights_t *weights) {
    weights->path = uform_path_join_(directory, name);
    weights->files = weights->path ? uform_allocate_(1, sizeof(*weights->files)) : NULL;
    if (!weights->files) return uform_status_out_of_memory_k;
    uform_status_t const status = uform_safetensors_open_(weights->path, weights->files);
    if (status == uform_status_ok_k) weights->file_count = 1;
    return status;
}

uform_status_t uform_weights_open_(char const *directory, uform_weights_t *weights) {
    *weights = (uform_weights_t){0};
    char *index_path = uform_path_join_(directory, index_file);
    if (!index_path) return uform_status_out_of_memory_k;
    uform_status_t status;
    if (uform_file_exists_(index_path)) {
        weights->path = index_path;
        status = open_index(directory, index_path, weights);
    } else {
        uform_free_(index_path);
        status = open_single(directory, single_file, weights);
        if (status == uform_status_not_found_k) status = uform_directory_explain_weights_(directory, single_file);
    }
    if (status != uform_status_ok_k) uform_weights_close_(weights);
    return status;
}

uform_status_t uform_weights_open_file_(char const *directory, char const *name, uform_weights_t *weights) {
    *weights = (uform_weights_t){0};
    uform_status_t const status = open_single(directory, name, weights);
    if (status != uform_status_ok_k) uform_weights_close_(weights);
    return status;
}

uform_status_t uform_weights_exist_(char const *directory, bool *exist) {
    static char const *const names[] = {single_file, index_file};
    *exist = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !*exist; ++i) {
        char *path = uform_path_join_(directory, names[i]);
        if (!path) return uform_status_out_of_memory_k;
        *exist = uform_file_exists_(path);
        uform_free_(path);
    }
    return uform_status_ok_k;
}

void uform_weights_close_(uform_weights_t *weights) {
    for (size_t i = 0; i < weights->file_count; ++i) uform_safetensors_close_(&weights->files[i]);
    uform_free_(weights->files);
    uform_free_(weights->path);
    *weights = (uform_weights_t){0};
}

bool uform_weights_find_(uform_weights_t const *weights, char const *name, uform_tensor_t *tensor) {
    enum { dimension_limit_k = sizeof(tensor->dimensions) / sizeof(tensor->dimensions[0]) };
    for (size_t i = 0; i < weights->file_count; ++i) {
        uform_safetensors_t const *file = &weights->files[i];
        uform_safetensor_t const *found = uform_safetensors_find_(file, name);
        if (!found) continue;
        *tensor = (uform_tensor_t){.name = found->name,
            .file = file->path,
            .scalar = found->scalar,
            .dimension_count = found->dimension_count,
            .data = file->data + found->begin};
        uform_json_t const *item = found->shape->first;
        for (size_t j = 0; item && j < dimension_limit_k; ++j, item = item->next)
            tensor->dimensions[j] = (size_t)item->number;
        return true;
    }
    return false;
}

static void read_f32(void const *source, size_t count, float *output) {
    memcpy(output, source, count * sizeof(float));
}

static void read_bf16(void const *source, size_t count, float *output) {
    unsigned char const *bytes = source;
    for (size_t i = 0; i < count; ++i) {
        uint16_t half;
        memcpy(&half, bytes + i * sizeof(half), sizeof(half));
        output[i] = uform_bf16_to_f32_(half);
    }
}

/// Shifting exponent and mantissa into place leaves an exponent that is 112 too small; one exact multiplication mends
/// it, for subnormals too. Infinities and NaNs have the largest exponent on both sides and are patched without a
/// branch.
static void read_f16(void const *source, size_t count, float *output) {
    unsigned char const *bytes = source;
    float const rebias = 0x1p112f;
    for (size_t i = 0; i < count; ++i) {
        uint16_t half;
        memcpy(&half, bytes + i * sizeof(half), sizeof(half));
        uint32_t const sign = (uint32_t)(half & 0x8000u) << 16, rest = (uint32_t)(half & 0x7FFFu) << 13;
        union {
            uint32_t bits;
            float value;
        } u = {rest};
        u.value *= rebias;
        u.bits |= sign | (rest >= 0x0F800000u ? 0x7F800000u : 0u);
        output[i] = u.value;
    }
}

static void read_f64(void const *source, size_t count, float *output) {
    unsigned char const *bytes = source;
    for (size_t i = 0; i < count; ++i) {
        double value;
        memcpy(&value, bytes + i * sizeof(value), sizeof(value));
        output[i] = (float)value;
    }
}

/// How the dtypes that weights come in become f32; the others have no row.
static struct {
    void (*read)(void const *source, size_t count, float *output);
    size_t bytes;
} const readers[uform_tensor_scalar_count_k] = {
    [uform_tensor_scalar_F32_k] = {read_f32, 4},
    [uform_tensor_scalar_BF16_k] = {read_bf16, 2},
    [uform_tensor_scalar_F16_k] = {read_f16, 2},
    [uform_tensor_scalar_F64_k] = {read_f64, 8},
};

/// Elements of one row; a vector is one row.
static size_t row_width(uform_tensor_t const *tensor) {
    return tensor->dimension_count ? tensor->dimensions[tensor->dimension_count - 1] : 1;
}

/// Takes away leading dimensions of one and multiplies trailing ones, until `count` are left or it can't be done.
static void flatten(uform_tensor_t *tensor, size_t count) {
    enum { limit_k = sizeof(tensor->dimensions) / sizeof(tensor->dimensions[0]) };
    if (tensor->dimension_count > limit_k) return;
    while (tensor->dimension_count > count && tensor->dimensions[0] == 1) {
        memmove(tensor->dimensions, tensor->dimensions + 1, (limit_k - 1) * sizeof(tensor->dimensions[0]));
        --tensor->dimension_count;
    }
    // The file's size bounds the product.
    for (; tensor->dimension_count > count && count > 1; --tensor->dimension_count)
        tensor->dimensions[tensor->dimension_count - 2] *= tensor->dimensions[tensor->dimension_count - 1];
}

/// A shape in brackets, as the file's header spells it.
static char const *describe_shape(size_t const *dimensions, size_t count, char *buffer, size_t buffer_bytes) {
    size_t used = (size_t)snprintf(buffer, buffer_bytes, "[");
    for (size_t i = 0; i < count && used < buffer_bytes; ++i)
        used += (size_t)snprintf(buffer + used, buffer_bytes - used, i ? ", %zu" : "%zu", dimensions[i]);
    if (used < buffer_bytes) snprintf(buffer + used, buffer_bytes - used, "]");
    return buffer;
}

static uform_status_t refuse_scalar(uform_tensor_t const *tensor) {
    return uform_fail_(uform_status_unsupported_k, "%s: %s: dtype: expected F32, F16, BF16 or F64, found %s",
        tensor->file, tensor->name, uform_tensor_scalar_name_(tensor->scalar));
}

uform_status_t uform_tensor_check_(uform_tensor_t const *tensor) {
    return readers[tensor->scalar].read ? uform_status_ok_k : refuse_scalar(tensor);
}

uform_tensor_t uform_tensor_rows_(uform_tensor_t const *tensor, size_t row_begin, size_t row_count) {
    uform_tensor_t rows = *tensor;
    size_t const row_bytes = (tensor->dimension_count == 2 ? tensor->dimensions[1] : 1) * readers[tensor->scalar].bytes;
    rows.dimensions[0] = row_count;
    rows.data = (char const *)tensor->data + row_begin * row_bytes;
    return rows;
}

uform_status_t uform_weights_require_(
    uform_weights_t const *weights, char const *name, size_t rows, size_t columns, uform_tensor_t *tensor) {
    enum { shown_k = sizeof(tensor->dimensions) / sizeof(tensor->dimensions[0]) };
    if (!uform_weights_find_(weights, name, tensor))
        return uform_fail_(uform_status_not_found_k, "%s: %s: missing", weights->path, name);
    size_t const expected[2] = {rows, columns}, count = columns ? 2 : 1;
    uform_tensor_t const found_as = *tensor;
    flatten(tensor, count);
    bool same = tensor->dimension_count == count;
    for (size_t i = 0; i < count && same; ++i) same = tensor->dimensions[i] == expected[i];
    if (!same) {
        char wanted[64], found[128];
        size_t const shown = found_as.dimension_count < shown_k ? found_as.dimension_count : shown_k;
        return uform_fail_(uform_status_malformed_k, "%s: %s: shape: expected %s, found %s", tensor->file, name,
            describe_shape(expected, count, wanted, sizeof(wanted)),
            describe_shape(found_as.dimensions, shown, found, sizeof(found)));
    }
    return uform_tensor_check_(tensor);
}

uform_status_t uform_tensor_read_(
    uform_tensor_t const *tensor, size_t row_begin, size_t row_count, float *rows, size_t stride) {
    size_t const height = tensor->dimension_count == 2 ? tensor->dimensions[0] : 1, width = row_width(tensor);
    if (!readers[tensor->scalar].read) return refuse_scalar(tensor);
    if (tensor->dimension_count > 2 || row_begin > height || row_count > height - row_begin)
        return uform_fail_(uform_status_invalid_argument_k, "%s: %s: rows %zu to %zu of %zu", tensor->file,
            tensor->name, row_begin, row_begin + row_count, height);
    size_t const row_bytes = width * readers[tensor->scalar].bytes;
    unsigned char const *source = (unsigned char const *)tensor->data + row_begin * row_bytes;
    for (size_t row = 0; row < row_count; ++row)
        readers[tensor->scalar].read(source + row * row_bytes, width, rows + row * stride);
    return uform_status_ok_k;
}

void uform_tensor_forget_(uform_tensor_t const *tensor) {
    if (!tensor->data || tensor->dimension_count > 2) return;
    size_t const height = tensor->dimension_count == 2 ? tensor->dimensions[0] : 1;
    uintptr_t const page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)tensor->data;
    // Only whole pages, for their neighbours may be another thread's; they are clean, so nothing is lost.
    uintptr_t const first = (begin + page - 1) / page * page;
    uintptr_t const last = (begin + height * row_width(tensor) * readers[tensor->scalar].bytes) / page * page;
    if (first < last) (void)madvise((void *)first, last - first, MADV_DONTNEED);
}
