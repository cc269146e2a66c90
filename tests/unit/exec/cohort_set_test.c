/* Many spans at once: what a search kept of their traces says the same as reading them again, and
 * of very many a part is taken, which is said. */
#include "exec/cohort.h"
#include "exec/cohort_set.h"

#include "support/store_profile.h"
#include "test.h"

enum { MS = 1000000, TRACES = 60, SPANS = 4 };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static struct sf_arena scratch;

static sf_trace_id trace_of(uint32_t i)
{
    sf_trace_id id = {{9, (uint8_t)(i * 37), (uint8_t)i}};
    return id;
}

static sf_span_id span_of(uint32_t trace, uint32_t i)
{
    return 1 + trace * 16 + i;
}

/* root in gate > op in shop > two parts of it on other threads; in every tenth trace gate's call
 * and shop's op share an id. */
static struct sf_span span_at(uint32_t trace, uint32_t i, struct sf_attr *thread)
{
    uint64_t start_ns = (uint64_t)NOW_NS + trace * 200 * (uint64_t)MS;
    bool is_shared = trace % 10 == 3;
    struct sf_span s = {.trace_id = trace_of(trace),
                        .span_id = span_of(trace, i),
                        .parent_id = i == 0 ? 0 : span_of(trace, i == 1 || is_shared ? 0 : 1),
                        .start_ns = start_ns + i * 10 * MS,
                        .end_ns = start_ns + 100 * MS - i * 5 * MS,
                        .name = i == 1 ? SF_STR("op") : SF_STR("part"),
                        .resource = i > 0,
                        .kind = i == 0   ? SF_KIND_CLIENT
                                : i == 1 ? SF_KIND_SERVER
                                         : 0,
                        .attrs = {thread, 1}};
    *thread = (struct sf_attr){SF_STR("thread.id"), {.type = SF_VALUE_INT, .i64 = 1 + i % 2}};
    if (is_shared && i == 1)
        s.span_id = span_of(trace, 0);
    return s;
}

static void put_spans(void)
{
    struct sf_attr gate[] = {
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("gate")}}};
    struct sf_attr shop[] = {
        {SF_STR("service.instance.id"), {.type = SF_VALUE_STR, .str = SF_STR("shop-1")}},
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}}};
    struct sf_resource resources[] = {{.attrs = {gate, 1}, .service = SF_STR("gate")},
                                      {.attrs = {shop, 2}, .service = SF_STR("shop")}};
    struct sf_scope scope = {0};
    struct sf_attr threads[TRACES * SPANS];
    struct sf_span spans[TRACES * SPANS];
    struct sf_span_batch batch = {resources, &scope, spans, 2, 1, 0};
    for (uint32_t t = 0; t < TRACES; t++)
        for (uint32_t i = 0; i < SPANS; i++, batch.n_spans++)
            spans[batch.n_spans] = span_at(t, i, &threads[batch.n_spans]);
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 11, NOW_NS)));
}

/* Samples carry the id of op and a time: the parts get theirs by time and thread. */
static void put_samples(void)
{
    struct store_sample puts[TRACES];
    struct store_profile p = {.service = "shop",
                              .instance = SF_STR("instance=shop-1"),
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS};
    for (uint32_t t = 0; t < TRACES; t++)
        puts[t] = (struct store_sample){
            t % 3 ? "sum" : "sign",
            {.trace_id = trace_of(t),
             .span_id = span_of(t, 1),
             .thread = 1 + t % 2,
             .start_ns = NOW_NS + (int64_t)t * 200 * MS + 15 * MS + t % 60 * MS,
             .value = (1 + t % 7) * MS,
             .has_time = true,
             .state = SF_STATE_RUNNING}};
    assert_ok(store_put_profile(&rig, &p, puts, TRACES));
}

static void begin(void)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
    put_spans();
    put_samples();
}

static void end(void)
{
    sf_arena_done(&scratch);
    store_rig_done(&rig);
}

static struct sf_cohort_set load(const struct sf_span_set *set, const struct sf_link_keep *kept)
{
    struct sf_cohort_set *c = sf_arena_new(&rig.arena, sizeof(*c));
    struct sf_link_many many = {
        .spans = set->spans, .n = set->n, .kept = kept, .scratch = &scratch};
    struct sf_why why = {0};
    if (sf_cohort_set_load(rig.store, &many, false, &rig.q, c, &why))
        fail_msg("%s", why.text);
    return *c;
}

