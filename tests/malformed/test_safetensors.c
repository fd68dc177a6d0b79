/**
 *  Hostile safetensors files. What is refused and what is not was observed on the `safetensors` package 0.8.0; two
 *  files it accepts are refused here, because nothing writes them: an entry spelled as an array, and a zero before an
 *  overflowing dimension.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/safetensors.h"
#include "malformed/workspace.h"
#include "uform/status.h"

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(shape, offsets)                                                                                            \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"                                                 \
    "\"b\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/// In the place of a length: write the header's real one.
#define OWN_LENGTH (UINT64_MAX - 1)

typedef struct file_t {
    char const *what, *header;
    uint64_t header_bytes;
    size_t data_bytes;
    char const *detail; ///< what the failure must speak of; NULL for a file that is fine
} file_t;

static file_t const files[] = {
    {"plain", ONE("F32", "[1]", "[0,4]"), OWN_LENGTH, 4, NULL},
    {"header of no bytes", "", 0, 4, "line 1"},
    {"header of seven bytes", ONE("F32", "[1]", "[0,4]"), 7, 4, "line 1"},
    {"header of 2^63 bytes", ONE("F32", "[1]", "[0,4]"), UINT64_C(1) << 63, 4, "header length"},
    {"header of 2^64 - 1 bytes", ONE("F32", "[1]", "[0,4]"), UINT64_MAX, 4, "header length"},
    {"header beyond the file", ONE("F32", "[1]", "[0,4]"), 1000, 4, "header length"},
    {"header one byte beyond the file", "{}", 3, 0, "header length"},
    {"offsets reversed", ONE("F32", "[1]", "[4,0]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"offset negative", ONE("F32", "[1]", "[-4,0]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"offset with a fraction", ONE("F32", "[1]", "[0.0,4]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"offset of 2^64", ONE("F32", "[1]", "[0,18446744073709551616]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"offsets past the end", ONE("F32", "[2]", "[0,8]"), OWN_LENGTH, 4, "data_offsets"},
    {"one offset", ONE("F32", "[1]", "[0]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"three offsets", ONE("F32", "[1]", "[0,4,8]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"offsets as a string", ONE("F32", "[1]", "\"0,4\""), OWN_LENGTH, 4, "a: data_offsets"},
    {"overlap", TWO("[1]", "[2,6]"), OWN_LENGTH, 8, "b: data_offsets"},
    {"same span twice", TWO("[1]", "[0,4]"), OWN_LENGTH, 4, "data_offsets"},
    {"hole", TWO("[1]", "[8,12]"), OWN_LENGTH, 12, "b: data_offsets"},
    {"hole in front", ONE("F32", "[1]", "[4,8]"), OWN_LENGTH, 8, "a: data_offsets"},
    {"trailing bytes", ONE("F32", "[1]", "[0,4]"), OWN_LENGTH, 8, "data_offsets"},
    {"truncated", ONE("F32", "[2]", "[0,8]"), OWN_LENGTH, 5, "data_offsets"},
    {"product that wraps to zero", ONE("F32", "[4294967296,4294967296]", "[0,0]"), OWN_LENGTH, 0, "a: shape"},
    {"product that wraps in bits", ONE("F32", "[576460752303423488,2]", "[0,0]"), OWN_LENGTH, 0, "a: shape"},
    {"a zero before an overflow", ONE("F32", "[0,4611686018427387904,4]", "[0,0]"), OWN_LENGTH, 0, "a: shape"},
    {"a million numbers in four bytes", ONE("F32", "[1000,1000]", "[0,4]"), OWN_LENGTH, 4, "a: data_offsets"},
    {"span larger than the shape", ONE("F32", "[32,8]", "[0,65536]"), OWN_LENGTH, 65536, "a: data_offsets"},
    {"negative dimension", ONE("F32", "[-1]", "[0,4]"), OWN_LENGTH, 4, "a: shape"},
    {"dimension with a fraction", ONE("F32", "[1.0]", "[0,4]"), OWN_LENGTH, 4, "a: shape"},
    {"dimension as a string", ONE("F32", "[\"1\"]", "[0,4]"), OWN_LENGTH, 4, "a: shape"},
    {"shape as an object", ONE("F32", "{}", "[0,4]"), OWN_LENGTH, 4, "a: shape"},
    {"unknown dtype", ONE("Q8", "[1]", "[0,4]"), OWN_LENGTH, 4, "a: dtype"},
    {"dtype in lower case", ONE("f32", "[1]", "[0,4]"), OWN_LENGTH, 4, "a: dtype"},
    {"half a byte", ONE("F4", "[1]", "[0,1]"), OWN_LENGTH, 1, "a: data_offsets"},
    {"a byte of two halves", ONE("F4", "[2]", "[0,1]"), OWN_LENGTH, 1, NULL},
    {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", OWN_LENGTH, 4, "a: dtype"},
    {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", OWN_LENGTH, 4, "a: shape"},
    {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", OWN_LENGTH, 4, "a: data_offsets"},
    {"dtype twice", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", OWN_LENGTH, 4,
        "a: dtype"},
    {"another field", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":[1e99]}}", OWN_LENGTH, 4,
        NULL},
    {"name twice, the last is fine",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        OWN_LENGTH, 4, NULL},
    {"name twice, a hole",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
        OWN_LENGTH, 8, "a: data_offsets"},
    {"metadata", "{\"__metadata__\":{\"a\":\"b\"}}", OWN_LENGTH, 0, NULL},
    {"metadata null", "{\"__metadata__\":null}", OWN_LENGTH, 0, NULL},
    {"metadata with a number", "{\"__metadata__\":{\"a\":1}}", OWN_LENGTH, 0, "__metadata__"},
    {"metadata as a list", "{\"__metadata__\":[]}", OWN_LENGTH, 0, "__metadata__"},
    {"metadata twice", "{\"__metadata__\":{},\"__metadata__\":{}}", OWN_LENGTH, 0, "__metadata__"},
    {"entry null", "{\"a\":null}", OWN_LENGTH, 0, "a: expected an object"},
    {"entry as an array", "{\"a\":[\"F32\",[1],[0,4]]}", OWN_LENGTH, 4, "a: expected an object"},
    {"header as an array", "[]", OWN_LENGTH, 0, "header"},
    {"header as a string", "\"x\"", OWN_LENGTH, 0, "header"},
    {"nothing at all", "{}", OWN_LENGTH, 0, NULL},
    {"data without tensors", "{}", OWN_LENGTH, 4, "data_offsets"},
    {"invalid UTF-8", "{\"\xff\":{}}", OWN_LENGTH, 0, "UTF-8"},
    {"lone surrogate", "{\"\\ud800\":{}}", OWN_LENGTH, 0, "escape"},
    {"byte order mark", "\xef\xbb\xbf{}", OWN_LENGTH, 0, "a value"},
    {"padding with spaces", "{}      ", OWN_LENGTH, 0, NULL},
    {"text behind the header", "{} x", OWN_LENGTH, 0, "nothing behind"},
    {"zero-sized tensor between", TWO("[0]", "[4,4]"), OWN_LENGTH, 4, NULL},
    {"zero-sized tensor inside", TWO("[0]", "[2,2]"), OWN_LENGTH, 4, "data_offsets"},
    {"scalar", ONE("F64", "[]", "[0,8]"), OWN_LENGTH, 8, NULL},
    {"seven dimensions", ONE("U8", "[1,1,1,1,1,1,4]", "[0,4]"), OWN_LENGTH, 4, NULL},
};

static uform_status_t open_file(workspace_t const *workspace, char const *header, size_t length, uint64_t header_bytes,
    size_t data_bytes, uform_safetensors_t *safetensors) {
    unsigned char *bytes = calloc(1, 8 + length + data_bytes);
    char path[workspace_path_bytes_k];
    for (size_t i = 0; i < 8; ++i) bytes[i] = (unsigned char)(header_bytes >> (8 * i));
    memcpy(bytes + 8, header, length);
    workspace_write(workspace, "model.safetensors", bytes, 8 + length + data_bytes);
    free(bytes);
    return uform_safetensors_open_(workspace_file(workspace, "model.safetensors", path), safetensors);
}

static void hostile_files_are_refused(void **state) {
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        file_t const *file = &files[i];
        uform_safetensors_t safetensors;
        size_t const length = strlen(file->header);
        uform_status_t const status = open_file(*state, file->header, length,
            file->header_bytes == OWN_LENGTH ? length : file->header_bytes, file->data_bytes, &safetensors);
        uform_status_t const expected = file->detail ? uform_status_malformed_k : uform_status_ok_k;
        if (status != expected) fail_msg("%s: %s: %s", file->what, uform_status_name(status), uform_last_detail());
        if (status == uform_status_ok_k) uform_safetensors_close_(&safetensors);
        else if (!strstr(uform_last_detail(), file->detail) || !strstr(uform_last_detail(), "model.safetensors: "))
            fail_msg("%s: expected words about \"%s\", found \"%s\"", file->what, file->detail, uform_last_detail());
    }
}

static void short_files_are_refused(void **state) {
    workspace_t const *workspace = *state;
    char path[workspace_path_bytes_k];
    for (size_t length = 0; length < 8; ++length) {
        uform_safetensors_t safetensors;
        workspace_write(workspace, "short.safetensors", "\0\0\0\0\0\0\0\0", length);
        assert_int_equal(uform_safetensors_open_(workspace_file(workspace, "short.safetensors", path), &safetensors),
            uform_status_malformed_k);
        assert_non_null(strstr(uform_last_detail(), "header length"));
    }
}

/// A well-formed file of which every byte in turn is replaced: whatever still opens must tile its data.
static void changed_bytes_stay_inside(void **state) {
    workspace_t const *workspace = *state;
    static char const header[] = TWO("[2,1]", "[4,12]");
    unsigned char const replacements[] = {0, '"', '9', '-', '}', ',', 0x80, 0xFF};
    for (size_t place = 0; place < sizeof(header) - 1; ++place) {
        for (size_t i = 0; i < sizeof(replacements); ++i) {
            char changed[sizeof(header)];
            uform_safetensors_t safetensors;
            memcpy(changed, header, sizeof(header));
            changed[place] = (char)replacements[i];
            if (open_file(workspace, changed, sizeof(header) - 1, sizeof(header) - 1, 12, &safetensors)) {
                assert_true(*uform_last_detail());
                continue;
            }
            for (size_t j = 0; j < safetensors.tensor_count; ++j)
                assert_true(safetensors.tensors[j].end <= safetensors.data_bytes);
            uform_safetensors_close_(&safetensors);
        }
    }
}

static void deep_nesting_ends(void **state) {
    enum { depth_k = 1 << 20 };
    char *header = malloc(depth_k);
    memset(header, '[', depth_k);
    uform_safetensors_t safetensors;
    assert_int_equal(open_file(*state, header, depth_k, depth_k, 0, &safetensors), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "nesting"));
    free(header);
}

static void many_tensors_are_found(void **state) {
    enum { tensor_count_k = 3000, entry_bytes_k = 80 };
    char *header = malloc(tensor_count_k * entry_bytes_k);
    size_t used = 0;
    // Written in an order that is neither that of the names nor that of the spans.
    for (size_t i = 0; i < tensor_count_k; ++i) {
        size_t const which = i * 7 % tensor_count_k;
        used += (size_t)snprintf(header + used, entry_bytes_k,
            "%c\"t%zu\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}", i ? ',' : '{', which, which,
            which + 1);
    }
    header[used++] = '}';
    uform_safetensors_t safetensors;
    assert_int_equal(open_file(*state, header, used, used, tensor_count_k, &safetensors), uform_status_ok_k);
    for (size_t i = 0; i < tensor_count_k; ++i) {
        char name[16];
        snprintf(name, sizeof(name), "t%zu", i);
        uform_safetensor_t const *tensor = uform_safetensors_find_(&safetensors, name);
        assert_non_null(tensor);
        assert_int_equal(tensor->begin, i);
    }
    assert_null(uform_safetensors_find_(&safetensors, "t"));
    assert_null(uform_safetensors_find_(&safetensors, "t3000"));
    uform_safetensors_close_(&safetensors);
    free(header);
}

static void other_things_than_files_are_refused(void **state) {
    workspace_t const *workspace = *state;
    char path[workspace_path_bytes_k];
    uform_safetensors_t safetensors;
    assert_int_equal(uform_safetensors_open_(workspace->path, &safetensors), uform_status_io_failed_k);
    assert_non_null(strstr(uform_last_detail(), "a directory"));
    assert_int_equal(
        uform_safetensors_open_(workspace_file(workspace, "absent", path), &safetensors), uform_status_not_found_k);
    assert_int_equal(uform_safetensors_open_("/dev/zero", &safetensors), uform_status_io_failed_k);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(short_files_are_refused),
        cmocka_unit_test(changed_bytes_stay_inside),
        cmocka_unit_test(deep_nesting_ends),
        cmocka_unit_test(many_tensors_are_found),
        cmocka_unit_test(other_things_than_files_are_refused),
    };
    return cmocka_run_group_tests_name("safetensors", tests, workspace_setup, workspace_teardown);
}
