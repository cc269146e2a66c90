/* runnable.h - how many threads of the host were runnable (running, or waiting for a CPU) over a
 * time: the mean of readings of /proc/loadavg.
 *
 * A reading costs a file under /proc, so there are few: the collecting thread reads at each turn,
 * without itself, and a thread reads when it ends a span that waited for a CPU. All readings of the
 * process are summed up; a span takes the sum when it starts and when it ends. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_runnable {
    uint64_t sum; /* of all readings so far, with their number: opaque */
};

/* The readings so far. The first call starts those of the collecting thread. */
struct sf_runnable sf_runnable_now(void);
/* Takes a reading. `is_collecting`: the calling thread runs only for that, and is not counted. */
void sf_runnable_read(bool is_collecting);
/* A turn of the collecting thread: takes a reading if some span takes the sum. */
void sf_runnable_turn(void);
/* The mean of the readings between two sums, rounded; 0: there were none. */
int64_t sf_runnable_mean(struct sf_runnable from, struct sf_runnable to);
