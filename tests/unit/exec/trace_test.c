#include "exec/traces.h"

#include "base/heap.h"
#include "test.h"

static const struct sf_resource resources[] = {{.service = {"web", 3}}, {.service = {"db", 2}}};
static const struct sf_scope scopes[] = {{.name = {"a", 1}}, {.name = {"b", 1}}};

static struct sf_span span(sf_span_id id, sf_span_id parent, uint8_t kind, uint64_t start,
                           uint64_t end)
{
    return (struct sf_span){
        .span_id = id, .parent_id = parent, .kind = kind, .start_ns = start, .end_ns = end};
}

static struct sf_arena req;

static struct sf_trace assemble(struct sf_span *spans, uint32_t n)
{
    struct sf_trace t;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 16 << 20));
    assert_ok(sf_trace_assemble(spans, n, resources, 2, scopes, 2, &req, &t, NULL));
    return t;
}

static const struct sf_span *find(const struct sf_trace *t, sf_span_id id, uint8_t kind)
{
    for (uint32_t i = 0; i < t->spans.n_spans; i++) {
        if (t->spans.spans[i].span_id == id && t->spans.spans[i].kind == kind)
            return &t->spans.spans[i];
    }
    return NULL;
}

TEST(trace, keeps_of_two_copies_the_one_that_ends_later)
{
    struct sf_span spans[] = {span(1, 0, SF_KIND_SERVER, 10, 20),
                              span(1, 0, SF_KIND_SERVER, 10, 30),
                              span(1, 0, SF_KIND_SERVER, 10, 25)};
    struct sf_trace t = assemble(spans, 3);
    assert_int_equal(t.spans.n_spans, 1);
    assert_int_equal(t.spans.spans[0].end_ns, 30);
}

TEST(trace, takes_the_same_id_of_another_kind_for_another_span)
{
    struct sf_span spans[] = {span(1, 0, SF_KIND_INTERNAL, 10, 20),
                              span(1, 0, SF_KIND_CONSUMER, 10, 20)};
    assert_int_equal(assemble(spans, 2).spans.n_spans, 2);
}

TEST(trace, gives_a_server_that_shares_its_clients_id_one_of_its_own)
{
    /* client 5 in web; server 5 in db; 7 below the server, 8 below the client */
    struct sf_span spans[] = {
        span(1, 0, SF_KIND_SERVER, 0, 100), span(5, 1, SF_KIND_CLIENT, 10, 90),
        span(5, 1, SF_KIND_SERVER, 20, 80), span(7, 5, SF_KIND_INTERNAL, 30, 40),
        span(8, 5, SF_KIND_INTERNAL, 12, 14)};
    spans[2].resource = spans[3].resource = 1;
    struct sf_trace t = assemble(spans, 5);
    assert_int_equal(t.n_repaired, 1);
    const struct sf_span *client = find(&t, 5, SF_KIND_CLIENT), *server = NULL;
    for (uint32_t i = 0; i < t.spans.n_spans; i++) {
        const struct sf_span *s = &t.spans.spans[i];
        if (s->kind == SF_KIND_SERVER && s->span_id != 1)
            server = s;
    }
    assert_non_null(client);
    assert_non_null(server);
    assert_true(server->span_id != 5 && server->span_id != 0);
    assert_int_equal(server->parent_id, 5);
    assert_int_equal(client->parent_id, 1);
    assert_int_equal(find(&t, 7, SF_KIND_INTERNAL)->parent_id, server->span_id);
    assert_int_equal(find(&t, 8, SF_KIND_INTERNAL)->parent_id, 5);
}

TEST(trace, repairs_the_same_way_at_every_read)
{
    sf_span_id ids[2];
    for (int round = 0; round < 2; round++) {
        struct sf_span spans[] = {span(5, 0, SF_KIND_CLIENT, 10, 90),
                                  span(5, 0, SF_KIND_SERVER, 20, 80)};
        struct sf_trace t = assemble(spans, 2);
        ids[round] = t.spans.spans[1].span_id;
    }
    assert_int_equal(ids[0], ids[1]);
}

