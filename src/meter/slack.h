/* slack.h - decides which spans are too old, or too far in the future, to count in current
 * metrics. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

static inline bool sf_slack_is_outside(uint64_t end_ns, int64_t now_ns, int64_t slack_ns)
{
    uint64_t now = now_ns > 0 ? (uint64_t)now_ns : 0;
    uint64_t apart = end_ns > now ? end_ns - now : now - end_ns;
    return apart > (uint64_t)slack_ns;
}
