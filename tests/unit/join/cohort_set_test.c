/* Many spans at once: what a search kept of their traces says the same as reading them again, and
 * of very many a part is taken, which is stated. */
#include "join/cohort.h"
#include "join/cohort_set.h"
#include "join/compare.h"
#include "join/time_part.h"

#include "render/cohort.h"
#include "support/store_profile.h"
#include "support/text_check.h"
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

enum { MANY = 24000 };

/* One a millisecond; the older half are called so. What they say is spread over traces of four. */
static void put_many(void)
{
    static struct sf_span spans[MANY];
    struct sf_resource resource = {.service = SF_STR("many")};
    struct sf_scope scope = {0};
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t start_ns = (uint64_t)NOW_NS + i * (uint64_t)MS;
        bool is_old = i < MANY / 2;
        spans[i] = (struct sf_span){.trace_id = {{8, (uint8_t)(i / 4 >> 8), (uint8_t)(i / 4)}},
                                    .span_id = 1 + i,
                                    .start_ns = start_ns,
                                    .end_ns = start_ns + (is_old ? 10u : 1u) * (uint64_t)MS,
                                    .name = is_old ? SF_STR("old") : SF_STR("new")};
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct sf_span_batch batch = {&resource, &scope, &spans[i * MANY / 4], 1, 1, MANY / 4};
        assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 12 + i, NOW_NS)));
    }
}

static struct sf_span_set find(const char *query, int64_t to_ns, bool is_newest)
{
    struct sf_span_set set;
    struct sf_span_set_want want = {.query = sf_str_from(query),
                                    .from_ns = NOW_NS,
                                    .to_ns = to_ns,
                                    .limit_traces = 1000,
                                    .is_newest = is_newest,
                                    .scratch = &scratch};
    assert_ok(sf_span_set_find(rig.store, &want, &rig.q, &set, NULL));
    return set;
}

/* Of each quarter of the time a quarter of the sample, give or take the windows it is made of. */
static void check_spread(const struct sf_span_set *set)
{
    uint32_t quarters[4] = {0};
    for (uint32_t i = 0; i < set->n; i++)
        quarters[(set->spans[i].start_ns - (uint64_t)NOW_NS) * 4 / ((uint64_t)MANY * MS)]++;
    for (uint32_t i = 0; i < 4; i++)
        if (quarters[i] < set->n * 15 / 100 || quarters[i] > set->n * 35 / 100)
            fail_msg("%u of %u are of the %u. quarter of the time", quarters[i], set->n, i + 1);
}

TEST(span_set, is_an_even_part_of_all_the_time_when_too_many_match)
{
    put_many();
    const int64_t hour_ns = INT64_C(3600) * 1000 * MS, end_ns = NOW_NS + (int64_t)MANY * MS;
    struct sf_span_set a = find("{}", end_ns, false), b = find("{}", end_ns, false);
    assert_true(a.n <= 4000 && a.n >= 1000);
    check_spread(&a);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.spans, b.spans, a.n * sizeof(*a.spans));
    assert_true(sf_span_set_found(&a) > MANY * 9 / 10 && sf_span_set_found(&a) < MANY * 11 / 10);
    /* Where all of it lies in the last minute of a day, that minute is what is spread over. */
    struct sf_span_set far = find("{}", NOW_NS + 24 * hour_ns, false);
    assert_true(far.n >= 1000);
    check_spread(&far);
    /* Conditions that only whole traces can be asked: no count is near. */
    struct sf_span_set whole = find("{} | count() > 3", end_ns, false);
    assert_true(whole.n <= 4000 && whole.n >= 1000);
    check_spread(&whole);
    /* Few enough: all of them. */
    struct sf_span_set few = find("{}", NOW_NS + 400 * MS, false);
    assert_true(few.one_of == 1 && few.note.len == 0 && sf_span_set_found(&few) == few.n);
    end();
}

TEST(span_set, has_the_newest_when_asked_for_those)
{
    put_many();
    struct sf_span_set set = find("{}", NOW_NS + (int64_t)MANY * MS, true);
    assert_int_equal(set.n, 4000);
    for (uint32_t i = 0; i < set.n; i++)
        assert_true(set.spans[i].id > MANY - 4000);
    assert_true(sf_str_eq(set.note, SF_STR("there are more: these are of the newest traces")));
    end();
}

