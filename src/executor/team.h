/**
 *  A team: threads of one call that go through the same steps side by side and wait for each other between them. All of
 *  them must be running: every thread of an executor is, while it runs its share of a call.
 */
#ifndef UFORM_EXECUTOR_TEAM_H
#define UFORM_EXECUTOR_TEAM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

/// Zeroed but for its count is a team whose members haven't met yet. Who arrives and who waits touch different cache lines.
typedef struct uform_team_t {
    size_t count; ///< members; one never waits
    alignas(64) atomic_uint arrived;
    alignas(64) atomic_uint meetings; ///< so many are over
    atomic_uint parked;               ///< members that sleep, or are about to, until the next is over
} uform_team_t;

/// Waits until every member has come here. What each did before is seen by all afterwards.
void uform_team_meet_(uform_team_t *team);

#endif
