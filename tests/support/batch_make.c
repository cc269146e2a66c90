#include "support/batch_make.h"

#include "base/invariant.h"
#include "base/num.h"
#include "wire/pb_write.h"

struct maker {
    struct sf_otlp_make *m;
    struct sf_arena *req;
};

static uint64_t below(struct maker *mk, uint64_t n)
{
    return sf_otlp_make_below(mk->m, n);
}

static uint64_t any_u64(struct maker *mk)
{
    static const uint64_t edges[] = {
        0, 1, 127, 128, 16383, INT64_MAX, UINT64_MAX, UINT32_MAX, (uint64_t)1 << 63};
    uint64_t r = below(mk, UINT64_MAX);
    return r % 3 ? edges[(r >> 8) % 9] : r >> (r >> 8 & 63);
}

static uint32_t any_u32(struct maker *mk)
{
    return below(mk, 3) ? 0 : (uint32_t)any_u64(mk);
}

static sf_str any_str(struct maker *mk)
{
    static const char *const parts[] = {"a",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "key.",
                                        "\x01",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x94\xa5",
                                        "/",
                                        "a longer part of a string",
                                        "\x7f",
                                        "\t",
                                        "0"};
    struct sf_buf b = {0};
    uint64_t n = below(mk, 4) ? below(mk, 6) : below(mk, 60);
    sf_str out;
    for (uint64_t i = 0; i < n; i++)
        sf_buf_add_str(&b, sf_str_from(parts[below(mk, sizeof(parts) / sizeof(parts[0]))]));
    SF_ASSERT(sf_arena_copy(mk->req, sf_buf_str(&b), &out));
    sf_buf_done(&b);
    return out;
}

static double any_f64(struct maker *mk)
{
    static const double edges[] = {0.0, -0.0, 1.5, 1e300, 5e-324, 0.1, -1234567.25};
    if (below(mk, 4) == 0)
        return below(mk, 2) ? __builtin_inf() : -__builtin_inf();
    return edges[below(mk, 7)];
}

static void write_any(struct maker *mk, struct sf_buf *out, unsigned depth)
{
    size_t mark;
    uint64_t kind = below(mk, depth < 5 ? 8 : 6), n = below(mk, 4);
    switch (kind) {
    case 0: sf_pb_write_str(out, 1, any_str(mk)); break;
    case 1: sf_pb_write_bool(out, 2, n & 1); break;
    case 2: sf_pb_write_i64(out, 3, (int64_t)any_u64(mk)); break;
    case 3: sf_pb_write_double(out, 4, any_f64(mk)); break;
    case 4: sf_pb_write_str(out, 7, any_str(mk)); break;
    case 5: break;
    default:
        mark = sf_pb_write_begin(out, kind == 6 ? 5 : 6);
        while (n--) {
            size_t element = sf_pb_write_begin(out, 1);
            if (kind == 6) {
                write_any(mk, out, depth + 1);
            } else {
                size_t any;
                sf_pb_write_str(out, 1, any_str(mk));
                any = sf_pb_write_begin(out, 2);
                write_any(mk, out, depth + 1);
                sf_pb_write_end(out, any);
            }
            sf_pb_write_end(out, element);
        }
        sf_pb_write_end(out, mark);
        break;
    }
}

static struct sf_value any_value(struct maker *mk)
{
    struct sf_value val = {.type = (enum sf_value_type)(1 + below(mk, SF_VALUE_TYPES - 1))};
    struct sf_buf b = {0};
    struct sf_pb pb;
    switch (val.type) {
    case SF_VALUE_BOOL: val.is_true = below(mk, 2); break;
    case SF_VALUE_INT: val.i64 = (int64_t)any_u64(mk); break;
    case SF_VALUE_DOUBLE: val.f64 = any_f64(mk); break;
    case SF_VALUE_STR:
    case SF_VALUE_BYTES: val.str = any_str(mk); break;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST:
        do { /* until the dice give a list of this type */
            sf_buf_reset(&b);
            write_any(mk, &b, 0);
            pb = sf_pb_init(sf_buf_bytes(&b));
        } while (!sf_pb_next(&pb) || pb.field != (val.type == SF_VALUE_ARRAY ? 5 : 6));
        SF_ASSERT(sf_arena_copy(mk->req, sf_pb_str(&pb), &val.str));
        break;
    default: break;
    }
    sf_buf_done(&b);
    return val;
}

