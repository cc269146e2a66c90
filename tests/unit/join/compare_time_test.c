/* Durations of two sets of spans compared part by part: the parts add up to the duration, and are
 * what the breakdowns of the single spans say. */
#include <math.h>

#include "join/compare.h"
#include "join/compare_time.h"
#include "join/span_ledger.h"
#include "render/comparison.h"
#include "support/store_profile.h"
#include "support/text_check.h"
#include "test.h"

enum { MS = 1000000, TRACES = 240, PIECE = 50, SPANS = 3 };
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;
static int64_t now_ns(void)
{
    return NOW_NS;
}

static struct store_rig rig;
static struct sf_arena scratch;
static bool has_skew; /* the clock of the called service is an hour ahead */

static sf_trace_id trace_of(uint32_t i)
{
    sf_trace_id id = {{5, (uint8_t)(i * 41), (uint8_t)i}};
    return id;
}

static sf_span_id span_of(uint32_t trace, uint32_t i)
{
    return 1 + trace * 16 + i;
}

static uint64_t start_of(uint32_t trace)
{
    return (uint64_t)NOW_NS + trace * 300 * (uint64_t)MS;
}

/* The right half take longer, most of it in the call of stock. */
static uint32_t call_ms(uint32_t trace)
{
    return trace % 2 ? 90 + trace % 5 : 10 + trace % 7;
}

static const char *const names[SPANS] = {"order", "price", "reserve"};

/* order in shop > price in shop, reserve in stock. */
static struct sf_span span_at(uint32_t trace, uint32_t i)
{
    static const uint32_t starts[SPANS] = {0, 5, 20};
    uint64_t at_ns = start_of(trace) + starts[i] * (uint64_t)MS;
    uint32_t ms = i == 0 ? 40 + call_ms(trace) : i == 1 ? 10 : call_ms(trace);
    if (i == 2 && has_skew)
        at_ns += UINT64_C(3600) * 1000 * MS;
    return (struct sf_span){.trace_id = trace_of(trace),
                            .span_id = span_of(trace, i),
                            .parent_id = i == 0 ? 0 : span_of(trace, 0),
                            .start_ns = at_ns,
                            .end_ns = at_ns + ms * (uint64_t)MS,
                            .name = sf_str_from(names[i]),
                            .kind = i == 0 || i == 2 ? SF_KIND_SERVER : SF_KIND_INTERNAL,
                            .resource = i == 2};
}

/* Every fourth order carries what it took of the CPU. */
static void put_spans(void)
{
    static struct sf_attr attrs[TRACES * SPANS][3];
    static struct sf_span spans[TRACES * SPANS];
    struct sf_attr shop[] = {
        {SF_STR("service.instance.id"), {.type = SF_VALUE_STR, .str = SF_STR("shop-1")}},
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}}};
    struct sf_attr stock[] = {
        {SF_STR("service.instance.id"), {.type = SF_VALUE_STR, .str = SF_STR("stock-1")}},
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("stock")}}};
    struct sf_resource resources[] = {{.attrs = {shop, 2}, .service = SF_STR("shop")},
                                      {.attrs = {stock, 2}, .service = SF_STR("stock")}};
    struct sf_scope scope = {0};
    struct sf_span_batch batch = {resources, &scope, spans, 2, 1, 0};
    for (uint32_t t = 0; t < TRACES; t++) {
        for (uint32_t i = 0; i < SPANS; i++, batch.n_spans++) {
            struct sf_attr *a = attrs[batch.n_spans];
            a[0] = (struct sf_attr){SF_STR("side"), {.type = SF_VALUE_INT, .i64 = t % 2}};
            a[1] = (struct sf_attr){SF_STR("thread.cpu_time_ns"),
                                    {.type = SF_VALUE_INT, .i64 = i == 0 ? 14 * MS : 2 * MS}};
            a[2] = (struct sf_attr){SF_STR("thread.id"), {.type = SF_VALUE_INT, .i64 = 7}};
            if (t % 4 != 1)
                a[1] = a[2]; /* says nothing of it */
            spans[batch.n_spans] = span_at(t, i);
            spans[batch.n_spans].attrs = (struct sf_attrs){a, t % 4 == 1 ? 3 : 2};
        }
    }
    assert_ok(store_put_batch(&rig, 0, store_batch(&rig, 1, &batch, 21, NOW_NS)));
}

static struct store_sample sample_of(uint32_t t, uint32_t at_ms, uint32_t ms, const char *function,
                                     enum sf_sample_state state)
{
    return (struct store_sample){function,
                                 {.trace_id = trace_of(t),
                                  .span_id = span_of(t, 0),
                                  .thread = 7,
                                  .start_ns = (int64_t)start_of(t) + at_ms * MS,
                                  .length_ns = state == SF_STATE_RUNNING ? 0 : ms * MS,
                                  .value = ms * MS,
                                  .has_time = true,
                                  .state = (uint8_t)state}};
}

