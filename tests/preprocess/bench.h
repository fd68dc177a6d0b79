/**
 *  Times resizing, for `test_preprocess_resizes --bench`.
 */
#ifndef UFORM_TESTS_PREPROCESS_BENCH_H
#define UFORM_TESTS_PREPROCESS_BENCH_H

/// Prints milliseconds a picture of usual sizes, class by class, arithmetic by arithmetic.
int bench_resizes(void);

#endif
