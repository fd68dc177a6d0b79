/**
 *  Out-of-memory swept over every allocation of listing devices.
 *
 *      test_faults FOLDER              the stand-ins
 *      test_faults --child MODE        what the test runs in a process of its own: asking once, or until it works
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "faults/allocation.h"
#include "uform/uform.h"

/// Every failed allocation is told as such and the next call asks again, until the list is whole.
static int sweep(bool persistent) {
    for (size_t nth = 1;; nth++) {
        size_t count = 99;
        faults_arm(nth, persistent);
        uform_status_t const status = uform_gpu_devices(NULL, 0, &count);
        bool const hit = faults_disarm();
        if (!hit) return printf("%zu %s %zu\n", nth, uform_status_name(status), count), 0;
        if (status != uform_status_out_of_memory_k || count)
            return printf("allocation %zu: %s, %zu devices\n", nth, uform_status_name(status), count), 1;
    }
}

static void memory_may_run_out(void **state) {
    (void)state;
    machine_t const machine = {"cuda", "count=20;device=a|9.0|1|2", "rocm7", "count=20;device=x|gfx942|3|4"};
    static char const *const modes[] = {"once", "forever"};
    for (size_t i = 0; i < 2; i++) {
        size_t allocations = 0, count = 0;
        assert_int_equal(sscanf(run_self_on_machine(&machine, modes[i]), "%zu ok %zu", &allocations, &count), 2);
        assert_true(allocations > 4);
        assert_int_equal(count, 40);
    }
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "--child")) return sweep(!strcmp(words[2], "forever"));
    if (count < 2) return fprintf(stderr, "test_faults FOLDER\n"), 2;
    standins_folder = words[1];
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
