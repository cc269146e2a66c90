#include "test.h"

#include "base/time_unit.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

static const int64_t HOUR = SF_NS_PER_HOUR;
static int64_t wall_ns, mono_ns;

static int64_t fake_wall(void)
{
    return wall_ns;
}

static int64_t fake_mono(void)
{
    return mono_ns;
}

static void pass(int64_t ns)
{
    wall_ns += ns;
    mono_ns += ns;
}

static void open_at(struct store_rig *r, int64_t keep_ns)
{
    store_rig_init(r);
    wall_ns = INT64_C(1763200000) * SF_NS_PER_S;
    mono_ns = 1000 * SF_NS_PER_S;
    r->config.tuning.wall_ns = fake_wall;
    r->config.tuning.mono_ns = fake_mono;
    r->config.retention.spans_ns = keep_ns;
    assert_ok(store_rig_open(r));
}

static void put_now(struct store_rig *r, uint64_t seed, uint32_t n)
{
    struct sf_otlp_make m;
    struct sf_span_batch b;
    sf_otlp_make_init(&m, seed, (uint64_t)wall_ns - 1000000000);
    sf_otlp_make_batch(&m, n, &r->arena, &b);
    assert_ok(store_put(r, 0, 1, &b, 0));
}

static uint64_t count_rows(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s.block_rows[0] + s.block_rows[1];
}

static void work(struct store_rig *r)
{
    assert_ok(r->store->ops->flush(r->store, &r->why));
    assert_ok(sf_compact_all(store_rig_local(r), &r->why));
}

TEST(retain, removes_blocks_by_age)
{
    struct store_rig r;
    open_at(&r, 24 * HOUR);
    put_now(&r, 1, 100);
    work(&r);
    for (int i = 0; i < 23; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), 100);
    put_now(&r, 2, 50);
    pass(2 * HOUR);
    work(&r);
    work(&r);
    assert_int_equal(count_rows(&r), 50);
    store_rig_done(&r);
}

TEST(retain, removes_the_oldest_by_size)
{
    struct store_rig r;
    struct sf_local_stats s;
    struct sf_retention rule = {.min_free_len = 1};
    open_at(&r, 0);
    for (int i = 0; i < 4; i++) {
        put_now(&r, (uint64_t)i + 1, 100 + (uint32_t)i);
        work(&r);
        pass(3 * HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), 406);
    sf_local_figures_stats(r.store, &s);
    rule.max_len = s.wal_len + s.blocks_len[0] + s.blocks_len[1] - 1;
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    work(&r);
    assert_int_equal(count_rows(&r), 306);
    store_rig_done(&r);
}

TEST(retain, does_not_believe_a_clock_that_jumps)
{
    struct store_rig r;
    struct sf_retention rule = {.min_free_len = 1, .spans_ns = 24 * SF_NS_PER_HOUR};
    open_at(&r, 24 * HOUR);
    put_now(&r, 1, 100);
    work(&r);
    wall_ns += 48 * HOUR; /* forward: nothing goes, however often it is asked */
    for (int i = 0; i < 5; i++) {
        work(&r);
        pass(60 * SF_NS_PER_S);
    }
    assert_int_equal(count_rows(&r), 100);
    assert_non_null(strstr(r.last_notice, "clock"));
    wall_ns -= 96 * HOUR; /* back past the start: nothing goes either */
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    wall_ns += 96 * HOUR;
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    /* The operator says the clock is right. */
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    work(&r);
    assert_int_equal(count_rows(&r), 0);
    store_rig_done(&r);
}

/* ---- files beside the blocks ---- */

enum { N_LODGERS = 4 };
struct lodgers { /* files that came at these times, oldest first; 0: gone */
    int64_t at_ns[N_LODGERS];
    uint64_t len;
    uint32_t n_calls;
    enum sf_err err;
};

static enum sf_err trim_lodgers(void *arg, int64_t before_ns, uint64_t need_len,
                                struct sf_beside_state *out, struct sf_why *why)
{
    struct lodgers *all = arg;
    uint64_t freed = 0;
    all->n_calls++;
    if (all->err)
        return sf_fail(why, all->err, "the folder cannot be read");
    *out = (struct sf_beside_state){.oldest_ns = INT64_MAX};
    for (int i = 0; i < N_LODGERS; i++) {
        if (all->at_ns[i] && all->at_ns[i] < before_ns && freed < need_len) {
            all->at_ns[i] = 0;
            freed += all->len;
        }
        if (all->at_ns[i]) {
            out->len += all->len;
            out->oldest_ns = all->at_ns[i] < out->oldest_ns ? all->at_ns[i] : out->oldest_ns;
        }
    }
    return SF_OK;
}

