#include "block/format/bloom.h"
#include "block/span/granule_view.h"
#include "random_block.h"

TEST(span_block_search, finds_every_trace)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), scratch = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_why why;
        struct sf_span_block_reader *r = write_random(6, is_compressed, 800 + test_scaled(2200), 12,
                                                      &a, &b);
        sf_trace_id none = {{1}};
        bool is_found;
        struct sf_trace_place place;

        for (uint32_t i = 0; i < b.n; i += 1 + i % 97) {
            struct sf_span_rows rows;
            assert_ok(sf_filter_probe_find_trace(r, b.tenants[i], b.spans[i].trace_id, scratch,
                                                 &is_found, &place, &why));
            assert_true(is_found);
            sf_arena_reset(&req);
            assert_ok(sf_granule_view_read(r, place.granule, 0, NULL, 0, &req, &rows, &why));
            assert_true(sf_trace_id_eq(rows.trace_id[place.row], b.spans[i].trace_id));
            assert_true(place.row == 0 ||
                        !sf_trace_id_eq(rows.trace_id[place.row - 1], b.spans[i].trace_id));
            place.row += place.n_rows;
            assert_true(sf_trace_id_eq(rows.trace_id[place.row - 1], b.spans[i].trace_id));
            assert_true(place.row == rows.n_rows ||
                        !sf_trace_id_eq(rows.trace_id[place.row], b.spans[i].trace_id));
            assert_ok(sf_filter_probe_find_trace(r, b.tenants[i] + 1, b.spans[i].trace_id, scratch,
                                                 &is_found, &place, &why));
            assert_false(is_found);
        }
        assert_ok(sf_filter_probe_find_trace(r, 1, none, scratch, &is_found, &place, &why));
        assert_false(is_found);
        sf_span_block_reader_close(r);
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
        v = sf_attrs_get(sf_span_block_reader_resources(r, &n)[s->resource].attrs, key->name);
    if (key->scope == SF_SCOPE_INSTRUMENTATION)
        v = sf_attrs_get(sf_span_block_reader_scopes(r, &n)[s->scope].attrs, key->name);
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

TEST(span_block_search, gives_single_attributes_as_dictionary_columns)
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
        struct sf_span_block_reader *r = write_random(8, is_compressed, 600 + test_scaled(1600), 16,
                                                      &a, &b);
        uint32_t at = 0;
        for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
            struct sf_span_rows rows;
            sf_arena_reset(&req);
            if (sf_granule_view_read(r, g, 0, keys, n_keys, &req, &rows, &why))
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
        sf_span_block_reader_close(r);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block_search, gives_rows_of_a_granule_as_the_whole_has_them)
{
    static const struct sf_key KEY = {SF_SCOPE_SPAN, {"http.method", 11}};
    struct sf_arena a = make_arena(), req = make_arena();
    struct dice d = {5};
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(5, true, 900, 12, &a, &b);
    uint32_t first = 0;
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        uint32_t n = sf_span_block_reader_granule(r, g)->n_rows;
        for (int round = 0; round < 40; round++) {
            struct sf_granule_view v = sf_granule_view_init(r, g, &req);
            uint32_t from = (uint32_t)roll(&d, n);
            uint32_t to = from + (uint32_t)roll(&d, n - from + 1);
            struct sf_span_rows rows;
            sf_arena_reset(&req);
            assert_ok(
                sf_granule_view_part(&v, SF_COL_ALL | SF_COL_IDS, &KEY, 1, from, to, &rows, &why));
            assert_int_equal(rows.n_rows, to - from);
            for (uint32_t i = 0; i < rows.n_rows; i++) {
                const struct sf_span *whole = &b.spans[first + from + i];
                struct sf_span s = sf_span_rows_get(&rows, i);
                struct sf_value want = sf_attrs_get(whole->attrs, KEY.name), have = {0};
                const char *what = span_difference(&s, whole, SF_COL_ALL);
                if (what)
                    fail_msg("row %u differs in %s", first + from + i, what);
                if (rows.want[0].code[i] != SF_NONE)
                    have = rows.want[0].vals[rows.want[0].code[i]];
                assert_true(sf_value_eq(want, have));
            }
        }
        first += n;
    }
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

