/* Queries about many traces ask the store few times, however many traces there are: a store that
 * is not on this machine costs a round trip for each call. */
#include <string.h>

#include "join/cohort.h"
#include "join/compare.h"
#include "join/coverage.h"
#include "join/explain_set.h"
#include "join/findings.h"
#include "join/frame_spans.h"
#include "support/store_profile.h"
#include "test.h"

enum { TRACES = 500, SPANS = 3, MS = 1000000, MOST_CALLS = 20, MOST_EXPLAIN = 80 };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static const int64_t FROM_NS = INT64_C(1763199990) * 1000000000,
                     TO_NS = INT64_C(1763200010) * 1000000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static struct sf_arena scratch;

/* ---- a store that counts ---- */

static const struct sf_store_ops *real;
static struct sf_store_ops counting;
static uint32_t n_calls;

#define COUNTED(name, params, args)        \
    static enum sf_err count_##name params \
    {                                      \
        n_calls++;                         \
        return real->name args;            \
    }
COUNTED(traces_get,
        (struct sf_store * s, const struct sf_trace_ask *asks, size_t n, struct sf_query_ctx *q,
         struct sf_span_cursor **out, struct sf_why *why),
        (s, asks, n, q, out, why))
COUNTED(span_scan,
        (struct sf_store * s, const struct sf_span_query *query, struct sf_query_ctx *q,
         struct sf_span_cursor **out, struct sf_why *why),
        (s, query, q, out, why))
COUNTED(span_columns,
        (struct sf_store * s, const struct sf_span_query *query, struct sf_query_ctx *q,
         struct sf_column_cursor **out, struct sf_why *why),
        (s, query, q, out, why))
COUNTED(operations,
        (struct sf_store * s, int64_t from_ns, int64_t to_ns, struct sf_query_ctx *q,
         struct sf_operation_rows *out, struct sf_why *why),
        (s, from_ns, to_ns, q, out, why))
COUNTED(prof_merge,
        (struct sf_store * s, const struct sf_prof_query *query, struct sf_query_ctx *q,
         const struct sf_tree **out, struct sf_why *why),
        (s, query, q, out, why))
COUNTED(prof_points,
        (struct sf_store * s, const struct sf_prof_query *query, const sf_str *keys, size_t n_keys,
         int64_t step_ns, struct sf_query_ctx *q, struct sf_prof_points *out, struct sf_why *why),
        (s, query, keys, n_keys, step_ns, q, out, why))
COUNTED(prof_list,
        (struct sf_store * s, const struct sf_prof_query *query, struct sf_query_ctx *q,
         struct sf_prof_list *out, struct sf_why *why),
        (s, query, q, out, why))
COUNTED(detail_list,
        (struct sf_store * s, const struct sf_detail_query *query, struct sf_query_ctx *q,
         struct sf_detail_list *out, struct sf_why *why),
        (s, query, q, out, why))
COUNTED(detail_sums,
        (struct sf_store * s, const struct sf_detail_query *query, const struct sf_frame_test *test,
         struct sf_query_ctx *q, struct sf_span_costs *out, struct sf_why *why),
        (s, query, test, q, out, why))
COUNTED(detail_top,
        (struct sf_store * s, const struct sf_detail_query *query, const struct sf_frame_test *test,
         uint32_t limit, struct sf_query_ctx *q, struct sf_span_top *out, struct sf_why *why),
        (s, query, test, limit, q, out, why))
COUNTED(keep_states,
        (struct sf_store * s, const struct sf_keep_ask *asks, uint32_t n, struct sf_query_ctx *q,
         struct sf_keep_state *out, struct sf_why *why),
        (s, asks, n, q, out, why))

static void count(struct sf_store *store)
{
    real = store->ops;
    counting = *real;
    counting.traces_get = count_traces_get;
    counting.span_scan = count_span_scan;
    counting.span_columns = count_span_columns;
    counting.operations = count_operations;
    counting.prof_merge = count_prof_merge;
    counting.prof_points = count_prof_points;
    counting.prof_list = count_prof_list;
    counting.detail_list = count_detail_list;
    counting.detail_sums = count_detail_sums;
    counting.detail_top = count_detail_top;
    counting.keep_states = count_keep_states;
    store->ops = &counting;
}

/* ---- what is in it ---- */

