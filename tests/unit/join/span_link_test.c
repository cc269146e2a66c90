/* A span's flame graph and ledger out of a real store, by each of the ways samples are sent. */
#include "join/findings.h"
#include "join/span_ledger.h"
#include "join/span_profile.h"
#include "join/trace_flame.h"

#include "render/span_profile.h"
#include "support/store_profile.h"
#include "test.h"

enum { MS = 1000000 };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static const sf_trace_id TRACE = {{1, 2, 3}};

/* checkout 0..100 ms > pay 40..80 ms, both in shop's one process; thread 5. */
static void begin_in(const char *language, int64_t thread_id)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    struct sf_attr where[] = {
        {SF_STR("service.instance.id"), {.type = SF_VALUE_STR, .str = SF_STR("shop-1")}},
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}},
        {SF_STR("telemetry.sdk.language"), {.type = SF_VALUE_STR, .str = sf_str_from(language)}}};
    struct sf_attr thread[] = {{SF_STR("thread.id"), {.type = SF_VALUE_INT, .i64 = thread_id}}};
    struct sf_resource resource = {.attrs = {where, 3}, .service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span spans[] = {{.trace_id = TRACE,
                               .span_id = 1,
                               .start_ns = (uint64_t)NOW_NS,
                               .end_ns = (uint64_t)NOW_NS + 100 * MS,
                               .name = SF_STR("checkout"),
                               .attrs = {thread, 1}},
                              {.trace_id = TRACE,
                               .span_id = 2,
                               .parent_id = 1,
                               .start_ns = (uint64_t)NOW_NS + 40 * MS,
                               .end_ns = (uint64_t)NOW_NS + 80 * MS,
                               .name = SF_STR("pay"),
                               .attrs = {thread, 1}}};
    struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, 2};
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 11, NOW_NS)));
}

static void begin_with(int64_t thread_id)
{
    begin_in("c", thread_id);
}

static void begin(void)
{
    begin_with(5);
}

static void end(void)
{
    store_rig_done(&rig);
}

/* One profile of shop: stacks are main > function. */
static void put_profile(const char *name, const char *type, sf_str instance,
                        const struct store_sample *puts, uint32_t n)
{
    struct store_profile p = {.service = "shop",
                              .instance = instance,
                              .name = name,
                              .type = type,
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS};
    assert_ok(store_put_profile(&rig, &p, puts, n));
}

static struct sf_span_profile profile(sf_span_id span, bool is_self)
{
    struct sf_span_profile_want want = {.trace = TRACE, .span = span, .is_self = is_self};
    struct sf_span_profile p;
    struct sf_why why = {0};
    if (sf_span_profile_make(rig.store, &want, &rig.q, &p, &why))
        fail_msg("%s", why.text);
    return p;
}

static int64_t self_of(const struct sf_span_profile *p, const char *function)
{
    int64_t sum = 0;
    for (uint32_t i = 1; i < p->view.tree.n_nodes; i++)
        if (sf_str_eq(p->view.tree.frames[p->view.tree.nodes[i].frame].function,
                      sf_str_from(function)))
            sum += p->view.tree.nodes[i].self;
    return sum;
}

static uint64_t graded(const struct sf_span_profile *p, const char *name)
{
    static const char *const names[] = {"exact", "subtree", "inherited", "shared", "window"};
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++)
        if (strcmp(names[i], name) == 0)
            return p->grades.rows[i].n_samples;
    fail_msg("no grade %s", name);
    return 0;
}

static struct store_sample at(const char *function, sf_span_id span, int64_t ms, int64_t value_ms)
{
    return (struct store_sample){function,
                                 {.trace_id = span ? TRACE : (sf_trace_id){{0}},
                                  .span_id = span,
                                  .thread = 5,
                                  .start_ns = NOW_NS + ms * MS,
                                  .value = value_ms * MS,
                                  .has_time = true,
                                  .state = SF_STATE_RUNNING}};
}

