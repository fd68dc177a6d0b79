/**
 *  A thread of the stress test.
 */
#ifndef UFORM_TESTS_STRESS_ACTOR_H
#define UFORM_TESTS_STRESS_ACTOR_H

#include "stress/world.h"

/// Does one thing after the other until the world ends; takes a `random_t`.
void *actor_run(void *numbers);

#endif
