/**
 *  Feature detection. On x86 CPUID says what the processor has, XCR0 what register state the operating system saves, and
 *  Linux wants to be asked before a process touches tiles. On Arm the operating system says what there is. No state:
 *  every answer is computed from a snapshot of raw facts.
 */
#include "cpu/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define UFORM_ON_X86 1
#endif
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__APPLE__) && defined(__aarch64__)
#include <sys/sysctl.h>
#endif

/// Bits of XCR0 that a register state consists of.
enum {
    state_general_k = 0,
    state_ymm_k = 0x6,      // SSE, AVX
    state_zmm_k = 0xE6,     // and opmask, upper halves, upper sixteen
    state_tile_k = 0x60000, // TILECFG, TILEDATA
};

typedef struct feature_row_t {
    char const *token;
    uform_leaf_t leaf;
    unsigned register_index, bit;
    uint64_t state;
} feature_row_t;

static feature_row_t const feature_rows[uform_feature_count_k] = {
#define UFORM_FEATURE_ROW_(token, leaf, register_index, bit, state)                                                    \
    {#token, uform_leaf_##leaf##_k, register_index, bit, state_##state##_k},
    UFORM_FEATURES(UFORM_FEATURE_ROW_)
#undef UFORM_FEATURE_ROW_
};

static struct {
    uint64_t state;
    char const *name;
} const state_names[] = {{state_ymm_k, "ymm"}, {state_zmm_k, "zmm"}, {state_tile_k, "tile"}};

#if defined(__APPLE__) && defined(__aarch64__)
/// Every such machine has NEON; the names of the others differ from Linux's.
static void identify_apple(uint32_t *registers) {
    static struct {
        char const *name;
        unsigned register_index, bit;
    } const features[] = {{"hw.optional.arm.FEAT_DotProd", 0, 20}, {"hw.optional.arm.FEAT_I8MM", 1, 13},
        {"hw.optional.arm.FEAT_BF16", 1, 14}};
    registers[0] = 1u << 1;
    for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++) {
        int value = 0;
        size_t size = sizeof(value);
        if (!sysctlbyname(features[i].name, &value, &size, NULL, 0) && value)
            registers[features[i].register_index] |= 1u << features[i].bit;
    }
}
#endif

void uform_cpu_identify_(uform_cpu_identity_t *identity) {
    memset(identity, 0, sizeof(*identity));
#if defined(UFORM_ON_X86)
    static unsigned const numbers[uform_leaf_arm_k][2] = {{1, 0}, {7, 0}, {7, 1}, {0x24, 0}};
    unsigned const last = __get_cpuid_max(0, NULL);
    unsigned last_of_7 = 0;
    for (size_t i = 0; i < uform_leaf_arm_k; i++) {
        uint32_t *const registers = identity->leaves[i];
        if (numbers[i][0] > last || (numbers[i][0] == 7 && numbers[i][1] > last_of_7)) continue;
        __cpuid_count(numbers[i][0], numbers[i][1], registers[0], registers[1], registers[2], registers[3]);
        if (i == uform_leaf_extended_k) last_of_7 = registers[0];
    }
    if (identity->leaves[uform_leaf_basic_k][2] & (1u << 27)) { // OSXSAVE
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        identity->xcr0 = (uint64_t)high << 32 | low;
    }
#elif defined(__linux__) && defined(__aarch64__)
    identity->leaves[uform_leaf_arm_k][0] = (uint32_t)getauxval(AT_HWCAP);
    identity->leaves[uform_leaf_arm_k][1] = (uint32_t)getauxval(AT_HWCAP2);
#elif defined(__APPLE__) && defined(__aarch64__)
    identify_apple(identity->leaves[uform_leaf_arm_k]);
#endif
}

