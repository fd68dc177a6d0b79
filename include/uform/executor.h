/**
 *  Executors: the host threads that calls run on, and the scratch those calls use; deferred calls; arenas.
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
 *  Makes an executor over the threads of a ForkUnion pool that the program already has.
 *
 *  @param memory_domains   NUMA nodes its arenas are placed on, [memory_domain_count]; threads run where the pool has
 *                          them.
 *  @param cpu_class        As for `uform_executor_for_ram`.
 *  @param pool             A live `fu_pool_t`, spawned, which must outlive the executor. Calls are divided over exactly
 *                          its threads; nothing is spawned, put to sleep or terminated.
 *  @param deferred_limit   As for `uform_executor_for_ram`.
 *  @param executor         Receives the executor, NULL on failure. Free it with `uform_executor_free`.
 *
 *  ForkUnion's C functions are looked up at run time: in the library that $UFORM_FORKUNION_LIBRARY names, if it is set,
 *  else in the program and the libraries it has loaded, then in libfork_union_dynamic.so and libforkunion_dynamic.so;
 *  `unsupported` says what was not found. A pool without threads is `invalid_argument`; calls on one that was spawned anew with
 *  another number of threads are `mismatched`. Calls through any number of executors on one pool take turns; the
 *  program itself must not drive the pool during one. As no thread is the executor's own, deferred calls are run by
 *  whoever awaits, polls, drains, submits or frees next. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_on_pool(int32_t const *memory_domains, size_t memory_domain_count,
    uform_cpu_class_t cpu_class, void *pool, size_t deferred_limit, uform_executor_t *executor) UFORM_MUST_CHECK;

/**
 *  Waits for the calls submitted before it began, deferred ones included, then adopts the mood whenever the executor
 *  next goes idle. Fails only for the executor's own faults, never for a drained call's. From inside one of the
 *  executor's calls: `contended`. The mood of a borrowed pool's threads is its owner's to choose: here it only tells how
 *  submitters wait for their turn. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_executor_drain(uform_executor_t executor, uform_mood_t mood) UFORM_MUST_CHECK;

/**
 *  Drains, joins the threads and releases the executor; NULL is legal. From inside one of its calls it returns at
 *  once, and the executor is released when the calls submitted before have ended. None may be submitted any more, but
 *  the handles of deferred ones and arenas stay valid until they are freed themselves.
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

/**
 *  A deferred call: submitted, to be awaited later.
 *
 *  It runs in its turn among direct calls, in order of submission, with nobody waiting for it. On the null executor,
 *  which has no threads, it runs when it is awaited, polled or freed, on the thread that does so; on a borrowed pool
 *  see `uform_executor_on_pool`. In a child of `fork`, a call that had not finished is `unsupported`.
 */
typedef struct uform_call_s *uform_call_t;

/**
 *  Waits until the call has finished and answers its own status, every time, with its own detail for the calling thread.
 *
 *  @param timeout_seconds  `timed_out` when the call takes longer; zero only looks, a negative number waits for ever,
 *                          NaN is `invalid_argument`. A call that has to be run by the thread that awaits it is run to
 *                          its end.
 *
 *  From inside a call on the same executor, a call that has not finished is `contended`. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_call_await(uform_call_t call, double timeout_seconds) UFORM_MUST_CHECK;

/**
 *  Whether the call has finished. Doesn't wait for others, but runs a call that would not run otherwise. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_call_poll(uform_call_t call, bool *finished) UFORM_MUST_CHECK;

/**
 *  Waits until the call has finished and releases it; NULL is legal. From inside a call on the same executor it returns
 *  at once, and the call is released when it finishes. Nobody may use the handle any more.
 */
UFORM_PUBLIC void uform_call_free(uform_call_t call);

/**
 *  Memory placed where an executor computes, given out piece by piece and taken back all at once.
 */
typedef struct uform_arena_s *uform_arena_t;

/**
 *  Makes an arena with room for so many bytes; more is added as it is asked for.
 *
 *  @param executor     Where to place it; NULL for wherever the system does. It may be freed before the arena.
 *  @param bytes        Room to begin with; zero for none yet.
 *  @param arena        Receives the arena, NULL on failure. Free it with `uform_arena_free`.
 *
 *  `out_of_memory` when it can't be had, `unsupported` when the system doesn't let the process place memory on the
 *  executor's NUMA nodes. Thread-safe; the arena itself serves one thread at a time.
 */
UFORM_PUBLIC uform_status_t uform_arena_new_in(
    uform_executor_t executor, size_t bytes, uform_arena_t *arena) UFORM_MUST_CHECK;

/**
 *  Gives out a piece of the arena, valid until `uform_arena_reset` or `uform_arena_free`.
 *
 *  @param bytes        Its size; contents are undefined. Zero gives a pointer that nothing may be written to.
 *  @param alignment    A power of two; zero means 64, a cache line.
 *  @param memory       Receives the piece, NULL on failure. Embeddings can be written into it.
 */
UFORM_PUBLIC uform_status_t uform_arena_allocate(
    uform_arena_t arena, size_t bytes, size_t alignment, void **memory) UFORM_MUST_CHECK;

/**
 *  Takes all pieces back. An arena that had to grow becomes one block with room for the most that was given out at once,
 *  so that asking for as much again allocates nothing. If that block can't be had, the status is `out_of_memory`, and
 *  the arena is empty but of use as before.
 */
UFORM_PUBLIC uform_status_t uform_arena_reset(uform_arena_t arena) UFORM_MUST_CHECK;

/**
 *  Releases the arena and all its pieces; NULL is legal.
 */
UFORM_PUBLIC void uform_arena_free(uform_arena_t arena);

#ifdef __cplusplus
}
#endif

#endif
