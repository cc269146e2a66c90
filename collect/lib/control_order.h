/* control_order.h - the settings that the server sends to this collector: lines of a name and a
 * value. This file parses them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"
#include "base/str.h"

enum { SF_CONTROL_VERSION_CAP = 17 };

struct sf_control_order {
    char version[SF_CONTROL_VERSION_CAP];
    bool is_off;
    uint64_t cpu_hz, wall_hz; /* 0: as configured */
    int64_t rates_until_ms;   /* unix time; 0: until changed */
    bool has_budget;
    uint32_t budget_per_10000;
    uint64_t has_conditions;              /* bits by index in sf_profiling_keys */
    struct sf_profiling conditions;       /* profiling.conditional.*, where the bit is set */
    char capture[SF_CONTROL_VERSION_CAP]; /* id; empty: none */
    unsigned capture_kinds;               /* bits of enum sf_sample_kind */
    uint64_t capture_hz, capture_s;
};

/* False: not such a document; nothing of it is applied. Unknown names, sent by a newer server, are
 * ignored. */
bool sf_control_order_parse(sf_str text, struct sf_control_order *out);
