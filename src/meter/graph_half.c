#include "meter/graph_half.h"

#include <string.h>

#include "base/key.h"
#include "base/limits.h"
#include "meter/dimension.h"
#include "meter/slack.h"

/* What a span's attributes say about the other side. */
struct hints {
    struct sf_value peer_service, server_address, peer_address, peer_port;
    struct sf_value db_namespace, db_name, db_system, db_system_name;
};

/* Most keys differ from all of these in length or first letter. */
static bool may_be_hint(sf_str key)
{
    const uint32_t lengths = 1u << 7 | 1u << 9 | 1u << 12 | 1u << 14 | 1u << 17 | 1u << 20;
    if (key.len > 20 || !(lengths >> key.len & 1))
        return false;
    return key.p[0] == 'd' || key.p[0] == 's' || key.p[0] == 'p' || key.p[0] == 'n';
}

static void read_hints(struct sf_attrs attrs, struct hints *out)
{
    const struct {
        sf_str key;
        struct sf_value *val;
    } wanted[] = {{SF_STR("peer.service"), &out->peer_service},
                  {SF_STR("server.address"), &out->server_address},
                  {SF_STR("network.peer.address"), &out->peer_address},
                  {SF_STR("network.peer.port"), &out->peer_port},
                  {SF_STR("db.namespace"), &out->db_namespace},
                  {SF_STR("db.name"), &out->db_name},
                  {SF_STR("db.system"), &out->db_system},
                  {SF_STR("db.system.name"), &out->db_system_name}};
    for (uint32_t i = 0; i < attrs.n; i++) {
        sf_str key = attrs.list[i].key;
        if (!may_be_hint(key))
            continue;
        for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
            if (sf_str_eq(key, wanted[k].key))
                *wanted[k].val = attrs.list[i].val;
        }
    }
}

static bool has_text(struct sf_value v)
{
    return v.type == SF_VALUE_STR && v.str.len > 0;
}

static struct sf_value database_of(const struct hints *h)
{
    const struct sf_value in_order[] = {h->db_namespace, h->db_name, h->db_system,
                                        h->db_system_name};
    for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++) {
        if (has_text(in_order[i]))
            return in_order[i];
    }
    return (struct sf_value){0};
}

static void add_database(const struct hints *h, struct sf_value database, struct sf_buf *out)
{
    if (has_text(h->peer_service)) {
        sf_dimension_add(out, &h->peer_service);
    } else if (has_text(h->server_address)) {
        sf_dimension_add(out, &h->server_address);
    } else if (has_text(h->peer_address)) {
        sf_dimension_add(out, &h->peer_address);
        if (h->peer_port.type != SF_VALUE_NONE && sf_buf_ok(out)) {
            out->p[out->len - 1] = ':'; /* replaces the zero byte */
            sf_dimension_add(out, &h->peer_port);
        }
    } else {
        sf_dimension_add(out, &database);
    }
}

/* Sets type, peer and whether to wait for the other half. `out` gets the peer's text. */
static void graph_half_judge(const struct sf_span *s, struct sf_graph_half *half,
                             struct sf_buf *out)
{
    struct hints h = {0};
    sf_buf_reset(out);
    if (s->kind == SF_KIND_PRODUCER || s->kind == SF_KIND_CONSUMER)
        half->type = SF_GRAPH_MESSAGING;
    if (s->kind != SF_KIND_CLIENT && (s->kind != SF_KIND_SERVER || s->parent_id != 0))
        return; /* it cannot name the other side */
    read_hints(s->attrs, &h);
    struct sf_value database = database_of(&h);
    if (s->kind == SF_KIND_CLIENT && database.type != SF_VALUE_NONE) {
        half->type = SF_GRAPH_DATABASE;
        half->is_alone = true;
        add_database(&h, database, out);
    } else if (s->kind == SF_KIND_CLIENT && has_text(h.peer_service)) {
        sf_dimension_add(out, &h.peer_service);
    } else if (s->kind == SF_KIND_SERVER) {
        /* A root span has no caller that could still arrive. */
        struct sf_value user = {.type = SF_VALUE_STR, .str = SF_STR("user")};
        half->type = SF_GRAPH_VIRTUAL;
        half->is_alone = true;
        sf_dimension_add(out, has_text(h.peer_service) ? &h.peer_service : &user);
    }
}