static int count_lodgers(const struct lodgers *all)
{
    int n = 0;
    for (int i = 0; i < N_LODGERS; i++)
        n += all->at_ns[i] != 0;
    return n;
}

static void open_with(struct store_rig *r, struct lodgers *all)
{
    store_rig_init(r);
    wall_ns = INT64_C(1763200000) * SF_NS_PER_S;
    mono_ns = 1000 * SF_NS_PER_S;
    r->config.tuning.wall_ns = fake_wall;
    r->config.tuning.mono_ns = fake_mono;
    r->config.beside = (struct sf_beside){trim_lodgers, all};
    assert_ok(store_rig_open(r));
}

TEST(retain, ages_files_beside_the_blocks_as_profiles)
{
    struct store_rig r;
    struct sf_retention rule = {.min_free_len = 1, .profiles_ns = 24 * SF_NS_PER_HOUR};
    int64_t now = INT64_C(1763200000) * SF_NS_PER_S;
    struct lodgers all = {.at_ns = {now - 30 * HOUR, now - 20 * HOUR, now - HOUR, now}, .len = 10};
    open_with(&r, &all);
    work(&r);
    assert_int_equal(count_lodgers(&all), 4); /* no rule */
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    pass(60 * SF_NS_PER_S);
    work(&r);
    assert_int_equal(count_lodgers(&all), 3);
    wall_ns += 48 * HOUR; /* a clock that jumps takes nothing away */
    pass(60 * SF_NS_PER_S);
    work(&r);
    assert_int_equal(count_lodgers(&all), 3);
    store_rig_done(&r);
}

TEST(retain, counts_files_beside_the_blocks_and_takes_the_oldest_of_both)
{
    struct store_rig r;
    struct sf_local_stats s;
    struct sf_retention rule = {.min_free_len = 1};
    struct lodgers all = {.len = 1 << 20};
    open_with(&r, &all);
    all.at_ns[0] = wall_ns - 40 * HOUR;
    put_now(&r, 1, 100);
    work(&r);
    pass(3 * HOUR);
    all.at_ns[1] = wall_ns;
    put_now(&r, 2, 50);
    work(&r);
    pass(60 * SF_NS_PER_S);
    work(&r);
    assert_int_equal(count_rows(&r), 150);
    sf_local_figures_stats(r.store, &s);
    rule.max_len = s.wal_len + s.blocks_len[0] + s.blocks_len[1] + (2u << 20) - 1;
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    work(&r);
    assert_int_equal(count_rows(&r), 150); /* the file from before all blocks was enough */
    assert_int_equal(all.at_ns[0], 0);
    assert_int_equal(count_lodgers(&all), 1);
    rule.max_len = s.wal_len + s.blocks_len[0] + s.blocks_len[1] + (1u << 20) - 1;
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    work(&r);
    assert_int_equal(count_rows(&r), 50); /* then a block was the oldest */
    assert_int_equal(count_lodgers(&all), 1);
    rule.max_len = 1;
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    work(&r);
    assert_int_equal(count_rows(&r) + (uint64_t)count_lodgers(&all), 0);
    store_rig_done(&r);
}

TEST(retain, removes_blocks_when_files_beside_them_cannot_be_removed)
{
    struct store_rig r;
    struct sf_retention rule = {.min_free_len = 1, .max_len = 1};
    struct lodgers all = {.len = 10, .err = SF_ERR_IO};
    open_with(&r, &all);
    all.at_ns[0] = wall_ns - HOUR;
    put_now(&r, 1, 100);
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(sf_compact_all(store_rig_local(&r), &r.why), SF_ERR_IO);
    assert_int_equal(count_rows(&r), 0);
    all.err = SF_OK;
    work(&r);
    assert_int_equal(count_lodgers(&all), 0);
    store_rig_done(&r);
}

static struct sf_local *said_by;
static bool was_rule_free;

static void try_rule(void *arg, const char *sentence)
{
    store_notice(arg, sentence);
    was_rule_free = said_by && sf_mutex_try(&said_by->rule_lock);
    if (was_rule_free)
        sf_mutex_unlock(&said_by->rule_lock);
}

/* Writing a line of the log may take as long as its reader likes; every append needs the rule. */
TEST(retain, speaks_of_the_clock_without_holding_the_rule)
{
    struct store_rig r;
    open_at(&r, 24 * HOUR);
    said_by = store_rig_local(&r);
    said_by->config.notice = try_rule;
    wall_ns += 48 * HOUR;
    work(&r);
    assert_non_null(strstr(r.last_notice, "clock"));
    assert_true(was_rule_free);
    said_by = NULL;
    store_rig_done(&r);
}

