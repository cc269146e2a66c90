/* Conditions on profiles in a search: by hand, and against counting every sample for every span. */
#include "exec/search.h"
#include "join/span_profile.h"
#include "query/query_parse.h"

#include "support/store_profile.h"
#include "test.h"

static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static const int64_t MS = 1000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static struct sf_arena scratch;

static void begin(void)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
}

static void end(void)
{
    sf_arena_done(&scratch);
    store_rig_done(&rig);
}

/* ---- data: kept aside for the slow answer ---- */

enum { MAX_SPANS = 200, MAX_SAMPLES = 400, FUNCTIONS = 5, SERVICES = 3 };
static const char *const functions[FUNCTIONS] = {"json.parse", "json.write", "regex.match", "sum",
                                                 "idle"};
static const char *const services[SERVICES] = {"shop", "pay", "stock"};

enum kind { CPU, COUNTS, WALL, ALLOC, KINDS };
static const struct {
    const char *name, *type, *unit;
} kinds[KINDS] = {{"process_cpu", "cpu", "nanoseconds"},
                  {"process_cpu", "samples", "count"},
                  {"wall", "wall", "microseconds"},
                  {"memory", "alloc_space", "bytes"}};

struct one {
    uint32_t trace, parent; /* place of the parent; SF_NONE */
    uint32_t service;
    sf_span_id id, parent_id;
};

struct taken {
    sf_span_id id;
    uint32_t service, function;
    enum kind kind;
    int64_t value;
};

static struct one spans[MAX_SPANS];
static struct taken samples[MAX_SAMPLES];
static uint32_t n_spans, n_samples;

static sf_trace_id trace_of(uint32_t number)
{
    sf_trace_id id = {{7, 7}};
    id.b[15] = (uint8_t)(number + 1);
    return id;
}

static uint32_t add_span(uint32_t trace, uint32_t parent, uint32_t service)
{
    spans[n_spans] = (struct one){.trace = trace,
                                  .parent = parent,
                                  .service = service,
                                  .id = 1000 + n_spans,
                                  .parent_id = parent == SF_NONE ? 0 : spans[parent].id};
    return n_spans++;
}

static void add_sample(uint32_t span, enum kind kind, uint32_t function, int64_t value)
{
    samples[n_samples++] = (struct taken){spans[span].id, spans[span].service, function, kind,
                                          value};
}

static void send_spans(void)
{
    struct sf_attr where[SERVICES][1];
    struct sf_resource resources[SERVICES];
    struct sf_scope scope = {0};
    struct sf_span list[MAX_SPANS];
    struct sf_span_batch batch = {resources, &scope, list, SERVICES, 1, n_spans};
    for (uint32_t i = 0; i < SERVICES; i++) {
        where[i][0] = (struct sf_attr){SF_STR("service.name"),
                                       {.type = SF_VALUE_STR, .str = sf_str_from(services[i])}};
        resources[i] = (struct sf_resource){.attrs = {where[i], 1},
                                            .service = sf_str_from(services[i])};
    }
    for (uint32_t i = 0; i < n_spans; i++)
        list[i] = (struct sf_span){.trace_id = trace_of(spans[i].trace),
                                   .span_id = spans[i].id,
                                   .parent_id = spans[i].parent_id,
                                   .start_ns = (uint64_t)(NOW_NS + i * MS),
                                   .end_ns = (uint64_t)(NOW_NS + i * MS + 50 * MS),
                                   .name = i % 2 ? SF_STR("odd") : SF_STR("even"),
                                   .resource = spans[i].service};
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 11, NOW_NS)));
}

static void send_samples(bool has_trace)
{
    for (uint32_t s = 0; s < SERVICES; s++) {
        for (uint32_t k = 0; k < KINDS; k++) {
            struct store_profile p = {.service = services[s],
                                      .name = kinds[k].name,
                                      .type = kinds[k].type,
                                      .unit = kinds[k].unit,
                                      .time_ns = NOW_NS};
            struct store_sample list[STORE_PROFILE_SAMPLES];
            uint32_t n = 0;
            for (uint32_t i = 0; i < n_samples; i++) {
                const struct taken *t = &samples[i];
                if (t->service != s || t->kind != (enum kind)k)
                    continue;
                list[n++] = (struct store_sample){
                    functions[t->function],
                    {.trace_id = has_trace ? trace_of(spans[t->id - 1000].trace)
                                           : (sf_trace_id){{0}},
                     .span_id = t->id,
                     .value = t->value}};
            }
            if (n > 0)
                assert_ok(store_put_profile(&rig, &p, list, n));
        }
    }
}

