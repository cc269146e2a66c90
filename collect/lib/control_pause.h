/* control_pause.h - how long a program waits before it polls the server again. Time and random
 * numbers are given by the caller. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_control_pause { /* zeroed: no failure so far */
    int64_t failing_ns;   /* monotonic time since when polls fail; 0: they succeed */
    int64_t pause_ms;     /* last pause after a failure */
};

struct sf_control_heard {
    unsigned status;       /* HTTP status of the answer; 0: no answer */
    bool is_understood;    /* the document was understood */
    int64_t took_ns;       /* time until the answer came */
    int64_t retry_after_s; /* 0: not given */
    bool is_capturing;     /* a capture is running and will end soon */
};

/* A random time between half and all of the pause stated in docs/api.md, so that many programs do
 * not poll at once. `chance` is any random number. */
int64_t sf_control_pause(struct sf_control_pause *p, const struct sf_control_heard *h,
                         int64_t now_ns, uint64_t chance);