TEST(retain, believes_the_clock_when_an_hour_of_spans_agrees)
{
    struct store_rig r;
    open_at(&r, 24 * HOUR);
    put_now(&r, 1, 100);
    work(&r);
    store_rig_close(&r);
    pass(72 * HOUR); /* switched off for three days */
    mono_ns = 5 * SF_NS_PER_S;
    assert_ok(store_rig_open(&r));
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    for (int i = 0; i < 61; i++) {
        put_now(&r, (uint64_t)i + 2, 1);
        work(&r);
        pass(60 * SF_NS_PER_S);
    }
    work(&r);
    assert_int_equal(count_rows(&r), 61);
    store_rig_done(&r);
}

TEST(retain, takes_spans_of_absurd_clocks_for_new)
{
    struct store_rig r;
    struct sf_local_stats s;
    struct sf_scope scope = {0};
    struct sf_resource res = {.service = SF_STR("odd")};
    struct sf_span spans[4] = {0};
    struct sf_span_batch b = {&res, &scope, spans, 1, 1, 4};
    static const uint64_t starts[4] = {0, 1, UINT64_C(7258118400000000000), UINT64_MAX};
    open_at(&r, 24 * HOUR);
    for (int i = 0; i < 4; i++)
        spans[i] = (struct sf_span){.trace_id = {{9, (uint8_t)i}},
                                    .span_id = (uint64_t)i + 1,
                                    .start_ns = starts[i],
                                    .end_ns = UINT64_MAX,
                                    .name = SF_STR("x")};
    assert_ok(store_put(&r, 0, 1, &b, 0));
    work(&r);
    sf_local_figures_stats(r.store, &s);
    assert_int_equal(s.n_blocks[0] + s.n_blocks[1], 1); /* one day, not four */
    for (int i = 0; i < 4; i++) {
        struct store_answer a = store_trace(&r, 1, spans[i].trace_id);
        assert_int_equal(a.n, 1);
        assert_true(a.spans[0].start_ns == starts[i]); /* untouched */
    }
    for (int i = 0; i < 26; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), 0); /* and it does expire */
    store_rig_done(&r);
}

TEST(retain, keeps_spans_that_came_while_the_clock_was_a_day_back)
{
    struct store_rig r;
    int64_t right_ns;
    open_at(&r, 12 * HOUR);
    work(&r);
    right_ns = wall_ns;
    wall_ns -= 24 * HOUR;
    {
        struct sf_otlp_make m;
        struct sf_span_batch b;
        sf_otlp_make_init(&m, 7,
                          (uint64_t)right_ns - 1000000000); /* the senders' clocks are right */
        sf_otlp_make_batch(&m, 100, &r.arena, &b);
        assert_ok(store_put(&r, 0, 1, &b, 0));
    }
    work(&r);
    wall_ns = right_ns;
    pass(60 * SF_NS_PER_S);
    for (int i = 0; i < 3; i++)
        work(&r);
    assert_int_equal(count_rows(&r), 100);
    store_rig_done(&r);
}

/* ---- rules of tenants ---- */

static struct sf_tenant_rule red_rule;

static void rule_of(__attribute__((unused)) void *arg, sf_str tenant, struct sf_tenant_rule *io)
{
    if (tenant.len == 0) /* the longest of any */
        io->spans_ns = red_rule.spans_ns > io->spans_ns ? red_rule.spans_ns : io->spans_ns;
    else if (sf_str_eq(tenant, SF_STR("red")))
        *io = red_rule;
}

/* 100 rows of the usual tenant and 50 of red in one block. */
static void open_with_rules(struct store_rig *r, struct sf_tenant_rule red)
{
    struct sf_otlp_make m;
    struct sf_span_batch b;
    uint32_t tenant;
    red_rule = red;
    store_rig_init(r);
    r->config.tenant_rule = rule_of;
    wall_ns = INT64_C(1763200000) * SF_NS_PER_S;
    mono_ns = 1000 * SF_NS_PER_S;
    r->config.tuning.wall_ns = fake_wall;
    r->config.tuning.mono_ns = fake_mono;
    r->config.retention.spans_ns = 24 * HOUR;
    assert_ok(store_rig_open(r));
    put_now(r, 1, 100);
    assert_ok(r->store->ops->tenant(r->store, SF_STR("red"), true, &tenant, &r->why));
    sf_otlp_make_init(&m, 2, (uint64_t)wall_ns - 1000000000);
    sf_otlp_make_batch(&m, 50, &r->arena, &b);
    assert_ok(store_put(r, 0, tenant, &b, 0));
    work(r);
    assert_int_equal(count_rows(r), 150);
}