static struct sf_graph_half *new_half(struct sf_graph_tally *t, struct sf_arena *req)
{
    if (!t->last || t->last->n == SF_GRAPH_CHUNK) {
        struct sf_graph_chunk *chunk = sf_arena_raw(req, sizeof(*chunk), 16);
        if (!chunk)
            return NULL;
        chunk->next = NULL;
        chunk->n = 0;
        if (t->last)
            t->last->next = chunk;
        else
            t->first = chunk;
        t->last = chunk;
    }
    t->n_halves++;
    return &t->last->list[t->last->n++];
}

/* The node of a resource: its service, then the dimensions. Empty if it has no service. */
static bool make_node(const struct sf_resource *r, const char *const *dimensions,
                      size_t n_dimensions, struct sf_buf *room, struct sf_arena *req, sf_str *out)
{
    struct sf_value service = sf_attrs_get(r->attrs, SF_STR("service.name"));
    *out = SF_STR_NONE;
    sf_buf_reset(room);
    if (!has_text(service))
        return true;
    sf_dimension_add(room, &service);
    for (size_t i = 0; i < n_dimensions; i++) {
        struct sf_value v = sf_attrs_get(r->attrs, sf_str_from(dimensions[i]));
        sf_dimension_add(room, &v);
    }
    return sf_buf_ok(room) && sf_arena_copy(req, sf_buf_str(room), out);
}

static bool graph_half_add_span(struct sf_graph_tally *t, const struct sf_span *s, sf_str node,
                                uint64_t node_hash, struct sf_buf *room, struct sf_arena *req)
{
    if (t->n_halves == SF_LIMIT_METER_HALVES) {
        t->n_over++;
        return true;
    }
    bool is_caller = s->kind == SF_KIND_CLIENT || s->kind == SF_KIND_PRODUCER;
    struct sf_graph_half half = {.trace_id = s->trace_id,
                                 .key = is_caller ? s->span_id : s->parent_id,
                                 .duration_ns = sf_span_duration_ns(s),
                                 .node = node,
                                 .node_hash = node_hash,
                                 .is_caller = is_caller,
                                 .has_failed = s->status == SF_STATUS_ERROR};
    graph_half_judge(s, &half, room);
    if (!sf_buf_ok(room) || !sf_arena_copy(req, sf_buf_str(room), &half.peer))
        return false;
    half.peer_hash = sf_key_str(half.peer);
    struct sf_graph_half *place = new_half(t, req);
    if (place)
        *place = half;
    return place != NULL;
}

bool sf_graph_half_tally_add(struct sf_graph_tally *t, const struct sf_span_batch *batch,
                             const char *const *dimensions, size_t n_dimensions, int64_t now_ns,
                             int64_t slack_ns, struct sf_arena *req)
{
    struct sf_buf room = {0};
    uint32_t resource = UINT32_MAX;
    sf_str node = SF_STR_NONE;
    uint64_t node_hash = 0;
    bool is_ok = true;
    for (uint32_t i = 0; is_ok && i < batch->n_spans; i++) {
        const struct sf_span *s = &batch->spans[i];
        if (s->kind < SF_KIND_SERVER || s->kind >= SF_KINDS)
            continue;
        if (sf_slack_is_outside(s->end_ns, now_ns, slack_ns)) {
            t->n_outside_slack++;
            continue;
        }
        if (s->resource != resource) { /* senders group spans by resource: usually the same one */
            resource = s->resource;
            is_ok = make_node(&batch->resources[resource], dimensions, n_dimensions, &room, req,
                              &node);
            node_hash = sf_key_str(node);
        }
        if (is_ok && node.len)
            is_ok = graph_half_add_span(t, s, node, node_hash, &room, req);
    }
    sf_buf_done(&room);
    return is_ok;
}