/* ---- queries ---- */

static enum sf_err ask(const char *query, struct sf_search_result *out, struct sf_why *why)
{
    struct sf_search search = {.from_ns = NOW_NS - 1000 * MS,
                               .to_ns = NOW_NS + 1000 * MS,
                               .limit = 1000,
                               .spans_per_set = MAX_SPANS,
                               .scratch = &scratch};
    sf_arena_reset(&rig.arena);
    enum sf_err err = sf_query_parse(sf_str_from(query), &rig.arena, &search.query, NULL, why);
    return err ? err : sf_search_run(rig.store, &search, &rig.q, out, why);
}

static void find(const char *query, bool *is_found)
{
    struct sf_search_result r = {0};
    struct sf_why why = {0};
    if (ask(query, &r, &why))
        fail_msg("%s: %s", query, why.text);
    memset(is_found, 0, MAX_SPANS);
    for (uint32_t i = 0; i < r.n_traces; i++)
        for (uint32_t k = 0; k < r.traces[i].n_sets; k++)
            for (uint32_t m = 0; m < r.traces[i].sets[k].n_spans; m++)
                is_found[r.traces[i].sets[k].spans[m].id - 1000] = true;
}

static void expect(const char *query, const char *want)
{
    bool is_found[MAX_SPANS];
    char text[MAX_SPANS + 1] = "";
    find(query, is_found);
    for (uint32_t i = 0; i < n_spans; i++)
        text[i] = is_found[i] ? '1' : '0';
    if (strcmp(text, want) != 0)
        fail_msg("%s: %s, not %s", query, text, want);
}

/* 0 shop > 1 shop > 2 pay > 3 shop; 4 is another trace. */
static void make_small(void)
{
    n_spans = n_samples = 0;
    add_span(0, SF_NONE, 0);
    add_span(0, 0, 0);
    add_span(0, 1, 1);
    add_span(0, 2, 0);
    add_span(1, SF_NONE, 1);
    add_sample(1, CPU, 0, 40 * MS); /* json.parse */
    add_sample(3, CPU, 2, 20 * MS); /* regex.match */
    add_sample(2, WALL, 1, 70000);  /* json.write, 70 ms */
    add_sample(4, ALLOC, 3, 4096);
    add_sample(4, COUNTS, 3, 7);
    send_spans();
    send_samples(true);
}

TEST(profile_conds, find_spans_by_their_frames)
{
    begin();
    make_small();
    expect("{ profile.frame = \"json.parse\" }", "11000");
    expect("{ profile.frame =~ \"json.*\" }", "11100");
    expect("{ profile.frame =~ \"json\" }", "00000"); /* whole names */
    expect("{ profile.frame = \"regex.match\" }", "11010");
    expect("{ profile.frame != \"regex.match\" }", "00101");
    expect("{ profile.frame !~ \"json.*\" }", "00011");
    expect("{ profile.frame = \"main\" }", "11111");
    expect("{ profile.frame = \"nowhere\" }", "00000");
    expect("{ profile.frame = nil }", "00000");
    expect("{ profile.frame != nil && name = \"odd\" }", "01010");
    end();
}