TEST(span_link, takes_samples_that_name_their_span)
{
    struct store_sample puts[] = {at("sum", 1, 10, 30), at("sign", 2, 50, 20),
                                  at("sign", 2, 60, 10)};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 3);
    struct sf_span_profile p = profile(1, false);
    assert_int_equal(p.view.tree.total, 60 * MS);
    assert_int_equal(self_of(&p, "sign"), 30 * MS);
    assert_int_equal(graded(&p, "exact"), 1);
    assert_int_equal(graded(&p, "subtree"), 2);
    size_t few;
    assert_true(sf_str_find(p.reason, SF_STR("few, so shares are rough"), &few));
    p = profile(1, true);
    assert_int_equal(p.view.tree.total, 30 * MS);
    assert_int_equal(p.n_shares, 0); /* of three samples */
    assert_true(p.view.is_few);
    p = profile(2, false);
    assert_int_equal(p.view.tree.total, 30 * MS);
    assert_str(p.service, "shop");
    assert_string_equal(p.trust, "thin");
    end();
}

TEST(span_link, tells_its_samples_in_the_order_of_time)
{
    struct store_sample puts[] = {at("sign", 2, 60, 10), at("sum", 1, 10, 30),
                                  at("sign", 2, 50, 20), at("sum", 1, 0, 5)};
    struct sf_span_profile_want want = {.trace = TRACE, .span = 1, .has_timeline = true};
    struct sf_span_profile p;
    struct sf_why why = {0};
    struct sf_buf json = {0};
    begin();
    puts[2].sample.thread = 6;
    puts[3].sample.has_time = false;
    puts[3].sample.start_ns = 0;
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 4);
    assert_ok(sf_span_profile_make(rig.store, &want, &rig.q, &p, &why));
    assert_int_equal(p.n_moments, 3); /* one has no time of its own */
    const struct sf_tree *t = &p.view.tree;
    static const int64_t ms[] = {10, 50, 60}, values[] = {30, 20, 10};
    static const char *const functions[] = {"sum", "sign", "sign"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(p.moments[i].start_ns, ms[i] * MS);
        assert_int_equal(p.moments[i].value, values[i] * MS);
        assert_true(sf_str_eq(t->frames[t->nodes[p.moments[i].node].frame].function,
                              sf_str_from(functions[i])));
    }
    assert_int_equal(p.moments[0].thread, p.moments[2].thread);
    assert_int_not_equal(p.moments[0].thread, p.moments[1].thread);
    assert_ok(sf_span_profile_json(&p, &json, &why));
    size_t place;
    assert_true(
        sf_str_find(sf_buf_str(&json), SF_STR("\"timeline\":[[10000000,0,30000000,"), &place));
    sf_buf_done(&json);
    p = profile(1, false); /* only when asked */
    assert_ok(sf_span_profile_json(&p, &json, &why));
    assert_false(sf_str_find(sf_buf_str(&json), SF_STR("timeline"), &place));
    sf_buf_done(&json);
    end();
}

TEST(span_link, gives_a_local_roots_samples_to_the_child_that_ran)
{
    struct store_sample puts[] = {at("sum", 1, 10, 30), at("sign", 1, 50, 20)};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.view.tree.total, 20 * MS);
    assert_int_equal(graded(&p, "inherited"), 1);
    end();
}

TEST(span_link, shares_a_local_roots_untimed_samples)
{
    struct store_sample put = at("sum", 1, 0, 100);
    begin();
    put.sample.has_time = false;
    put.sample.start_ns = 0;
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), &put, 1);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.view.tree.total, 40 * MS); /* 40 of 100 ms */
    assert_int_equal(graded(&p, "shared"), 1);
    assert_true(p.reason.len > 0);
    p = profile(1, true);
    assert_int_equal(p.view.tree.total, 60 * MS);
    end();
}

TEST(span_link, falls_to_the_process_when_nothing_is_tagged)
{
    struct store_sample puts[] = {at("sign", 0, 50, 20), at("idle", 0, 500, 20)};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.view.tree.total, 20 * MS);
    assert_int_equal(graded(&p, "window"), 1);
    size_t found;
    assert_true(sf_str_find(p.reason, SF_STR("carry no span ids"), &found));
    end();
}

/* Two SDKs in one process: the tracer gives it a name, the profiler another one or none. */
TEST(span_link, takes_tagged_samples_of_a_process_by_another_name)
{
    struct store_sample puts[] = {at("sum", 1, 10, 30), at("elsewhere", 0, 20, 10)};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=of-the-profiler"), puts, 2);
    struct sf_span_profile p = profile(1, false);
    assert_int_equal(p.view.tree.total, 30 * MS);
    assert_int_equal(self_of(&p, "elsewhere"), 0);
    assert_int_equal(graded(&p, "window"), 0);
    end();
}