TEST(cohort_set, needs_no_second_look_at_traces_that_a_search_kept)
{
    struct sf_link_keep keep;
    struct sf_span_set set;
    struct sf_span_set_want want = {.query = SF_STR("{ resource.service.name = \"shop\" }"),
                                    .from_ns = NOW_NS,
                                    .to_ns = NOW_NS + INT64_C(3600) * 1000 * MS,
                                    .limit_traces = 1000,
                                    .scratch = &scratch,
                                    .keep = &keep};
    begin();
    assert_true(sf_link_keep_init(&keep, 1000, &rig.arena));
    assert_ok(sf_span_set_find(rig.store, &want, &rig.q, &set, NULL));
    sf_link_keep_end(&keep);
    sf_span_set_sort(&set);
    assert_int_equal(set.n, TRACES * (SPANS - 1));
    assert_int_equal(keep.n_traces, TRACES - TRACES / 10); /* shared ids are read again */
    assert_null(sf_link_keep_find(&keep, trace_of(3)));
    assert_non_null(sf_link_keep_find(&keep, trace_of(4)));
    assert_null(sf_link_keep_find(NULL, trace_of(4)));

    struct sf_cohort_set a = load(&set, &keep), b = load(&set, NULL);
    assert_int_equal(a.n, set.n);
    assert_int_equal(a.link.tree.n_spans, b.link.tree.n_spans);
    assert_int_equal(a.claims.n_claims, b.claims.n_claims);
    assert_true(a.claims.n_claims >= TRACES - TRACES / 10);
    assert_true(a.link.is_by_service == b.link.is_by_service);
    int64_t sum = 0;
    for (uint32_t i = 0; i < set.n; i++) {
        assert_int_equal(a.costs.totals[i], b.costs.totals[i]);
        assert_int_equal(a.costs.n_samples[i], b.costs.n_samples[i]);
        sum += a.costs.totals[i];
    }
    assert_true(sum > 0);
    end();
}

TEST(cohort_set, keeps_no_more_traces_than_there_is_room_for)
{
    struct sf_link_keep keep;
    struct sf_span_set set;
    struct sf_span_set_want want = {.query = SF_STR("{}"),
                                    .from_ns = NOW_NS,
                                    .to_ns = NOW_NS + INT64_C(3600) * 1000 * MS,
                                    .limit_traces = 1000,
                                    .scratch = &scratch,
                                    .keep = &keep};
    begin();
    assert_true(sf_link_keep_init(&keep, 5, &rig.arena));
    assert_ok(sf_span_set_find(rig.store, &want, &rig.q, &set, NULL));
    assert_int_equal(keep.n_traces, 5);
    assert_int_equal(keep.n, 5 * SPANS);
    assert_int_equal(set.n, TRACES * SPANS);
    end();
}

/* ---- very many ---- */

enum { MANY = 6000 };

static void put_many(void)
{
    static struct sf_span spans[MANY];
    struct sf_resource resource = {.service = SF_STR("many")};
    struct sf_scope scope = {0};
    struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, MANY};
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t start_ns = (uint64_t)NOW_NS + i * (uint64_t)MS;
        spans[i] = (struct sf_span){.trace_id = {{8, (uint8_t)(i >> 8), (uint8_t)i}},
                                    .span_id = 1 + i,
                                    .start_ns = start_ns,
                                    .end_ns = start_ns + MS,
                                    .name = SF_STR("op")};
    }
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 12, NOW_NS)));
}

TEST(cohort_set, says_that_a_cohort_is_a_sample)
{
    struct sf_cohort_want want = {.query = SF_STR("{ name = \"op\" }"),
                                  .from_ns = NOW_NS,
                                  .to_ns = NOW_NS + INT64_C(3600) * 1000 * MS,
                                  .scratch = &scratch};
    struct sf_cohort_view v;
    struct sf_buf text = {0};
    put_many();
    assert_ok(sf_cohort_make(rig.store, &want, &rig.q, &v, NULL));
    assert_true(v.is_sample && v.n_spans <= SF_COHORT_SPANS && v.n_spans > SF_COHORT_SPANS / 2);
    assert_int_equal(v.n_found, SF_SPAN_SET_TRACES);
    sf_cohort_words(&v, &text);
    sf_buf_add_u8(&text, 0);
    assert_non_null(strstr((const char *)text.p, "a sample: "));
    assert_non_null(strstr((const char *)text.p, "of the newest traces"));
    sf_buf_done(&text);
    want.to_ns = NOW_NS + 100 * MS; /* a hundred and the one that begins there */
    assert_ok(sf_cohort_make(rig.store, &want, &rig.q, &v, NULL));
    assert_true(!v.is_sample && v.n_found == v.n_spans && v.note.len == 0);
    end();
}
