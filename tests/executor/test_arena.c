/**
 *  Arenas: alignment, growth, what a reset keeps, lifetimes, arguments.
 */
#include "executor_test.h"

#include <stdlib.h>

static void *piece(uform_arena_t arena, size_t bytes, size_t alignment) {
    void *memory = NULL;
    assert_ok(uform_arena_allocate(arena, bytes, alignment, &memory));
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % (alignment ? alignment : 64), 0);
    memset(memory, (int)bytes, bytes);
    return memory;
}

static void test_arguments(void **state) {
    (void)state;
    uform_arena_t arena = (uform_arena_t)(uintptr_t)1;
    void *memory = &arena;
    assert_int_equal(uform_arena_new_in(NULL, 0, NULL), uform_status_invalid_argument_k);
#if !SANITIZED // which would end the process at such a request
    assert_int_equal(uform_arena_new_in(NULL, SIZE_MAX, &arena), uform_status_out_of_memory_k);
    assert_null(arena);
#endif
    assert_ok(uform_arena_new_in(NULL, 0, &arena));
    assert_int_equal(uform_arena_allocate(NULL, 1, 0, &memory), uform_status_invalid_argument_k);
    assert_null(memory);
    assert_int_equal(uform_arena_allocate(arena, 1, 0, NULL), uform_status_invalid_argument_k);
    for (size_t alignment = 3; alignment < 200; alignment += 32) {
        memory = &arena;
        assert_int_equal(uform_arena_allocate(arena, 1, alignment, &memory), uform_status_invalid_argument_k);
        assert_null(memory);
        assert_non_null(strstr(uform_last_detail(), "alignment: expected zero or a power of two"));
    }
#if !SANITIZED
    assert_int_equal(uform_arena_allocate(arena, SIZE_MAX, 0, &memory), uform_status_out_of_memory_k);
    assert_int_equal(uform_arena_allocate(arena, SIZE_MAX / 2, 4096, &memory), uform_status_out_of_memory_k);
    assert_int_equal(uform_arena_allocate(arena, 1, SIZE_MAX / 2 + 1, &memory), uform_status_out_of_memory_k);
    assert_null(memory);
#endif
    assert_int_equal(uform_arena_reset(NULL), uform_status_invalid_argument_k);
    assert_ok(uform_arena_reset(arena));
    piece(arena, 0, 0);
    piece(arena, 1, 1);
    uform_arena_free(arena);
    uform_arena_free(NULL);
}

/// Pieces of every size and alignment neither overlap nor move.
static void test_pieces(void **state) {
    (void)state;
    enum { count_k = 300 };
    static unsigned char *pieces[count_k];
    uform_arena_t arena;
    assert_ok(uform_arena_new_in(NULL, 1000, &arena));
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < count_k; i++) pieces[i] = piece(arena, i * 7 % 1000, (size_t)1 << i % 13);
        for (size_t i = 0; i < count_k; i++)
            for (size_t byte = 0; byte < i * 7 % 1000; byte++)
                assert_int_equal(pieces[i][byte], (unsigned char)(i * 7 % 1000));
        assert_ok(uform_arena_reset(arena));
    }
    uform_arena_free(arena);
}

/// After growing and a reset, the same pieces come out of one block.
static void test_high_water(void **state) {
    (void)state;
    static size_t const sizes[] = {100, 5000, 64, 100000, 3, 70000, 4096};
    enum { count_k = sizeof(sizes) / sizeof(*sizes) };
    uform_arena_t arena;
    assert_ok(uform_arena_new_in(NULL, 0, &arena));
    unsigned char *before[count_k] = {NULL};
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < count_k; i++) {
            unsigned char *const memory = piece(arena, sizes[i], i % 2 ? 256 : 0);
            // In one block pieces follow each other closely.
            if (round && i) assert_true(memory >= before[i - 1] + sizes[i - 1]);
            if (round && i) assert_true(memory < before[i - 1] + sizes[i - 1] + 256);
            // And that block stays.
            if (round > 1) assert_ptr_equal(memory, before[i]);
            before[i] = memory;
        }
        assert_ok(uform_arena_reset(arena));
    }
    uform_arena_free(arena);
}

/// A host arena may outlive its executor, and go on growing.
static void test_outlives_executor(void **state) {
    (void)state;
    static int32_t const domains[] = {0};
    uform_executor_t executor;
    uform_arena_t arena;
    assert_ok(uform_executor_for_ram(domains, 1, 0, 2, 0, &executor));
    assert_ok(uform_arena_new_in(executor, 1 << 20, &arena));
    unsigned char *const memory = piece(arena, 1 << 20, 0);
    uform_executor_free(executor);
    memory[0] = 1;
    piece(arena, 5 << 20, 1 << 16);
    assert_int_equal(memory[0], 1);
    assert_ok(uform_arena_reset(arena));
    piece(arena, 6 << 20, 0);
    uform_arena_free(arena);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_high_water),
        cmocka_unit_test(test_outlives_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