static void put_samples(void)
{
    static struct store_sample cpu[2 * TRACES], waits[TRACES];
    struct store_sample tag;
    struct store_profile p = {.service = "shop",
                              .instance = SF_STR("instance=shop-1"),
                              .name = "process_cpu",
                              .type = "cpu",
                              .unit = "nanoseconds",
                              .time_ns = NOW_NS};
    for (uint32_t t = 0; t < TRACES; t++) {
        cpu[2 * t] = sample_of(t, 2, 4, "parse", SF_STATE_RUNNING);
        cpu[2 * t + 1] = sample_of(t, 16, t % 3 ? 2 : 3, "sign", SF_STATE_RUNNING);
        waits[t] = sample_of(t, 16, 2 + t % 2, "pthread_mutex_lock", SF_STATE_LOCK);
    }
    /* A sample that names a child: this process tags every span. */
    tag = cpu[0];
    tag.sample.span_id = span_of(0, 1);
    tag.sample.start_ns += 5 * MS;
    assert_ok(store_put_profile(&rig, &p, &tag, 1));
    for (uint32_t i = 0; i < 2 * TRACES; i += PIECE)
        assert_ok(
            store_put_profile(&rig, &p, &cpu[i], 2 * TRACES - i < PIECE ? 2 * TRACES - i : PIECE));
    p.name = "off_cpu";
    p.type = "off_cpu";
    for (uint32_t i = 0; i < TRACES; i += PIECE)
        assert_ok(store_put_profile(&rig, &p, &waits[i], TRACES - i < PIECE ? TRACES - i : PIECE));
}

static void begin(bool has_samples)
{
    store_rig_init(&rig);
    rig.config.tuning.wall_ns = now_ns;
    assert_ok(store_rig_open(&rig));
    assert_true(sf_arena_init(&scratch, 64 << 20));
    put_spans();
    if (has_samples)
        put_samples();
}

static void end(void)
{
    sf_arena_done(&scratch);
    store_rig_done(&rig);
    has_skew = false;
}

static struct sf_comparison compare(const char *left, const char *right)
{
    struct sf_compare_want want = {.left = sf_str_from(left),
                                   .right = sf_str_from(right),
                                   .from_ns = NOW_NS,
                                   .to_ns = NOW_NS + INT64_C(7200) * 1000 * MS,
                                   .scratch = &scratch};
    struct sf_comparison c;
    struct sf_why why = {0};
    if (sf_compare_make(rig.store, &want, &rig.q, &c, &why))
        fail_msg("%s", why.text);
    return c;
}

static struct sf_comparison compare_orders(void)
{
    return compare("{ name = \"order\" && span.side = 0 }",
                   "{ name = \"order\" && span.side = 1 }");
}

static const struct sf_comparison_part *part_of(const struct sf_comparison *c, const char *name)
{
    for (uint32_t i = 0; i < c->time.n_parts; i++)
        if (strcmp(c->time.parts[i].name, name) == 0)
            return &c->time.parts[i];
    fail_msg("no part %s", name);
    return NULL;
}

static void assert_near(double is, double should)
{
    if (fabs(is - should) > 1e-6 * (1 + fabs(should)))
        fail_msg("%.3f, not %.3f", is, should);
}

static void check_sums(const struct sf_comparison *c)
{
    double left = 0, right = 0, delta = 0;
    for (uint32_t i = 0; i < c->time.n_parts; i++) {
        const struct sf_comparison_part *p = &c->time.parts[i];
        double items_left = p->rest_left, items_right = p->rest_right;
        for (uint32_t k = 0; k < p->n_items; k++) {
            items_left += p->items[k].left;
            items_right += p->items[k].right;
        }
        assert_near(items_left, p->row.left);
        assert_near(items_right, p->row.right);
        left += p->row.left;
        right += p->row.right;
        delta += p->row.delta;
    }
    assert_near(left, c->left.mean_duration_ns);
    assert_near(right, c->right.mean_duration_ns);
    assert_near(delta, c->time.duration.delta);
    assert_near(delta, c->right.mean_duration_ns - c->left.mean_duration_ns);
}

/* The means of what each span's own breakdown says. */
static void check_ledgers(const struct sf_comparison *c)
{
    double sums[2][SF_LEDGER_VIEW_PARTS] = {{0}};
    struct sf_ledger_view v = {0};
    for (uint32_t t = 0; t < TRACES; t++) {
        assert_ok(sf_span_ledger_make(rig.store, trace_of(t), span_of(t, 0), &rig.q, &v, NULL));
        for (uint32_t i = 0; i < v.n_parts; i++) {
            assert_int_equal(v.parts[i].cut_ns, 0);
            sums[t % 2][i] += (double)v.parts[i].ns / (TRACES / 2);
        }
    }
    for (uint32_t i = 0; i < v.n_parts; i++) {
        if (sums[0][i] + sums[1][i] == 0)
            continue;
        const struct sf_comparison_part *p = part_of(c, v.parts[i].name);
        assert_near(p->row.left, sums[0][i]);
        assert_near(p->row.right, sums[1][i]);
    }
}

