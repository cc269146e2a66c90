/* Every question about a long chain of spans stops when its time is up, while it reads and between
 * reads, and costs as much per span as one about a short chain. Steps are counted, not time. */
#include "exec/dependencies.h"
#include "exec/search.h"
#include "exec/traces.h"
#include "join/cohort.h"
#include "join/coverage.h"
#include "join/findings.h"
#include "join/frame_spans.h"
#include "join/span_ledger.h"
#include "join/span_profile.h"
#include "join/trace_flame.h"
#include "query/query_parse.h"

#include "base/account.h"
#include "base/table.h"
#include "support/store_profile.h"
#include "test.h"

enum {
    PER_BATCH = 1000,
    SHORT = 5000,
    LONG = 20000,
    MS = 1000000,
    GRANULE_ROWS = 4096,
    STEPS_PER_ASK = 1 << 16 /* base/account.c */
};
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static struct sf_arena scratch;
static const sf_trace_id TRACE = {{1, 2, 3}};

static void put_chain(uint32_t n)
{
    struct sf_attr name = {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("chain")}};
    struct sf_resource resource = {.attrs = {&name, 1}, .service = SF_STR("chain")};
    struct sf_scope scope = {0};
    static struct sf_span list[PER_BATCH];
    struct sf_span_batch batch = {&resource, &scope, list, 1, 1, PER_BATCH};
    for (uint32_t i = 0; i < n; i++) {
        list[i % PER_BATCH] = (struct sf_span){.trace_id = TRACE,
                                               .span_id = i + 1,
                                               .parent_id = i,
                                               .start_ns = (uint64_t)NOW_NS + i * 100,
                                               .end_ns = (uint64_t)NOW_NS + 900 * MS - i * 100,
                                               .name = SF_STR("step")};
        if (i % PER_BATCH == PER_BATCH - 1)
            assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, i + 1, NOW_NS)));
    }
}

static void put_samples(uint32_t n)
{
    struct store_profile p = {.service = "chain",
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS};
    struct store_sample list[STORE_PROFILE_SAMPLES];
    for (uint32_t i = 0; i < STORE_PROFILE_SAMPLES; i++)
        list[i] = (struct store_sample){
            "work",
            {.trace_id = TRACE, .span_id = 1 + i * (n / STORE_PROFILE_SAMPLES), .value = MS}};
    assert_ok(store_put_profile(&rig, &p, list, STORE_PROFILE_SAMPLES));
}

static void begin(uint32_t n)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 256 << 20));
    put_chain(n);
    put_samples(n);
}

static void end(void)
{
    sf_arena_done(&scratch);
    store_rig_done(&rig);
}

/* ---- queries ---- */

static const int64_t FROM_NS = INT64_C(1763199990) * 1000000000,
                     TO_NS = INT64_C(1763200010) * 1000000000;

static enum sf_err ask_search(struct sf_why *why)
{
    struct sf_search search = {
        .from_ns = FROM_NS, .to_ns = TO_NS, .limit = 20, .spans_per_set = 3, .scratch = &scratch};
    struct sf_search_result out = {0};
    enum sf_err err = sf_query_parse(SF_STR("{ name = \"step\" } >> { name = \"none\" }"),
                                     rig.q.req, &search.query, NULL, why);
    return err ? err : sf_search_run(rig.store, &search, &rig.q, &out, why);
}

static enum sf_err ask_trace(struct sf_why *why)
{
    struct sf_trace out;
    return sf_traces_get_one(rig.store, TRACE, 0, 0, &rig.q, &out, why);
}