TEST(span_link, falls_to_the_aggregate_when_nothing_has_a_time)
{
    struct store_sample put = at("sum", 0, 0, 50);
    begin();
    put.sample.has_time = false;
    put.sample.start_ns = 0;
    put.sample.thread = 0;
    put_profile("process_cpu", "cpu", SF_STR_NONE, &put, 1);
    struct sf_span_profile p = profile(2, false);
    assert_true(p.view.tree.total > 0 && p.view.tree.total <= 50 * MS);
    assert_int_equal(graded(&p, "window"), 1);
    end();
}

/* A request of one span in an instance of shop. */
static void put_request(uint8_t number, const char *instance, int64_t start_ms, int64_t ms)
{
    struct sf_attr where[] = {
        {SF_STR("service.instance.id"), {.type = SF_VALUE_STR, .str = sf_str_from(instance)}},
        {SF_STR("k8s.pod.name"), {.type = SF_VALUE_STR, .str = sf_str_from(instance)}},
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}}};
    struct sf_resource resource = {.attrs = {where, 3}, .service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span span = {.trace_id = {{9, number}},
                           .span_id = 100 + number,
                           .start_ns = (uint64_t)(NOW_NS + start_ms * MS),
                           .end_ns = (uint64_t)(NOW_NS + (start_ms + ms) * MS),
                           .name = SF_STR("order")};
    struct sf_span_batch batch = {&resource, &scope, &span, 1, 1, 1};
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 200u + number, NOW_NS)));
}

static struct sf_span_profile request_profile(uint8_t number)
{
    struct sf_span_profile_want want = {.trace = {{9, number}}, .span = 100 + number};
    struct sf_span_profile p;
    struct sf_why why = {0};
    if (sf_span_profile_make(rig.store, &want, &rig.q, &p, &why))
        fail_msg("%s", why.text);
    return p;
}

static void put_untimed(const char *function, sf_str instance, int64_t start_ms, int64_t length_ms,
                        int64_t value_ms)
{
    struct store_sample put = {function, {.value = value_ms * MS}};
    struct store_profile p = {.service = "shop",
                              .instance = instance,
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS + start_ms * MS,
                              .duration_ns = length_ms * MS};
    assert_ok(store_put_profile(&rig, &p, &put, 1));
}

static void begin_empty(void)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
}

/* What a process did in ten seconds is shared by the ten requests in them, each charged once,
 * whether or not the next profile is there. */
TEST(span_link, shares_a_profile_among_all_requests_it_covers)
{
    begin_empty();
    for (uint8_t i = 0; i < 10; i++)
        put_request(i, "shop-1", 100 + i * 900, 500);
    put_untimed("sum", SF_STR("instance=shop-1"), 0, 10000, 1000);
    for (int round = 0; round < 3; round++) {
        for (uint8_t i = 0; i < 10; i++) {
            struct sf_span_profile p = request_profile(i);
            assert_int_equal(p.view.tree.total, 100 * MS);
            assert_int_equal(graded(&p, "window"), 1);
        }
        if (round == 0)
            put_untimed("later", SF_STR("instance=shop-1"), 10000, 10000, 1000);
        else
            assert_ok(rig.store->ops->flush(rig.store, &rig.why));
    }
    end();
}

/* A request over the end of one profile and the beginning of the next has its part of both. */
TEST(span_link, takes_a_part_of_each_profile_that_covers_it)
{
    begin_empty();
    put_request(0, "shop-1", 9000, 2000);
    put_request(1, "shop-1", 1000, 3000);
    put_untimed("first", SF_STR("instance=shop-1"), 0, 10000, 400);
    put_untimed("second", SF_STR("instance=shop-1"), 10000, 10000, 300);
    struct sf_span_profile p = request_profile(0);
    assert_int_equal(self_of(&p, "first"), 100 * MS); /* one of four seconds */
    assert_int_equal(self_of(&p, "second"), 300 * MS);
    p = request_profile(1);
    assert_int_equal(self_of(&p, "first"), 300 * MS);
    assert_int_equal(self_of(&p, "second"), 0);
    end();
}

