/**
 *  Names and parsers of every public enumeration, each from its one table.
 */
#include "uform/types.h"

#include <string.h>

#include "base/detail.h"
#include "uform/model.h"

/// Tokens by value; index zero is what zero means.
typedef struct token_table_t {
    char const *what;          ///< for details
    char const *const *tokens; ///< [count], holes are NULL
    size_t count;
} token_table_t;

#define ROW(token, value) [value] = #token,
static char const *const scalars[] = {[0] = "derived", UFORM_SCALARS(ROW)};
static char const *const cpu_classes[] = {[0] = "derived", UFORM_CPU_CLASSES(ROW)};
static char const *const gpu_classes[] = {[0] = "derived", UFORM_GPU_CLASSES(ROW)};
static char const *const poolings[] = {[0] = "derived", UFORM_POOLINGS(ROW)};
#undef ROW

#define TABLE(words, array)                                                                                            \
    { words, array, sizeof(array) / sizeof(array[0]) }
static token_table_t const scalar_table = TABLE("scalar", scalars);
static token_table_t const cpu_class_table = TABLE("CPU class", cpu_classes);
static token_table_t const gpu_class_table = TABLE("GPU class", gpu_classes);
static token_table_t const pooling_table = TABLE("pooling", poolings);
#undef TABLE

static char const *name_of(token_table_t const *table, size_t value) {
    return value < table->count && table->tokens[value] ? table->tokens[value] : "unknown";
}

/// The value of a token of [length] bytes; zero when there is none, which is no token's value.
static size_t value_of(token_table_t const *table, char const *token, size_t length) {
    for (size_t value = 1; value < table->count; ++value) {
        char const *candidate = table->tokens[value];
        if (candidate && strlen(candidate) == length && !memcmp(candidate, token, length)) return value;
    }
    return 0;
}

/// Fails with every token there is, so that nobody has to look them up.
static uform_status_t no_such_token(token_table_t const *table, char const *token) {
    char known[512];
    size_t used = 0;
    for (size_t value = 1; value < table->count; ++value) {
        char const *candidate = table->tokens[value];
        if (!candidate || used + strlen(candidate) + 3 > sizeof(known)) continue;
        if (used) used += (size_t)(stpcpy(known + used, ", ") - (known + used));
        used += (size_t)(stpcpy(known + used, candidate) - (known + used));
    }
    known[used] = '\0';
    return uform_fail_(uform_status_not_found_k, "%s: expected one of %s, found \"%.100s\"", table->what, known, token);
}

static uform_status_t parse(token_table_t const *table, char const *token, size_t *value) {
    *value = 0;
    if (!token) return uform_fail_(uform_status_invalid_argument_k, "%s: expected a token, found NULL", table->what);
    *value = value_of(table, token, strlen(token));
    return *value ? uform_status_ok_k : no_such_token(table, token);
}

char const *uform_scalar_name(uform_scalar_t scalar) {
    return name_of(&scalar_table, (size_t)scalar);
}

char const *uform_cpu_class_name(uform_cpu_class_t cpu_class) {
    return name_of(&cpu_class_table, (size_t)cpu_class);
}

char const *uform_gpu_class_name(uform_gpu_class_t gpu_class) {
    return name_of(&gpu_class_table, (size_t)gpu_class);
}

uform_status_t uform_scalar_parse(char const *token, uform_scalar_t *scalar) {
    size_t value;
    uform_status_t const status = parse(&scalar_table, token, &value);
    *scalar = (uform_scalar_t)value;
    return status;
}

uform_status_t uform_cpu_class_parse(char const *token, uform_cpu_class_t *cpu_class) {
    size_t value;
    uform_status_t const status = parse(&cpu_class_table, token, &value);
    *cpu_class = (uform_cpu_class_t)value;
    return status;
}

uform_status_t uform_gpu_class_parse(char const *token, uform_gpu_class_t *gpu_class) {
    size_t value;
    uform_status_t const status = parse(&gpu_class_table, token, &value);
    *gpu_class = (uform_gpu_class_t)value;
    return status;
}

char const *uform_pooling_name(uint32_t pooling) {
    uint32_t const every_bit = 2 * (uint32_t)uform_pooling_lasttoken_k - 1;
    if (pooling & ~every_bit) return "unknown";
    return pooling & (pooling - 1) ? "combined" : name_of(&pooling_table, pooling);
}

uform_status_t uform_pooling_parse(char const *token, uint32_t *pooling) {
    *pooling = 0;
    if (!token) return uform_fail_(uform_status_invalid_argument_k, "pooling: expected a token, found NULL");
    uint32_t bits = 0;
    for (char const *part = token;; ++part) {
        size_t const length = strcspn(part, "+");
        size_t const value = value_of(&pooling_table, part, length);
        if (!value) return no_such_token(&pooling_table, token);
        bits |= (uint32_t)value;
        part += length;
        if (!*part) break;
    }
    *pooling = bits;
    return uform_status_ok_k;
}
