#include "test.h"

#include <unistd.h>

#include "base/heap.h"
#include "base/limits.h"
#include "block/reader.h"
#include "random_spans.h"

static struct sf_arena make_arena(void)
{
    struct sf_arena a; /* not larger than needed: the sanitizer marks all of it on every reset */
    assert_true(sf_arena_init(&a, (size_t)96 << 20));
    return a;
}

static void compare_all(const struct sf_span_block_reader *r, const struct random_block *b,
                        uint32_t columns)
{
    struct sf_arena a = make_arena();
    struct sf_why why;
    uint32_t at = 0;

    for (uint32_t g = 0; g < sf_span_block_granules(r); g++) {
        struct sf_span_rows rows;
        const int64_t *index;
        sf_arena_reset(&a);
        if (sf_span_block_read(r, g, columns, NULL, 0, &a, &rows, &why))
            fail_msg("%s", why.text);
        assert_ok(sf_span_block_index_times(r, g, &a, &index, &why));
        for (uint32_t i = 0; i < rows.n_rows; i++, at++) {
            struct sf_span s = sf_span_rows_get(&rows, i);
            const char *what = span_difference(&s, &b->spans[at], columns);
            if (what)
                fail_msg("row %u differs in %s", at, what);
            assert_int_equal(index[i], b->index_ns[at]);
            assert_int_equal(rows.tenant, b->tenants[at]);
        }
    }
    assert_int_equal(at, b->n);
    sf_arena_done(&a);
}

static struct sf_span_block_reader *write_random(uint64_t seed, bool is_compressed,
                                                 uint32_t n_traces, uint32_t max_trace,
                                                 struct sf_arena *a, struct random_block *b)
{
    struct dice d = {seed};
    struct sf_span_block_options o = {.info = {.block_id = 7, .level = 0},
                                      .is_compressed = is_compressed};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    if (add_random(w, &d, a, n_traces, max_trace, b, &why))
        fail_msg("%s", why.text);
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    assert_int_equal(len, memory.len);
    sf_span_block_writer_free(w);
    if (sf_span_block_open_memory(&memory, &r, &why))
        fail_msg("%s", why.text);
    assert_int_equal(sf_span_block_info(r)->n_rows, b->n);
    return r;
}

TEST(span_block, gives_back_every_field_of_random_spans)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sf_arena a = make_arena();
        struct random_block b;
        struct sf_span_block_reader *r = write_random(seed, seed & 1, 1 + (uint32_t)seed * 20, 9,
                                                      &a, &b);
        compare_all(r, &b, SF_COL_ALL);
        for (uint32_t bit = 1; bit < SF_COL_ALL; bit <<= 1)
            compare_all(r, &b, bit);
        compare_all(r, &b, 0);
        sf_span_block_close(r);
        sf_arena_done(&a);
    }
}

TEST(span_block, cuts_granules_between_traces)
{
    struct sf_arena a = make_arena();
    struct random_block b;
    struct sf_span_block_reader *r = write_random(99, true, 2500, 28, &a, &b);
    assert_true(sf_span_block_granules(r) > 2);
    for (uint32_t g = 0; g < sf_span_block_granules(r); g++)
        assert_false(sf_span_block_granule(r, g)->is_continuation);
    compare_all(r, &b, SF_COL_ALL);
    sf_span_block_close(r);
    sf_arena_done(&a);
}

static void no_finding(void *arg, const char *sentence)
{
    (void)arg;
    fail_msg("verify says: %s", sentence);
}

TEST(span_block, verifies_what_it_wrote)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), scratch = make_arena();
        struct random_block b;
        struct sf_why why;
        uint64_t n_faults = 1;
        struct sf_span_block_reader *r = write_random(5, is_compressed, 2500, 20, &a, &b);
        assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
        assert_int_equal(n_faults, 0);
        sf_span_block_close(r);
        sf_arena_done(&a);
        sf_arena_done(&scratch);
    }
}