uform_cpu_features_t uform_cpu_features_(uform_cpu_identity_t const *identity) {
    uform_cpu_features_t features = {0, 0};
    for (size_t i = 0; i < uform_feature_count_k; i++) {
        feature_row_t const *const row = &feature_rows[i];
        uint32_t const value = identity->leaves[row->leaf][row->register_index];
        bool present = value >> row->bit & 1;
        if (i == uform_feature_avx10_2_k) {
            // The leaf means something only where 7.1 announces AVX10; its lowest byte is the version.
            bool const announced = identity->leaves[uform_leaf_extended_1_k][3] >> 19 & 1;
            present = announced && (value & 0xFF) >= 2;
        }
        if (!present) continue;
        features.processor |= UINT64_C(1) << i;
        if ((identity->xcr0 & row->state) == row->state) features.enabled |= UINT64_C(1) << i;
    }
    return features;
}

int uform_cpu_permit_tiles_(void) {
#if defined(__linux__) && defined(__x86_64__)
    // Numbers of the kernel's interface; older system headers lack their names.
    enum { get_supported = 0x1021, request_permission = 0x1023, tile_data = 18 };
    uint64_t supported = 0;
    if (syscall(SYS_arch_prctl, get_supported, &supported)) return errno;
    if ((supported & state_tile_k) != state_tile_k) return EOPNOTSUPP;
    if (syscall(SYS_arch_prctl, request_permission, tile_data)) return errno;
    return 0;
#else
    return EOPNOTSUPP;
#endif
}

static void append(char *text, size_t capacity, char const *addition) {
    size_t const length = strlen(text);
    if (length < capacity) snprintf(text + length, capacity - length, "%s", addition);
}

/// Appends the tokens of a mask, as many as fit, and an ellipsis for the rest.
static void append_tokens(char *text, size_t capacity, uint64_t mask) {
    static char const ellipsis[] = ", ...";
    char const *separator = " ";
    for (size_t i = 0; i < uform_feature_count_k; i++) {
        if (!(mask >> i & 1)) continue;
        size_t const length = strlen(text) + strlen(separator) + strlen(feature_rows[i].token);
        if (length + sizeof(ellipsis) > capacity) {
            append(text, capacity, ellipsis);
            return;
        }
        append(text, capacity, separator);
        append(text, capacity, feature_rows[i].token);
        separator = ", ";
    }
}

/// Names the states of the features in `mask`, and the features.
static void explain_disabled(char *reason, size_t capacity, uint64_t mask) {
    append(reason, capacity, "the operating system does not enable");
    char const *separator = " ";
    for (size_t s = 0; s < sizeof(state_names) / sizeof(*state_names); s++) {
        bool found = false;
        for (size_t i = 0; i < uform_feature_count_k; i++)
            found |= (mask >> i & 1) && feature_rows[i].state == state_names[s].state;
        if (!found) continue;
        append(reason, capacity, separator);
        append(reason, capacity, state_names[s].name);
        separator = " and ";
    }
    append(reason, capacity, " registers, needed for");
    append_tokens(reason, capacity, mask);
}

bool uform_cpu_offers_(
    uform_cpu_features_t features, uint64_t required, uform_tile_permission_t permit, char *reason, size_t capacity) {
    if (capacity) reason[0] = 0;
    uint64_t const lacking = required & ~features.processor;
    uint64_t const disabled = required & ~features.enabled;
    if (lacking) {
        append(reason, capacity, "the processor lacks");
        append_tokens(reason, capacity, lacking);
        return false;
    }
    if (disabled) {
        explain_disabled(reason, capacity, disabled);
        return false;
    }
    if (!(required & UFORM_FEATURE(amx_tile))) return true;
    int const failure = permit();
    if (!failure) return true;
    snprintf(reason, capacity, "the operating system refused tile state: %s",
        failure == ENOSPC ? "a thread's alternate signal stack is too small for it" : strerror(failure));
    return false;
}

void uform_cpu_name_(char *name, size_t capacity) {
    char text[49] = {0};
#if defined(UFORM_ON_X86)
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u)
        for (unsigned i = 0; i < 3; i++) {
            unsigned registers[4];
            __cpuid(0x80000002u + i, registers[0], registers[1], registers[2], registers[3]);
            memcpy(text + 16 * i, registers, sizeof(registers));
        }
#endif
    char const *begin = text;
    while (*begin == ' ') begin++;
    size_t length = strlen(begin);
    while (length && begin[length - 1] == ' ') length--;
    snprintf(name, capacity, "%.*s", (int)length, begin);
}