TEST(span_link, never_mixes_replicas)
{
    size_t found;
    begin_empty();
    put_request(0, "shop-1", 0, 1000);
    put_request(1, "shop-2", 0, 1000);
    put_request(2, "shop-3", 0, 1000);
    put_untimed("one", SF_STR("instance=shop-1"), 0, 10000, 100);
    put_untimed("two", SF_STR("pod=shop-2"), 0, 10000, 200); /* by another of its names */
    struct sf_span_profile p = request_profile(0);
    assert_int_equal(p.view.tree.total, 100 * MS);
    assert_int_equal(self_of(&p, "one"), 100 * MS);
    assert_true(sf_str_find(p.reason, SF_STR("what the process did"), &found));
    p = request_profile(1);
    assert_int_equal(p.view.tree.total, 200 * MS);
    assert_int_equal(self_of(&p, "two"), 200 * MS);
    p = request_profile(2);
    assert_int_equal(p.view.tree.total, 0);
    assert_true(sf_str_find(p.reason, SF_STR("come from other processes"), &found));
    end();
}

/* Where profiles do not name the process as spans do, the service is what is known. */
TEST(span_link, says_service_when_processes_cannot_be_compared)
{
    size_t found;
    begin_empty();
    put_request(0, "shop-1", 0, 1000);
    put_request(1, "shop-2", 0, 1000);
    put_untimed("one", SF_STR("session=a"), 0, 10000, 100);
    for (uint8_t i = 0; i < 2; i++) {
        struct sf_span_profile p = request_profile(i);
        assert_int_equal(p.view.tree.total, 50 * MS);
        assert_true(sf_str_find(p.reason, SF_STR("what the service did"), &found));
    }
    end();
}

static uint64_t below(uint64_t *rng, uint64_t n)
{
    *rng = *rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*rng >> 33) % n;
}

/* Random worlds of two instances: what all requests get of the profiles, and what the profiles get
 * that no request ran in, is what came in. Profiles begin apart and leave gaps. */
TEST(span_link, gives_out_every_profile_once)
{
    enum { REQUESTS = 24, PROFILES = 4, WORLDS = 6 };
    for (uint64_t rng = 1; rng <= WORLDS; rng++) {
        struct {
            int64_t start, end;
            unsigned instance;
        } r[REQUESTS];
        uint64_t dice = rng;
        int64_t came = 0, nobody = 0, got = 0;
        begin_empty();
        for (unsigned i = 0; i < REQUESTS; i++) {
            r[i].instance = (unsigned)below(&dice, 2);
            r[i].start = (int64_t)below(&dice, 40000);
            r[i].end = r[i].start + 1 + (int64_t)below(&dice, 4000);
            put_request((uint8_t)i, r[i].instance ? "shop-2" : "shop-1", r[i].start,
                        r[i].end - r[i].start);
        }
        for (unsigned k = 0; k < 2; k++) {
            for (int64_t n = 0, at = (int64_t)below(&dice, 3000); n < PROFILES; n++) {
                int64_t length = 2000 + (int64_t)below(&dice, 9000), value = 1 + (int64_t)n * 70;
                bool has_any = false;
                for (unsigned i = 0; i < REQUESTS; i++)
                    has_any = has_any ||
                              (r[i].instance == k && r[i].start < at + length && r[i].end > at);
                put_untimed("work", k ? SF_STR("instance=shop-2") : SF_STR("instance=shop-1"), at,
                            length, value);
                came += value * MS;
                nobody += has_any ? 0 : value * MS;
                at += length + (int64_t)below(&dice, 2000);
            }
        }
        for (unsigned i = 0; i < REQUESTS; i++) { /* as sent: shown is what fits the span */
            struct sf_span_profile p = request_profile((uint8_t)i);
            got += sf_grades_value(&p.as_sent);
            assert_true(p.view.tree.total <= (r[i].end - r[i].start) * MS);
        }
        /* Each answer rounds to whole nanoseconds by itself. */
        assert_true(llabs(came - nobody - got) <= REQUESTS * 2 * PROFILES);
        end();
    }
}

/* A file uploaded under a trace's id needs no process to be found. */
TEST(span_link, takes_what_was_sent_under_the_traces_id)
{
    struct store_sample put = at("sum", 0, 10, 30);
    put.sample.trace_id = TRACE;
    put.sample.thread = 0;
    begin();
    put_profile("process_cpu", "cpu", SF_STR_NONE, &put, 1);
    struct sf_span_profile p = profile(1, false);
    assert_int_equal(self_of(&p, "sum"), 30 * MS);
    put_profile("process_cpu", "cpu", SF_STR("session=x"), &put, 1);
    p = profile(1, false);
    assert_int_equal(self_of(&p, "sum"), 60 * MS);
    end();
}