TEST(span_block, finds_every_trace_and_every_span)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), scratch = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_why why;
        struct sf_span_block_reader *r = write_random(6, is_compressed, 3000, 12, &a, &b);
        sf_trace_id none = {{1}}, trace;
        bool is_found;
        uint32_t granule, row;

        for (uint32_t i = 0; i < b.n; i += 1 + i % 97) {
            struct sf_span_rows rows;
            assert_ok(sf_span_block_find_trace(r, b.tenants[i], b.spans[i].trace_id, scratch,
                                               &is_found, &granule, &row, &why));
            assert_true(is_found);
            sf_arena_reset(&req);
            assert_ok(sf_span_block_read(r, granule, 0, NULL, 0, &req, &rows, &why));
            assert_true(sf_trace_id_eq(rows.trace_id[row], b.spans[i].trace_id));
            assert_true(row == 0 || !sf_trace_id_eq(rows.trace_id[row - 1], b.spans[i].trace_id));
            assert_ok(sf_span_block_find_trace(r, b.tenants[i] + 1, b.spans[i].trace_id, scratch,
                                               &is_found, &granule, &row, &why));
            assert_false(is_found);
        }
        for (uint32_t i = 0; i < b.n; i += 997) {
            if (b.spans[i].span_id < 3)
                continue; /* shared on purpose */
            assert_ok(sf_span_block_find_span(r, b.tenants[i], b.spans[i].span_id, scratch,
                                              &is_found, &trace, &why));
            assert_true(is_found && sf_trace_id_eq(trace, b.spans[i].trace_id));
        }
        assert_ok(sf_span_block_find_trace(r, 1, none, scratch, &is_found, &granule, &row, &why));
        assert_false(is_found);
        assert_ok(sf_span_block_find_span(r, 1, 12345, scratch, &is_found, &trace, &why));
        assert_false(is_found);
        sf_span_block_close(r);
        sf_arena_done(&a);
        sf_arena_done(&req);
        sf_arena_done(&scratch);
    }
}

/* What a single attribute of a row is, the slow way. */
static struct sf_value slow_value(const struct sf_span_block_reader *r, const struct sf_span *s,
                                  const struct sf_key *key)
{
    struct sf_value v = {0};
    uint32_t n;
    if (key->scope == SF_SCOPE_SPAN || key->scope == SF_SCOPE_ANY)
        v = sf_attrs_get(s->attrs, key->name);
    if (key->scope == SF_SCOPE_RESOURCE || (key->scope == SF_SCOPE_ANY && !v.type))
        v = sf_attrs_get(sf_span_block_resources(r, &n)[s->resource].attrs, key->name);
    if (key->scope == SF_SCOPE_INSTRUMENTATION)
        v = sf_attrs_get(sf_span_block_scopes(r, &n)[s->scope].attrs, key->name);
    for (uint32_t i = 0; key->scope == SF_SCOPE_EVENT && i < s->n_events; i++) {
        struct sf_value of_event = sf_attrs_get(s->events[i].attrs, key->name);
        v = of_event.type ? of_event : v;
    }
    for (uint32_t i = 0; key->scope == SF_SCOPE_LINK && i < s->n_links; i++) {
        struct sf_value of_link = sf_attrs_get(s->links[i].attrs, key->name);
        v = of_link.type ? of_link : v;
    }
    return v;
}

TEST(span_block, gives_single_attributes_as_dictionary_columns)
{
    static const char *const NAMES[] = {"http.method", "url.full", "", "x", "absent"};
    struct sf_key keys[30];
    size_t n_keys = 0;

    for (int scope = SF_SCOPE_ANY; scope < SF_SCOPES; scope++) {
        for (int i = 0; i < 5; i++)
            keys[n_keys++] = (struct sf_key){(enum sf_attr_scope)scope, sf_str_from(NAMES[i])};
    }
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_why why;
        struct sf_span_block_reader *r = write_random(8, is_compressed, 2200, 16, &a, &b);
        uint32_t at = 0;
        for (uint32_t g = 0; g < sf_span_block_granules(r); g++) {
            struct sf_span_rows rows;
            sf_arena_reset(&req);
            if (sf_span_block_read(r, g, 0, keys, n_keys, &req, &rows, &why))
                fail_msg("%s", why.text);
            for (uint32_t i = 0; i < rows.n_rows; i++, at++) {
                for (size_t k = 0; k < n_keys; k++) {
                    uint32_t code = rows.want[k].code[i];
                    struct sf_value want = slow_value(r, &b.spans[at], &keys[k]), have = {0};
                    if (code != SF_NONE) {
                        assert_true(code < rows.want[k].n_vals);
                        have = rows.want[k].vals[code];
                    }
                    if (!sf_value_eq(want, have))
                        fail_msg("row %u: key %zu differs", at, k);
                }
            }
        }
        sf_span_block_close(r);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block, never_denies_a_condition_that_a_row_fulfils)
{
    struct sf_arena a = make_arena(), scratch = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(10, true, 1500, 16, &a, &b);
    uint32_t at = 0, n_denied = 0, n;
    bool may;

    for (uint32_t g = 0; g < sf_span_block_granules(r); g++) {
        const struct sf_granule_info *info = sf_span_block_granule(r, g);
        struct sf_value absent = {.type = SF_VALUE_STR, .str = SF_STR("no such value")};
        for (uint32_t i = 0; i < info->n_rows; i++, at++) {
            const struct sf_span *s = &b.spans[at];
            struct sf_value name = {.type = SF_VALUE_STR, .str = s->name};
            struct sf_value dur = {.type = SF_VALUE_INT};
            struct sf_value status = {.type = SF_VALUE_INT, .i64 = s->status};
            struct sf_value kind = {.type = SF_VALUE_INT, .i64 = s->kind};
            struct sf_value service = {.type = SF_VALUE_STR,
                                       .str = sf_span_block_resources(r, &n)[s->resource].service};
            struct sf_cond conds[12] = {
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &name, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_GE, SF_STR("duration"), &dur, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_LE, SF_STR("duration"), &dur, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("duration"), &dur, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("status"), &status, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("kind"), &kind, 1},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("unknown"), &name, 1},
                {SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"), &service, 1},
            };
            size_t n_conds = 8;
            memcpy(&dur.i64, &(uint64_t){sf_span_duration_ns(s)}, 8);
            if (dur.i64 < 0)
                dur = (struct sf_value){.type = SF_VALUE_DOUBLE,
                                        .f64 = (double)sf_span_duration_ns(s)};
            if (s->attrs.n) {
                const struct sf_attr *x = &s->attrs.list[roll(&(struct dice){at}, s->attrs.n)];
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_SPAN, SF_OP_EQ, x->key, &x->val, 1};
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_ANY, SF_OP_EXISTS, x->key, NULL, 0};
            }
            if (s->n_events && s->events[0].attrs.n) {
                const struct sf_attr *x = &s->events[0].attrs.list[0];
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_EVENT, SF_OP_EQ, x->key, &x->val, 1};
            }
            assert_ok(
                sf_span_block_may_match(r, g, info->tenant, conds, n_conds, scratch, &may, &why));
            if (!may)
                fail_msg("row %u of granule %u is denied", at, g);
        }
        for (int i = 0; i < 2; i++) {
            struct sf_cond c = {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("absent"), &absent, 1};
            if (i == 1)
                c = (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &absent, 1};
            assert_ok(sf_span_block_may_match(r, g, info->tenant, &c, 1, scratch, &may, &why));
            n_denied += !may;
        }
        assert_ok(sf_span_block_may_match(r, g, 99, NULL, 0, scratch, &may, &why));
        assert_false(may);
    }
    assert_int_equal(n_denied, 2 * sf_span_block_granules(r));
    sf_span_block_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}

