/* control_pause.h - how long a program waits before it asks the server again what to do. No clock
 * and no chance of its own: both are given. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_control_pause { /* zeroed: nothing has failed */
    int64_t failing_ns;   /* since then, monotonic; 0: it does not */
    int64_t pause_ms;     /* the last one for a failure */
};

struct sf_control_heard {
    unsigned status;       /* of the answer; 0: there was none */
    bool is_understood;    /* of a document */
    int64_t took_ns;       /* until the answer was there */
    int64_t retry_after_s; /* 0: not given */
    bool is_capturing;     /* a capture runs, whose end is near */
};

/* Between half of what docs/api.md states and all of it: a thousand programs do not come back
 * together. `chance` is any number. */
int64_t sf_control_pause(struct sf_control_pause *p, const struct sf_control_heard *h,
                         int64_t now_ns, uint64_t chance);
