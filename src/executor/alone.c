/**
 *  Calls without an executor run on the calling thread. Each thread keeps one block of scratch from call to call,
 *  because allocating and faulting it in again would cost more than encoding a short text; what an exceptionally
 *  large call needed is given back at once, and the rest when the thread ends.
 */
#include "executor/alone.h"

#include <pthread.h>
#include <stdbool.h>

#include "executor/scratch.h"
#include "kernels/kernels.h"

/// Above this, faulting the pages in is small beside the work they are for.
enum { kept_bytes_k = 64 << 20 };

typedef struct lone_thread_t {
    uform_scratch_slot_t slot;
    bool busy; ///< a call is in progress: one made from inside it needs other scratch
    bool kept; ///< the thread's end releases the slot
} lone_thread_t;

static _Thread_local lone_thread_t lone_thread;

static pthread_key_t end_key;
static bool end_key_made;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

static void end_thread(void *argument) {
    lone_thread_t *const thread = argument;
    uform_scratch_release_(&thread->slot);
    // Another destructor of the thread's may call once more.
    thread->kept = false;
}

static void make_end_key(void) {
    end_key_made = !pthread_key_create(&end_key, end_thread);
}

/// Has the thread's end release its slot; false if it can't be kept then.
static bool keep(lone_thread_t *thread) {
    if (thread->kept) return true;
    pthread_once(&end_key_once, make_end_key);
    thread->kept = end_key_made && !pthread_setspecific(end_key, thread);
    return thread->kept;
}

uform_status_t uform_alone_run_(uform_task_t task, void *context) {
    uform_cpu_class_t cpu_class;
    uform_status_t const status = uform_cpu_class_derive_(&cpu_class);
    if (status != uform_status_ok_k) return status;
    lone_thread_t *const thread = &lone_thread;
    bool const nested = thread->busy;
    uform_scratch_slot_t passing = {NULL, 0};
    uform_worker_t const worker = {0, 1, cpu_class, nested ? &passing : &thread->slot};
    thread->busy = true;
    task(context, &worker);
    thread->busy = nested;
    if (nested) uform_scratch_release_(&passing);
    else if (thread->slot.bytes > kept_bytes_k || !keep(thread)) uform_scratch_release_(&thread->slot);
    return uform_status_ok_k;
}
