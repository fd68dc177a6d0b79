/**
 *  Meetings of a team: nobody leaves one before everybody has come, whether members are quick, slow enough for the others to
 *  sleep, or alone; and what was written before is seen behind it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "executor/team.h"

enum { largest_team_k = 6, meeting_count_k = 3000 };

typedef struct member_t {
    uform_team_t *team;
    size_t index;
    size_t sleeps_every; // meetings; zero: never
    size_t *steps;       // [team->count] meetings each has come to
    size_t faults;
} member_t;

static void *attend_meetings(void *argument) {
    member_t *member = argument;
    for (size_t meeting = 1; meeting <= meeting_count_k; ++meeting) {
        struct timespec const pause = {0, 300 * 1000};
        if (member->sleeps_every && meeting % member->sleeps_every == 0) nanosleep(&pause, NULL);
        member->steps[member->index] = meeting; // plain: the meeting orders it
        uform_team_meet_(member->team);
        for (size_t i = 0; i < member->team->count; ++i) member->faults += member->steps[i] != meeting;
        uform_team_meet_(member->team);
    }
    return NULL;
}

static void check_meetings(size_t count, size_t sleeps_every) {
    uform_team_t team = {.count = count};
    member_t members[largest_team_k];
    size_t steps[largest_team_k] = {0};
    pthread_t threads[largest_team_k];
    for (size_t i = 0; i < count; ++i) members[i] = (member_t){&team, i, i == count / 2 ? sleeps_every : 0, steps, 0};
    for (size_t i = 1; i < count; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, attend_meetings, &members[i]), 0);
    attend_meetings(&members[0]);
    for (size_t i = 1; i < count; ++i) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < count; ++i) assert_int_equal(members[i].faults, 0);
    assert_int_equal(atomic_load(&team.arrived), 0);
    assert_int_equal(atomic_load(&team.parked), 0);
}

static void test_meetings(void **state) {
    (void)state;
    for (size_t count = 1; count <= largest_team_k; ++count) check_meetings(count, 0);
}

static void test_meetings_with_sleepers(void **state) {
    (void)state;
    for (size_t count = 2; count <= largest_team_k; count += 2) check_meetings(count, 20);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_meetings),
        cmocka_unit_test(test_meetings_with_sleepers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