static void put_spans(void)
{
    struct sf_attr name = {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}};
    struct sf_resource resource = {.attrs = {&name, 1}, .service = SF_STR("shop")};
    struct sf_scope scope = {0};
    static struct sf_span list[TRACES * SPANS];
    struct sf_span_batch batch = {&resource, &scope, list, 1, 1, TRACES * SPANS};
    for (uint32_t i = 0; i < TRACES * SPANS; i++) {
        uint32_t trace = i / SPANS, place = i % SPANS;
        uint64_t start_ns = (uint64_t)NOW_NS + trace * (uint64_t)MS + place * 100000u;
        list[i] = (struct sf_span){.span_id = i + 1,
                                   .parent_id = place ? i : 0,
                                   .start_ns = start_ns,
                                   .end_ns = start_ns + (uint64_t)(10 + trace % 7) * MS,
                                   .kind = place ? SF_KIND_INTERNAL : SF_KIND_SERVER,
                                   .name = place ? SF_STR("step") : SF_STR("GET /")};
        memcpy(list[i].trace_id.b, &(uint32_t){trace + 1}, 4);
    }
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, TRACES * SPANS, NOW_NS)));
}

static void put_samples(void)
{
    struct store_profile p = {.service = "shop",
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS};
    struct store_sample list[STORE_PROFILE_SAMPLES];
    for (uint32_t at = 0; at < TRACES; at += STORE_PROFILE_SAMPLES) {
        uint32_t n = TRACES - at < STORE_PROFILE_SAMPLES ? TRACES - at : STORE_PROFILE_SAMPLES;
        for (uint32_t i = 0; i < n; i++) {
            list[i] = (struct store_sample){
                "work", {.span_id = (at + i) * SPANS + 1, .value = 8 * (int64_t)MS}};
            memcpy(list[i].sample.trace_id.b, &(uint32_t){at + i + 1}, 4);
        }
        assert_ok(store_put_profile(&rig, &p, list, n));
    }
}

/* ---- queries ---- */

static enum sf_err ask_cohort(struct sf_why *why)
{
    struct sf_cohort_want want = {.query = SF_STR("{ name = \"GET /\" }"),
                                  .from_ns = FROM_NS,
                                  .to_ns = TO_NS,
                                  .scratch = &scratch};
    struct sf_cohort_view out = {0};
    return sf_cohort_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_compare(struct sf_why *why)
{
    struct sf_compare_want want = {.query = SF_STR("{ name = \"GET /\" }"),
                                   .split = 0.5,
                                   .from_ns = FROM_NS,
                                   .to_ns = TO_NS,
                                   .scratch = &scratch};
    struct sf_comparison out = {0};
    return sf_compare_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_findings(struct sf_why *why)
{
    struct sf_findings_want want = {.query = SF_STR("{ name = \"GET /\" }"),
                                    .from_ns = FROM_NS,
                                    .until_ns = TO_NS,
                                    .scratch = &scratch};
    struct sf_findings_view out = {0};
    return sf_findings_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_coverage(struct sf_why *why)
{
    struct sf_coverage_want want = {
        .service = SF_STR("shop"), .from_ns = FROM_NS, .until_ns = TO_NS, .scratch = &scratch};
    struct sf_coverage out = {0};
    return sf_coverage_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_explain(struct sf_why *why)
{
    struct sf_explain_set_want want = {.query = SF_STR("{ name = \"GET /\" }"),
                                       .from_ns = FROM_NS,
                                       .to_ns = TO_NS,
                                       .scratch = &scratch};
    struct sf_explain_view out = {0};
    return sf_explain_set(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_frames(struct sf_why *why)
{
    struct sf_frame_spans_want want = {
        .function = SF_STR("work"), .from_ns = FROM_NS, .to_ns = TO_NS, .limit = 400};
    struct sf_frame_spans out = {0};
    enum sf_err err = sf_frame_spans_find(rig.store, &want, &rig.q, &out, why);
    assert_true(err || out.n == 400);
    return err;
}

/* An explanation of a set examines a few of its spans one by one, each as a span's own explanation
 * does. */
static const struct {
    const char *name;
    enum sf_err (*ask)(struct sf_why *why);
    uint32_t most;
} questions[] = {
    {"span set", ask_cohort, MOST_CALLS},   {"comparison", ask_compare, MOST_CALLS},
    {"findings", ask_findings, MOST_CALLS}, {"coverage", ask_coverage, MOST_CALLS},
    {"explain", ask_explain, MOST_EXPLAIN}, {"spans of a function", ask_frames, MOST_CALLS}};

TEST(store_calls, are_few_for_many_traces)
{
    struct sf_why why = {0};
    bool is_ok = true;
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 256 << 20));
    put_spans();
    put_samples();
    count(rig.store);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        sf_arena_reset(&rig.arena);
        sf_arena_reset(&scratch);
        n_calls = 0;
        if (questions[i].ask(&why))
            fail_msg("%s: %s", questions[i].name, why.text);
        if (n_calls > questions[i].most)
            print_error("%s asks the store %u times\n", questions[i].name, n_calls);
        is_ok &= n_calls > 0 && n_calls <= questions[i].most;
    }
    rig.store->ops = real;
    sf_arena_done(&scratch);
    store_rig_done(&rig);
    assert_true(is_ok);
}