/* A block of `n` spans, one trace each, with an attribute "id" that is different on every one and
 * "shard" that is one of eight. */
static struct sf_span_block_reader *write_ids(uint32_t n, struct sf_arena *a)
{
    struct sf_span_block_options o = {.is_compressed = true, .info = {.tenant = 1, .level = 1}};
    struct sf_resource res = {.service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint32_t code;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 1, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 1, &scope, &code, &why));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_attr attrs[2] = {
            {SF_STR("id"), {.type = SF_VALUE_STR}},
            {SF_STR("shard"), {.type = SF_VALUE_INT, .i64 = 1000 * (i % 8)}}};
        struct sf_span s = {.span_id = i + 1,
                            .start_ns = i,
                            .end_ns = i + 1000 * (i % 100),
                            .name = i % 2 ? SF_STR("odd") : SF_STR("even"),
                            .status = i % 10 == 0 ? SF_STATUS_ERROR : SF_STATUS_OK,
                            .attrs = {attrs, 2}};
        int64_t index = i;
        struct sf_arena tmp = *a;
        sf_arena_print(&tmp, &attrs[0].val.str, "id/%u/x", i);
        sf_store_u32le(s.trace_id.b, i);
        assert_ok(sf_span_block_writer_trace(w, 1, &s, &index, 1, &why));
    }
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_open_memory(&memory, &r, &why));
    return r;
}

