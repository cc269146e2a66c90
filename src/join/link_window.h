/* link_window.h - finds the profiles without ids that may belong to a span, and the time that each
 * covers.
 *
 * A profile covers its own duration, and belongs to all spans that ran in its process at that time.
 * If spans and profiles of a service name their processes in the same way, only profiles of the
 * span's own process count; replicas are never mixed. A profile stores one name of its process; if
 * the span does not have that one, labels of the profile's series may have another name that it has
 * (its pod, for example). Otherwise profiles of the whole service are used. */
#pragma once
#include "join/link_spans.h"
#include "store/store.h"

enum sf_link_by {
    SF_LINK_BY_NOBODY, /* profiles name other processes, but not this one */
    SF_LINK_BY_PROCESS,
    SF_LINK_BY_LABEL,
    SF_LINK_BY_SERVICE
};

struct sf_link_window { /* the time covered by profiles that start together */
    int64_t from_ns, to_ns;
    bool is_slot; /* only the sum of a slot of the service is left */
};

struct sf_link_windows {
    enum sf_link_by by;
    uint64_t process;           /* the name that profiles use; 0: by label or service */
    struct sf_matcher match[2]; /* the service; and the label, when it is by label */
    uint32_t n_match;
    const struct sf_link_window *list;
    uint32_t n;
    bool is_joined; /* there were too many: one window stands for all */
    bool is_mixed;  /* BY_SERVICE: several processes sent profiles at the time of the span */
};

struct sf_link_window_ask {
    sf_str type, service;
    uint64_t process;         /* of the span */
    int64_t from_ns, to_ns;   /* time range to search */
    int64_t start_ns, end_ns; /* of the span */
    const struct sf_link_spans *spans;
    struct sf_attrs resource; /* of the span */
};

/* In q->req. */
enum sf_err sf_link_windows_find(struct sf_store *store, const struct sf_link_window_ask *ask,
                                 struct sf_query_ctx *q, struct sf_link_windows *out,
                                 struct sf_why *why);
