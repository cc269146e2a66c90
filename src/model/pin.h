/* pin.h - a trace that a user has chosen to keep until a given time. */
#pragma once
#include "base/str.h"
#include "model/ids.h"

struct sf_pin {
    uint32_t tenant;
    sf_trace_id trace;
    int64_t until_ns;
    int64_t created_ns;
    int64_t start_ns; /* start of the trace's first span; used by erasures with a time range */
    sf_str note;      /* what it is pinned for; may be empty */
};
