/* One walk over the bytes, with two short passes ahead: a message's scalars may come after its
 * lists, so the resource and the scope are read before their spans (skipping a span is cheap); and
 * events and links are only counted while the span's attributes are read, so that these are the
 * last allocation in the arena and can grow in place. */
#include "base/limits.h"
#include "base/num.h"
#include "decode/otlp/otlp_build.h"

struct decoder { /* state for reload */
    sf_bytes body;
    sf_bytes resource_spans, scope_spans;
};

static struct sf_pb cursor(const struct decoder *d, sf_bytes part)
{
    return sf_pb_part(d->body, part);
}

static void otlp_trace_pb_read_resource(struct sf_otlp_build *b, struct sf_pb *pb,
                                        struct sf_otlp_attrs *attrs)
{
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): sf_otlp_attrs_add_pb(&b->rq, &msg, attrs); break;
        case SF_PB_TAG(2, SF_PB_VARINT): b->resource.dropped_attrs = sf_pb_u32(&msg); break;
        default: sf_otlp_skip(&b->rq, &msg); break;
        }
    }
    sf_pb_join(pb, &msg);
}

static void otlp_trace_pb_read_scope(struct sf_otlp_build *b, struct sf_pb *pb,
                                     struct sf_otlp_attrs *attrs)
{
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): sf_otlp_set_name(&b->rq, &msg, &b->scope.name); break;
        case SF_PB_TAG(2, SF_PB_LEN): sf_otlp_set_name(&b->rq, &msg, &b->scope.version); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_attrs_add_pb(&b->rq, &msg, attrs); break;
        case SF_PB_TAG(4, SF_PB_VARINT): b->scope.dropped_attrs = sf_pb_u32(&msg); break;
        default: sf_otlp_skip(&b->rq, &msg); break;
        }
    }
    sf_pb_join(pb, &msg);
}

/* Reads the resource of a ResourceSpans. *out_list is the field that contains its spans: 2, or 1000
 * (before OTLP 0.19) if there is no 2. */
static void load_resource(struct sf_otlp_build *b, struct sf_pb *pb, uint32_t *out_list)
{
    struct sf_otlp_attrs attrs = {0};
    bool has_scopes = false, has_old_scopes = false;

    b->resource = (struct sf_resource){0};
    while (sf_pb_next(pb)) {
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN): otlp_trace_pb_read_resource(b, pb, &attrs); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_set_name(&b->rq, pb, &b->resource.schema_url); break;
        case SF_PB_TAG(2, SF_PB_LEN):
            has_scopes = true;
            sf_pb_skip(pb);
            break;
        case SF_PB_TAG(1000, SF_PB_LEN):
            has_old_scopes = true;
            sf_pb_skip(pb);
            break;
        default: sf_otlp_skip(&b->rq, pb); break;
        }
    }
    if (has_scopes && has_old_scopes)
        b->rq.rejects->n_unseen++;
    b->resource.attrs = sf_otlp_attrs_close(&b->rq, &attrs, &b->resource.dropped_attrs);
    sf_otlp_build_service(&b->resource);
    *out_list = has_scopes ? 2 : 1000;
}

static void load_scope(struct sf_otlp_build *b, struct sf_pb *pb)
{
    struct sf_otlp_attrs attrs = {0};

    b->scope = (struct sf_scope){0};
    while (sf_pb_next(pb)) {
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN): otlp_trace_pb_read_scope(b, pb, &attrs); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_set_name(&b->rq, pb, &b->scope.schema_url); break;
        case SF_PB_TAG(2, SF_PB_LEN): sf_pb_skip(pb); break; /* the spans are read later */
        default: sf_otlp_skip(&b->rq, pb); break;
        }
    }
    b->scope.attrs = sf_otlp_attrs_close(&b->rq, &attrs, &b->scope.dropped_attrs);
}

/* Both were read before without an error, so only the arena can fail, which the caller checks. */
static bool otlp_trace_pb_reload(struct sf_otlp_build *b)
{
    const struct decoder *d = b->decoder;
    struct sf_otlp_rejects counted = *b->rq.rejects; /* truncation is not counted twice */
    struct sf_pb pb = cursor(d, d->resource_spans);
    uint32_t ignored;
    load_resource(b, &pb, &ignored);
    pb = cursor(d, d->scope_spans);
    load_scope(b, &pb);
    *b->rq.rejects = counted;
    return true;
}

