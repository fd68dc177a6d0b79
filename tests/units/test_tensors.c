/**
 *  Weights: every number of f16 and bf16, rounding of f64, rows and vectors, and which shard a name is read from.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed/workspace.h"
#include "models/weights.h"

/// A half by its definition.
static double half_value(unsigned half) {
    double const sign = half & 0x8000u ? -1 : 1;
    unsigned const exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, (int)exponent - 25) : ldexp(mantissa, -24));
}

static bool same(float found, double expected) {
    float const narrow = (float)expected;
    return isnan(expected) ? isnan(found) : !memcmp(&found, &narrow, sizeof(found));
}

static void every_half_is_read(void **state) {
    (void)state;
    enum { count_k = 65536 };
    unsigned char *bytes = malloc(2 * count_k + 1); // one byte off, for tensors need not be aligned
    float *floats = malloc(count_k * sizeof(float));
    for (unsigned i = 0; i < count_k; ++i)
        bytes[2 * i + 1] = (unsigned char)i, bytes[2 * i + 2] = (unsigned char)(i >> 8);
    uform_tensor_t tensor = {.name = "t",
        .file = "f",
        .scalar = uform_tensor_scalar_F16_k,
        .dimension_count = 1,
        .dimensions = {count_k},
        .data = bytes + 1};
    assert_int_equal(uform_tensor_read_(&tensor, 0, 1, floats, count_k), uform_status_ok_k);
    for (unsigned i = 0; i < count_k; ++i)
        if (!same(floats[i], half_value(i))) fail_msg("f16 0x%04x: found %g", i, (double)floats[i]);
    tensor.scalar = uform_tensor_scalar_BF16_k;
    assert_int_equal(uform_tensor_read_(&tensor, 0, 1, floats, count_k), uform_status_ok_k);
    for (unsigned i = 0; i < count_k; ++i) {
        uint32_t bits;
        memcpy(&bits, &floats[i], sizeof(bits));
        assert_int_equal(bits, i << 16);
    }
    free(floats);
    free(bytes);
}

static void rows_are_read_where_they_belong(void **state) {
    (void)state;
    double const numbers[] = {1.0, 0.1, -2.5, 1e300, 1e-300, 16777217.0};
    unsigned char bytes[sizeof(numbers) + 3];
    memcpy(bytes + 3, numbers, sizeof(numbers));
    uform_tensor_t const tensor = {.name = "t",
        .file = "f",
        .scalar = uform_tensor_scalar_F64_k,
        .dimension_count = 2,
        .dimensions = {3, 2},
        .data = bytes + 3};
    float rows[10] = {0};
    assert_int_equal(uform_tensor_read_(&tensor, 1, 2, rows, 5), uform_status_ok_k);
    float const expected[10] = {-2.5f, INFINITY, 0, 0, 0, 0.0f, 16777216.0f, 0, 0, 0};
    assert_memory_equal(rows, expected, sizeof(rows));
    assert_int_equal(uform_tensor_read_(&tensor, 3, 0, rows, 5), uform_status_ok_k);
    assert_int_equal(uform_tensor_read_(&tensor, 2, 2, rows, 5), uform_status_invalid_argument_k);
    assert_int_equal(uform_tensor_read_(&tensor, SIZE_MAX, 2, rows, 5), uform_status_invalid_argument_k);
}

static void other_dtypes_are_refused(void **state) {
    (void)state;
    size_t refused = 0;
    for (int scalar = 0; scalar < uform_tensor_scalar_count_k; ++scalar) {
        double number = 0;
        float row[1];
        uform_tensor_t const tensor = {.name = "some.tensor",
            .file = "some.file",
            .scalar = (uform_tensor_scalar_t)scalar,
            .dimension_count = 1,
            .dimensions = {1},
            .data = &number};
        if (!uform_tensor_read_(&tensor, 0, 1, row, 1)) continue;
        ++refused;
        assert_non_null(strstr(uform_last_detail(), "some.file: some.tensor: dtype"));
        assert_non_null(strstr(uform_last_detail(), uform_tensor_scalar_name_(tensor.scalar)));
    }
    assert_int_equal(refused, uform_tensor_scalar_count_k - 4);
    assert_string_equal(uform_tensor_scalar_name_(uform_tensor_scalar_count_k), "unknown");
}

/// Writes a file of vectors of one f32 each.
static void write_shard(
    workspace_t const *workspace, char const *file, char const *const *names, float const *numbers, size_t count) {
    unsigned char bytes[1024] = {0};
    size_t used = 8;
    for (size_t i = 0; i < count; ++i)
        used += (size_t)sprintf((char *)bytes + used,
            "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}", i ? ',' : '{', names[i], 4 * i,
            4 * i + 4);
    bytes[used++] = '}';
    bytes[0] = (unsigned char)(used - 8), bytes[1] = (unsigned char)((used - 8) >> 8);
    memcpy(bytes + used, numbers, count * sizeof(float));
    workspace_write(workspace, file, bytes, used + count * sizeof(float));
}

static void expect_number(uform_weights_t const *weights, char const *name, float expected) {
    uform_tensor_t tensor;
    float number;
    assert_int_equal(uform_weights_require_(weights, name, 1, 0, &tensor), uform_status_ok_k);
    assert_int_equal(uform_tensor_read_(&tensor, 0, 1, &number, 1), uform_status_ok_k);
    uform_tensor_forget_(&tensor);
    assert_true(number == expected);
}

static void the_index_decides(void **state) {
    workspace_t const *workspace = *state;
    uform_weights_t weights;
    uform_tensor_t tensor;
    workspace_remove(workspace, "");
    write_shard(
        workspace, "model.safetensors", (char const *const[]){"a", "b", "stray"}, (float const[]){90, 91, 92}, 3);
    assert_int_equal(uform_weights_open_(workspace->path, &weights), uform_status_ok_k);
    expect_number(&weights, "a", 90);
    uform_weights_close_(&weights);
    // Both shards hold "b"; the index names the second, and its last line for "a" counts.
    write_shard(workspace, "x/one.safetensors", (char const *const[]){"a", "b"}, (float const[]){1, 2}, 2);
    write_shard(workspace, "two.safetensors", (char const *const[]){"b", "a", "c"}, (float const[]){3, 4, 5}, 3);
    workspace_write_text(workspace, "model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"two.safetensors\", \"b\": \"two.safetensors\", \"a\": \"x/one.safetensors\"}}");
    assert_int_equal(uform_weights_open_(workspace->path, &weights), uform_status_ok_k);
    assert_int_equal(weights.file_count, 2);
    expect_number(&weights, "a", 1);
    expect_number(&weights, "b", 3);
    assert_false(uform_weights_find_(&weights, "c", &tensor));
    assert_false(uform_weights_find_(&weights, "stray", &tensor));
    assert_int_equal(uform_weights_require_(&weights, "stray", 1, 0, &tensor), uform_status_not_found_k);
    print_message("%s\n", uform_last_detail());
    assert_non_null(strstr(uform_last_detail(), "model.safetensors.index.json: stray: missing"));
    assert_int_equal(uform_weights_require_(&weights, "b", 1, 1, &tensor), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "two.safetensors: b: shape: expected [1, 1], found [1]"));
    uform_weights_close_(&weights);
    uform_weights_close_(&weights);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(every_half_is_read),
        cmocka_unit_test(rows_are_read_where_they_belong),
        cmocka_unit_test(other_dtypes_are_refused),
        cmocka_unit_test(the_index_decides),
    };
    return cmocka_run_group_tests_name("tensors", tests, workspace_setup, workspace_teardown);
}