static struct sf_attrs any_attrs(struct maker *mk)
{
    uint32_t n = (uint32_t)below(mk, 5) * (uint32_t)below(mk, 2);
    struct sf_attr *list = sf_arena_new_n(mk->req, n, sizeof(*list));
    SF_ASSERT(list);
    for (uint32_t i = 0; i < n; i++)
        list[i] = (struct sf_attr){any_str(mk), any_value(mk)};
    return (struct sf_attrs){n ? list : NULL, n};
}

static sf_trace_id any_trace_id(struct maker *mk)
{
    sf_trace_id id;
    sf_store_u64le(id.b, any_u64(mk));
    sf_store_u64le(id.b + 8, any_u64(mk) | 1);
    return id;
}

static void any_span(struct maker *mk, struct sf_span *s)
{
    struct sf_event *events;
    struct sf_link *links;
    *s = (struct sf_span){.trace_id = any_trace_id(mk), .span_id = any_u64(mk) | 1};
    s->parent_id = any_u64(mk);
    s->start_ns = any_u64(mk);
    s->end_ns = any_u64(mk);
    s->name = any_str(mk);
    s->kind = (uint8_t)below(mk, SF_KINDS);
    s->status = (uint8_t)below(mk, SF_STATUSES);
    s->status_msg = any_str(mk);
    s->trace_state = any_str(mk);
    s->flags = any_u32(mk);
    s->attrs = any_attrs(mk);
    s->n_events = (uint32_t)below(mk, 3);
    s->events = events = sf_arena_new_n(mk->req, s->n_events, sizeof(*events));
    for (uint32_t i = 0; i < s->n_events; i++) {
        events[i] = (struct sf_event){.time_ns = any_u64(mk), .name = any_str(mk)};
        events[i].attrs = any_attrs(mk);
        events[i].dropped_attrs = any_u32(mk);
    }
    s->n_links = (uint32_t)below(mk, 3);
    s->links = links = sf_arena_new_n(mk->req, s->n_links, sizeof(*links));
    for (uint32_t i = 0; i < s->n_links; i++) {
        links[i] = (struct sf_link){.trace_id = any_trace_id(mk), .span_id = any_u64(mk) | 1};
        links[i].trace_state = any_str(mk);
        links[i].attrs = any_attrs(mk);
        links[i].dropped_attrs = any_u32(mk);
        links[i].flags = any_u32(mk);
    }
    s->dropped_attrs = any_u32(mk);
    s->dropped_events = any_u32(mk);
    s->dropped_links = any_u32(mk);
}

void sf_batch_make(struct sf_otlp_make *m, uint32_t max_spans, struct sf_arena *req,
                   struct sf_span_batch *out)
{
    struct maker mk = {m, req};
    uint32_t n = (uint32_t)below(&mk, max_spans + 1), n_resources = 0, n_scopes = 0;
    struct sf_resource *resources = sf_arena_new_n(req, n, sizeof(*resources));
    struct sf_scope *scopes = sf_arena_new_n(req, n, sizeof(*scopes));
    struct sf_span *spans = sf_arena_new_n(req, n, sizeof(*spans));

    SF_ASSERT(resources && scopes && spans);
    for (uint32_t i = 0; i < n; i++) {
        bool is_new = i == 0 || below(&mk, 4) == 0;
        if (is_new) {
            struct sf_resource *r = &resources[n_resources++];
            r->attrs = any_attrs(&mk);
            r->schema_url = any_str(&mk);
            r->dropped_attrs = any_u32(&mk);
            r->service = sf_attrs_str(r->attrs, SF_STR("service.name"));
            if (r->service.len == 0)
                r->service = SF_STR("unknown_service");
        }
        if (is_new || below(&mk, 3) == 0) {
            struct sf_scope *sc = &scopes[n_scopes++];
            *sc = (struct sf_scope){any_str(&mk), any_str(&mk), any_str(&mk), any_attrs(&mk),
                                    any_u32(&mk)};
        }
        any_span(&mk, &spans[i]);
        spans[i].resource = n_resources - 1;
        spans[i].scope = n_scopes - 1;
    }
    *out = (struct sf_span_batch){resources, scopes, spans, n_resources, n_scopes, n};
}