TEST(span_block, denies_values_that_no_row_has)
{
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_span_block_reader *r = write_ids(70000, &a);
    uint32_t n_wrong = 0;
    struct sf_why why;
    bool may;

    assert_int_equal(sf_span_block_granules(r), 5);
    for (uint32_t i = 0; i < 2000; i++) {
        sf_str text;
        struct sf_arena tmp = a;
        struct sf_value v = {.type = SF_VALUE_STR};
        struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("id"), &v, 1};
        uint32_t row = i * 35; /* of granule row / 16384; one filter is for four granules */
        sf_arena_print(&tmp, &text, "id/%u/x", row);
        v.str = text;
        assert_ok(sf_span_block_may_match(r, row / 16384, 1, &c, 1, scratch, &may, &why));
        assert_true(may);
        sf_arena_print(&tmp, &text, "id/%u/y", row);
        v.str = text;
        assert_ok(sf_span_block_may_match(r, row / 16384, 1, &c, 1, scratch, &may, &why));
        n_wrong += may;
    }
    assert_true(n_wrong < 40); /* one in 256 expected */
    for (int64_t i = 0; i < 8000; i += 500) {
        struct sf_value v = {.type = SF_VALUE_INT, .i64 = i};
        struct sf_value f = {.type = SF_VALUE_DOUBLE, .f64 = (double)i + 0.5};
        struct sf_cond c = {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("shard"), &v, 1};
        assert_ok(sf_span_block_may_match(r, 0, 1, &c, 1, scratch, &may, &why));
        assert_int_equal(may, i % 1000 == 0);
        c.vals = &f;
        assert_ok(sf_span_block_may_match(r, 0, 1, &c, 1, scratch, &may, &why));
        assert_false(may);
        f.f64 = (double)i;
        assert_ok(sf_span_block_may_match(r, 0, 1, &c, 1, scratch, &may, &why));
        assert_int_equal(may, i % 1000 == 0);
    }
    for (int i = 0; i < 8; i++) {
        struct sf_value v = {.type = SF_VALUE_INT, .i64 = 99000};
        struct sf_value unset = {.type = SF_VALUE_STR, .str = SF_STR("unset")};
        struct sf_value other = {.type = SF_VALUE_STR, .str = SF_STR("other")};
        const struct {
            struct sf_cond cond;
            bool may;
        } CASES[] = {
            {{SF_SCOPE_INTRINSIC, SF_OP_GT, SF_STR("duration"), &v, 1}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_GE, SF_STR("duration"), &v, 1}, true},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("status"), &unset, 1}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("kind"), &other, 1}, true},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &other, 1}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_NE, SF_STR("name"), &other, 1}, true},
            {{SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"), &other, 1}, false},
            {{SF_SCOPE_SPAN, SF_OP_EXISTS, SF_STR("nothing"), NULL, 0}, false},
        };
        assert_ok(sf_span_block_may_match(r, 0, 1, &CASES[i].cond, 1, scratch, &may, &why));
        if (may != CASES[i].may)
            fail_msg("case %d", i);
    }
    sf_span_block_close(r);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block, counts_keys_and_operations)
{
    struct sf_arena a = make_arena();
    struct sf_span_block_reader *r = write_ids(20000, &a);
    uint32_t n;
    const struct sf_block_key *keys = sf_span_block_keys(r, &n);
    const struct sf_block_operation *ops;

    assert_int_equal(n, 2);
    assert_str(keys[0].name, "id");
    assert_int_equal(keys[0].n_spans, 20000);
    assert_false(keys[0].is_complete);
    assert_str(keys[1].name, "shard");
    assert_true(keys[1].is_complete);
    assert_int_equal(keys[1].types, 1u << SF_VALUE_INT);
    assert_int_equal(keys[1].n_top, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(keys[1].top_counts[i], 2500);
        assert_int_equal(keys[1].top[i].i64 % 1000, 0);
    }
    ops = sf_span_block_operations(r, &n);
    assert_int_equal(n, 2);
    assert_str(ops[0].service, "shop");
    assert_str(ops[0].name, "even");
    assert_int_equal(ops[0].n_spans, 10000);
    assert_int_equal(ops[0].n_errors, 2000);
    assert_int_equal(ops[0].buckets[0], 200); /* no time at all */
    assert_int_equal(ops[0].buckets[4], 200); /* 2 us, which is where it ends */
    assert_int_equal(ops[0].sum_ns, 200 * 2450000);
    sf_span_block_close(r);
    sf_arena_done(&a);
}

TEST(span_block, is_the_same_in_a_file)
{
    char path[] = "/tmp/sf_block_test.XXXXXX";
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_file file = {mkstemp(path) + 1};
    struct sf_span_block_options o = {
        .info = {.block_id = 3, .created_ns = 1700000000000000000, .lsn_lo = 1, .lsn_hi = 9},
        .is_compressed = true,
        .file = &file};
    struct sf_span_block_info info;
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct dice d = {12};
    struct random_block b;
    struct sf_why why;
    uint64_t len, n_faults = 1;

    assert_true(sf_file_is_open(&file));
    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(add_random(w, &d, &a, 1600, 20, &b, &why));
    assert_true(sf_span_block_writer_memory(w) > 1 << 20);
    assert_ok(sf_span_block_writer_finish(w, &len, &info, NULL, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_open(&file, &r, &why));
    assert_false(sf_file_is_open(&file)); /* taken */
    assert_int_equal(sf_span_block_len(r), len);
    assert_int_equal(sf_span_block_info(r)->ts_min_ns, info.ts_min_ns);
    assert_int_equal(sf_span_block_info(r)->ts_max_ns, info.ts_max_ns);
    assert_int_equal(sf_span_block_info(r)->n_traces, info.n_traces);
    assert_int_equal(sf_span_block_info(r)->lsn_hi, 9);
    assert_int_equal(info.n_rows, b.n);
    compare_all(r, &b, SF_COL_ALL);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_close(r);
    unlink(path);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block, may_be_empty)
{
    struct sf_arena scratch = make_arena();
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len, n_faults = 1;
    uint32_t granule, row;
    bool is_found;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    assert_err(sf_span_block_writer_finish(w, &len, NULL, &memory, &why), SF_ERR_INPUT);
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_open_memory(&memory, &r, &why));
    assert_int_equal(sf_span_block_granules(r), 0);
    assert_ok(sf_span_block_find_trace(r, 1, (sf_trace_id){{0}}, scratch, &is_found, &granule, &row,
                                       &why));
    assert_false(is_found);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_close(r);
    sf_arena_done(&scratch);
}