TEST(span_set, takes_spans_of_a_large_trace_from_its_beginning_to_its_end)
{
    static struct sf_span spans[1000];
    struct sf_resource resource = {.service = SF_STR("many")};
    struct sf_scope scope = {0};
    struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, 1000};
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
    for (uint32_t i = 0; i < 1000; i++)
        spans[i] = (struct sf_span){.trace_id = {{7}},
                                    .span_id = 1 + i,
                                    .start_ns = (uint64_t)NOW_NS + i * (uint64_t)MS,
                                    .end_ns = (uint64_t)NOW_NS + (i + 1) * (uint64_t)MS,
                                    .name = SF_STR("op")};
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 13, NOW_NS)));
    struct sf_span_set set = find("{}", NOW_NS + 2000 * MS, false);
    assert_int_equal(set.n, 100);
    assert_int_equal(sf_span_set_found(&set), 1000);
    for (uint32_t i = 0; i < set.n; i++)
        assert_int_equal(set.spans[i].id, 1 + i * 10);
    end();
}

static void check_text(const struct sf_cohort_view *v, const char *text)
{
    struct sf_buf out = {0};
    sf_cohort_words(v, &out);
    check_contains(&out, text);
}

TEST(cohort_set, says_that_a_cohort_is_a_sample)
{
    struct sf_cohort_want want = {.query = SF_STR("{ resource.service.name = \"many\" }"),
                                  .from_ns = NOW_NS,
                                  .to_ns = NOW_NS + INT64_C(3600) * 1000 * MS,
                                  .scratch = &scratch};
    struct sf_cohort_view v;
    put_many();
    assert_ok(sf_cohort_make(rig.store, &want, &rig.q, &v, NULL));
    assert_true(v.is_sample && v.n_spans <= SF_COHORT_SPANS && v.n_spans > SF_COHORT_SPANS / 2);
    assert_true(v.is_estimate && v.n_found > MANY * 9 / 10 && v.n_found < MANY * 11 / 10);
    /* Half of them take 10 ms, half 1 ms: a sample of 500 is that near in 99.99 of 100 cases. */
    assert_true(v.mean_duration_ns > 4.6 * MS && v.mean_duration_ns < 6.4 * MS);
    check_text(&v, " spans of ~2");
    check_text(&v, "a sample: ");
    check_text(&v, "over the time range");
    want.to_ns = NOW_NS + INT64_C(2399) * MS; /* 600 traces: all are found, some are examined */
    assert_ok(sf_cohort_make(rig.store, &want, &rig.q, &v, NULL));
    assert_true(v.is_sample && !v.is_estimate && v.n_found == 2400);
    check_text(&v, " spans of 2400 ");
    want.to_ns = NOW_NS + 99 * MS;
    assert_ok(sf_cohort_make(rig.store, &want, &rig.q, &v, NULL));
    assert_true(!v.is_sample && v.n_found == v.n_spans && v.note.len == 0);
    end();
}

TEST(cohort_set, compares_samples_of_all_the_time)
{
    struct sf_compare_want want = {.query = SF_STR("{ resource.service.name = \"many\" }"),
                                   .split = 0.5,
                                   .from_ns = NOW_NS,
                                   .to_ns = NOW_NS + INT64_C(3600) * 1000 * MS,
                                   .scratch = &scratch};
    struct sf_comparison c;
    put_many();
    /* Slow ones are all old: the newest traces alone would have none. */
    assert_ok(sf_compare_make(rig.store, &want, &rig.q, &c, NULL));
    assert_true(c.is_sample && c.left.is_estimate && c.right.is_estimate);
    assert_true(c.right.n_found > MANY * 4 / 10 && c.right.n_found < MANY * 6 / 10);
    assert_true(c.left.mean_duration_ns < 3 * MS && c.right.mean_duration_ns > 8 * MS);
    want = (struct sf_compare_want){.left = SF_STR("{ name = \"new\" }"),
                                    .right = SF_STR("{ name = \"old\" }"),
                                    .from_ns = want.from_ns,
                                    .to_ns = want.to_ns,
                                    .scratch = &scratch};
    assert_ok(sf_compare_make(rig.store, &want, &rig.q, &c, NULL));
    assert_true(c.left.n_found > 10000 && c.right.n_found > 10000 && c.left.is_estimate);
    assert_true(c.left.mean_duration_ns == MS && c.right.mean_duration_ns == 10 * MS);
    end();
}

TEST(time_part, is_over_when_its_time_is)
{
    struct sf_query_ctx q = {0};
    assert_int_equal(sf_time_part(&q, 0.5), 0);
    assert_false(sf_time_part_is_over(0));
    assert_true(sf_time_part_is_over(1));
    int64_t now = sf_clock_mono_ns();
    q.deadline_ns = now + INT64_C(1000) * 1000 * MS;
    int64_t half = sf_time_part(&q, 0.5);
    assert_true(half >= now + INT64_C(500) * 1000 * MS && half <= q.deadline_ns);
    assert_false(sf_time_part_is_over(half));
}
