/**
 *  Parking: the futex, and the portable form that other systems get, both behind the same checks. The second is
 *  compiled into this program under other names.
 */
#include "executor_test.h"

#include <pthread.h>

#include "executor/park.h"

#define UFORM_PARK_PORTABLE
#define uform_spin_ portable_spin
#define uform_now_ns_ portable_now_ns
#define uform_park_ portable_park
#define uform_park_until_ portable_park_until
#define uform_unpark_ portable_unpark
#undef UFORM_EXECUTOR_PARK_H
#include "executor/park.c"
#undef uform_spin_
#undef uform_now_ns_
#undef uform_park_
#undef uform_park_until_
#undef uform_unpark_

typedef struct parking_t {
    char const *name;
    void (*park)(atomic_uint *word, unsigned value, uint32_t mask);
    void (*unpark)(atomic_uint *word, uint32_t mask);
    void (*park_until)(atomic_uint *word, unsigned value, uint32_t mask, uint64_t deadline_ns);
} parking_t;

static parking_t const parkings[] = {
    {"own", uform_park_, uform_unpark_, uform_park_until_},
    {"portable", portable_park, portable_unpark, portable_park_until},
};

typedef struct relay_t {
    parking_t const *parking;
    atomic_uint word;
    unsigned count;
} relay_t;

/// Takes the odd steps of a count that two threads raise by turns.
static void *take_odd_steps(void *argument) {
    relay_t *const relay = argument;
    for (unsigned step = 1; step < relay->count; step += 2) {
        for (unsigned seen; (seen = atomic_load(&relay->word)) != step;) relay->parking->park(&relay->word, seen, 2);
        atomic_store(&relay->word, step + 1);
        relay->parking->unpark(&relay->word, 1);
    }
    return NULL;
}

static void test_relay(void **state) {
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        relay_t relay = {.parking = &parkings[p], .count = 2000};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_odd_steps, &relay), 0);
        for (unsigned step = 0; step < relay.count; step += 2) {
            for (unsigned seen; (seen = atomic_load(&relay.word)) != step;) relay.parking->park(&relay.word, seen, 1);
            atomic_store(&relay.word, step + 1);
            relay.parking->unpark(&relay.word, 2);
        }
        pthread_join(thread, NULL);
        assert_int_equal(relay.word, relay.count);
    }
}

/// A word that has changed already doesn't put anybody to sleep.
static void test_no_sleep(void **state) {
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        atomic_uint word;
        atomic_init(&word, 7);
        parkings[p].park(&word, 6, UINT32_MAX);
        parkings[p].unpark(&word, UINT32_MAX);
    }
}

/// Nobody wakes the sleeper but the clock.
static void test_deadline(void **state) {
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        atomic_uint word;
        atomic_init(&word, 7);
        uint64_t const begin = uform_now_ns_(), deadline = begin + 20000000;
        while (uform_now_ns_() < deadline) parkings[p].park_until(&word, 7, UINT32_MAX, deadline);
        parkings[p].park_until(&word, 7, UINT32_MAX, begin); // over already
        assert_true(uform_now_ns_() - begin < 10000000000u);
    }
}

static void test_spin(void **state) {
    (void)state;
    atomic_uint word;
    atomic_init(&word, 7);
    assert_true(uform_spin_(&word, 7, true, 0));
    assert_true(uform_spin_(&word, 6, false, 0));
    assert_false(uform_spin_(&word, 6, true, 0));
    assert_false(uform_spin_(&word, 7, false, 100000));
    assert_true(uform_spin_(&word, 7, true, UFORM_SPIN_ENDLESS));
    assert_true(portable_spin(&word, 7, true, 1000));
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_relay),
        cmocka_unit_test(test_no_sleep),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