TEST(span_block, spreads_a_huge_trace_over_continuation_granules)
{
    enum { N = 40000 };
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_span_block_options o = {.info = {.block_id = 9, .tenant = 3, .level = 1},
                                      .is_compressed = true};
    struct sf_span *spans = sf_arena_new_n(&a, N + 2, sizeof(*spans));
    int64_t *index = sf_arena_new_n(&a, N + 2, sizeof(*index));
    uint32_t *tenants = sf_arena_new_n(&a, N + 2, sizeof(*tenants));
    struct random_block b = {spans, index, tenants, N + 2};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_resource res = {.service = SF_STR("s")};
    struct sf_scope scope = {0};
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len, n_faults;
    uint32_t code, granule, row, n_continued = 0;
    bool is_found;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 3, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 3, &scope, &code, &why));
    for (uint32_t i = 0; i < N + 2; i++) {
        spans[i] = (struct sf_span){.span_id = i + 1, .start_ns = 1000 + i, .end_ns = 5000};
        memset(spans[i].trace_id.b, i == 0 ? 1 : i == N + 1 ? 3 : 2, 16);
        if (i > 1 && i <= N)
            spans[i].parent_id = i > 300 ? i - 299 : i; /* near, far, and in another granule */
        index[i] = 1000 + i;
        tenants[i] = 3;
    }
    assert_ok(sf_span_block_writer_trace(w, 3, spans, index, 1, &why));
    for (uint32_t i = 1; i <= N; i += SF_LIMIT_GRANULE_ROWS) {
        uint32_t n = N + 1 - i < SF_LIMIT_GRANULE_ROWS ? N + 1 - i : SF_LIMIT_GRANULE_ROWS;
        assert_ok(sf_span_block_writer_trace(w, 3, spans + i, index + i, n, &why));
    }
    assert_ok(sf_span_block_writer_trace(w, 3, spans + N + 1, index + N + 1, 1, &why));
    assert_err(sf_span_block_writer_trace(w, 4, spans, index, 1, &why), SF_ERR_INPUT);
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_open_memory(&memory, &r, &why));
    assert_int_equal(sf_span_block_info(r)->n_traces, 3);
    compare_all(r, &b, SF_COL_ALL);
    for (uint32_t g = 0; g < sf_span_block_granules(r); g++)
        n_continued += sf_span_block_granule(r, g)->is_continuation;
    assert_int_equal(n_continued, 2);
    assert_ok(sf_span_block_find_trace(r, 3, spans[5].trace_id, scratch, &is_found, &granule, &row,
                                       &why));
    assert_true(is_found);
    assert_int_equal(granule, 1); /* a granule of its own, where it begins */
    assert_int_equal(row, 0);
    assert_ok(sf_span_block_find_trace(r, 3, spans[N + 1].trace_id, scratch, &is_found, &granule,
                                       &row, &why));
    assert_true(is_found);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_close(r);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block, keeps_attributes_when_keys_are_more_than_columns)
{
    enum { N = 300, KEYS = 40 };
    struct sf_arena a = make_arena(), req = make_arena(), scratch = make_arena();
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span *spans = sf_arena_new_n(&a, N, sizeof(*spans));
    int64_t index[N] = {0};
    uint32_t tenants[N];
    struct random_block b = {spans, index, tenants, N};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_resource res = {.service = SF_STR("s")};
    struct sf_scope scope = {0};
    struct sf_buf memory = {0};
    struct sf_why why;
    struct sf_span_rows rows;
    struct sf_key want[2];
    struct sf_value v;
    struct sf_cond cond;
    struct dice d = {4};
    uint64_t len;
    uint32_t code;
    bool may;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 1, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 1, &scope, &code, &why));
    for (uint32_t i = 0; i < N; i++) {
        struct sf_attr *list = sf_arena_new_n(&a, KEYS, sizeof(*list));
        for (uint32_t k = 0; k < KEYS; k++) {
            sf_arena_print(&a, &list[k].key, "key-%u-%u", i, k);
            list[k].val = random_value(&d, &a, 1 + (int)(k % 8));
        }
        tenants[i] = 1;
        spans[i] = (struct sf_span){.span_id = i + 1, .attrs = {list, KEYS}};
    }
    assert_ok(sf_span_block_writer_trace(w, 1, spans, index, N, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_open_memory(&memory, &r, &why));
    compare_all(r, &b, SF_COL_ALL);
    want[0] = (struct sf_key){SF_SCOPE_SPAN, SF_STR("key-2-5")};
    want[1] = (struct sf_key){SF_SCOPE_SPAN, SF_STR("key-299-9")};
    assert_ok(sf_span_block_read(r, 0, 0, want, 2, &req, &rows, &why));
    v = spans[299].attrs.list[9].val;
    assert_true(sf_value_eq(rows.want[1].vals[rows.want[1].code[299]], v));
    assert_true(rows.want[1].code[298] == SF_NONE);
    assert_true(sf_value_eq(rows.want[0].vals[rows.want[0].code[2]], spans[2].attrs.list[5].val));
    cond = (struct sf_cond){SF_SCOPE_SPAN, SF_OP_EQ, want[1].name, &v, 1};
    assert_ok(sf_span_block_may_match(r, 0, 1, &cond, 1, scratch, &may, &why));
    assert_true(may);
    sf_span_block_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}