TEST(span_block_search, gives_durations_whatever_the_clocks_say)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(7, true, 900, 12, &a, &b);
    uint32_t first = 0, n_backwards = 0;
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        struct sf_granule_view v = sf_granule_view_init(r, g, &req);
        sf_arena_reset(&req);
        assert_ok(sf_granule_view_add(&v, SF_COL_DURATION, &why));
        for (uint32_t i = 0; i < v.rows.n_rows; i++) {
            uint64_t want = sf_span_duration_ns(&b.spans[first + i]);
            n_backwards += b.spans[first + i].end_ns < b.spans[first + i].start_ns;
            assert_true(v.rows.duration_ns[i] == (want > INT64_MAX ? INT64_MAX : want));
        }
        first += v.rows.n_rows;
    }
    assert_true(n_backwards > 0);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

TEST(span_block_search, never_denies_a_condition_that_a_row_fulfils)
{
    struct sf_arena a = make_arena(), scratch = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(10, true, 500 + test_scaled(1000), 16, &a, &b);
    uint32_t at = 0, n_denied = 0, n;
    bool may;

    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(r, g);
        struct sf_value absent = {.type = SF_VALUE_STR, .str = SF_STR("no such value")};
        for (uint32_t i = 0; i < info->n_rows; i++, at++) {
            const struct sf_span *s = &b.spans[at];
            struct sf_value name = {.type = SF_VALUE_STR, .str = s->name};
            struct sf_value dur = {.type = SF_VALUE_INT};
            struct sf_value status = {.type = SF_VALUE_INT, .i64 = s->status};
            struct sf_value kind = {.type = SF_VALUE_INT, .i64 = s->kind};
            struct sf_value service = {
                .type = SF_VALUE_STR,
                .str = sf_span_block_reader_resources(r, &n)[s->resource].service};
            struct sf_cond conds[12] = {
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &name, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_GE, SF_STR("duration"), &dur, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_LE, SF_STR("duration"), &dur, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("duration"), &dur, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("status"), &status, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("kind"), &kind, 1, {0}},
                {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("unknown"), &name, 1, {0}},
                {SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"), &service, 1, {0}},
            };
            size_t n_conds = 8;
            memcpy(&dur.i64, &(uint64_t){sf_span_duration_ns(s)}, 8);
            if (dur.i64 < 0)
                dur = (struct sf_value){.type = SF_VALUE_DOUBLE,
                                        .f64 = (double)sf_span_duration_ns(s)};
            if (s->attrs.n) {
                const struct sf_attr *x = &s->attrs.list[roll(&(struct dice){at}, s->attrs.n)];
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_SPAN, SF_OP_EQ, x->key,
                                                    &x->val,       1,        {0}};
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_ANY, SF_OP_EXISTS, x->key, NULL, 0,
                                                    {0}};
            }
            if (s->n_events && s->events[0].attrs.n) {
                const struct sf_attr *x = &s->events[0].attrs.list[0];
                conds[n_conds++] = (struct sf_cond){SF_SCOPE_EVENT, SF_OP_EQ, x->key,
                                                    &x->val,        1,        {0}};
            }
            assert_ok(sf_granule_match_may_hold(r, g, info->tenant, conds, n_conds, NULL, scratch,
                                                &may, &why));
            if (!may)
                fail_msg("row %u of granule %u is denied", at, g);
        }
        for (int i = 0; i < 2; i++) {
            struct sf_cond c = {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("absent"), &absent, 1, {0}};
            if (i == 1)
                c = (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &absent, 1, {0}};
            assert_ok(
                sf_granule_match_may_hold(r, g, info->tenant, &c, 1, NULL, scratch, &may, &why));
            n_denied += !may;
        }
        assert_ok(sf_granule_match_may_hold(r, g, 99, NULL, 0, NULL, scratch, &may, &why));
        assert_false(may);
    }
    assert_int_equal(n_denied, 2 * sf_span_block_reader_granules(r));
    sf_span_block_reader_close(r);
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
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    return r;
}