static enum sf_err ask_profile(struct sf_why *why)
{
    struct sf_span_profile_want want = {.trace = TRACE, .span = 1};
    struct sf_span_profile out = {0};
    return sf_span_profile_best(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_ledger(struct sf_why *why)
{
    struct sf_ledger_view out = {0};
    return sf_span_ledger_make(rig.store, TRACE, 1, &rig.q, &out, why);
}

static enum sf_err ask_flame(struct sf_why *why)
{
    struct sf_trace_flame_view out = {0};
    enum sf_trace_flame_by by = 0;
    return sf_trace_flame_make(rig.store, TRACE, SF_STR_NONE, by, &rig.q, &out, why);
}

static enum sf_err ask_findings(struct sf_why *why)
{
    struct sf_findings_want want = {.trace = TRACE, .scratch = &scratch};
    struct sf_findings_view out = {0};
    return sf_findings_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_coverage(struct sf_why *why)
{
    struct sf_coverage_want want = {
        .service = SF_STR("chain"), .from_ns = FROM_NS, .until_ns = TO_NS, .scratch = &scratch};
    struct sf_coverage out = {0};
    return sf_coverage_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_frames(struct sf_why *why)
{
    struct sf_frame_spans_want want = {
        .function = SF_STR("work"), .from_ns = FROM_NS, .to_ns = TO_NS, .limit = 10};
    struct sf_frame_spans out = {0};
    return sf_frame_spans_find(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_cohort(struct sf_why *why)
{
    struct sf_cohort_want want = {.query = SF_STR("{ name = \"step\" }"),
                                  .from_ns = FROM_NS,
                                  .to_ns = TO_NS,
                                  .scratch = &scratch};
    struct sf_cohort_view out = {0};
    return sf_cohort_make(rig.store, &want, &rig.q, &out, why);
}

static enum sf_err ask_dependencies(struct sf_why *why)
{
    struct sf_dependencies out = {0};
    return sf_dependencies_get(rig.store, FROM_NS, TO_NS, &rig.q, &scratch, &out, why);
}

static const struct {
    const char *name;
    enum sf_err (*ask)(struct sf_why *why);
} doors[] = {{"search", ask_search},     {"trace", ask_trace},
             {"profile", ask_profile},   {"ledger", ask_ledger},
             {"flame", ask_flame},       {"findings", ask_findings},
             {"coverage", ask_coverage}, {"frame spans", ask_frames},
             {"cohort", ask_cohort},     {"dependencies", ask_dependencies}};
enum { DOORS = sizeof(doors) / sizeof(doors[0]) };

static struct sf_account_pool pool = {
    .cap = 512 << 20, .query_cap = 512 << 20, .sum_cap = 512 << 20};
static struct sf_account account;
static uint64_t n_asked; /* whether the time is up */
static bool is_time_up;

static bool is_ended(__attribute__((unused)) void *arg)
{
    n_asked++;
    return is_time_up;
}

static enum sf_err ask(unsigned door, uint64_t *out_steps, struct sf_why *why)
{
    uint64_t before = sf_table_steps;
    sf_arena_reset(&rig.arena);
    sf_arena_reset(&scratch);
    rig.q.stats = (struct sf_scan_stats){0};
    n_asked = 0;
    account = (struct sf_account){.pool = &pool, .is_ended = is_ended};
    sf_account_open(&account);
    enum sf_err err = doors[door].ask(why);
    sf_account_close();
    *out_steps = sf_table_steps - before + n_asked * STEPS_PER_ASK + account.n_steps;
    return err;
}

TEST(deadline, stops_every_question_that_is_over)
{
    struct sf_why why = {0};
    uint64_t steps;
    begin(LONG);
    assert_ok(ask(0, &steps, &why)); /* what was just written is put in order by the first one */
    rig.q.deadline_ns = 1;
    for (unsigned i = 0; i < DOORS; i++) {
        enum sf_err err = ask(i, &steps, &why);
        if (err != SF_ERR_DEADLINE || rig.q.stats.n_rows > GRANULE_ROWS || steps > STEPS_PER_ASK)
            fail_msg("%s: error %d (%s), %llu rows, %llu steps", doors[i].name, (int)err, why.text,
                     (unsigned long long)rig.q.stats.n_rows, (unsigned long long)steps);
    }
    end();
}

TEST(deadline, is_not_needed_for_a_chain_of_spans)
{
    static uint64_t steps[2][DOORS];
    struct sf_why why = {0};
    for (unsigned k = 0; k < 2; k++) {
        begin(k ? LONG : SHORT);
        for (unsigned i = 0; i < DOORS; i++) {
            if (ask(i, &steps[k][i], &why))
                fail_msg("%s: %s", doors[i].name, why.text);
        }
        end();
    }
    for (unsigned i = 0; i < DOORS; i++) {
        if (steps[1][i] > 2 * LONG / SHORT * (steps[0][i] + SHORT))
            fail_msg("%s: %llu steps, and %llu for a quarter of the spans", doors[i].name,
                     (unsigned long long)steps[1][i], (unsigned long long)steps[0][i]);
    }
}

/* The store is never asked again, so that nothing but the loops in between can notice. */
TEST(deadline, ends_what_goes_on_between_reads)
{
    struct sf_why why = {0};
    uint64_t steps;
    unsigned n_late = 0;
    begin(LONG);
    for (unsigned i = 0; i < DOORS; i++)
        assert_ok(ask(i, &steps, &why));
    is_time_up = true;
    for (unsigned i = 0; i < DOORS; i++) {
        enum sf_err err = ask(i, &steps, &why);
        n_late += account.is_late;
        if (account.is_late && !err)
            fail_msg("%s: late, and answered", doors[i].name);
        if (steps > 4 * STEPS_PER_ASK)
            fail_msg("%s: %llu steps after it was late", doors[i].name, (unsigned long long)steps);
    }
    is_time_up = false;
    assert_true(n_late >= 3); /* the others are done before they are asked */
    end();
}