/* ---- damage ---- */

static struct sf_buf small_block(bool is_compressed, struct sf_arena *a, struct random_block *b)
{
    struct dice d = {77};
    uint64_t dups[3] = {1, 2, 3}, sources[2] = {4, 5};
    struct sf_span_block_options o = {.info = {.block_id = 5, .level = 0},
                                      .is_compressed = is_compressed,
                                      .dup_hashes = dups,
                                      .n_dup_hashes = 3,
                                      .source_ids = sources,
                                      .n_source_ids = 2};
    struct sf_span_block_writer *w;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(add_random(w, &d, a, 6, 4, b, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    return memory;
}

static void count_finding(void *arg, const char *sentence)
{
    (void)sentence;
    ++*(int *)arg;
}

/* Opens damaged bytes and uses everything. Whatever can still be read must be what was written. */
static bool survives(const uint8_t *bytes, size_t len, const struct random_block *b,
                     struct sf_arena req, bool is_trusted)
{
    struct sf_buf memory = {0};
    struct sf_span_block_reader *r = NULL;
    struct sf_why why = {""};
    uint64_t n_faults = 0;
    int n_findings = 0;
    uint32_t at = 0;
    bool is_clean = true;
    enum sf_err err;

    sf_buf_add(&memory, bytes, len);
    err = is_trusted ? sf_span_block_open_trusted(&memory, &r, &why)
                     : sf_span_block_open_memory(&memory, &r, &why);
    if (err) {
        sf_buf_done(&memory);
        assert_true(err == SF_ERR_CORRUPT || err == SF_ERR_UNSUPPORTED || err == SF_ERR_LIMIT);
        assert_true(why.text[0]);
        return false;
    }
    for (uint32_t g = 0; g < sf_span_block_granules(r); g++) {
        struct sf_arena a = req;
        struct sf_span_rows rows;
        err = sf_span_block_read(r, g, SF_COL_ALL, NULL, 0, &a, &rows, &why);
        if (err) {
            assert_true(err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT);
            is_clean = false;
            at += sf_span_block_granule(r, g)->n_rows;
            continue;
        }
        for (uint32_t i = 0; !is_trusted && i < rows.n_rows; i++, at++) {
            struct sf_span s = sf_span_rows_get(&rows, i);
            assert_null(span_difference(&s, &b->spans[at], SF_COL_ALL));
        }
    }
    for (uint32_t i = 0; i < b->n; i++) {
        bool is_found = false;
        uint32_t granule, row;
        sf_trace_id trace;
        err = sf_span_block_find_trace(r, b->tenants[i], b->spans[i].trace_id, req, &is_found,
                                       &granule, &row, &why);
        assert_true(err || is_found || is_trusted);
        is_clean &= !err;
        err = sf_span_block_find_span(r, b->tenants[i], b->spans[i].span_id, req, &is_found, &trace,
                                      &why);
        assert_true(err || is_found || is_trusted);
        is_clean &= !err;
    }
    err = sf_span_block_verify(r, req, count_finding, &n_findings, &n_faults, &why);
    assert_true(err || (uint64_t)n_findings == n_faults);
    is_clean &= !err && n_faults == 0;
    sf_span_block_close(r);
    return is_clean;
}

TEST(span_block, notices_every_flipped_byte)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_buf bytes = small_block(is_compressed, &a, &b);
        assert_true(survives(bytes.p, bytes.len, &b, req, false));
        for (size_t i = 0; i < bytes.len; i++) {
            bytes.p[i] ^= (uint8_t)(1u << (i % 8));
            if (survives(bytes.p, bytes.len, &b, req, false))
                fail_msg("byte %zu of %zu may be changed unseen", i, bytes.len);
            bytes.p[i] ^= (uint8_t)(1u << (i % 8));
        }
        sf_buf_done(&bytes);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block, survives_any_byte_when_checksums_are_not_looked_at)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_buf bytes = small_block(is_compressed, &a, &b);
        static const uint8_t PUT[] = {0, 1, 0x7f, 0x80, 0xff};
        req.cap = 8 << 20; /* memory has an end */
        for (size_t i = 0; i < bytes.len; i++) {
            uint8_t was = bytes.p[i];
            bytes.p[i] = PUT[i % 5] == was ? (uint8_t)~was : PUT[i % 5];
            survives(bytes.p, bytes.len, &b, req, true);
            bytes.p[i] = was;
        }
        req.cap = (size_t)96 << 20;
        sf_buf_done(&bytes);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block, is_no_block_when_cut_anywhere)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_buf bytes = small_block(true, &a, &b);
    for (size_t len = 0; len < bytes.len; len++)
        assert_false(survives(bytes.p, len, &b, req, false));
    sf_buf_done(&bytes);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