static struct store_sample of_another_request(struct store_sample put)
{
    put.sample.trace_id.b[0] = 77;
    put.sample.span_id = 777;
    return put;
}

/* A request that was never sampled among requests that were: theirs is not shown as its own. */
TEST(span_link, leaves_other_requests_samples_to_them)
{
    struct store_sample puts[] = {of_another_request(at("busy", 0, 20, 30)),
                                  of_another_request(at("busy", 0, 60, 30)),
                                  at("background", 0, 50, 10)};
    size_t found;
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 3);
    struct sf_span_profile p = profile(1, false);
    assert_int_equal(p.view.tree.total, 0);
    assert_int_equal(graded(&p, "window"), 0);
    assert_true(sf_str_find(p.reason, SF_STR("no sample of shop fell into this span"), &found));
    assert_true(sf_str_find(p.reason, SF_STR("2 samples belong to other spans"), &found));
    end();
}

TEST(span_link, leaves_other_requests_untimed_samples_to_them)
{
    struct store_sample put = of_another_request(at("busy", 0, 0, 50));
    size_t found;
    begin();
    put.sample.has_time = false;
    put.sample.start_ns = 0;
    put.sample.thread = 0;
    put_profile("process_cpu", "cpu", SF_STR("session=of-the-profiler"), &put, 1);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.view.tree.total, 0);
    assert_true(sf_str_find(p.reason, SF_STR("no sample of shop fell into this span"), &found));
    end();
}

TEST(span_link, says_why_there_is_nothing)
{
    struct sf_span_profile_want want = {.trace = TRACE, .span = 9};
    struct sf_span_profile p;
    struct sf_why why = {0};
    size_t found;
    begin();
    p = profile(1, false);
    assert_int_equal(p.view.tree.total, 0);
    assert_true(sf_str_find(p.reason, SF_STR("no profiles from shop"), &found));
    assert_err(sf_span_profile_make(rig.store, &want, &rig.q, &p, &why), SF_ERR_NOT_FOUND);
    assert_string_equal(why.text, "the trace has no span 0000000000000009");
    want.trace.b[0] = 99;
    assert_err(sf_span_profile_make(rig.store, &want, &rig.q, &p, &why), SF_ERR_NOT_FOUND);
    end();
}

static struct sf_ledger_view ledger(sf_span_id span)
{
    struct sf_ledger_view v;
    struct sf_why why = {0};
    uint64_t sum = 0;
    if (sf_span_ledger_make(rig.store, TRACE, span, &rig.q, &v, &why))
        fail_msg("%s", why.text);
    for (uint32_t i = 0; i < v.n_parts; i++)
        sum += v.parts[i].ns;
    assert_int_equal(sum, v.duration_ns);
    return v;
}

static uint64_t part(const struct sf_ledger_view *v, const char *name)
{
    for (uint32_t i = 0; i < v->n_parts; i++)
        if (strcmp(v->parts[i].name, name) == 0)
            return v->parts[i].ns;
    fail_msg("no part %s", name);
    return 0;
}

TEST(span_link, accounts_for_a_span_with_cpu_and_waits)
{
    struct store_sample cpu[] = {at("sum", 1, 5, 10), at("sum", 1, 15, 10), at("sign", 2, 45, 10)};
    struct store_sample waits[] = {at("pthread_mutex_lock", 1, 20, 15),
                                   at("epoll_wait", 1, 85, 10)};
    begin();
    for (int i = 0; i < 2; i++) {
        waits[i].sample.state = SF_STATE_UNKNOWN;
        waits[i].sample.length_ns = waits[i].sample.value;
    }
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), cpu, 3);
    put_profile("off_cpu", "time", SF_STR("instance=shop-1"), waits, 2);
    struct sf_ledger_view v = ledger(1);
    assert_int_equal(v.duration_ns, 100 * MS);
    assert_int_equal(part(&v, "cpu"), 20 * MS);
    assert_int_equal(part(&v, "lock"), 15 * MS);
    assert_int_equal(part(&v, "net"), 10 * MS);
    assert_int_equal(part(&v, "child"), 40 * MS);
    assert_int_equal(part(&v, "unknown"), 15 * MS);
    v = ledger(2);
    assert_int_equal(part(&v, "cpu"), 10 * MS);
    assert_int_equal(part(&v, "unknown"), 30 * MS);
    assert_true(v.reason.len > 0);
    end();
}

