/**
 *  A pool is one block; its threads wait for the number of the broadcast to change.
 */
#include "standin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct pool_t pool_t;

typedef struct member_t {
    pool_t *pool;
    size_t index;
    pthread_t thread;
} member_t;

struct pool_t {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t threads, first; ///< members from `first` on have threads of their own; the caller is the one before
    member_t *members;     ///< [threads]
    size_t broadcast, remaining;
    bool ended;
    standin_share_t share;
    void *context;
    atomic_size_t driving, faults;
};

static void *serve(void *argument) {
    member_t *const member = argument;
    pool_t *const pool = member->pool;
    pthread_mutex_lock(&pool->lock);
    for (size_t seen = 0;;) {
        while (pool->broadcast == seen && !pool->ended) pthread_cond_wait(&pool->changed, &pool->lock);
        if (pool->ended) break;
        seen = pool->broadcast;
        pthread_mutex_unlock(&pool->lock);
        pool->share(pool->context, member->index, 0);
        pthread_mutex_lock(&pool->lock);
        if (!--pool->remaining) pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void *fu_pool_new(char const *name) {
    (void)name;
    pool_t *const pool = calloc(1, sizeof(*pool));
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    return pool;
}

int fu_pool_spawn(void *opaque, size_t threads, int exclusivity) {
    pool_t *const pool = opaque;
    pool->faults++;
    pool->members = calloc(threads, sizeof(*pool->members));
    if (!pool->members || !threads) return 0;
    pool->ended = false;
    pool->broadcast = 0;
    pool->threads = threads;
    pool->first = exclusivity ? 0 : 1;
    for (size_t i = 0; i < threads; i++) {
        pool->members[i] = (member_t){.pool = pool, .index = i};
        if (i >= pool->first && pthread_create(&pool->members[i].thread, NULL, serve, &pool->members[i])) abort();
    }
    return 1;
}

void fu_pool_sleep(void *opaque, size_t micros) {
    (void)micros;
    ((pool_t *)opaque)->faults++;
}

void fu_pool_terminate(void *opaque) {
    pool_t *const pool = opaque;
    pool->faults++;
    pthread_mutex_lock(&pool->lock);
    pool->ended = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = pool->first; i < pool->threads; i++) pthread_join(pool->members[i].thread, NULL);
    free(pool->members);
    pool->members = NULL;
    pool->threads = 0;
}

void fu_pool_delete(void *opaque) {
    pool_t *const pool = opaque;
    fu_pool_terminate(pool);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

size_t standin_faults(void *opaque) {
    return ((pool_t *)opaque)->faults;
}

static void drive(pool_t *pool, standin_share_t share, void *context) {
    if (pool->driving++) pool->faults++;
    pthread_mutex_lock(&pool->lock);
    pool->share = share;
    pool->context = context;
    pool->remaining = pool->threads - pool->first;
    pool->broadcast++;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    if (pool->first) share(context, 0, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->remaining) pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pool->driving--;
}

#if defined(STANDIN_STATUS)

STANDIN_EXPORT char const *fu_status_to_string(int status);
STANDIN_EXPORT int fu_pool_threads_count(void *opaque, size_t *threads);
STANDIN_EXPORT int fu_pool_for_threads(void *opaque, standin_share_t share, void *context);

enum { not_spawned_k = -7 };

char const *fu_status_to_string(int status) {
    return status ? "failure" : "success";
}

int fu_pool_threads_count(void *opaque, size_t *threads) {
    *threads = ((pool_t *)opaque)->threads;
    return *threads ? 0 : not_spawned_k;
}

int fu_pool_for_threads(void *opaque, standin_share_t share, void *context) {
    if (!((pool_t *)opaque)->threads) return not_spawned_k;
    drive(opaque, share, context);
    return 0;
}

#else

STANDIN_EXPORT size_t fu_pool_count_threads(void *opaque);

size_t fu_pool_count_threads(void *opaque) {
    return ((pool_t *)opaque)->threads;
}

#if defined(STANDIN_CUT)

/// Where the missing function would be.
STANDIN_EXPORT void fu_pool_unsafe_for_threads(void *opaque, standin_share_t share, void *context);

void fu_pool_unsafe_for_threads(void *opaque, standin_share_t share, void *context) {
    drive(opaque, share, context);
}

#else

STANDIN_EXPORT void fu_pool_for_threads(void *opaque, standin_share_t share, void *context);

void fu_pool_for_threads(void *opaque, standin_share_t share, void *context) {
    drive(opaque, share, context);
}

#endif
#endif
