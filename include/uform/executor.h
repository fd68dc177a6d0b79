/**
 *  Executors: the host threads that calls run on, and the scratch those calls use.
 *
 *  One executor serves any number of models. It runs one call at a time, in submission order; several threads may
 *  submit to one executor and wait their turn, first come, first served. A null executor is legal in every call: the
 *  call then runs on the calling thread alone, with the machine's own class.
 */
#ifndef UFORM_EXECUTOR_H
#define UFORM_EXECUTOR_H

#include "uform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uform_executor_s *uform_executor_t;

/**
 *  How an idle executor waits for its next call.
 */
#define UFORM_MOODS(row) row(spinning, 1) row(chilling, 2) row(sleeping, 3)

typedef enum uform_mood_t {
#define UFORM_MOOD_ROW_(name, value) uform_mood_##name##_k = value,
    UFORM_MOODS(UFORM_MOOD_ROW_)
#undef UFORM_MOOD_ROW_
} uform_mood_t;

UFORM_PUBLIC char const *uform_mood_name(uform_mood_t mood);
UFORM_PUBLIC uform_status_t uform_mood_parse(char const *token, uform_mood_t *mood) UFORM_MUST_CHECK;

/**
 *  Spawns host threads for models in RAM.
 *
 *  @param memory_domains   NUMA nodes whose cores serve, [memory_domain_count], the same that models it runs were
 *                          loaded with; empty for every node the process may use. Threads are interleaved over them.
 *                          `invalid_argument` for repeated or negative nodes, `not_found` for those that don't exist,
 *                          are offline, or that this process must not use.
 *  @param cpu_class        Pins the class calls dispatch as; zero derives the machine's own. A class the machine or the
 *                          build does not offer is `unsupported`, and the detail names what is missing.
 *  @param threads          Threads a call is divided over, the submitting one included, at most 8192; zero takes 7/8 of
 *                          the cores online, rounded down, at least one, within affinity mask and cgroup quota. A core
 *                          is a logical processor.
 *  @param deferred_limit   Size of the table of deferred calls; zero takes 64.
 *  @param executor         Receives the executor, NULL on failure. Free it with `uform_executor_free`.
 *
 *  Threads or memory that can't be had are `out_of_memory`. After `fork`, calls of the child on it are `unsupported`;
 *  the child may describe and free it. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_for_ram(int32_t const *memory_domains, size_t memory_domain_count,
    uform_cpu_class_t cpu_class, size_t threads, size_t deferred_limit, uform_executor_t *executor) UFORM_MUST_CHECK;

/**
 *  Opens one submission stream on every named GPU, or borrows the caller's, for models in VRAM. All of them are driven by
 *  whichever host thread submits.
 *
 *  @param devices          Positions in what `uform_gpu_devices` lists, each once, [device_count], at least one.
 *  @param gpu_class        Pins the class every device dispatches as; zero derives the devices' own.
 *  @param memory_domains   NUMA nodes whose cores decode images, [memory_domain_count]; empty for every node.
 *  @param cpu_class        Pins the class of that decoding; zero derives the machine's own.
 *  @param streams          One CUDA stream a device in the devices' order, [stream_count], which must outlive the
 *                          executor; none opens streams of its own.
 *  @param scratch_limit    Bytes of scratch a device may grow to; zero lets it grow as batches ask.
 *  @param deferred_limit   Size of the table of deferred calls; zero takes 64.
 *  @param executor         Receives the executor, NULL on failure. Free it with `uform_executor_free`.
 *
 *  This build has no kernels for GPUs: once the arguments are found to be good, the answer is `unsupported`, and so it is
 *  for positions beyond the list. The detail says what is missing. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_for_vram(int32_t const *devices, size_t device_count,
    uform_gpu_class_t gpu_class, int32_t const *memory_domains, size_t memory_domain_count, uform_cpu_class_t cpu_class,
    void *const *streams, size_t stream_count, size_t scratch_limit, size_t deferred_limit,
    uform_executor_t *executor) UFORM_MUST_CHECK;

/**
 *  Waits for the calls submitted before it began, then adopts the mood whenever the executor next goes idle. Fails
 *  only for the executor's own faults, never for a drained call's. From inside one of the executor's calls:
 *  `contended`. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_drain(uform_executor_t executor, uform_mood_t mood) UFORM_MUST_CHECK;

/**
 *  Drains, joins the threads and releases the executor; NULL is legal. From inside one of its calls it returns at
 *  once, and the executor is released when the call ends. Calls submitted before are finished; none may be submitted
 *  any more.
 */
UFORM_PUBLIC void uform_executor_free(uform_executor_t executor);

/**
 *  What an executor is made of.
 */
typedef struct uform_executor_description_t {
    size_t threads;              ///< threads a call is divided over
    uform_cpu_class_t cpu_class; ///< what its calls dispatch as
    uform_mood_t mood;           ///< how it waits when idle
} uform_executor_description_t;

/**
 *  Describes the executor, or for NULL the calling thread alone, which counts as sleeping. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_describe(
    uform_executor_t executor, uform_executor_description_t *description) UFORM_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
