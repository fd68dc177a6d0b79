/**
 *  Making and comparing; all of it lives in one static object, so that leaving the process at any moment loses nothing.
 */
#include "stress/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "encode/texts.h"
#include "forkunion/standin.h"

world_t world;

enum { exclusive_k = 1, pool_threads_k = 2 };

size_t random_below(random_t *numbers, size_t limit) {
    numbers->state = numbers->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(numbers->state >> 33) % limit;
}

void world_fail(char const *format, ...) {
    pthread_mutex_lock(&world.failure_lock);
    va_list arguments;
    va_start(arguments, format);
    if (!world.failure[0]) vsnprintf(world.failure, sizeof(world.failure), format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&world.failure_lock);
    atomic_store(&world.ended, true);
}

bool world_compare(subject_t const *subject, size_t first, size_t count, float const *rows) {
    size_t const bytes = subject->dimensions * sizeof(float);
    for (size_t i = 0; i < count; i++)
        if (memcmp(rows + i * subject->dimensions, subject->expected[first + i], bytes) != 0) return false;
    return true;
}

static bool make_subject(subject_t *subject, char const *name) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, name);
    uform_model_description_t description;
    uform_status_t status = uform_model_load_ram(path, NULL, 0, NULL, &subject->model);
    if (status == uform_status_ok_k) status = uform_model_describe(subject->model, &description);
    if (status == uform_status_ok_k) subject->dimensions = description.dimensions;
    if (status == uform_status_ok_k)
        status = uform_encode_texts(subject->model, NULL, world.texts, text_count_k, NULL, subject->expected,
            sizeof(subject->expected[0]), NULL);
    if (status != uform_status_ok_k) world_fail("%s: %s", name, uform_last_detail());
    return status == uform_status_ok_k && subject->dimensions <= dimensions_most_k;
}

uform_executor_t world_executor(random_t *numbers) {
    uform_executor_t executor;
    size_t const limit = 1 + random_below(numbers, 6);
    bool const borrows = !random_below(numbers, 3);
    uform_status_t const status =
        borrows ? uform_executor_on_pool(NULL, 0, uform_cpu_class_derived_k, world.pool, limit, &executor)
                : uform_executor_for_ram(
                      NULL, 0, uform_cpu_class_derived_k, 1 + random_below(numbers, 3), limit, &executor);
    if (status != uform_status_ok_k) world_fail("making an executor: %s", uform_last_detail());
    return executor;
}

bool world_make(random_t *numbers) {
    static char letters[text_count_k * words_k * 8];
    // The first is wide enough that two threads encode its short calls together.
    static char const *const names[model_count_k] = {"size_two_layers", "dense_stack"};
    pthread_mutex_init(&world.failure_lock, NULL);
    texts_make(world.texts, text_count_k, words_k, letters);
    for (size_t i = 0; i < model_count_k; i++)
        if (!make_subject(&world.subjects[i], names[i])) return false;
    world.pool = fu_pool_new("stress");
    if (!world.pool || !fu_pool_spawn(world.pool, pool_threads_k, (int)random_below(numbers, exclusive_k + 1)))
        return false;
    for (size_t i = 0; i < slot_count_k; i++) {
        pthread_rwlock_init(&world.slots[i].lock, NULL);
        world.slots[i].executor = world_executor(numbers);
        if (!world.slots[i].executor) return false;
    }
    return true;
}

void world_free(void) {
    for (size_t i = 0; i < slot_count_k; i++) {
        uform_executor_free(world.slots[i].executor);
        pthread_rwlock_destroy(&world.slots[i].lock);
    }
    // Made once, and never driven by two threads or ended by a borrower.
    if (standin_faults(world.pool) != 1) world_fail("the borrowed pool was misused");
    fu_pool_delete(world.pool);
    for (size_t i = 0; i < model_count_k; i++) uform_model_free(world.subjects[i].model);
    pthread_mutex_destroy(&world.failure_lock);
}