static void otlp_trace_pb_read_event(struct sf_otlp_build *b, struct sf_pb *pb, struct sf_event *ev)
{
    struct sf_pb msg = sf_pb_msg(pb);
    struct sf_otlp_attrs attrs = {0};
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_I64): ev->time_ns = sf_pb_fixed64(&msg); break;
        case SF_PB_TAG(2, SF_PB_LEN): sf_otlp_set_name(&b->rq, &msg, &ev->name); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_attrs_add_pb(&b->rq, &msg, &attrs); break;
        case SF_PB_TAG(4, SF_PB_VARINT): ev->dropped_attrs = sf_pb_u32(&msg); break;
        default: sf_otlp_skip(&b->rq, &msg); break;
        }
    }
    ev->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &ev->dropped_attrs);
    sf_pb_join(pb, &msg);
}

/* False: its ids are invalid, so it is dropped. */
static bool otlp_trace_pb_read_link(struct sf_otlp_build *b, struct sf_pb *pb, struct sf_link *link)
{
    struct sf_pb msg = sf_pb_msg(pb);
    struct sf_otlp_attrs attrs = {0};
    sf_bytes trace_id = {0}, span_id = {0};
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): sf_otlp_set_id(&b->rq, &msg, &trace_id); break;
        case SF_PB_TAG(2, SF_PB_LEN): sf_otlp_set_id(&b->rq, &msg, &span_id); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_set_name(&b->rq, &msg, &link->trace_state); break;
        case SF_PB_TAG(4, SF_PB_LEN): sf_otlp_attrs_add_pb(&b->rq, &msg, &attrs); break;
        case SF_PB_TAG(5, SF_PB_VARINT): link->dropped_attrs = sf_pb_u32(&msg); break;
        case SF_PB_TAG(6, SF_PB_I32): link->flags = sf_pb_fixed32(&msg); break;
        default: sf_otlp_skip(&b->rq, &msg); break;
        }
    }
    link->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &link->dropped_attrs);
    if (!sf_pb_join(pb, &msg) || trace_id.len != 16 || span_id.len != 8)
        return false;
    memcpy(link->trace_id.b, trace_id.p, sizeof(link->trace_id.b));
    link->span_id = sf_load_u64be(span_id.p);
    return link->span_id && !sf_trace_id_is_zero(link->trace_id);
}

static void otlp_trace_pb_read_status(struct sf_otlp_build *b, struct sf_pb *pb, struct sf_span *s)
{
    struct sf_pb msg = sf_pb_msg(pb);
    uint64_t code;
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(2, SF_PB_LEN): sf_otlp_set_name(&b->rq, &msg, &s->status_msg); break;
        case SF_PB_TAG(3, SF_PB_VARINT):
            code = sf_pb_u64(&msg);
            s->status = (uint8_t)(code < SF_STATUSES ? code : SF_STATUS_UNSET);
            break;
        default: sf_otlp_skip(&b->rq, &msg); break;
        }
    }
    sf_pb_join(pb, &msg);
}

/* The second walk over a span that has events or links. */
static void read_lists(struct sf_otlp_build *b, struct sf_pb *pb, struct sf_span *s,
                       uint32_t n_events, uint32_t n_links)
{
    uint32_t max_events = n_events < SF_LIMIT_EVENTS ? n_events : SF_LIMIT_EVENTS;
    uint32_t max_links = n_links < SF_LIMIT_LINKS ? n_links : SF_LIMIT_LINKS;
    struct sf_event *events = sf_arena_new_n(b->rq.req, max_events, sizeof(*events));
    struct sf_link *links = sf_arena_new_n(b->rq.req, max_links, sizeof(*links));
    uint32_t n_cut_events = 0, n_cut_links = 0;

    if (!events || !links) {
        b->rq.is_arena_full = true;
        return;
    }
    while (sf_pb_next(pb)) {
        if (pb->tag == SF_PB_TAG(11, SF_PB_LEN)) {
            struct sf_event spare = {0}; /* those over the limit are still checked */
            otlp_trace_pb_read_event(b, pb,
                                     s->n_events < max_events ? &events[s->n_events] : &spare);
            if (s->n_events < max_events)
                s->n_events++;
            else
                n_cut_events++;
        } else if (pb->tag == SF_PB_TAG(13, SF_PB_LEN)) {
            struct sf_link link = {0};
            if (otlp_trace_pb_read_link(b, pb, &link) && s->n_links < max_links)
                links[s->n_links++] = link;
            else
                n_cut_links++;
        } else {
            sf_pb_skip(pb);
        }
    }
    s->events = s->n_events ? events : NULL;
    s->links = s->n_links ? links : NULL;
    s->dropped_events = sf_otlp_attrs_add_dropped(s->dropped_events, n_cut_events);
    s->dropped_links = sf_otlp_attrs_add_dropped(s->dropped_links, n_cut_links);
    b->rq.rejects->n_cut_events += n_cut_events;
    b->rq.rejects->n_cut_links += n_cut_links;
}

