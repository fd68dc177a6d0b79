/**
 *  An actor keeps some deferred calls of its own, and does what its numbers say: submit, defer, wait, look, drain, replace
 *  an executor, fork. Whatever finishes is compared with the quiet run.
 */
#include "stress/actor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/executor_test.h"

enum { pending_most_k = 6, texts_most_k = 8, patience_seconds_k = 30 };

/// A deferred call, and where its rows go.
typedef struct pending_t {
    uform_call_t call; ///< NULL for a free place
    subject_t const *subject;
    size_t first, count;
    float *rows; ///< [count, dimensions], in the actor's arena or its own
    float own_rows[texts_most_k * dimensions_most_k];
} pending_t;

typedef struct actor_t {
    random_t numbers;
    pending_t pending[pending_most_k];
    uform_arena_t arena;
} actor_t;

static slot_t *choose_slot(actor_t *actor) {
    return &world.slots[random_below(&actor->numbers, slot_count_k)];
}

static pending_t *choose_pending(actor_t *actor) {
    return &actor->pending[random_below(&actor->numbers, pending_most_k)];
}

/// Decides what a call is about.
static void choose_texts(actor_t *actor, pending_t *pending) {
    pending->subject = &world.subjects[random_below(&actor->numbers, model_count_k)];
    pending->count = random_below(&actor->numbers, texts_most_k + 1);
    pending->first = random_below(&actor->numbers, text_count_k - pending->count + 1);
    pending->rows = pending->own_rows;
    memset(pending->own_rows, 0, sizeof(pending->own_rows));
}

static void check_rows(char const *what, pending_t const *pending, uform_status_t status) {
    if (status != uform_status_ok_k) world_fail("%s: %s: %s", what, uform_status_name(status), uform_last_detail());
    else if (!world_compare(pending->subject, pending->first, pending->count, pending->rows))
        world_fail("%s: other bits than in the quiet run, texts %zu to %zu", what, pending->first,
            pending->first + pending->count);
}

static void encode(actor_t *actor) {
    slot_t *const slot = choose_slot(actor);
    pending_t direct;
    choose_texts(actor, &direct);
    bool const alone = !random_below(&actor->numbers, 8);
    if (!alone) pthread_rwlock_rdlock(&slot->lock);
    uform_status_t const status = uform_encode_texts(direct.subject->model, alone ? NULL : slot->executor,
        world.texts + direct.first, direct.count, NULL, direct.rows, 0, NULL);
    if (!alone) pthread_rwlock_unlock(&slot->lock);
    check_rows("a direct call", &direct, status);
    atomic_fetch_add(&world.calls, 1);
}

static void defer(actor_t *actor) {
    slot_t *const slot = choose_slot(actor);
    pending_t *const pending = choose_pending(actor);
    if (pending->call) return;
    choose_texts(actor, pending);
    if (!random_below(&actor->numbers, 2)) {
        void *memory;
        if (uform_arena_allocate(actor->arena, sizeof(pending->own_rows), 0, &memory) != uform_status_ok_k)
            world_fail("an arena: %s", uform_last_detail());
        else pending->rows = memory;
    }
    bool const alone = !random_below(&actor->numbers, 8);
    if (!alone) pthread_rwlock_rdlock(&slot->lock);
    uform_status_t const status = uform_defer_texts(pending->subject->model, alone ? NULL : slot->executor,
        world.texts + pending->first, pending->count, NULL, pending->rows, 0, NULL, &pending->call);
    if (!alone) pthread_rwlock_unlock(&slot->lock);
    atomic_fetch_add(status == uform_status_contended_k ? &world.refused : &world.deferred, 1);
    if (status != uform_status_ok_k && status != uform_status_contended_k)
        world_fail("deferring: %s", uform_last_detail());
}

/// Frees the handle of a call that has finished or, if not, waits for it so.
static void end(pending_t *pending) {
    uform_call_free(pending->call);
    pending->call = NULL;
    check_rows("a freed call", pending, uform_status_ok_k);
}

static void await(actor_t *actor) {
    static double const timeouts[] = {-1, 0, 0.0005, 10};
    pending_t *const pending = choose_pending(actor);
    if (!pending->call) return;
    uform_status_t const status = uform_call_await(pending->call, timeouts[random_below(&actor->numbers, 4)]);
    if (status == uform_status_timed_out_k) {
        atomic_fetch_add(&world.timeouts, 1);
        return;
    }
    check_rows("an awaited call", pending, status);
    if (random_below(&actor->numbers, 2)) end(pending);
}