TEST(trace, orders_resources_scopes_and_spans_by_start)
{
    struct sf_span spans[] = {span(1, 0, 1, 50, 60), span(2, 0, 1, 40, 60), span(3, 0, 1, 30, 60),
                              span(4, 0, 1, 20, 60), span(5, 0, 1, 10, 60)};
    spans[0].resource = 0, spans[0].scope = 0;
    spans[1].resource = 1, spans[1].scope = 1;
    spans[2].resource = 0, spans[2].scope = 1;
    spans[3].resource = 1, spans[3].scope = 0;
    spans[4].resource = 0, spans[4].scope = 0;
    struct sf_trace t = assemble(spans, 5);
    static const sf_span_id want[] = {5, 1, 3, 4, 2};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(t.spans.spans[i].span_id, want[i]);
}

/* ---- a store that gives rows of several batches ---- */

struct fake_cursor {
    struct sf_span_cursor base;
    uint32_t at, n;
    struct sf_resource resource;
    sf_trace_id ids[2];
    sf_span_id span_ids[2];
    uint32_t zero[2];
    struct sf_span spans[2];
    char name[16];
    enum sf_err end_err;
};
static struct fake_cursor cursor;

static bool fake_next(struct sf_span_cursor *c, struct sf_span_rows *out)
{
    struct fake_cursor *f = (struct fake_cursor *)c;
    if (f->at == f->n) {
        c->err = f->end_err;
        sf_fail(&c->why, f->end_err, "the disk says no");
        return false;
    }
    /* The same buffers again and again: a view kept from the last batch shows up as wrong data. */
    snprintf(f->name, sizeof(f->name), "op-%u", f->at);
    for (uint32_t i = 0; i < 2; i++) {
        f->span_ids[i] = 1 + f->at * 2 + i;
        f->spans[i] = (struct sf_span){.name = sf_str_from(f->name), .start_ns = f->at, .kind = 1};
    }
    f->at++;
    *out = (struct sf_span_rows){.n_rows = 2,
                                 .trace_id = f->ids,
                                 .span_id = f->span_ids,
                                 .resource = f->zero,
                                 .scope = f->zero,
                                 .resources = resources,
                                 .scopes = scopes,
                                 .n_resources = 2,
                                 .n_scopes = 2,
                                 .spans = f->spans};
    return true;
}

static bool is_closed;
static void fake_close(__attribute__((unused)) struct sf_span_cursor *c)
{
    is_closed = true;
}

static enum sf_err fake_get(__attribute__((unused)) struct sf_store *s,
                            __attribute__((unused)) const struct sf_trace_ask *asks,
                            __attribute__((unused)) size_t n_asks,
                            __attribute__((unused)) struct sf_query_ctx *q,
                            struct sf_span_cursor **out, __attribute__((unused)) struct sf_why *why)
{
    *out = &cursor.base;
    return SF_OK;
}

static const struct sf_store_ops fake_ops = {.name = "fake", .traces_get = fake_get};
static struct sf_store fake_store = {&fake_ops};

static enum sf_err get(uint32_t n_batches, enum sf_err end_err, size_t arena_len,
                       struct sf_trace *t)
{
    struct sf_query_ctx q = {.req = &req};
    struct sf_why why;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, arena_len));
    cursor = (struct fake_cursor){.base = {.next = fake_next, .close = fake_close},
                                  .n = n_batches,
                                  .ids = {{{1}}, {{1}}},
                                  .end_err = end_err};
    is_closed = false;
    enum sf_err err = sf_traces_get_one(&fake_store, (sf_trace_id){{1}}, 0, 0, &q, t, &why);
    assert_true(is_closed);
    return err;
}

TEST(trace, keeps_rows_of_all_batches_and_joins_equal_resources)
{
    struct sf_trace t;
    assert_ok(get(3, SF_OK, 1 << 20, &t));
    assert_int_equal(t.spans.n_spans, 6);
    assert_int_equal(t.spans.n_resources, 1);
    assert_str(t.spans.spans[0].name, "op-0");
    assert_str(t.spans.spans[5].name, "op-2");
    assert_false(t.is_partial);
}

TEST(trace, that_does_not_exist_is_empty)
{
    struct sf_trace t;
    assert_ok(get(0, SF_OK, 1 << 20, &t));
    assert_int_equal(t.spans.n_spans, 0);
}

TEST(trace, too_large_for_its_memory_is_given_in_part)
{
    struct sf_trace t;
    assert_ok(get(100000, SF_OK, 256 << 10, &t));
    assert_true(t.is_partial);
    assert_true(t.spans.n_spans > 10);
}

TEST(trace, that_cannot_be_read_fails_with_the_cursors_words)
{
    struct sf_trace t;
    assert_err(get(2, SF_ERR_IO, 1 << 20, &t), SF_ERR_IO);
    sf_arena_done(&req);
}
