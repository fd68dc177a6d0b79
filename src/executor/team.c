/**
 *  The last member to arrive ends the meeting; the others busy-wait for that, and sleep once it takes long.
 */
#include "executor/team.h"

#include "executor/park.h"

/// A step takes microseconds; who needs longer decodes a picture, or has lost its processor.
enum { meeting_spin_ns_k = 100 * 1000 };

void uform_team_meet_(uform_team_t *team) {
    if (team->count == 1) return;
    unsigned const meeting = atomic_load_explicit(&team->meetings, memory_order_relaxed);
    if (atomic_fetch_add(&team->arrived, 1) + 1 == team->count) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store(&team->meetings, meeting + 1);
        // Either the sleeper's count is seen here, or it sees the new number before it parks.
        if (atomic_load(&team->parked)) uform_unpark_(&team->meetings, UFORM_EVERYBODY);
        return;
    }
    if (uform_spin_(&team->meetings, meeting, false, meeting_spin_ns_k)) return;
    atomic_fetch_add(&team->parked, 1);
    while (atomic_load(&team->meetings) == meeting) uform_park_(&team->meetings, meeting, UFORM_EVERYBODY);
    atomic_fetch_sub(&team->parked, 1);
}