TEST(profile_conds, compare_what_a_span_spent)
{
    begin();
    make_small();
    expect("{ profile.cpu > 50ms }", "11000"); /* itself and below in its process */
    expect("{ profile.cpu = 60ms }", "11000");
    expect("{ profile.cpu > 10ms && profile.cpu < 50ms }", "00010");
    expect("{ 30ms > profile.cpu }", "00010");
    expect("{ profile.cpu = nil }", "00101"); /* counts are not time */
    expect("{ profile.wall = 70ms }", "00100");
    expect("{ profile.alloc >= 4096 }", "00001");
    expect("{ profile.lock > 0ms || profile.block > 0ms || profile.off_cpu > 0ms }", "00000");
    expect("{ profile.frame =~ \"json.*\" && profile.cpu > 50ms }", "11000");
    expect("{ profile.frame =~ \"json.*\" || profile.alloc > 1 }", "11101");
    expect("{ profile.cpu > duration }", "11000");
    expect("{ !(profile.cpu > 50ms) }", "00111");
    expect("{ profile.cpu > 0ms } >> { profile.wall > 0ms }", "00100");
    expect("{ } | avg(profile.cpu) > 40ms", "11110");
    expect("{ profile.cpu > 1s }", "00000");
    end();
}

TEST(profile_conds, are_shown_in_the_answer)
{
    struct sf_search_result r = {0};
    struct sf_why why = {0};
    begin();
    make_small();
    assert_ok(ask("{ profile.cpu > 50ms && profile.frame != nil }", &r, &why));
    const struct sf_found_span *s = &r.traces[0].sets[0].spans[0];
    assert_int_equal(s->attrs.n, 1);
    assert_str(s->attrs.list[0].key, "profile.cpu");
    end();
}

TEST(profile_conds, are_bounded)
{
    struct sf_search_result r = {0};
    struct sf_why why = {0};
    struct sf_buf query = {0};
    begin();
    make_small();
    sf_buf_add_str(&query, SF_STR("{ profile.frame = \"f\""));
    for (int i = 0; i < 20; i++)
        sf_buf_print(&query, " || profile.frame = \"f%d\"", i);
    sf_buf_add_str(&query, SF_STR(" }"));
    sf_buf_add_u8(&query, 0);
    assert_err(ask((const char *)query.p, &r, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "more than 16 conditions on profiles in one query");
    sf_buf_done(&query);
    rig.q.deadline_ns = 1;
    assert_err(ask("{ profile.cpu > 1ms }", &r, &why), SF_ERR_DEADLINE);
    end();
}

static enum sf_err sums_of_damaged(struct sf_store *s, const struct sf_detail_query *query,
                                   const struct sf_frame_test *test, struct sf_query_ctx *q,
                                   struct sf_span_costs *out, struct sf_why *why)
{
    enum sf_err err = sf_store_local_ops.detail_sums(s, query, test, q, out, why);
    q->is_exact = false;
    return err;
}

/* The spans are examined after the profiles, and all of them are there. */
TEST(profile_conds, say_when_profiles_could_not_be_looked_at)
{
    struct sf_store_ops ops = sf_store_local_ops;
    const struct sf_store_ops **used;
    struct sf_search_result r = {0};
    struct sf_why why = {0};
    size_t at;
    begin();
    make_small();
    used = &rig.store->ops;
    assert_ok(ask("{ profile.cpu > 50ms }", &r, &why));
    assert_false(r.is_partial);
    ops.detail_sums = sums_of_damaged;
    *used = &ops;
    assert_ok(ask("{ profile.cpu > 50ms }", &r, &why));
    assert_true(r.is_partial);
    assert_true(sf_str_find(r.note, SF_STR("stored profiles could not be read"), &at));
    assert_ok(ask("{ duration >= 0ms }", &r, &why));
    assert_false(r.is_partial);
    *used = &sf_store_local_ops;
    end();
}

/* ---- against the slow way ---- */

static uint64_t rng;

static uint32_t draw(uint32_t below)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((rng >> 33) % below);
}

static void make_random(void)
{
    uint32_t n = 20 + draw(100), n_traces = 1 + draw(6);
    n_spans = n_samples = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t trace = draw(n_traces), parent = SF_NONE;
        for (uint32_t tries = 0; tries < 8 && parent == SF_NONE && i > 0; tries++) {
            parent = draw(i);
            parent = spans[parent].trace == trace ? parent : SF_NONE;
        }
        add_span(trace, parent, draw(SERVICES));
        if (draw(12) == 0) { /* a parent that never came */
            spans[i].parent_id = 99;
            spans[i].parent = SF_NONE;
        }
    }
    for (uint32_t i = 0, m = draw(MAX_SAMPLES / 2); i < m; i++)
        add_sample(draw(n_spans), (enum kind)draw(KINDS), draw(FUNCTIONS),
                   (1 + draw(50)) * (int64_t)MS);
    send_spans();
    send_samples(draw(2) == 0);
}

