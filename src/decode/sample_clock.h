/* sample_clock.h - times of a format whose clock starts at an arbitrary time (boot, start of the
 * program). They become absolute times when the upload gives the start of the profile; otherwise
 * the samples have no times. Private to this module. */
#pragma once
#include "decode/profile_build.h"

struct sf_sample_clock {
    int64_t unix_ns; /* Unix time of `own_ns`; 0: unknown */
    int64_t own_ns;
};

/* `first_ns`: start of the profile by the format's own clock. */
static inline struct sf_sample_clock sf_sample_clock_init(const struct sf_profile_build *b,
                                                          int64_t first_ns)
{
    return (struct sf_sample_clock){b->hint->from_ns, first_ns};
}

/* Sets the time of `s` to `at_ns` of the format's clock, and its length (0: an instant). */
static inline void sf_sample_clock_stamp(const struct sf_sample_clock *c, int64_t at_ns,
                                         int64_t length_ns, struct sf_sample *s)
{
    int64_t off;
    if (!c->unix_ns)
        return;
    s->has_time = !__builtin_sub_overflow(at_ns, c->own_ns, &off) &&
                  !__builtin_add_overflow(c->unix_ns, off, &s->start_ns);
    s->length_ns = s->has_time && length_ns > 0 ? length_ns : 0;
    if (!s->has_time)
        s->start_ns = 0;
}
