/**
 *  Expands `classes.inc`: which classes this build holds, which of them this machine offers, what each dispatches to.
 *
 *  Everything is computed once per process into `rows`, one entry a row of the table, and is constant afterwards: a
 *  class that a model was packed for can't stop being available. A class takes each missing group whole from the
 *  first class of its fallback chain that has it.
 */
#include "kernels/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "cpu/cpu.h"
#include "uform/capabilities.h"

#define UFORM_CLASS(token, fallback, prefers_bf16, features)                                                           \
    extern uform_kernels_t const uform_kernels_##token##_table_;
#include "kernels/classes.inc"
#undef UFORM_CLASS

/// One row of the table, as written.
typedef struct class_row_t {
    uform_cpu_class_t cpu_class, fallback;
    bool prefers_bf16;
    uint64_t required;
    uform_kernels_t const *table;
} class_row_t;

static class_row_t const rows[] = {
#define UFORM_CLASS(token, fallback, prefers_bf16, features)                                                           \
    {uform_cpu_class_##token##_k, uform_cpu_class_##fallback##_k, prefers_bf16, features,                              \
        &uform_kernels_##token##_table_},
#include "kernels/classes.inc"
#undef UFORM_CLASS
};

enum { row_count_k = sizeof(rows) / sizeof(rows[0]) };

/// What became of each row in this process.
typedef struct class_state_t {
    uform_kernels_t kernels; ///< inheritance resolved
    bool available;
    char reason[sizeof(((uform_cpu_class_description_t *)0)->reason)];
} class_state_t;

static class_state_t states[row_count_k];
static char compiled_tokens[512], available_tokens[512];
static pthread_once_t states_once = PTHREAD_ONCE_INIT;

/// The architectures of the classes, in ascending order of value: each reaches up to and including `last`.
static struct {
    uform_cpu_class_t last;
    char const *architecture;
} const architectures[] = {
    {uform_cpu_class_serial_k, NULL},
    {uform_cpu_class_intel_diamond_k, "x86-64"},
    {uform_cpu_class_nvidia_vera_k, "Arm"},
    {uform_cpu_class_alibaba_c930_k, "RISC-V"},
    {uform_cpu_class_wasm64_extended_k, "WebAssembly"},
    {uform_cpu_class_monoversioned_k, NULL},
};

#if defined(__x86_64__)
static char const own_architecture[] = "x86-64";
#elif defined(__aarch64__)
static char const own_architecture[] = "Arm";
#elif defined(__riscv)
static char const own_architecture[] = "RISC-V";
#else
static char const own_architecture[] = "another";
#endif

/// The row of a class, NULL when the table has none.
static class_row_t const *find_row(uform_cpu_class_t cpu_class) {
    for (size_t i = 0; i < row_count_k; i++)
        if (rows[i].cpu_class == cpu_class) return &rows[i];
    return NULL;
}

/// Fills the groups that `kernels` still misses from `table`, each as a whole.
static void inherit(uform_kernels_t *kernels, uform_kernels_t const *table) {
    if (!kernels->gemm_f32) kernels->gemm_f32 = table->gemm_f32;
    if (!kernels->gemm_bf16) kernels->gemm_bf16 = table->gemm_bf16;
    if (!kernels->gemm_i8) kernels->gemm_i8 = table->gemm_i8;
    if (!kernels->attention_f32) kernels->attention_f32 = table->attention_f32;
    if (!kernels->attention_bf16) kernels->attention_bf16 = table->attention_bf16;
    if (!kernels->rows_f32) kernels->rows_f32 = table->rows_f32;
    if (!kernels->rows_bf16) kernels->rows_bf16 = table->rows_bf16;
    if (!kernels->resample) kernels->resample = table->resample;
}

static void append_token(char *tokens, size_t capacity, uform_cpu_class_t cpu_class) {
    size_t const length = strlen(tokens);
    snprintf(tokens + length, capacity - length, "%s%s", length ? "," : "", uform_cpu_class_name(cpu_class));
}

/// Why a class that isn't compiled isn't.
static void explain_absence(uform_cpu_class_t cpu_class, bool has_file, char *reason, size_t capacity) {
    size_t i = 0;
    while (architectures[i].last < cpu_class) i++;
    char const *const architecture = architectures[i].architecture;
    if (architecture && strcmp(architecture, own_architecture) != 0)
        snprintf(reason, capacity, "not of this architecture: it is for %s", architecture);
    else if (has_file) snprintf(reason, capacity, "not compiled: it needs a newer compiler");
    else snprintf(reason, capacity, "this build has no kernels of its own for it");
}

static void resolve_states(void) {
    // A process forked while its parent was in here starts over.
    compiled_tokens[0] = available_tokens[0] = '\0';
    uform_cpu_identity_t identity;
    uform_cpu_identify_(&identity);
    uform_cpu_features_t const features = uform_cpu_features_(&identity);
    for (size_t i = 0; i < row_count_k; i++) {
        class_state_t *const state = &states[i];
        state->kernels = *rows[i].table;
        // `serial` falls back to itself, which ends every chain.
        for (class_row_t const *row = &rows[i]; row->cpu_class != row->fallback;) {
            row = find_row(row->fallback);
            inherit(&state->kernels, row->table);
        }
        if (!state->kernels.compiled) {
            explain_absence(rows[i].cpu_class, true, state->reason, sizeof(state->reason));
            continue;
        }
        append_token(compiled_tokens, sizeof(compiled_tokens), rows[i].cpu_class);
        state->available = uform_cpu_offers_(
            features, rows[i].required, uform_cpu_permit_tiles_, state->reason, sizeof(state->reason));
        if (state->available) append_token(available_tokens, sizeof(available_tokens), rows[i].cpu_class);
    }
}

/// What became of a class; NULL when the table has no row for it.
static class_state_t const *find_state(uform_cpu_class_t cpu_class) {
    pthread_once(&states_once, resolve_states);
    class_row_t const *const row = find_row(cpu_class);
    return row ? &states[row - rows] : NULL;
}

uform_kernels_t const *uform_kernels_(uform_cpu_class_t cpu_class) {
    class_state_t const *const state = find_state(cpu_class);
    return state && state->kernels.compiled ? &state->kernels : NULL;
}

bool uform_kernels_prefer_bf16_(uform_cpu_class_t cpu_class) {
    class_row_t const *const row = find_row(cpu_class);
    return row && row->prefers_bf16;
}

static uform_status_t check_range(uform_cpu_class_t cpu_class) {
    if (cpu_class >= uform_cpu_class_serial_k && cpu_class <= uform_cpu_class_monoversioned_k) return uform_status_ok_k;
    return uform_fail_(uform_status_invalid_argument_k, "expected a CPU class, %d to %d, found %d",
        (int)uform_cpu_class_serial_k, (int)uform_cpu_class_monoversioned_k, (int)cpu_class);
}

uform_status_t uform_cpu_class_describe(uform_cpu_class_t cpu_class, uform_cpu_class_description_t *description) {
    if (!description)
        return uform_fail_(uform_status_invalid_argument_k, "description: expected a pointer, found NULL");
    memset(description, 0, sizeof(*description));
    uform_status_t const status = check_range(cpu_class);
    if (status != uform_status_ok_k) return status;
    description->cpu_class = cpu_class;
    class_state_t const *const state = find_state(cpu_class);
    if (!state) {
        explain_absence(cpu_class, false, description->reason, sizeof(description->reason));
        return uform_status_ok_k;
    }
    description->compiled = state->kernels.compiled;
    description->available = state->available;
    memcpy(description->reason, state->reason, sizeof(description->reason));
    uform_cpu_class_t derived;
    description->chosen = uform_cpu_class_derive_(&derived) == uform_status_ok_k && derived == cpu_class;
    return uform_status_ok_k;
}

uform_status_t uform_cpu_class_require_(uform_cpu_class_t cpu_class) {
    uform_status_t const status = check_range(cpu_class);
    if (status != uform_status_ok_k) return status;
    class_state_t const *const state = find_state(cpu_class);
    if (state && state->available) return uform_status_ok_k;
    char reason[sizeof(state->reason)];
    if (state) memcpy(reason, state->reason, sizeof(reason));
    else explain_absence(cpu_class, false, reason, sizeof(reason));
    return uform_fail_(uform_status_unsupported_k, "%s: %s", uform_cpu_class_name(cpu_class), reason);
}

/// The class `UFORM_CPU_CLASS` names.
static uform_status_t parse_forced(char const *token, uform_cpu_class_t *cpu_class) {
    uform_status_t status = uform_cpu_class_parse(token, cpu_class);
    if (status != uform_status_ok_k)
        return uform_fail_(uform_status_invalid_argument_k, "UFORM_CPU_CLASS: expected one of %s, found \"%s\"",
            uform_capabilities_available(), token);
    status = uform_cpu_class_require_(*cpu_class);
    if (status == uform_status_ok_k) return status;
    *cpu_class = uform_cpu_class_derived_k;
    return uform_fail_prefixed_(status, "UFORM_CPU_CLASS: ");
}

uform_status_t uform_cpu_class_derive_(uform_cpu_class_t *cpu_class) {
    pthread_once(&states_once, resolve_states);
    char const *const forced = getenv("UFORM_CPU_CLASS");
    if (forced && *forced) return parse_forced(forced, cpu_class);
    // Rows ascend, so the last one available is the best; `serial` always is.
    size_t best = row_count_k - 1;
    while (best && !states[best].available) best--;
    *cpu_class = rows[best].cpu_class;
    return uform_status_ok_k;
}

char const *uform_capabilities_compiled(void) {
    pthread_once(&states_once, resolve_states);
    return compiled_tokens;
}

char const *uform_capabilities_available(void) {
    pthread_once(&states_once, resolve_states);
    return available_tokens;
}