/* A library that tells its lock waits apart from the others, an outside profiler that sees both,
 * and a runtime that only sums its lock waits up. */
TEST(span_link, counts_a_wait_for_a_lock_once)
{
    struct store_sample waits[] = {at("recv", 1, 10, 10), at("futex", 1, 80, 10)};
    struct store_sample locks[] = {at("lock", 1, 80, 10), at("lock", 1, 25, 5),
                                   at("lock", 1, 0, 7)};
    begin();
    waits[0].sample.state = SF_STATE_NET;
    waits[1].sample.state = SF_STATE_LOCK;
    for (int i = 0; i < 2; i++) {
        waits[i].sample.length_ns = waits[i].sample.value;
        locks[i].sample.length_ns = locks[i].sample.value;
    }
    locks[2].sample.has_time = false;
    put_profile("off_cpu", "time", SF_STR("instance=shop-1"), waits, 2);
    put_profile("mutex", "delay", SF_STR("instance=shop-1"), locks, 3);
    struct sf_ledger_view v = ledger(1);
    assert_int_equal(part(&v, "net"), 10 * MS);
    assert_int_equal(part(&v, "lock"), 15 * MS);
    end();
}

TEST(span_link, cuts_what_names_no_thread_beside_what_names_one)
{
    struct store_sample puts[] = {at("sum", 2, 45, 30), at("sum", 2, 50, 30), at("sum", 2, 55, 30)};
    begin();
    puts[2].sample.thread = 0; /* of 40 ms on one thread there were no more */
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 3);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.n_threads, 1);
    assert_int_equal(p.view.tree.total, 40 * MS);
    end();
}

TEST(span_link, cuts_a_moment_to_its_span)
{
    struct store_sample puts[] = {at("sum", 2, 45, 100), at("sort", 2, 50, 10)};
    begin();
    puts[0].sample.thread = puts[1].sample.thread = 0; /* on how many it ran is not known */
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(self_of(&p, "sum"), 40 * MS);
    assert_int_equal(self_of(&p, "sort"), 10 * MS);
    end();
}

/* 40 ms of samples in a child of 40 ms on one thread: a profiler that looks late counts too much.
 */
TEST(span_link, gives_a_span_no_more_than_it_lasted)
{
    struct store_sample puts[8];
    size_t place;
    begin();
    for (int i = 0; i < 8; i++)
        puts[i] = at("sign", 2, 41 + 4 * i, 10);
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 8);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(p.view.tree.total, 40 * MS);
    assert_true(sf_str_find(p.reason, SF_STR("cut to fit"), &place));
    assert_int_equal(p.n_samples, 8);
    struct sf_ledger_view v = ledger(2);
    assert_int_equal(part(&v, "cpu"), 40 * MS);
    end();
}

/* A pool's idle threads wait on their queue without any id while the span burns CPU. */
TEST(span_link, leaves_waits_of_idle_threads_apart)
{
    struct store_sample cpu[] = {at("sum", 1, 5, 10), at("sum", 1, 25, 10)};
    struct store_sample idle[4];
    begin_with(0);
    for (int i = 0; i < 4; i++) {
        idle[i] = at("pthread_cond_wait", 0, 1 + i, 90);
        idle[i].sample.thread = 11 + (uint64_t)i;
        idle[i].sample.length_ns = 90 * MS;
        idle[i].sample.state = SF_STATE_LOCK;
    }
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), cpu, 2);
    put_profile("off_cpu", "off_cpu", SF_STR("instance=shop-1"), idle, 4);
    struct sf_ledger_view v = ledger(1);
    assert_int_equal(part(&v, "lock"), 0);
    assert_int_equal(part(&v, "cpu"), 20 * MS);
    end();
}

/* Java's agents as they come: spans have Java's thread numbers and an instance, samples the
 * kernel's too and no instance, and only the request's first span is named. */