/* ---- memory ---- */

static enum sf_err write_and_read(struct sf_arena *a, struct sf_arena req, struct sf_why *why)
{
    struct dice d = {31};
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span_block_writer *w = NULL;
    struct sf_span_block_reader *r = NULL;
    struct sf_buf memory = {0};
    struct random_block b;
    uint64_t len;
    enum sf_err err = sf_span_block_writer_new(&o, &w, why);

    if (!err)
        err = add_random(w, &d, a, 40, 6, &b, why);
    if (!err)
        err = sf_span_block_writer_finish(w, &len, NULL, &memory, why);
    if (!err)
        err = sf_span_block_open_memory(&memory, &r, why);
    for (uint32_t g = 0; !err && g < sf_span_block_granules(r); g++) {
        struct sf_span_rows rows;
        err = sf_span_block_read(r, g, SF_COL_ALL, NULL, 0, &req, &rows, why);
    }
    sf_span_block_writer_free(w);
    sf_span_block_close(r);
    sf_buf_done(&memory);
    return err;
}

TEST(span_block, survives_every_failed_allocation)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct sf_why why = {""};
    uint64_t before = sf_heap_calls(), n_calls;

    assert_ok(write_and_read(&a, req, &why));
    n_calls = sf_heap_calls() - before;
    assert_true(n_calls > 50);
    for (uint64_t nth = 1; nth <= n_calls; nth++) {
        enum sf_err err;
        sf_arena_reset(&a);
        sf_heap_fail_after(nth);
        err = write_and_read(&a, req, &why);
        sf_heap_fail_after(0);
        if (err != SF_ERR_NOMEM)
            fail_msg("allocation %llu of %llu gives %s", (unsigned long long)nth,
                     (unsigned long long)n_calls, sf_err_name(err));
    }
    sf_arena_done(&a);
    sf_arena_done(&req);
}

TEST(span_block, ends_with_a_limit_when_the_arena_is_too_small)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(3, true, 200, 6, &a, &b);
    struct sf_span_rows rows;
    uint32_t n_limits = 0;

    for (size_t cap = 0; cap < 1 << 20; cap += 3001) {
        struct sf_arena tight = req;
        enum sf_err err;
        tight.cap = cap;
        err = sf_span_block_read(r, 0, SF_COL_ALL, NULL, 0, &tight, &rows, &why);
        assert_true(err == SF_OK || err == SF_ERR_LIMIT);
        n_limits += err == SF_ERR_LIMIT;
    }
    assert_true(n_limits > 10);
    sf_span_block_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

/* ---- the format ---- */

/* A block that says its content in the code: what the golden file must keep saying. */
static struct sf_buf golden_block(bool is_compressed)
{
    struct sf_span_block_options o = {.info = {.block_id = 0x1122334455667788,
                                               .level = 1,
                                               .tenant = 7,
                                               .store_uuid = {1, 2, 3, 4},
                                               .lsn_lo = 100,
                                               .lsn_hi = 200,
                                               .created_ns = 1700000001000000000,
                                               .flush_no = 5,
                                               .n_siblings = 2,
                                               .sibling = 1},
                                      .is_compressed = is_compressed,
                                      .dup_hashes = (const uint64_t[]){11, 12},
                                      .n_dup_hashes = 2,
                                      .source_ids = (const uint64_t[]){21},
                                      .n_source_ids = 1};
    struct sf_attr res_attrs[] = {
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}},
        {SF_STR("host.cpus"), {.type = SF_VALUE_INT, .i64 = 8}}};
    struct sf_resource res = {.attrs = {res_attrs, 2}, .service = SF_STR("shop")};
    struct sf_scope scope = {.name = SF_STR("lib"), .version = SF_STR("1.2")};
    struct sf_attr event_attr = {SF_STR("exception.type"),
                                 {.type = SF_VALUE_STR, .str = SF_STR("IOError")}};
    struct sf_event event = {
        .time_ns = 1700000000000500000, .name = SF_STR("exception"), .attrs = {&event_attr, 1}};
    struct sf_link link = {.trace_id = {{9}}, .span_id = 99, .trace_state = SF_STR("a=b")};
    struct sf_span_block_writer *w;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;
    uint32_t code;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 7, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 7, &scope, &code, &why));
    for (uint32_t i = 0; i < 20; i++) {
        struct sf_attr attrs[] = {
            {SF_STR("http.method"),
             {.type = SF_VALUE_STR, .str = i % 3 ? SF_STR("GET") : SF_STR("POST")}},
            {SF_STR("http.status_code"), {.type = SF_VALUE_INT, .i64 = 200 + i % 2 * 300}},
            {SF_STR("ratio"), {.type = SF_VALUE_DOUBLE, .f64 = i * 0.25}},
            {SF_STR("ok"), {.type = SF_VALUE_BOOL, .is_true = i % 2}},
            {SF_STR("none"), {.type = SF_VALUE_EMPTY}},
            {SF_STR("list"), {.type = SF_VALUE_ARRAY, .str = SF_STR("\x0a\x03\x0a\x01x")}},
            {SF_STR("http.method"), {.type = SF_VALUE_STR, .str = SF_STR("again")}}};
        struct sf_span s = {.span_id = 1000 + i,
                            .parent_id = i % 5 ? 1000 + i / 5 * 5 : 0,
                            .start_ns = 1700000000000000000 + i * 1000,
                            .end_ns = 1700000000001000000 + i * 2000,
                            .name = i % 2 ? SF_STR("odd") : SF_STR("even"),
                            .kind = SF_KIND_SERVER,
                            .status = i == 7 ? SF_STATUS_ERROR : SF_STATUS_OK,
                            .status_msg = i == 7 ? SF_STR("broken") : SF_STR_NONE,
                            .attrs = {attrs, i % 4 ? 7 : 3},
                            .events = i == 7 ? &event : NULL,
                            .n_events = i == 7,
                            .links = i == 8 ? &link : NULL,
                            .n_links = i == 8};
        int64_t index = (int64_t)s.start_ns;
        s.trace_id.b[15] = (uint8_t)(1 + i / 5);
        assert_ok(sf_span_block_writer_trace(w, 7, &s, &index, 1, &why));
    }
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    return memory;
}