static uint32_t place_of(sf_span_id id)
{
    return (uint32_t)(id - 1000);
}

/* Is the sample the span's, or of one below it in its process? */
static bool counts_for(const struct taken *t, uint32_t span)
{
    uint32_t at = place_of(t->id);
    if (spans[at].service != spans[span].service)
        return false;
    while (at != SF_NONE && at != span)
        at = spans[at].parent;
    return at == span;
}

static bool slow_has(uint32_t span, int kind, int function, int64_t *sum)
{
    bool has = false;
    *sum = 0;
    for (uint32_t i = 0; i < n_samples; i++) {
        const struct taken *t = &samples[i];
        if ((kind >= 0 && t->kind != (enum kind)kind) || !counts_for(t, span) ||
            (function >= 0 && t->function != (uint32_t)function))
            continue;
        has = true;
        *sum += t->value;
    }
    return has;
}

static void compare_all(uint64_t seed)
{
    bool is_found[MAX_SPANS];
    char query[200];
    int64_t sum, other, bound = draw(60) * (int64_t)MS;
    int f = (int)draw(FUNCTIONS);
    snprintf(query, sizeof(query), "{ profile.cpu > %lldns }", (long long)bound);
    find(query, is_found);
    for (uint32_t i = 0; i < n_spans; i++)
        if (is_found[i] != (slow_has(i, CPU, -1, &sum) && sum > bound))
            fail_msg("seed %llu: %s: span %u", (unsigned long long)seed, query, i);
    snprintf(query, sizeof(query), "{ profile.frame = \"%s\" && profile.alloc <= %lld }",
             functions[f], (long long)bound);
    find(query, is_found);
    for (uint32_t i = 0; i < n_spans; i++)
        if (is_found[i] !=
            (slow_has(i, -1, f, &other) && slow_has(i, ALLOC, -1, &sum) && sum <= bound))
            fail_msg("seed %llu: %s: span %u", (unsigned long long)seed, query, i);
    snprintf(query, sizeof(query), "{ profile.frame !~ \"%s|nothing\" && name = \"odd\" }",
             functions[f]);
    find(query, is_found);
    for (uint32_t i = 0; i < n_spans; i++)
        if (is_found[i] != (i % 2 && slow_has(i, -1, -1, &sum) && !slow_has(i, -1, f, &other)))
            fail_msg("seed %llu: %s: span %u", (unsigned long long)seed, query, i);
}

/* What is compared is what the span's own flame graph shows. */
static void compare_profile(uint64_t seed)
{
    uint32_t i = draw(n_spans);
    struct sf_span_profile_want want = {
        .trace = trace_of(spans[i].trace), .span = spans[i].id, .type = SF_STR("cpu")};
    struct sf_span_profile p;
    struct sf_why why = {0};
    bool is_found[MAX_SPANS];
    char query[100];
    int64_t sum;
    if (!slow_has(i, CPU, -1, &sum))
        return;
    assert_ok(sf_span_profile_make(rig.store, &want, &rig.q, &p, &why));
    if (p.grades.rows[SF_GRADE_ROW_INHERITED].n_samples +
            p.grades.rows[SF_GRADE_ROW_SHARED].n_samples >
        0)
        return; /* estimates do not count in a search */
    assert_int_equal(p.view.tree.total, sum);
    snprintf(query, sizeof(query), "{ profile.cpu = %lldns }", (long long)p.view.tree.total);
    find(query, is_found);
    if (!is_found[i])
        fail_msg("seed %llu: %s misses span %u", (unsigned long long)seed, query, i);
}

TEST(profile_conds, agree_with_the_slow_answer)
{
    for (uint64_t seed = 1; seed <= 25; seed++) {
        rng = seed * 977;
        begin();
        make_random();
        if (seed % 2)
            assert_ok(sf_store_local_ops.flush(rig.store, NULL));
        for (int i = 0; i < 4; i++)
            compare_all(seed);
        for (int i = 0; i < 10; i++)
            compare_profile(seed);
        end();
    }
}
