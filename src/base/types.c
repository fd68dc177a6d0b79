/**
 *  Names and parsers of every public enumeration, each from its one table.
 */
#include "uform/types.h"

#include <string.h>

#include "base/detail.h"
#include "uform/model.h"

/// Tokens by value; where zero derives, index zero says so.
typedef struct token_table_t {
    char const *what;          ///< for details
    size_t first;              ///< the least value that a token stands for
    char const *const *tokens; ///< [count], holes are NULL
    size_t count;
} token_table_t;

#define ROW(token, value) [value] = #token,
static char const *const scalars[] = {[0] = "derived", UFORM_SCALARS(ROW)};
static char const *const cpu_classes[] = {[0] = "derived", UFORM_CPU_CLASSES(ROW)};
static char const *const gpu_classes[] = {[0] = "derived", UFORM_GPU_CLASSES(ROW)};
static char const *const gpu_vendors[] = {UFORM_GPU_VENDORS(ROW)};
static char const *const multimem_tiers[] = {UFORM_MULTIMEM_TIERS(ROW)};
static char const *const poolings[] = {[0] = "derived", UFORM_POOLINGS(ROW)};
#undef ROW

#define TABLE(words, first, array)                                                                                     \
    { words, first, array, sizeof(array) / sizeof(array[0]) }
static token_table_t const scalar_table = TABLE("scalar", 1, scalars);
static token_table_t const cpu_class_table = TABLE("CPU class", 1, cpu_classes);
static token_table_t const gpu_class_table = TABLE("GPU class", 1, gpu_classes);
static token_table_t const gpu_vendor_table = TABLE("GPU vendor", 1, gpu_vendors);
static token_table_t const multimem_tier_table = TABLE("multimem tier", 0, multimem_tiers);
static token_table_t const pooling_table = TABLE("pooling", 1, poolings);
#undef TABLE

static char const *name_of(token_table_t const *table, size_t value) {
    return value < table->count && table->tokens[value] ? table->tokens[value] : "unknown";
}

/// Finds the value of a token of [length] bytes; false when there is none, and zero.
static bool find_value(token_table_t const *table, char const *token, size_t length, size_t *value) {
    for (*value = table->first; *value < table->count; ++*value) {
        char const *candidate = table->tokens[*value];
        if (candidate && strlen(candidate) == length && !memcmp(candidate, token, length)) return true;
    }
    *value = 0;
    return false;
}

/// Fails with every token there is, so that nobody has to look them up.
static uform_status_t no_such_token(token_table_t const *table, char const *token) {
    char known[512];
    size_t used = 0;
    for (size_t value = table->first; value < table->count; ++value) {
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
    return find_value(table, token, strlen(token), value) ? uform_status_ok_k : no_such_token(table, token);
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

char const *uform_gpu_vendor_name(uform_gpu_vendor_t gpu_vendor) {
    return name_of(&gpu_vendor_table, (size_t)gpu_vendor);
}

char const *uform_multimem_tier_name(uform_multimem_tier_t multimem_tier) {
    return name_of(&multimem_tier_table, (size_t)multimem_tier);
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

uform_status_t uform_gpu_vendor_parse(char const *token, uform_gpu_vendor_t *gpu_vendor) {
    size_t value;
    uform_status_t const status = parse(&gpu_vendor_table, token, &value);
    *gpu_vendor = (uform_gpu_vendor_t)value;
    return status;
}

uform_status_t uform_multimem_tier_parse(char const *token, uform_multimem_tier_t *multimem_tier) {
    size_t value;
    uform_status_t const status = parse(&multimem_tier_table, token, &value);
    *multimem_tier = (uform_multimem_tier_t)value;
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
        size_t value;
        if (!find_value(&pooling_table, part, length, &value)) return no_such_token(&pooling_table, token);
        bits |= (uint32_t)value;
        part += length;
        if (!*part) break;
    }
    *pooling = bits;
    return uform_status_ok_k;
}
