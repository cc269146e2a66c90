#include "store/local/tombstones.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"

struct sf_tombstones {
    atomic_uint refs;
    size_t n;
    struct sf_tombstone list[];
};

static bool copy_into(struct sf_tombstone *to, const struct sf_tombstone *from)
{
    sf_trace_id *ids = NULL;
    char *service = NULL;
    *to = *from;
    to->which.trace_ids = NULL;
    to->which.service = SF_STR_NONE;
    if (from->which.n_traces) {
        ids = sf_heap_new_n(from->which.n_traces, sizeof(*ids));
        if (!ids)
            return false;
        memcpy(ids, from->which.trace_ids, from->which.n_traces * sizeof(*ids));
        to->which.trace_ids = ids;
    }
    if (from->which.service.len) {
        service = sf_heap_new(from->which.service.len);
        if (!service)
            return false; /* the list frees the ids */
        memcpy(service, from->which.service.p, from->which.service.len);
        to->which.service = (sf_str){service, from->which.service.len};
    }
    return true;
}

static int tombstones_compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(sf_trace_id));
}

struct sf_tombstones *sf_tombstones_with(const struct sf_tombstones *base,
                                         const struct sf_tombstone *more, uint64_t drop_id)
{
    size_t n_base = sf_tombstones_n(base);
    struct sf_tombstones *t = sf_heap_new(sizeof(*t) + (n_base + 1) * sizeof(t->list[0]));
    if (!t)
        return NULL;
    atomic_init(&t->refs, 1);
    for (size_t i = 0; i <= n_base; i++) {
        const struct sf_tombstone *from = i < n_base ? &base->list[i] : more;
        struct sf_tombstone *to = &t->list[t->n];
        if (!from || (drop_id && from->id == drop_id))
            continue;
        t->n++;
        if (!copy_into(to, from)) {
            sf_tombstones_unref(t);
            return NULL;
        }
        if (to->which.n_traces > 1) /* sorted for binary search */
            qsort((void *)(uintptr_t)to->which.trace_ids, to->which.n_traces, sizeof(sf_trace_id),
                  tombstones_compare_ids);
    }
    return t;
}

struct sf_tombstones *sf_tombstones_ref(struct sf_tombstones *t)
{
    if (t)
        atomic_fetch_add(&t->refs, 1);
    return t;
}

void sf_tombstones_unref(struct sf_tombstones *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    for (size_t i = 0; i < t->n; i++) {
        sf_heap_free((void *)(uintptr_t)t->list[i].which.trace_ids);
        sf_heap_free((void *)(uintptr_t)t->list[i].which.service.p);
    }
    sf_heap_free(t);
}

size_t sf_tombstones_n(const struct sf_tombstones *t)
{
    return t ? t->n : 0;
}

const struct sf_tombstone *sf_tombstones_get(const struct sf_tombstones *t, size_t i)
{
    return &t->list[i];
}

static bool range_is_open(const struct sf_selector *s)
{
    return s->from_ns == 0 && s->to_ns == 0;
}

bool sf_tombstones_touches(const struct sf_tombstone *t, uint64_t block_id, uint32_t tenant,
                           int64_t ts_min_ns, int64_t ts_max_ns)
{
    if (block_id == 0 || block_id >= t->below_block || (tenant && tenant != t->tenant))
        return false;
    /* A row may start before the block's index times if the sender's clock was wrong, so only a
     * range that begins after the block's end can be excluded. */
    (void)ts_min_ns;
    return range_is_open(&t->which) || t->which.from_ns <= ts_max_ns;
}

bool sf_tombstones_touch(const struct sf_tombstones *t, uint64_t block_id, uint32_t tenant,
                         int64_t ts_min_ns, int64_t ts_max_ns)
{
    for (size_t i = 0; i < sf_tombstones_n(t); i++) {
        if (sf_tombstones_touches(&t->list[i], block_id, tenant, ts_min_ns, ts_max_ns))
            return true;
    }
    return false;
}

static bool selects(const struct sf_selector *s, sf_trace_id trace, sf_str service,
                    uint64_t start_ns)
{
    if (!range_is_open(s)) {
        if (s->from_ns > 0 && start_ns < (uint64_t)s->from_ns)
            return false;
        if (s->to_ns > 0 && start_ns > (uint64_t)s->to_ns)
            return false;
    }
    switch (s->what) {
    case SF_SELECT_ALL: return true;
    case SF_SELECT_SERVICE: return sf_str_eq(s->service, service);
    case SF_SELECT_TRACES:
        return s->n_traces &&
               bsearch(&trace, s->trace_ids, s->n_traces, sizeof(trace), tombstones_compare_ids);
    }
    return false;
}

bool sf_tombstones_hide(const struct sf_tombstones *t, uint64_t block_id, uint32_t tenant,
                        sf_trace_id trace, sf_str service, uint64_t start_ns)
{
    for (size_t i = 0; i < sf_tombstones_n(t); i++) {
        const struct sf_tombstone *one = &t->list[i];
        if (block_id && block_id < one->below_block && tenant == one->tenant &&
            selects(&one->which, trace, service, start_ns))
            return true;
    }
    return false;
}

/* Encoding: what u8, from i64, to i64, then the service's bytes or the trace ids. */
enum { HEAD_LEN = 17 };

void sf_tombstones_selector_encode(const struct sf_selector *s, struct sf_buf *out)
{
    sf_buf_add_u8(out, (uint8_t)s->what);
    sf_buf_add_u64le(out, (uint64_t)s->from_ns);
    sf_buf_add_u64le(out, (uint64_t)s->to_ns);
    if (s->what == SF_SELECT_SERVICE)
        sf_buf_add_str(out, s->service);
    if (s->what == SF_SELECT_TRACES)
        sf_buf_add(out, s->trace_ids, s->n_traces * sizeof(sf_trace_id));
}

enum sf_err sf_tombstones_selector_decode(sf_bytes in, sf_trace_id *ids, struct sf_selector *out,
                                          struct sf_why *why)
{
    struct sf_selector s = {0};
    sf_bytes rest;
    if (in.len < HEAD_LEN || in.p[0] > SF_SELECT_ALL)
        return sf_fail(why, SF_ERR_CORRUPT, "erase: a selector of %zu bytes cannot be read",
                       in.len);
    s.what = (enum sf_select_what)in.p[0];
    s.from_ns = (int64_t)sf_load_u64le(in.p + 1);
    s.to_ns = (int64_t)sf_load_u64le(in.p + 9);
    rest = (sf_bytes){in.p + HEAD_LEN, in.len - HEAD_LEN};
    if (s.what == SF_SELECT_SERVICE)
        s.service = sf_bytes_str(rest);
    if (s.what == SF_SELECT_TRACES) {
        if (rest.len % sizeof(sf_trace_id))
            return sf_fail(why, SF_ERR_CORRUPT, "erase: a list of trace ids is cut");
        s.n_traces = sf_u32(rest.len / sizeof(sf_trace_id));
        memcpy(ids, rest.p, rest.len);
        s.trace_ids = ids;
    }
    *out = s;
    return SF_OK;
}
