/**
 *  cmocka in the order it wants.
 */
#ifndef UFORM_TESTS_MACHINE_TEST_H
#define UFORM_TESTS_MACHINE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_ok(call) assert_int_equal((call), uform_status_ok_k)

#endif
