/**
 *  Borrowed pools whose functions are part of a program that is linked against the shared library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "standin.h"
#include "uform/uform.h"

static void test_found(void **state) {
    (void)state;
    void *const pool = fu_pool_new("test");
    uform_executor_t executor;
    uform_executor_description_t description;
    assert_true(fu_pool_spawn(pool, 3, 0));
    if (uform_executor_on_pool(NULL, 0, uform_cpu_class_derived_k, pool, 0, &executor))
        fail_msg("%s", uform_last_detail());
    assert_int_equal(uform_executor_describe(executor, &description), uform_status_ok_k);
    assert_int_equal(description.threads, 3);
    uform_executor_free(executor);
    fu_pool_delete(pool);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