static void otlp_trace_pb_read_span(struct sf_otlp_build *b, struct sf_pb *pb, struct sf_span *s,
                                    struct sf_otlp_ids *ids)
{
    struct sf_pb again = *pb;
    struct sf_otlp_attrs attrs = {0};
    uint32_t n_events = 0, n_links = 0;
    uint64_t kind;

    while (sf_pb_next(pb)) {
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN): sf_otlp_set_id(&b->rq, pb, &ids->trace_id); break;
        case SF_PB_TAG(2, SF_PB_LEN): sf_otlp_set_id(&b->rq, pb, &ids->span_id); break;
        case SF_PB_TAG(3, SF_PB_LEN): sf_otlp_set_name(&b->rq, pb, &s->trace_state); break;
        case SF_PB_TAG(4, SF_PB_LEN): sf_otlp_set_id(&b->rq, pb, &ids->parent_id); break;
        case SF_PB_TAG(5, SF_PB_LEN): sf_otlp_set_name(&b->rq, pb, &s->name); break;
        case SF_PB_TAG(6, SF_PB_VARINT):
            kind = sf_pb_u64(pb);
            s->kind = (uint8_t)(kind < SF_KINDS ? kind : SF_KIND_UNSPECIFIED);
            break;
        case SF_PB_TAG(7, SF_PB_I64): s->start_ns = sf_pb_fixed64(pb); break;
        case SF_PB_TAG(8, SF_PB_I64): s->end_ns = sf_pb_fixed64(pb); break;
        case SF_PB_TAG(9, SF_PB_LEN): sf_otlp_attrs_add_pb(&b->rq, pb, &attrs); break;
        case SF_PB_TAG(10, SF_PB_VARINT): s->dropped_attrs = sf_pb_u32(pb); break;
        case SF_PB_TAG(12, SF_PB_VARINT): s->dropped_events = sf_pb_u32(pb); break;
        case SF_PB_TAG(14, SF_PB_VARINT): s->dropped_links = sf_pb_u32(pb); break;
        case SF_PB_TAG(15, SF_PB_LEN): otlp_trace_pb_read_status(b, pb, s); break;
        case SF_PB_TAG(16, SF_PB_I32): s->flags = sf_pb_fixed32(pb); break;
        case SF_PB_TAG(11, SF_PB_LEN):
            n_events++;
            sf_pb_skip(pb);
            break;
        case SF_PB_TAG(13, SF_PB_LEN):
            n_links++;
            sf_pb_skip(pb);
            break;
        default: sf_otlp_skip(&b->rq, pb); break;
        }
    }
    s->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &s->dropped_attrs);
    if ((n_events || n_links) && sf_pb_ok(pb) && !b->rq.is_arena_full) {
        read_lists(b, &again, s, n_events, n_links);
        sf_pb_join(pb, &again);
    }
}

/* Adds one span to the batch. False: see b->err or the error in `pb`. */
static bool otlp_trace_pb_add_span(struct sf_otlp_build *b, struct sf_pb *pb)
{
    struct sf_pb start = sf_pb_msg(pb);
    for (;;) {
        struct sf_pb msg = start;
        struct sf_otlp_ids ids = {0};
        struct sf_span *s = sf_otlp_build_span(b);
        if (!s)
            return false;
        otlp_trace_pb_read_span(b, &msg, s, &ids);
        if (!sf_pb_join(pb, &msg))
            return false;
        if (!b->rq.is_arena_full)
            sf_otlp_build_check_ids(b, s, &ids);
        if (!b->rq.is_arena_full)
            return true;
        if (!sf_otlp_build_retry(b))
            return false;
    }
}