TEST(retain, a_tenant_with_less_time_loses_its_blocks_once_they_are_its_own)
{
    struct store_rig r;
    open_with_rules(&r, (struct sf_tenant_rule){.spans_ns = 2 * HOUR});
    pass(3 * HOUR); /* the hour is closed: it is merged into blocks of one tenant each */
    work(&r);
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    pass(22 * HOUR);
    work(&r);
    assert_int_equal(count_rows(&r), 0);
    store_rig_done(&r);
}

TEST(retain, a_tenant_with_more_time_keeps_its_blocks_when_others_go)
{
    struct store_rig r;
    open_with_rules(&r, (struct sf_tenant_rule){.spans_ns = 48 * HOUR});
    for (int i = 0; i < 26; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), 50);
    store_rig_done(&r);
}

TEST(retain, a_tenant_over_its_size_loses_its_oldest_blocks_and_nobody_elses)
{
    struct store_rig r;
    open_with_rules(&r, (struct sf_tenant_rule){.spans_ns = 24 * HOUR, .max_len = 1});
    pass(3 * HOUR);
    work(&r);
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    store_rig_done(&r);
}

/* ---- rules of services ---- */

static sf_str ruled_service;
static struct sf_tenant_rule ruled;
static uint64_t rules_version;

static bool rule_of_service(__attribute__((unused)) void *arg, sf_str tenant, sf_str service,
                            struct sf_tenant_rule *out)
{
    *out = ruled;
    return tenant.len && sf_str_eq(service, ruled_service);
}

static uint64_t version_of_rules(__attribute__((unused)) void *arg)
{
    return rules_version;
}

/* 100 spans of several services; how many are of the one that has a rule. */
static uint64_t open_with_services(struct store_rig *r, struct sf_tenant_rule rule,
                                   struct sf_span_batch *b)
{
    struct sf_otlp_make m;
    uint64_t n_own = 0;
    ruled = rule;
    rules_version = 1;
    store_rig_init(r);
    r->config.service_rule = rule_of_service;
    r->config.service_rules = version_of_rules;
    wall_ns = INT64_C(1763200000) * SF_NS_PER_S;
    mono_ns = 1000 * SF_NS_PER_S;
    r->config.tuning.wall_ns = fake_wall;
    r->config.tuning.mono_ns = fake_mono;
    r->config.retention.spans_ns = 72 * HOUR;
    assert_ok(store_rig_open(r));
    sf_otlp_make_init(&m, 1, (uint64_t)wall_ns - 1000000000);
    sf_otlp_make_batch(&m, 100, &r->arena, b);
    assert_ok(store_put(r, 0, 1, b, 0));
    ruled_service = b->resources[b->spans[0].resource].service;
    for (uint32_t i = 0; i < b->n_spans; i++)
        n_own += sf_str_eq(b->resources[b->spans[i].resource].service, ruled_service);
    assert_true(n_own > 0 && n_own < 100);
    return n_own;
}

static void pass_hours(struct store_rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        pass(HOUR);
        work(r);
    }
}

TEST(retain, a_service_with_less_time_loses_its_spans_and_no_other_does)
{
    struct store_rig r;
    struct sf_span_batch b;
    uint64_t n_own = open_with_services(&r, (struct sf_tenant_rule){.spans_ns = 10 * HOUR}, &b);
    pass_hours(&r, 8);
    assert_int_equal(count_rows(&r), 100);
    pass_hours(&r, 4);
    assert_int_equal(count_rows(&r), 100 - n_own);
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    assert_int_equal(count_rows(&r), 100 - n_own);
    pass_hours(&r, 3);
    assert_int_equal(count_rows(&r), 100 - n_own);
    store_rig_done(&r);
}

TEST(retain, rules_of_services_hold_when_they_change)
{
    struct store_rig r;
    struct sf_span_batch b;
    uint64_t n_own = open_with_services(&r, (struct sf_tenant_rule){.spans_ns = 60 * HOUR}, &b);
    pass_hours(&r, 5);
    assert_int_equal(count_rows(&r), 100);
    ruled.spans_ns = HOUR;
    rules_version = 2;
    work(&r);
    assert_int_equal(count_rows(&r), 100 - n_own);
    store_rig_done(&r);
}