static void poll(actor_t *actor) {
    pending_t *const pending = choose_pending(actor);
    bool finished = false;
    if (!pending->call) return;
    if (uform_call_poll(pending->call, &finished) != uform_status_ok_k) world_fail("polling: %s", uform_last_detail());
    if (finished) end(pending);
}

static void free_call(actor_t *actor) {
    pending_t *const pending = choose_pending(actor);
    if (pending->call) end(pending);
}

/// Once none of its calls is pending, an actor's arena starts anew.
static void reset_arena(actor_t *actor) {
    for (size_t i = 0; i < pending_most_k; i++)
        if (actor->pending[i].call) end(&actor->pending[i]);
    if (uform_arena_reset(actor->arena) != uform_status_ok_k) world_fail("an arena: %s", uform_last_detail());
}

static void drain(actor_t *actor) {
    slot_t *const slot = choose_slot(actor);
    uform_mood_t const mood = (uform_mood_t)(1 + random_below(&actor->numbers, 3));
    pthread_rwlock_rdlock(&slot->lock);
    if (uform_executor_drain(slot->executor, mood) != uform_status_ok_k)
        world_fail("draining: %s", uform_last_detail());
    pthread_rwlock_unlock(&slot->lock);
}

/// Frees an executor, with whatever is pending on it, and puts another in its place.
static void replace(actor_t *actor) {
    slot_t *const slot = choose_slot(actor);
    pthread_rwlock_wrlock(&slot->lock);
    uform_executor_free(slot->executor);
    slot->executor = world_executor(&actor->numbers);
    pthread_rwlock_unlock(&slot->lock);
    atomic_fetch_add(&world.replaced, 1);
}

/// In a child: everything answers at once. Zero if all is well.
static int use_in_child(uform_executor_t executor, actor_t const *actor) {
    static float rows[texts_most_k * dimensions_most_k];
    subject_t const *const subject = &world.subjects[0];
    if (ADDRESS_SANITIZED) return 0; // nothing may be allocated there
    uform_status_t status =
        uform_encode_texts(subject->model, executor, world.texts, texts_most_k, NULL, rows, 0, NULL);
    if (status != uform_status_unsupported_k) return 1;
    for (size_t i = 0; i < pending_most_k; i++) {
        if (!actor->pending[i].call) continue;
        status = uform_call_await(actor->pending[i].call, -1);
        if (status != uform_status_ok_k && status != uform_status_unsupported_k) return 2;
        uform_call_free(actor->pending[i].call);
    }
    uform_executor_free(executor);
    status = uform_encode_texts(subject->model, NULL, world.texts, texts_most_k, NULL, rows, 0, NULL);
    if (status != uform_status_ok_k) return 3;
    return world_compare(subject, 0, texts_most_k, rows) ? 0 : 4;
}

static void fork_once(actor_t *actor) {
    slot_t *const slot = choose_slot(actor);
    pthread_rwlock_rdlock(&slot->lock);
    pid_t const child = fork();
    if (!child) {
        alarm(patience_seconds_k);
        _exit(use_in_child(slot->executor, actor));
    }
    pthread_rwlock_unlock(&slot->lock);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status) world_fail("a forked child ended with %d", status);
    atomic_fetch_add(&world.forks, 1);
}

static struct {
    void (*act)(actor_t *actor);
    size_t weight;
} const acts[] = {
    {encode, 30},
    {defer, 60},
    {await, 25},
    {poll, 15},
    {free_call, 8},
    {reset_arena, 2},
    {drain, 6},
    {replace, 5},
    {fork_once, 1},
};

enum { act_count_k = sizeof(acts) / sizeof(*acts) };

static void act(actor_t *actor) {
    size_t total = 0;
    for (size_t i = 0; i < act_count_k; i++) total += acts[i].weight;
    size_t chosen = 0;
    for (size_t left = random_below(&actor->numbers, total); left >= acts[chosen].weight; chosen++)
        left -= acts[chosen].weight;
    acts[chosen].act(actor);
}

void *actor_run(void *numbers) {
    actor_t *const actor = calloc(1, sizeof(*actor));
    if (!actor || uform_arena_new_in(NULL, 0, &actor->arena) != uform_status_ok_k) {
        world_fail("no memory for an actor");
        free(actor);
        return NULL;
    }
    actor->numbers = *(random_t *)numbers;
    while (!atomic_load(&world.ended)) act(actor);
    reset_arena(actor);
    uform_arena_free(actor->arena);
    free(actor);
    return NULL;
}
