/**
 *  What this library was compiled with, what this machine offers, and how fast it could be at most.
 */
#ifndef UFORM_CAPABILITIES_H
#define UFORM_CAPABILITIES_H

#include "uform/executor.h"
#include "uform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 *  The library's version, e.g. "4.0.0". Static storage, thread-safe.
 */
UFORM_PUBLIC char const *uform_version(void);

/**
 *  Comma-separated class tokens, in ascending order of value, e.g. "serial,intel_haswell". Static storage, thread-safe.
 */
UFORM_PUBLIC char const *uform_capabilities_compiled(void);
UFORM_PUBLIC char const *uform_capabilities_available(void);

/**
 *  What is known about one CPU class in this build on this machine.
 */
typedef struct uform_cpu_class_description_t {
    uform_cpu_class_t cpu_class;
    bool compiled;    ///< this build holds kernels for it
    bool available;   ///< compiled, and processor and operating system offer all it needs
    bool chosen;      ///< what zero derives on this machine (`UFORM_CPU_CLASS` considered)
    char reason[256]; ///< why it is not available, e.g. "the processor lacks amx_tile, amx_bf16"; empty if it is
} uform_cpu_class_description_t;

/**
 *  Describes the class; `invalid_argument` outside 1..18. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_cpu_class_describe(
    uform_cpu_class_t cpu_class, uform_cpu_class_description_t *description) UFORM_MUST_CHECK;

/**
 *  What the process may use of this machine.
 */
typedef struct uform_machine_description_t {
    char processor[128];         ///< the processor's own name; empty where it gives none
    size_t cores_online;         ///< logical processors online
    size_t cores_allowed;        ///< logical processors in the process's affinity mask
    double cores_quota;          ///< the tightest cgroup CPU quota up the tree, in cores; zero without one
    size_t threads_default;      ///< what zero threads means here
    uform_cpu_class_t cpu_class; ///< what zero derives
} uform_machine_description_t;

/**
 *  Describes the machine as it is now (affinity and quotas can change). Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_machine_describe(uform_machine_description_t *description) UFORM_MUST_CHECK;

/**
 *  A memory domain: one NUMA node of the machine.
 */
typedef struct uform_memory_domain_t {
    int32_t memory_domain; ///< its number in the operating system, by which lists of memory domains name it
    size_t cores;          ///< logical processors online that are local to it
    size_t cores_allowed;  ///< of these, the ones in the process's affinity mask
    bool memory_only;      ///< it has no processors of its own, and those of the closest nodes count as local
    bool memory_allowed;   ///< the process may allocate on it, and name it
    uint64_t memory_bytes; ///< memory it has
} uform_memory_domain_t;

/**
 *  Lists the machine's memory domains in ascending order of their numbers. HWLOC_XMLFILE and HWLOC_SYNTHETIC replay another
 *  machine.
 *  @param domains  [capacity]; receives as many as fit; may be NULL with a zero capacity.
 *  @param count    Receives how many there are, which may exceed the capacity.
 *  Thread-safe. The machine is read once in a process, what the process may use of it each time.
 */
UFORM_PUBLIC uform_status_t uform_memory_domains(
    uform_memory_domain_t *domains, size_t capacity, size_t *count) UFORM_MUST_CHECK;

/**
 *  Measures how many operations a second the executor's class can do at most in one precision (f32, bf16 or i8): two a
 *  multiplication and addition,
 *  on one thread, with every operand in registers or the first-level cache. Takes about `seconds` on the calling thread.
 *  @param mean_flops   What the whole run reached, throttling included, in operations a second.
 *  @param best_flops   The best window's rate; may be NULL.
 *  Thread-safe. `unsupported` for a precision that has no kernels.
 */
UFORM_PUBLIC uform_status_t uform_limit_measure(uform_executor_t executor, uform_scalar_t precision, double seconds,
    double *mean_flops, double *best_flops) UFORM_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