TEST(retain, a_service_over_its_space_loses_its_oldest_spans)
{
    struct store_rig r;
    struct sf_span_batch b;
    struct sf_local_stats s;
    uint64_t n_own = open_with_services(&r, (struct sf_tenant_rule){.max_len = 1 << 30}, &b);
    pass_hours(&r, 4);
    assert_int_equal(count_rows(&r), 100);
    sf_local_figures_stats(r.store, &s);
    assert_true(n_own < 75);
    ruled.max_len = s.blocks_len[1] * n_own * 5 / 400; /* more than its rows take */
    rules_version = 2;
    work(&r);
    assert_int_equal(count_rows(&r), 100);
    ruled.max_len = s.blocks_len[1] * n_own / 100 / 2; /* half of it */
    rules_version = 3;
    work(&r);
    assert_int_equal(count_rows(&r), 100 - n_own);
    store_rig_done(&r);
}

TEST(retain, a_pinned_trace_keeps_the_block_of_a_service_until_the_pin_ends)
{
    struct store_rig r;
    struct sf_span_batch b;
    uint64_t n_own = open_with_services(&r, (struct sf_tenant_rule){.spans_ns = 2 * HOUR}, &b);
    struct sf_pin pin = {.tenant = 1,
                         .trace = b.spans[0].trace_id,
                         .start_ns = (int64_t)b.spans[0].start_ns,
                         .until_ns = wall_ns + 8 * HOUR};
    assert_ok(r.store->ops->pin(r.store, &pin, &r.why));
    pass_hours(&r, 7);
    assert_int_equal(count_rows(&r), 100);
    pass_hours(&r, 3);
    assert_int_equal(count_rows(&r), 100 - n_own);
    store_rig_done(&r);
}

TEST(retain, spares_the_spans_of_a_pinned_trace_until_the_pin_ends)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    struct sf_pin pin = {.tenant = 1};
    uint64_t n_own = 0;
    open_at(&r, 24 * HOUR);
    sf_otlp_make_init(&m, 1, (uint64_t)wall_ns - 1000000000);
    sf_otlp_make_batch(&m, 100, &r.arena, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    pin.trace = b.spans[0].trace_id;
    for (uint32_t i = 0; i < b.n_spans; i++)
        n_own += sf_trace_id_eq(b.spans[i].trace_id, pin.trace);
    assert_true(n_own > 0 && n_own < 100);
    pin.until_ns = wall_ns + 60 * HOUR;
    assert_ok(r.store->ops->pin(r.store, &pin, &r.why));
    for (int i = 0; i < 28; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), n_own);
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    work(&r);
    assert_int_equal(count_rows(&r), n_own);
    for (int i = 0; i < 33; i++)
        pass(HOUR);
    work(&r);
    work(&r);
    for (int i = 0; i < 4 && count_rows(&r) > 0; i++) {
        pass(60 * SF_NS_PER_S);
        work(&r);
    }
    assert_int_equal(count_rows(&r), 0);
    store_rig_done(&r);
}

TEST(retain, spares_the_spans_of_traces_that_were_kept_by_outcome)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    struct sf_keep_due due;
    struct sf_verdict_entry kept = {.reasons = 1u << SF_KEEP_ERROR};
    struct sf_verdict v = {.traces = &kept, .n_kept = 1};
    struct sf_retention rule = {.min_free_len = 1,
                                .spans_ns = 24 * HOUR,
                                .spans_by_outcome_ns = 72 * HOUR,
                                .tail_delay_ns = HOUR,
                                .keep = {.is_on = true}};
    uint64_t n_own = 0;
    open_at(&r, 24 * HOUR);
    assert_ok(r.store->ops->retain(r.store, &rule, &r.why));
    pass(HOUR);
    sf_otlp_make_init(&m, 1, (uint64_t)wall_ns - 1000000000);
    sf_otlp_make_batch(&m, 100, &r.arena, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    kept.id = b.spans[0].trace_id;
    for (uint32_t i = 0; i < b.n_spans; i++)
        n_own += sf_trace_id_eq(b.spans[i].trace_id, kept.id);
    for (int i = 0; i < 4; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_ok(r.store->ops->keep_due(r.store, &r.arena, &due, &r.why)); /* without any profile */
    v.head = (struct sf_verdict_head){
        .tenant = 1, .hour = due.hour, .lsn = due.lsn, .created_ns = wall_ns, .version = 1};
    v.rules = due.rules;
    assert_ok(r.store->ops->keep_put(r.store, &v, &r.why));
    for (int i = 0; i < 27; i++) {
        pass(HOUR);
        work(&r);
    }
    assert_int_equal(count_rows(&r), n_own);
    for (int i = 0; i < 50; i++)
        pass(HOUR);
    work(&r);
    work(&r);
    assert_int_equal(count_rows(&r), 0);
    store_rig_done(&r);
}