static void check_text(const struct sf_comparison *c, const char *text)
{
    struct sf_buf out = {0};
    sf_comparison_text(c, &out);
    check_contains(&out, text);
}

TEST(compare_time, divides_the_difference_in_duration_into_parts_that_add_up_to_it)
{
    begin(true);
    struct sf_comparison c = compare_orders();
    assert_int_equal(c.time.n_left, TRACES / 2);
    assert_int_equal(c.time.n_right, TRACES / 2);
    check_sums(&c);
    check_ledgers(&c);
    /* The call is all of the difference but the chance of some milliseconds. */
    assert_str(sf_str_from(c.time.parts[0].name), "remote");
    const struct sf_comparison_part *remote = &c.time.parts[0];
    assert_true(remote->row.is_significant && c.time.duration.is_significant);
    assert_true(remote->row.delta > 0.9 * c.time.duration.delta);
    assert_true(remote->row.low < remote->row.delta && remote->row.high > remote->row.delta);
    assert_int_equal(remote->n_items, 1);
    assert_str(remote->items[0].function, "stock: reserve");
    assert_str(part_of(&c, "child")->items[0].function, "price");
    assert_true(part_of(&c, "cpu")->n_items == 2 && part_of(&c, "lock")->n_items == 1);
    assert_true(part_of(&c, "cpu")->row.delta < 0.05 * c.time.duration.delta);
    check_text(&c, "right spans take ");
    check_text(&c, "+79 ms (100 %, mostly stock: reserve)");
    check_text(&c, "stock: reserve");
    end();
}

TEST(compare_time, compares_durations_and_child_spans_without_any_profile)
{
    begin(false);
    struct sf_comparison c = compare_orders();
    assert_int_equal(c.type.len, 0);
    check_sums(&c);
    check_ledgers(&c);
    assert_str(sf_str_from(c.time.parts[0].name), "remote");
    assert_true(c.time.duration.is_significant && c.time.summary.len > 0);
    check_text(&c, "no profiles of time from these spans' services");
    check_text(&c, "right spans take ");
    end();
}

TEST(compare_time, brings_children_of_other_hosts_to_the_clock_of_the_span)
{
    has_skew = true;
    begin(true);
    struct sf_comparison c = compare_orders();
    check_sums(&c);
    check_ledgers(&c);
    assert_str(sf_str_from(c.time.parts[0].name), "remote");
    assert_true(c.time.parts[0].row.delta > 0.9 * c.time.duration.delta);
    end();
}

static struct sf_span_set find(const char *query, struct sf_link_keep *keep)
{
    struct sf_span_set set;
    struct sf_span_set_want want = {.query = sf_str_from(query),
                                    .from_ns = NOW_NS,
                                    .to_ns = NOW_NS + INT64_C(7200) * 1000 * MS,
                                    .limit_traces = 1000,
                                    .scratch = &scratch,
                                    .keep = keep};
    assert_ok(sf_span_set_find(rig.store, &want, &rig.q, &set, NULL));
    sf_span_set_sort(&set);
    return set;
}

TEST(compare_time, takes_fewer_spans_or_says_what_failed_when_memory_is_short)
{
    struct sf_link_keep keep;
    bool has_failed = false, was_whole = false;
    begin(true);
    assert_true(sf_link_keep_init(&keep, 1000, &rig.arena) && sf_link_keep_figures(&keep));
    struct sf_span_set left = find("{ name = \"order\" && span.side = 0 }", &keep),
                       right = find("{ name = \"order\" && span.side = 1 }", &keep);
    sf_link_keep_end(&keep);
    for (size_t len = 1 << 16; !was_whole && len < (size_t)64 << 20; len += len / 4) {
        struct sf_arena small = {0};
        struct sf_compare_time_want want = {
            .left = &left, .right = &right, .keep = &keep, .scratch = &small};
        struct sf_comparison_time t;
        struct sf_why why = {0};
        double sum = 0;
        assert_true(sf_arena_init(&small, len));
        assert_ok(sf_compare_time_make(rig.store, &want, &rig.q, &t, &why));
        sf_arena_done(&small);
        for (uint32_t i = 0; i < t.n_parts; i++)
            sum += t.parts[i].row.delta;
        assert_near(sum, t.duration.delta);
        has_failed = has_failed || sf_str_starts(t.reason, SF_STR("the parts of the duration are"));
        was_whole = t.n_left == TRACES / 2;
        assert_true(was_whole || t.n_left == 0 || t.n_left <= TRACES / 4);
        assert_true((t.n_left == 0) == (t.n_parts == 0));
    }
    assert_true(has_failed && was_whole);
    end();
}

TEST(compare_time, says_nothing_of_parts_when_a_side_is_empty)
{
    begin(true);
    struct sf_comparison c = compare("{ name = \"order\" }", "{ name = \"nothing\" }");
    assert_int_equal(c.time.n_parts, 0);
    assert_int_equal(c.time.summary.len, 0);
    check_text(&c, "no spans match on the right");
    end();
}