TEST(span_link, finds_javas_threads_by_javas_numbers)
{
    struct store_sample puts[] = {at("sum", 1, 10, 10), at("sum", 1, 20, 10), at("sign", 1, 50, 10),
                                  at("sign", 1, 60, 10), at("gc", 0, 55, 10)};
    struct store_sample park[] = {at("park", 0, 85, 10), at("park", 0, 2, 90)};
    begin_in("java", 31);
    for (int i = 0; i < 5; i++) {
        puts[i].sample.thread = i < 4 ? 4001 : 4009;
        puts[i].sample.runtime_thread = i < 4 ? 31 : 0;
        puts[i].sample.is_kernel_thread = true;
        puts[i].sample.thread_name = SF_STR("http-1");
    }
    for (int i = 0; i < 2; i++) {
        park[i].sample.thread = i == 0 ? 4001 : 4005;
        park[i].sample.runtime_thread = i == 0 ? 31 : 35;
        park[i].sample.is_kernel_thread = true;
        park[i].sample.length_ns = park[i].sample.value;
        park[i].sample.state = SF_STATE_LOCK;
    }
    put_profile("process_cpu", "cpu", SF_STR("session=7"), puts, 5);
    put_profile("off_cpu", "time", SF_STR("instance=shop-1"), park, 2);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(self_of(&p, "sign"), 20 * MS);
    assert_int_equal(graded(&p, "inherited"), 2);
    p = profile(1, true); /* its children's code is not its own */
    assert_int_equal(self_of(&p, "sign"), 0);
    assert_int_equal(self_of(&p, "sum"), 20 * MS);
    assert_int_equal(graded(&p, "exact"), 0);
    struct sf_ledger_view v = ledger(2);
    assert_int_equal(part(&v, "cpu"), 20 * MS);
    assert_int_equal(v.other_cpu_ns, 0);
    v = ledger(1);
    assert_int_equal(part(&v, "cpu"), 20 * MS);
    assert_int_equal(part(&v, "lock"), 10 * MS); /* on its thread, without any id */
    end();
}

/* Java's agents lose the id of a request while it runs. One that was never named, beside another
 * that is, has what ran on its own thread. */
TEST(span_link, finds_javas_lost_samples_beside_named_ones)
{
    struct store_sample puts[] = {of_another_request(at("busy", 0, 45, 10)),
                                  of_another_request(at("busy", 0, 55, 10)), at("sign", 0, 50, 10)};
    begin_in("java", 31);
    for (int i = 0; i < 3; i++) {
        puts[i].sample.thread = i < 2 ? 4002 : 4001;
        puts[i].sample.runtime_thread = i < 2 ? 32 : 31;
        puts[i].sample.is_kernel_thread = true;
    }
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 3);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(self_of(&p, "sign"), 10 * MS);
    assert_int_equal(p.view.tree.total, 10 * MS);
    end();
}

/* Spans and samples that number threads differently: time decides. */
TEST(span_link, ignores_threads_that_are_numbered_differently)
{
    struct store_sample puts[] = {at("sum", 1, 10, 10), at("sign", 1, 50, 10)};
    struct sf_link_want want = {.span = 1};
    struct sf_link_set *set;
    struct sf_why why = {0};
    begin_in("dotnet", 3);
    puts[0].sample.thread = puts[1].sample.thread = 4001;
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    struct sf_span_profile p = profile(2, false);
    assert_int_equal(self_of(&p, "sign"), 10 * MS);
    assert_int_equal(graded(&p, "inherited"), 1);
    set = sf_arena_new(rig.q.req, sizeof(*set));
    assert_ok(sf_link_set_load(rig.store, TRACE, &want, &rig.q, set, &why));
    assert_int_equal(set->n_thread_ignored, 2);
    end();
}