static bool otlp_trace_pb_read_scope_spans(struct sf_otlp_build *b, struct sf_pb *pb)
{
    struct decoder *d = b->decoder;
    struct sf_arena before = *b->rq.req;
    uint64_t n_seen = b->n_seen;
    struct sf_pb msg;

    d->scope_spans = sf_pb_bytes(pb);
    if (!sf_pb_ok(pb))
        return false;
    msg = cursor(d, d->scope_spans);
    load_scope(b, &msg);
    b->scope_slot = SF_OTLP_NO_SLOT;
    if (!sf_pb_join(pb, &msg) || (b->rq.is_arena_full && !sf_otlp_build_give(b)))
        return false;
    msg = cursor(d, d->scope_spans);
    for (b->at_span = 0; sf_pb_next(&msg);) {
        if (msg.tag != SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&msg);
            continue;
        }
        if (!otlp_trace_pb_add_span(b, &msg))
            break;
        b->at_span++;
    }
    if (b->n_seen == n_seen && d->scope_spans.len)
        b->rq.rejects->n_unseen++;
    if (b->n_seen == n_seen && before.at < b->rq.req->at)
        *b->rq.req = before; /* a scope without spans leaves nothing in the arena */
    return sf_pb_join(pb, &msg) && !b->err;
}

static bool otlp_trace_pb_read_resource_spans(struct sf_otlp_build *b, struct sf_pb *pb)
{
    struct decoder *d = b->decoder;
    struct sf_arena before = *b->rq.req;
    uint64_t n_seen = b->n_seen;
    struct sf_pb msg;
    uint32_t list;

    d->resource_spans = sf_pb_bytes(pb);
    d->scope_spans = SF_BYTES_NONE;
    if (!sf_pb_ok(pb))
        return false;
    msg = cursor(d, d->resource_spans);
    load_resource(b, &msg, &list);
    b->resource_slot = SF_OTLP_NO_SLOT;
    if (!sf_pb_join(pb, &msg) || (b->rq.is_arena_full && !sf_otlp_build_give(b)))
        return false;
    msg = cursor(d, d->resource_spans);
    for (b->at_scope = 0; sf_pb_next(&msg);) {
        if (msg.tag != SF_PB_TAG(list, SF_PB_LEN)) {
            sf_pb_skip(&msg);
            continue;
        }
        if (!otlp_trace_pb_read_scope_spans(b, &msg))
            break;
        b->at_scope++;
    }
    if (b->n_seen == n_seen && d->resource_spans.len)
        b->rq.rejects->n_unseen++;
    if (b->n_seen == n_seen && before.at < b->rq.req->at)
        *b->rq.req = before;
    return sf_pb_join(pb, &msg) && !b->err;
}

/* Estimates the number of spans, so that their list is allocated once. Errors are left to the real
 * pass. */
static uint32_t otlp_trace_pb_count_spans(struct sf_pb pb, unsigned level)
{
    uint32_t n = 0;
    while (sf_pb_next(&pb)) {
        bool is_down = pb.tag == SF_PB_TAG(level == 0 ? 1 : 2, SF_PB_LEN) ||
                       (level == 1 && pb.tag == SF_PB_TAG(1000, SF_PB_LEN));
        if (!is_down)
            sf_pb_skip(&pb);
        else if (level < 2)
            n += otlp_trace_pb_count_spans(sf_pb_msg(&pb), level + 1);
        else if (n < SF_LIMIT_SPANS) {
            n++;
            sf_pb_skip(&pb);
        } else {
            return n;
        }
        if (n > SF_LIMIT_SPANS)
            return SF_LIMIT_SPANS;
    }
    return n;
}

enum sf_err sf_otlp_trace_pb_read(struct sf_otlp_build *b, sf_bytes body)
{
    struct decoder d = {.body = body};
    struct sf_pb pb = sf_pb_init(body);

    sf_otlp_build_set_decoder(b, &d, otlp_trace_pb_reload);
    b->n_expected = otlp_trace_pb_count_spans(pb, 0);
    for (b->at_resource = 0; sf_pb_next(&pb);) {
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN)) {
            sf_otlp_skip(&b->rq, &pb);
            continue;
        }
        if (!otlp_trace_pb_read_resource_spans(b, &pb))
            break;
        b->at_resource++;
    }
    sf_otlp_build_set_decoder(b, NULL, NULL);
    return b->err ? b->err : sf_pb_why(&pb, "OTLP traces", b->why);
}
