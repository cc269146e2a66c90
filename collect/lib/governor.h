/* governor.h - how often the profilers sample, and whether at all, while they run: what the
 * settings ask for, what the load allows, and what the server wants.
 *
 * Decides in the collecting thread, once per interval; what the server wants is left here by the
 * thread that asks it and taken up on the next turn. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"

/* Once, before profilers start; `block` is copied. */
void sf_governor_init(const struct sf_profiling *block);
void sf_governor_after_fork(void); /* in the child: nothing was measured yet */

/* CPU samples per second in effect; 0: none are taken. Any thread, also in handlers. */
uint64_t sf_governor_rate(void);