static void keep(const char *folder, const char *name, struct sf_buf bytes)
{
    const char *source = getenv("SPANFLAME_SOURCE");
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/%s/%s", source ? source : ".", folder, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.len, f), bytes.len);
    fclose(f);
    sf_buf_done(&bytes);
}

/* Run with SPANFLAME_GOLDEN=1 when a new format number needs its file; never over an old one. */
static void make_golden_files(void)
{
    keep("golden", "span_block_1.sfs", golden_block(true));
    keep("corpus/span_block", "golden-block.sfs", golden_block(true));
    keep("corpus/span_block", "plain-block.sfs", golden_block(false));
}

TEST(span_block, of_format_1_reads_as_it_was_written)
{
    struct sf_buf golden = {0}, fresh = golden_block(true);
    struct sf_span_block_reader *r, *now;
    struct sf_arena a = make_arena();
    struct sf_span_rows rows, want;
    struct sf_why why;
    const char *source = getenv("SPANFLAME_SOURCE");
    char path[512];
    size_t n;
    uint64_t n_faults = 1;
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/golden/span_block_1.sfs", source ? source : ".");
    if (getenv("SPANFLAME_GOLDEN"))
        make_golden_files();
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_non_null(sf_buf_take(&golden, 65536));
    n = fread(golden.p, 1, 65536, f);
    fclose(f);
    golden.len = n;
    assert_ok(sf_span_block_open_memory(&golden, &r, &why));
    assert_ok(sf_span_block_open_memory(&fresh, &now, &why));
    assert_int_equal(sf_span_block_info(r)->block_id, 0x1122334455667788);
    assert_int_equal(sf_span_block_info(r)->n_rows, 20);
    assert_int_equal(sf_span_block_info(r)->n_traces, 4);
    assert_int_equal(sf_span_block_info(r)->flush_no, 5);
    assert_int_equal(sf_span_block_dup_hashes(r, &n)[1], 12);
    assert_int_equal(sf_span_block_sources(r, &n)[0], 21);
    assert_ok(sf_span_block_read(r, 0, SF_COL_ALL, NULL, 0, &a, &rows, &why));
    assert_ok(sf_span_block_read(now, 0, SF_COL_ALL, NULL, 0, &a, &want, &why));
    for (uint32_t i = 0; i < 20; i++) {
        struct sf_span s = sf_span_rows_get(&rows, i), t = sf_span_rows_get(&want, i);
        assert_null(span_difference(&s, &t, SF_COL_ALL));
    }
    assert_str(rows.status_msg.dict[rows.status_msg.code[7]], "broken");
    assert_str(rows.spans[1].attrs.list[6].val.str, "again");
    assert_str(rows.resources[0].service, "shop");
    assert_ok(sf_span_block_verify(r, a, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_close(r);
    sf_span_block_close(now);
    sf_arena_done(&a);
}

TEST(span_block, of_another_format_is_not_guessed_at)
{
    struct sf_buf bytes = golden_block(true);
    struct sf_span_block_reader *r;
    struct sf_why why;

    sf_store_u16le(bytes.p + 4, 2);
    sf_store_u64le(bytes.p + 120, sf_hash(bytes.p, 120));
    assert_err(sf_span_block_open_memory(&bytes, &r, &why), SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "format 2"));
    sf_buf_done(&bytes);
}