/* The run queue is seen by wall clock samples alone, also beside off-CPU waits. */
TEST(span_link, fills_with_wall_samples_what_waits_leave_unknown)
{
    struct store_sample cpu[] = {at("sum", 1, 5, 10)};
    struct store_sample waits[] = {at("pthread_mutex_lock", 1, 10, 10)};
    struct store_sample wall[] = {at("sum", 1, 6, 10), at("pthread_mutex_lock", 1, 15, 10),
                                  at("sum", 1, 25, 10), at("sum", 1, 35, 10)};
    size_t place;
    begin();
    waits[0].sample.length_ns = 10 * MS;
    waits[0].sample.state = wall[1].sample.state = SF_STATE_LOCK;
    wall[2].sample.state = wall[3].sample.state = SF_STATE_RUN_QUEUE;
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), cpu, 1);
    put_profile("off_cpu", "off_cpu", SF_STR("instance=shop-1"), waits, 1);
    put_profile("wall", "wall", SF_STR("instance=shop-1"), wall, 4);
    struct sf_ledger_view v = ledger(1);
    assert_int_equal(part(&v, "cpu"), 10 * MS);
    assert_int_equal(part(&v, "lock"), 10 * MS);
    assert_int_equal(part(&v, "run_queue"), 20 * MS);
    assert_int_equal(part(&v, "child"), 40 * MS);
    assert_int_equal(part(&v, "unknown"), 20 * MS);
    assert_false(sf_str_find(v.reason, SF_STR("to see waits"), &place)); /* both are being sent */
    end();
}

TEST(span_link, keeps_its_answer_over_a_flush)
{
    struct store_sample puts[] = {at("sum", 1, 10, 30), at("sign", 2, 50, 20)};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    assert_ok(sf_store_local_ops.flush(rig.store, NULL));
    struct sf_span_profile p = profile(1, false);
    assert_int_equal(p.view.tree.total, 50 * MS);
    assert_int_equal(self_of(&p, "sign"), 20 * MS);
    end();
}

TEST(span_link, draws_the_whole_trace_by_each_weight)
{
    struct store_sample puts[] = {at("sum", 1, 10, 30), at("sign", 2, 50, 20)};
    struct sf_trace_flame_view v;
    struct sf_why why = {0};
    const int64_t totals[] = {50 * MS, 100 * MS, 100 * MS};
    begin();
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    for (int by = 0; by < 3; by++) {
        assert_ok(sf_trace_flame_make(rig.store, TRACE, SF_STR("cpu"), (enum sf_trace_flame_by)by,
                                      &rig.q, &v, &why));
        assert_int_equal(v.view.tree.total, totals[by]);
        assert_int_equal(v.n_spans, 2);
        assert_int_equal(v.n_sampled, 2);
        assert_int_equal(v.view.tree.frames[0].kind, SF_FRAME_SERVICE);
    }
    enum sf_trace_flame_by by;
    assert_err(sf_trace_flame_parse(SF_STR("cost"), &by, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "by is samples, wall or critical-path, not 'cost'");
    end();
}

TEST(span_link, finds_what_stands_out_in_span_trace_and_service)
{
    struct store_sample puts[] = {at("regex.match", 1, 10, 60), at("sign", 2, 50, 20)};
    struct sf_arena scratch = {0};
    struct sf_findings_want want = {.trace = TRACE, .span = 1, .limits = SF_FINDING_LIMITS};
    struct sf_findings_view v;
    struct sf_why why = {0};
    begin();
    assert_true(sf_arena_init(&scratch, 64 << 20));
    put_profile("process_cpu", "cpu", SF_STR("instance=shop-1"), puts, 2);
    assert_ok(sf_findings_make(rig.store, &want, &rig.q, &v, &why));
    assert_true(v.n >= 2);
    assert_str(v.items[0].subject, "regex.match");
    assert_str(v.items[0].sentence,
               "regex.match takes 75 % of the CPU time of checkout in pattern "
               "matching, in main > regex.match: cache the result, or do it once");
    assert_str(v.items[0].path, "main > regex.match");
    want.span = 0;
    assert_ok(sf_findings_make(rig.store, &want, &rig.q, &v, &why));
    assert_str(v.of, "the CPU time of this trace");
    assert_str(v.items[0].subject, "regex.match");
    want = (struct sf_findings_want){.service = SF_STR("shop"),
                                     .from_ns = NOW_NS - 1000 * (int64_t)MS,
                                     .until_ns = NOW_NS + 1000 * (int64_t)MS,
                                     .limits = SF_FINDING_LIMITS,
                                     .scratch = &scratch};
    assert_ok(sf_findings_make(rig.store, &want, &rig.q, &v, &why));
    assert_str(v.items[0].subject, "regex.match");
    want.service = SF_STR("nobody");
    assert_ok(sf_findings_make(rig.store, &want, &rig.q, &v, &why));
    assert_int_equal(v.n, 0);
    assert_str(v.reason, "no profiles from nobody in this time");
    sf_arena_done(&scratch);
    end();
}