TEST(span_block_search, finds_the_filter_of_every_granule)
{
    static const uint32_t N_GROUPS[] = {1, 2, 100, 128, 129, 50, 1000, 1001};
    for (size_t k = 0; k < sizeof(N_GROUPS) / sizeof(*N_GROUPS); k++) {
        struct sf_arena scratch = make_arena();
        struct sf_buf content = {0}, pages = {0};
        struct sf_span_block_reader r = {0};
        uint32_t n_granules = 0;
        struct sf_why why;
        sf_buf_add_u32le(&content, N_GROUPS[k]);
        sf_buf_add_u32le(&content, (uint32_t)k % 4); /* the kind; 3 is unknown */
        for (uint32_t i = 0; i < N_GROUPS[k]; i++) { /* many small ones, then large ones */
            uint32_t n = i < N_GROUPS[k] / 2 ? 1 + i % 2 : 4 + i % 3;
            sf_buf_add_u32le(&content, n_granules);
            sf_buf_add_u32le(&content, n);
            sf_buf_add_u64le(&content, 1000 + i);
            sf_buf_add_u64le(&content, 7);
            n_granules += n;
        }
        sf_section_pages_encode(&pages, sf_buf_bytes(&content));
        r.memory = pages;
        r.len = r.data_end = pages.len;
        r.n_granules = n_granules;
        r.sections[SF_SECTION_AFLT] = (struct sf_section){
            .id = SF_SECTION_AFLT, .stored_len = pages.len, .raw_len = content.len};
        for (uint32_t g = 0; g < n_granules; g++) {
            struct sf_filter_group groups[5];
            uint32_t n = 0;
            enum sf_err err = sf_filter_probe_groups(&r, SF_SECTION_AFLT, g, scratch, groups, 5, &n,
                                                     &why);
            assert_err(err, k % 4 == 3 ? SF_ERR_CORRUPT : SF_OK);
            if (err)
                continue;
            assert_in_range(n, 1, 5);
            assert_true(g - groups[0].first < groups[0].n);
            for (uint32_t i = 0; i < n; i++) {
                const uint8_t *rec = content.p + 8 +
                                     (groups[i].off - 1000) * SF_BLOCK_GROUP_REC_LEN;
                assert_int_equal(groups[i].off, groups[0].off + i);
                assert_int_equal(sf_load_u32le(rec), groups[i].first);
                assert_int_equal(sf_load_u32le(rec + 4), groups[i].n);
                assert_int_equal(groups[i].len, k % 4 == 2 ? 7 * SF_BLOOM_BLOCK_LEN : 7);
                assert_int_equal(groups[i].beside, k % 4 == 2 ? 0 : 1); /* high half of the 7 */
                assert_int_equal(groups[i].kind, k % 4);
            }
        }
        sf_buf_done(&content);
        sf_buf_done(&pages);
        sf_arena_done(&scratch);
    }
}

