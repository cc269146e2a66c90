/* link_window.h - whose profiles may be a span's that none of them names, and what each covers.
 *
 * A profile covers its own length, and belongs to all that ran in its process then. Where spans and
 * profiles of a service name their processes in the same way, only those of the span's own process
 * count; replicas are never mixed. A profile keeps one name of its process; where the span does not
 * have that one, labels of the profile's series may hold one that it has (its pod, say). Where they
 * do not, the service represents the process. */
#pragma once
#include "join/link_spans.h"
#include "store/store.h"

enum sf_link_by {
    SF_LINK_BY_NOBODY, /* profiles name other processes, and not this one */
    SF_LINK_BY_PROCESS,
    SF_LINK_BY_LABEL,
    SF_LINK_BY_SERVICE
};

struct sf_link_window { /* what profiles that start together cover */
    int64_t from_ns, to_ns;
    bool is_slot; /* of the service: more is not kept of it any more */
};

struct sf_link_windows {
    enum sf_link_by by;
    uint64_t process;           /* as the profiles call it; 0: by label or service */
    struct sf_matcher match[2]; /* the service; and the label, when it is by label */
    uint32_t n_match;
    const struct sf_link_window *list;
    uint32_t n;
    bool is_joined; /* there were too many: one represents all */
    bool is_mixed;  /* BY_SERVICE: several processes sent them at the time of the span */
};

struct sf_link_window_ask {
    sf_str type, service;
    uint64_t process;         /* of the span */
    int64_t from_ns, to_ns;   /* where to look */
    int64_t start_ns, end_ns; /* of the span */
    const struct sf_link_spans *spans;
    struct sf_attrs resource; /* of the span */
};

/* In q->req. */
enum sf_err sf_link_windows_find(struct sf_store *store, const struct sf_link_window_ask *ask,
                                 struct sf_query_ctx *q, struct sf_link_windows *out,
                                 struct sf_why *why);
