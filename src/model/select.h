/* select.h - conditions that select rows for queries and erasures. */
#pragma once
#include "model/ids.h"
#include "model/value.h"

enum sf_attr_scope {
    SF_SCOPE_INTRINSIC, /* key is "name", "duration", "status", "kind", "statusMessage", ... */
    SF_SCOPE_ANY,       /* span first, then resource */
    SF_SCOPE_RESOURCE,
    SF_SCOPE_SPAN,
    SF_SCOPE_EVENT,
    SF_SCOPE_LINK,
    SF_SCOPE_INSTRUMENTATION,
    SF_SCOPES
};

enum sf_op {
    SF_OP_EQ,
    SF_OP_NE,
    SF_OP_LT,
    SF_OP_LE,
    SF_OP_GT,
    SF_OP_GE,
    SF_OP_MATCH,
    SF_OP_NO_MATCH,
    SF_OP_EXISTS,
    SF_OP_NOT_EXISTS,
    SF_OPS
};

struct sf_cond { /* one condition for the store; a store that cannot evaluate it ignores it */
    enum sf_attr_scope scope;
    enum sf_op op;
    sf_str key;
    const struct sf_value *vals; /* for = and !=: a set of values */
    uint32_t n_vals;
    sf_str part; /* EXISTS: a value that is a text matters only if it contains this; empty: any */
};

struct sf_key { /* an attribute by scope and name */
    enum sf_attr_scope scope;
    sf_str name;
};

struct sf_matcher { /* one matcher of a label selector: key = "x", != , =~ , !~ */
    sf_str key;
    enum sf_op op;
    sf_str val;
};

enum sf_select_what { SF_SELECT_TRACES, SF_SELECT_SERVICE, SF_SELECT_ALL };

struct sf_selector { /* selects data to erase; a range narrows it, 0 and 0 mean all time */
    enum sf_select_what what;
    const sf_trace_id *trace_ids;
    uint32_t n_traces;
    sf_str service;
    int64_t from_ns, to_ns;
};