TEST(span_block_search, denies_values_that_no_row_has)
{
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_span_block_reader *r = write_ids(70000, &a);
    uint32_t n_wrong = 0;
    struct sf_why why;
    bool may;

    assert_int_equal(sf_span_block_reader_granules(r), 5);
    for (uint32_t g = 1; g < 5; g++) { /* equal lists of hashes are kept once */
        uint32_t n[2];
        assert_ptr_equal(sf_granule_match_hashes(r, g, SF_BLOCK_NAME, &n[1]),
                         sf_granule_match_hashes(r, 0, SF_BLOCK_NAME, &n[0]));
        assert_int_equal(n[0], 2);
        assert_int_equal(n[1], 2);
    }
    for (uint32_t i = 0; i < 2000; i++) {
        sf_str text;
        struct sf_arena tmp = a;
        struct sf_value v = {.type = SF_VALUE_STR};
        struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("id"), &v, 1, {0}};
        uint32_t row = i * 35; /* of granule row / 16384; one filter is for four granules */
        sf_arena_print(&tmp, &text, "id/%u/x", row);
        v.str = text;
        assert_ok(sf_granule_match_may_hold(r, row / 16384, 1, &c, 1, NULL, scratch, &may, &why));
        assert_true(may);
        sf_arena_print(&tmp, &text, "id/%u/y", row);
        v.str = text;
        assert_ok(sf_granule_match_may_hold(r, row / 16384, 1, &c, 1, NULL, scratch, &may, &why));
        n_wrong += may;
    }
    assert_true(n_wrong < 40);                   /* one in 256 expected */
    for (uint32_t i = 0; i < 70000; i += 1000) { /* the same with a memo, granule by granule */
        struct sf_match_memo memo = {0};
        struct sf_arena tmp = a;
        struct sf_value v[2] = {{.type = SF_VALUE_STR}, {.type = SF_VALUE_STR, .str = SF_STR("y")}};
        struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("id"), v, 2, {0}};
        sf_arena_print(&tmp, &v[0].str, "id/%u/x", i);
        for (uint32_t g = 0; g < 5; g++) {
            bool alone;
            assert_ok(sf_granule_match_may_hold(r, g, 1, &c, 1, NULL, scratch, &alone, &why));
            assert_ok(sf_granule_match_may_hold(r, g, 1, &c, 1, &memo, scratch, &may, &why));
            assert_int_equal(may, alone);
        }
    }
    for (int64_t i = 0; i < 8000; i += 500) {
        struct sf_value v = {.type = SF_VALUE_INT, .i64 = i};
        struct sf_value f = {.type = SF_VALUE_DOUBLE, .f64 = (double)i + 0.5};
        struct sf_cond c = {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("shard"), &v, 1, {0}};
        assert_ok(sf_granule_match_may_hold(r, 0, 1, &c, 1, NULL, scratch, &may, &why));
        assert_int_equal(may, i % 1000 == 0);
        c.vals = &f;
        assert_ok(sf_granule_match_may_hold(r, 0, 1, &c, 1, NULL, scratch, &may, &why));
        assert_false(may);
        f.f64 = (double)i;
        assert_ok(sf_granule_match_may_hold(r, 0, 1, &c, 1, NULL, scratch, &may, &why));
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
            {{SF_SCOPE_INTRINSIC, SF_OP_GT, SF_STR("duration"), &v, 1, {0}}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_GE, SF_STR("duration"), &v, 1, {0}}, true},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("status"), &unset, 1, {0}}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("kind"), &other, 1, {0}}, true},
            {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &other, 1, {0}}, false},
            {{SF_SCOPE_INTRINSIC, SF_OP_NE, SF_STR("name"), &other, 1, {0}}, true},
            {{SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"), &other, 1, {0}}, false},
            {{SF_SCOPE_SPAN, SF_OP_EXISTS, SF_STR("nothing"), NULL, 0, {0}}, false},
        };
        assert_ok(sf_granule_match_may_hold(r, 0, 1, &CASES[i].cond, 1, NULL, scratch, &may, &why));
        if (may != CASES[i].may)
            fail_msg("case %d", i);
    }
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block_search, counts_keys_and_operations)
{
    struct sf_arena a = make_arena();
    struct sf_span_block_reader *r = write_ids(20000, &a);
    uint32_t n;
    const struct sf_block_key *keys = sf_span_block_reader_keys(r, &n);
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
    ops = sf_span_block_reader_operations(r, &n);
    assert_int_equal(n, 2);
    assert_str(ops[0].service, "shop");
    assert_str(ops[0].name, "even");
    assert_int_equal(ops[0].all.n_spans, 10000);
    assert_int_equal(ops[0].all.n_errors, 2000);
    assert_int_equal(ops[0].all.buckets[0], 200); /* no time at all */
    assert_int_equal(ops[0].all.buckets[4], 200); /* 2 us, which is where it ends */
    assert_int_equal(ops[0].all.sum_ns, 200 * 2450000);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
}

