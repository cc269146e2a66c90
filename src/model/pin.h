/* pin.h - a trace that a user has chosen to keep until a given time. */
#pragma once
#include "base/str.h"
#include "model/ids.h"

struct sf_pin {
    uint32_t tenant;
    sf_trace_id trace;
    int64_t until_ns;
    int64_t created_ns;
    int64_t start_ns; /* of the trace's first span; an erasure by time examines it */
    sf_str note;      /* what it is for; may be empty */
};
