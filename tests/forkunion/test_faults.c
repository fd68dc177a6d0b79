/**
 *  Out of memory at every allocation of borrowing a pool.
 */
#include "executor/executor_test.h"
#include "faults/allocation.h"
#include "standin.h"

static void test_borrowing(void **state) {
    (void)state;
    static int32_t const domains[] = {0};
    void *const pool = fu_pool_new("test");
    assert_true(fu_pool_spawn(pool, 2, 0));
    size_t nth = 1;
    for (;; nth++) {
        uform_executor_t executor;
        faults_arm(nth, false);
        uform_status_t const status = uform_executor_on_pool(domains, 1, uform_cpu_class_derived_k, pool, 0, &executor);
        bool const hit = faults_disarm();
        if (status == uform_status_ok_k) {
            tally_t counts = {.threads = 2};
            assert_ok(uform_executor_run_(executor, tally, &counts));
            uform_executor_free(executor);
        } else {
            assert_int_equal(status, uform_status_out_of_memory_k);
            assert_null(executor);
        }
        if (hit) continue;
        assert_ok(status);
        break;
    }
    assert_true(nth > 2);
    fu_pool_delete(pool);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_borrowing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