/* A block whose `n` spans have names of their own of `name_len` bytes; at most `max_ops` of them
 * are counted by name. */
static struct sf_span_block_reader *write_names(uint32_t n, uint32_t name_len, uint32_t max_ops)
{
    struct sf_span_block_options o = {.max_ops = max_ops, .info = {.tenant = 1, .level = 1}};
    struct sf_resource res = {.service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    char name[8192];
    struct sf_why why;
    uint32_t code;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 1, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 1, &scope, &code, &why));
    memset(name, 'n', sizeof(name));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_span s = {.span_id = i + 1, .start_ns = i, .end_ns = i + 1};
        int64_t index = i;
        snprintf(name, sizeof(name), "%08u", i);
        name[8] = 'n';
        s.name = (sf_str){name, name_len};
        sf_store_u32le(s.trace_id.b, i);
        assert_ok(sf_span_block_writer_trace(w, 1, &s, &index, 1, &why));
    }
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    return r;
}

/* Memory of a merge and of an open block: neither many names nor long ones take more. */
TEST(span_block_search, counts_operations_beyond_the_limit_together)
{
    static const struct {
        uint32_t n, name_len, max_ops, n_counted;
    } CASES[] = {
        {100, 20, 100, 100},
        {100, 20, 10, 10},
        {100, 5120, 100, 5},
        {100, 256, 100, 100},
        {100, 257, 100, 99},
        {5000, 10, 0, SF_BLOCK_MAX_OPS},
        {4200, 10, 1u << 31, SF_BLOCK_MAX_OPS},
    };
    for (size_t k = 0; k < sizeof(CASES) / sizeof(CASES[0]); k++) {
        struct sf_span_block_reader *r = write_names(CASES[k].n, CASES[k].name_len,
                                                     CASES[k].max_ops);
        uint32_t n, n_other = CASES[k].n - CASES[k].n_counted;
        const struct sf_block_operation *ops = sf_span_block_reader_operations(r, &n);
        uint64_t n_spans = 0;
        assert_int_equal(n, CASES[k].n_counted + (n_other > 0));
        for (uint32_t i = 0; i < n; i++)
            n_spans += ops[i].all.n_spans;
        assert_int_equal(n_spans, CASES[k].n);
        if (n_other) {
            assert_str(ops[n - 1].name, "(other operations)");
            assert_int_equal(ops[n - 1].all.n_spans, n_other);
        }
        sf_span_block_reader_close(r);
    }
}

/* A pattern requires a part of a text: granules in which no value contains it are ruled out. Where
 * most values do, searching stops, and the answer is "may". */
TEST(span_block_search, searches_the_part_that_a_pattern_requires)
{
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_span_block_reader *r = write_ids(70000, &a);
    struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EXISTS, SF_STR("id"), NULL, 0, SF_STR("/19999/")};
    struct sf_match_memo memo = {0};
    struct sf_why why;
    bool may;

    for (uint32_t g = 0; g < 5; g++) {
        assert_ok(sf_granule_match_may_hold(r, g, 1, &c, 1, NULL, scratch, &may, &why));
        assert_int_equal(may, g == 19999 / 16384);
        assert_ok(sf_granule_match_may_hold(r, g, 1, &c, 1, &memo, scratch, &may, &why));
        assert_int_equal(may, g == 19999 / 16384);
    }
    assert_int_equal(memo.n_searched, 5);
    c.part = SF_STR("id/");
    for (uint32_t i = 0; i < 50; i++) {
        assert_ok(sf_granule_match_may_hold(r, i % 5, 1, &c, 1, &memo, scratch, &may, &why));
        assert_true(may);
    }
    assert_true(memo.n_searched < 15);
    c.key = SF_STR("shard"); /* a number: nothing to search */
    assert_ok(sf_granule_match_may_hold(r, 0, 1, &c, 1, NULL, scratch, &may, &why));
    assert_true(may);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}
