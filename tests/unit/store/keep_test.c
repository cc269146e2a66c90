#include "test.h"

#include <signal.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/trace_share.h"
#include "model/process.h"
#include "store/local/keep/pinned.h"
#include "store/local/keep/thinning.h"
#include "store/local/keep/verdicts.h"
#include "support/profile_store_rig.h"

static const int64_t HOUR = SF_NS_PER_HOUR;
enum { SHARE = 3000 }; /* the watched span is in it, (1, 4) is not */

static struct sf_retention rules(uint32_t baseline)
{
    return (struct sf_retention){
        .min_free_len = 1,
        .tail_delay_ns = SF_NS_PER_HOUR,
        .keep = {.is_on = true, .all = {.slow_ns = SF_NS_PER_S, .baseline_per_10000 = baseline}}};
}

static void work(struct profile_store *r)
{
    assert_ok(r->r.store->ops->flush(r->r.store, &r->r.why));
    for (int i = 0; i < 2; i++)
        assert_ok(sf_compact_all(store_rig_local(&r->r), &r->r.why));
}

/* The rules hold from the next hour on: in it, profiles are sent. */
static int64_t fill_an_hour(struct profile_store *r, uint32_t baseline)
{
    struct sf_retention rule = rules(baseline);
    int64_t hour;
    profile_store_init(r);
    assert_ok(r->r.store->ops->retain(r->r.store, &rule, &r->r.why));
    profile_store_now_ns = (profile_store_now_ns / HOUR + 1) * HOUR + 60 * SF_NS_PER_S;
    hour = profile_store_now_ns / HOUR;
    profile_store_send(r, 30);
    work(r);
    return hour;
}

static void wait_for_the_verdict(struct profile_store *r)
{
    profile_store_now_ns = (profile_store_now_ns / HOUR + 1) * HOUR + 660 * SF_NS_PER_S;
    /* closed: merged into the hour's block */
    work(r);
    profile_store_now_ns += HOUR + 60 * SF_NS_PER_S;
    work(r);
}

struct rows { /* of the detail rows: how many each span has */
    uint64_t n[3][50], all;
};

static struct rows read_rows(struct profile_store *r)
{
    struct sf_detail_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
    struct sf_detail_list list;
    struct rows out = {0};
    assert_ok(r->r.store->ops->detail_list(r->r.store, &query, &r->r.q, &list, &r->r.why));
    for (uint32_t i = 0; i < list.rows.n_rows; i++) {
        for (uint32_t s = 0; s < 3; s++) {
            for (uint32_t k = 0; k < 50; k++)
                out.n[s][k] += list.rows.span_id[i] == sf_profile_make_span(s, k);
        }
        out.all++;
    }
    return out;
}

static bool is_in_baseline(uint32_t service, uint32_t span)
{
    return sf_trace_share_has(sf_profile_make_trace(service, span).b, SHARE);
}

/* Keeps one trace that is not in the baseline. */
static void put_verdict(struct profile_store *r, int64_t hour)
{
    struct sf_keep_due due;
    struct sf_verdict_entry trace = {.id = sf_profile_make_trace(1, 4),
                                     .reasons = 1u << SF_KEEP_SLOW,
                                     .baseline_per_10000 = SHARE,
                                     .n_spans = 1};
    sf_span_id span = sf_profile_make_span(1, 4);
    const sf_str services[] = {SF_STR("service-0"), SF_STR("service-1")};
    assert_ok(r->r.store->ops->keep_due(r->r.store, &r->a, &due, &r->r.why));
    assert_int_equal(due.hour, hour);
    assert_int_equal(due.tenant, 1);
    struct sf_verdict v = {.head = {.tenant = 1,
                                    .hour = hour,
                                    .lsn = due.lsn,
                                    .created_ns = profile_store_now_ns,
                                    .version = due.version},
                           .rules = due.rules,
                           .traces = &trace,
                           .n_kept = 1,
                           .spans = &span,
                           .n_kept_spans = 1,
                           .services = services,
                           .n_services = 2};
    assert_ok(r->r.store->ops->keep_put(r->r.store, &v, &r->r.why));
}

static void check_thinned(struct profile_store *r, const struct rows *before)
{
    struct rows after = read_rows(r);
    uint32_t n_gone = 0, n_baseline = 0;
    for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t k = 0; k < 50; k++) {
            bool is_kept = is_in_baseline(s, k) || (s == 1 && k / 4 == 1);
            assert_int_equal(after.n[s][k], is_kept ? before->n[s][k] : 0);
            n_gone += !is_kept && before->n[s][k] > 0;
            n_baseline += is_in_baseline(s, k);
        }
    }
    assert_true(n_gone > 20);
    assert_true(n_baseline > 0); /* how many: tests/prop/keep_share_prop.c */
    profile_store_check(r);      /* every aggregate, and the span that is kept */
}

TEST(keep, thins_the_rows_of_an_hour_and_no_aggregate)
{
    struct profile_store r;
    struct rows before;
    struct sf_keep_due due;
    int64_t hour = fill_an_hour(&r, SHARE);
    assert_true(is_in_baseline(1, 3) && !is_in_baseline(1, 4));
    before = read_rows(&r);
    assert_true(before.all > 300);
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    wait_for_the_verdict(&r);
    assert_int_equal(read_rows(&r).all, before.all); /* whole until it is judged */
    put_verdict(&r, hour);
    work(&r);
    check_thinned(&r, &before);
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    profile_store_reopen(&r);
    check_thinned(&r, &before);
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    profile_store_check_disk(&r);
    profile_store_done(&r);
}

static bool keeps(struct sf_thinning *t, uint64_t process, int64_t at_ns,
                  struct sf_profile_detail d)
{
    struct sf_thinning_row row = {.d = &d, .process = process, .service = SF_STR("shop")};
    d.start_ns = at_ns;
    d.length_ns = 10;
    return sf_thinning_keeps(t, &row);
}

TEST(keep, leaves_rows_without_an_id_where_a_kept_request_ran)
{
    const uint64_t mine = 5, guessed = sf_process_hash(SF_STR("shop"), SF_STR_NONE);
    struct sf_profile_detail untagged = {.has_time = true}, dull = {.span_id = 7},
                             dull_trace = {.trace_id = sf_profile_make_trace(1, 4)};
    struct sf_verdict_root roots[] = {{mine, 100, 200}, {guessed, 400, 500}};
    int64_t until_ns[] = {200, 500};
    struct sf_thinning t = {.is_on = true, .verdict = {.n_roots = 2}};
    qsort(roots, 2, sizeof(roots[0]), sf_verdict_root_cmp);
    for (int i = 0; i < 2; i++)
        until_ns[i] = roots[i].end_ns;
    t.verdict.roots = roots;
    t.verdict.until_ns = until_ns;
    assert_true(keeps(&t, mine, 150, untagged));
    assert_true(keeps(&t, mine, 195, untagged)); /* it overlaps its end */
    assert_false(keeps(&t, mine, 250, untagged));
    assert_false(keeps(&t, 6, 150, untagged)); /* of another process */
    assert_true(keeps(&t, 6, 450, untagged));  /* whose process is a guess: any of the service */
    assert_false(keeps(&t, mine, 150, dull));  /* it says whose it is */
    assert_false(keeps(&t, mine, 150, dull_trace));
    assert_int_equal(t.n_left_out, 4);
}

TEST(keep, says_what_became_of_each_trace)
{
    struct profile_store r;
    int64_t hour = fill_an_hour(&r, SHARE);
    int64_t at_ns = hour * HOUR + 90 * SF_NS_PER_S;
    struct sf_keep_ask asks[] = {
        {sf_profile_make_trace(1, 4), at_ns, at_ns + 1, SF_STR_NONE},
        {sf_profile_make_trace(1, 16), at_ns, at_ns + 1, SF_STR_NONE},
        {sf_profile_make_trace(1, 16), at_ns - HOUR, at_ns - HOUR, SF_STR_NONE},
        {sf_profile_make_trace(1, 16), at_ns, at_ns + 1, SF_STR("service-1")},
        {sf_profile_make_trace(1, 16), at_ns, at_ns + 1, SF_STR("service-2")}};
    struct sf_keep_state states[5];
    wait_for_the_verdict(&r);
    assert_ok(r.r.store->ops->keep_states(r.r.store, asks, 5, &r.r.q, states, &r.r.why));
    assert_int_equal(states[0].fate, SF_FATE_WHOLE);
    put_verdict(&r, hour);
    assert_ok(r.r.store->ops->keep_states(r.r.store, asks, 5, &r.r.q, states, &r.r.why));
    assert_int_equal(states[0].fate, SF_FATE_KEPT);
    assert_int_equal(states[0].reasons, 1u << SF_KEEP_SLOW);
    assert_true(sf_keep_chance(&states[0]) == 1);
    assert_int_equal(states[1].fate, SF_FATE_THINNED);
    assert_int_equal(states[1].hour, hour);
    assert_true(sf_keep_chance(&states[1]) == 0.3);
    assert_int_equal(states[2].fate, SF_FATE_WHOLE); /* its hour was not judged */
    assert_true(states[1].has_tags);                 /* some service's samples had span ids */
    assert_true(states[3].has_tags);
    assert_int_equal(states[4].fate, SF_FATE_THINNED);
    assert_false(states[4].has_tags); /* this service's had none */
    profile_store_done(&r);
}

TEST(keep, judges_an_hour_again_when_samples_come_in_late)
{
    struct profile_store r;
    struct rows before, late;
    struct sf_keep_due due;
    struct sf_profile_batch p;
    int64_t hour = fill_an_hour(&r, SHARE), kept_ns;
    wait_for_the_verdict(&r);
    put_verdict(&r, hour);
    work(&r);
    before = read_rows(&r);
    kept_ns = profile_store_now_ns;
    r.make.now_ns = hour * HOUR + 600 * SF_NS_PER_S;
    sf_profile_make_one(&r.make, 0, 120, &r.a, &p);
    assert_ok(store_put_batch(&r.r, 0, profile_store_logged(&r, &p, 0)));
    work(&r);
    late = read_rows(&r);
    assert_true(late.all > before.all); /* whole for as long as if it were new */
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    profile_store_now_ns += HOUR + 60 * SF_NS_PER_S;
    work(&r);
    assert_ok(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why));
    assert_true(due.has_before && due.hour == hour);
    put_verdict(&r, hour);
    work(&r);
    assert_true(read_rows(&r).all < late.all && read_rows(&r).all >= before.all);
    assert_true(profile_store_now_ns > kept_ns);
    profile_store_done(&r);
}

TEST(keep, judges_hours_by_the_rules_they_began_with)
{
    struct profile_store r;
    struct sf_keep_due due;
    struct sf_retention rule = rules(7);
    int64_t hour = fill_an_hour(&r, SHARE);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why)); /* in that very hour */
    rule = rules(9);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why)); /* the one before never held */
    profile_store_now_ns = (hour + 1) * HOUR + 60 * SF_NS_PER_S;
    profile_store_send(&r, 6);
    wait_for_the_verdict(&r);
    assert_ok(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why));
    assert_int_equal(due.rules.all.baseline_per_10000, SHARE);
    assert_int_equal(due.version, 1);
    put_verdict(&r, hour);
    profile_store_now_ns += HOUR;
    work(&r);
    assert_ok(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why));
    assert_int_equal(due.hour, hour + 1);
    assert_int_equal(due.rules.all.baseline_per_10000, 9);
    assert_true(due.version > 1);
    profile_store_done(&r);
}

TEST(keep, remembers_a_bounded_number_of_rule_sets)
{
    struct profile_store r;
    struct sf_retention rule;
    const struct sf_keep_book *b;
    profile_store_init(&r);
    b = &store_rig_local(&r.r)->keep;
    for (uint32_t i = 0; i <= SF_LIMIT_RULE_SETS; i++) {
        rule = rules(i + 1);
        assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why));
        profile_store_now_ns += HOUR; /* changed every hour */
        if (i == SF_LIMIT_RULE_SETS - 1)
            assert_true(b->n_sets == SF_LIMIT_RULE_SETS && b->sets[0].version == 1);
    }
    assert_int_equal(b->n_sets, SF_LIMIT_RULE_SETS);
    assert_int_equal(b->sets[0].version, 2); /* the oldest went */
    assert_int_equal(b->sets[b->n_sets - 1].version, SF_LIMIT_RULE_SETS + 1);
    profile_store_done(&r);
}

TEST(keep, never_judges_what_came_before_the_first_rules)
{
    struct profile_store r;
    struct sf_retention rule = rules(SHARE);
    struct sf_keep_due due;
    profile_store_init(&r);
    profile_store_send(&r, 9);
    work(&r);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why));
    profile_store_now_ns += 5 * HOUR;
    work(&r);
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    profile_store_done(&r);
}

TEST(keep, judges_nothing_when_all_is_kept)
{
    struct profile_store r;
    struct sf_retention rule = rules(0);
    struct sf_keep_due due;
    struct rows before;
    rule.keep.is_on = false; /* retention.detail_by_outcome */
    profile_store_init(&r);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why));
    profile_store_now_ns = (profile_store_now_ns / HOUR + 1) * HOUR + 60 * SF_NS_PER_S;
    profile_store_send(&r, 9);
    before = read_rows(&r);
    wait_for_the_verdict(&r);
    assert_int_equal(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why), SF_ERR_NOT_FOUND);
    work(&r);
    assert_true(before.all > 0 && read_rows(&r).all == before.all);
    profile_store_done(&r);
}

TEST(keep, judges_all_of_a_directory_that_begins_with_rules)
{
    struct profile_store r;
    struct sf_keep_due due;
    profile_store_init(&r);
    store_rig_close(&r.r);
    store_rig_remove(r.r.path);
    sf_dir_close(r.r.dir);
    store_rig_dir(&r.r);
    r.r.config.retention = rules(SHARE);
    assert_ok(store_rig_open(&r.r));
    profile_store_send(&r, 9);
    wait_for_the_verdict(&r);
    assert_ok(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why));
    profile_store_done(&r);
}

TEST(keep, merges_a_day_only_when_its_hours_are_thinned)
{
    struct profile_store r;
    struct sf_local_stats stats;
    int64_t hour = fill_an_hour(&r, SHARE);
    profile_store_now_ns = (hour + 1) * HOUR + 60 * SF_NS_PER_S;
    profile_store_send(&r, 6);
    profile_store_now_ns = (hour / 24 + 1) * SF_NS_PER_DAY + 4 * HOUR;
    work(&r);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[2], 0);
    for (int i = 0; i < 2; i++) {
        profile_store_now_ns += 2 * HOUR;
        work(&r);
        put_verdict(&r, hour + i);
        work(&r);
    }
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[2], 1);
    profile_store_check(&r);
    profile_store_done(&r);
}

/* ---- files ---- */

static void change_file(struct profile_store *r, const char *name, long at, uint8_t value)
{
    char path[400];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", r->r.path, name);
    f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    fputc(value, f);
    fclose(f);
}

TEST(keep, sets_a_damaged_verdict_aside_and_judges_once_more)
{
    struct profile_store r;
    struct sf_keep_due due;
    char name[64];
    int64_t hour = fill_an_hour(&r, SHARE);
    wait_for_the_verdict(&r);
    put_verdict(&r, hour);
    work(&r);
    store_rig_close(&r.r);
    snprintf(name, sizeof(name), "verdict/1-%lld.sfv", (long long)hour);
    change_file(&r, name, 40, 0xee);
    assert_ok(store_rig_open(&r.r));
    assert_non_null(strstr(r.r.last_notice, "orphan"));
    assert_ok(r.r.store->ops->keep_due(r.r.store, &r.a, &due, &r.r.why));
    assert_int_equal(due.hour, hour);
    put_verdict(&r, hour);
    change_file(&r, name, 120, 0xee); /* behind the head: found when it is read */
    struct sf_verdict v;
    assert_int_equal(r.r.store->ops->keep_get(r.r.store, 1, hour, &r.a, &v, &r.r.why),
                     SF_ERR_CORRUPT);
    assert_int_equal(r.r.store->ops->keep_get(r.r.store, 1, hour, &r.a, &v, &r.r.why),
                     SF_ERR_NOT_FOUND);
    profile_store_done(&r);
}

/* A file as a later version would write it: another number, its checksum at the end. */
static void write_newer(struct profile_store *r, const char *name, const char magic[4])
{
    char path[400];
    struct sf_buf bytes = {0};
    FILE *f;
    sf_buf_add(&bytes, magic, 4);
    sf_buf_add_u16le(&bytes, 2);
    for (int i = 0; i < 30; i++)
        sf_buf_add_u16le(&bytes, 0);
    sf_buf_add_u64le(&bytes, sf_hash(bytes.p, bytes.len));
    snprintf(path, sizeof(path), "%s/%s", r->r.path, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(bytes.p, 1, bytes.len, f);
    fclose(f);
    sf_buf_done(&bytes);
}

TEST(keep, does_not_start_with_files_of_a_later_version)
{
    static const char *const names[] = {"verdict/pins", "verdict/rules"};
    static const char *const magics[] = {"SFN1", "SFR1"};
    struct profile_store r;
    char old[400], aside[400];
    struct sf_pin pin = {.tenant = 1, .until_ns = INT64_MAX};
    fill_an_hour(&r, SHARE);
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    store_rig_close(&r.r);
    for (size_t i = 0; i < 2; i++) {
        snprintf(old, sizeof(old), "%.200s/%s", r.r.path, names[i]);
        snprintf(aside, sizeof(aside), "%.200s/aside", r.r.path);
        assert_int_equal(rename(old, aside), 0);
        write_newer(&r, names[i], magics[i]);
        assert_int_equal(store_rig_open(&r.r), SF_ERR_UNSUPPORTED);
        assert_non_null(strstr(r.r.why.text, names[i]));
        assert_int_equal(rename(aside, old), 0);
    }
    assert_ok(store_rig_open(&r.r));
    profile_store_done(&r);
}

/* A flipped bit of the number is damage, which stops no start. */
TEST(keep, starts_with_a_damaged_number_of_a_format)
{
    static const char *const names[] = {"verdict/pins", "verdict/rules"};
    struct profile_store r;
    struct sf_pin pin = {.tenant = 1, .until_ns = INT64_MAX};
    fill_an_hour(&r, SHARE);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
        store_rig_close(&r.r);
        change_file(&r, names[i], 4, 33);
        assert_ok(store_rig_open(&r.r));
        assert_non_null(strstr(r.r.last_notice, names[i]));
        assert_non_null(strstr(r.r.last_notice, "checksum: moved to orphan/"));
    }
    profile_store_done(&r);
}

/* ---- pins ---- */

static uint32_t count_pins(struct profile_store *r)
{
    const struct sf_pin *list;
    uint32_t n;
    assert_ok(r->r.store->ops->pins(r->r.store, &r->r.q, &list, &n, &r->r.why));
    return n;
}

TEST(keep, pins_last_over_a_restart_until_they_end)
{
    struct profile_store r;
    const struct sf_pin *list;
    uint32_t n;
    struct sf_pin pin = {
        .tenant = 1, .trace = sf_profile_make_trace(0, 1), .note = SF_STR("look at this")};
    fill_an_hour(&r, SHARE);
    pin.until_ns = profile_store_now_ns + HOUR;
    pin.created_ns = profile_store_now_ns;
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why)); /* twice is once */
    profile_store_reopen(&r);
    assert_ok(r.r.store->ops->pins(r.r.store, &r.r.q, &list, &n, &r.r.why));
    assert_int_equal(n, 1);
    assert_true(sf_str_eq(list[0].note, SF_STR("look at this")));
    assert_int_equal(r.r.store->ops->unpin(r.r.store, 2, pin.trace, &r.r.why), SF_ERR_NOT_FOUND);
    profile_store_now_ns += HOUR + 1;
    assert_int_equal(count_pins(&r), 0);
    work(&r);
    assert_int_equal(store_rig_local(&r.r)->keep.n_pins, 0);
    profile_store_done(&r);
}

TEST(keep, has_a_bounded_number_of_pins)
{
    struct profile_store r;
    struct sf_pin pin = {.tenant = 1, .until_ns = INT64_MAX};
    fill_an_hour(&r, SHARE);
    store_rig_local(&r.r)->keep.n_pins = 0;
    for (uint32_t i = 0; i < SF_LIMIT_PINS; i += 100) { /* a file is written for each: some */
        sf_store_u64le(pin.trace.b, i + 1);
        assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    }
    for (uint32_t i = 0; i < SF_LIMIT_PINS - 10; i++) { /* the rest behind its back */
        struct sf_keep_book *b = &store_rig_local(&r.r)->keep;
        b->pins = sf_heap_grow(b->pins, SF_LIMIT_PINS + 16, sizeof(*b->pins));
        b->cap_pins = SF_LIMIT_PINS + 16;
        b->pins[b->n_pins] = b->pins[0];
        b->pins[b->n_pins].note = SF_STR_NONE;
        sf_store_u64le(b->pins[b->n_pins++].trace.b, 100000 + i);
    }
    sf_store_u64le(pin.trace.b, 7);
    assert_int_equal(r.r.store->ops->pin(r.r.store, &pin, &r.r.why), SF_ERR_LIMIT);
    assert_int_equal(count_pins(&r), SF_LIMIT_PINS);
    assert_ok(
        r.r.store->ops->unpin(r.r.store, 1, store_rig_local(&r.r)->keep.pins[3].trace, &r.r.why));
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    profile_store_done(&r);
}

TEST(keep, keeps_the_samples_of_a_trace_pinned_after_the_verdict)
{
    struct profile_store r;
    struct rows before;
    struct sf_pin pin = {.tenant = 1, .until_ns = INT64_MAX, .trace = sf_profile_make_trace(2, 5)};
    int64_t hour = fill_an_hour(&r, 0);
    before = read_rows(&r);
    assert_true(before.n[2][5] > 0 && before.n[2][8] > 0);
    wait_for_the_verdict(&r);
    put_verdict(&r, hour);
    pin.created_ns = profile_store_now_ns;
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    work(&r);
    assert_int_equal(read_rows(&r).n[2][5], before.n[2][5]);
    assert_int_equal(read_rows(&r).n[2][8], 0);
    profile_store_done(&r);
}

static int64_t cpu_total(struct profile_store *r)
{
    struct sf_prof_query query = {.type = SF_STR("process_cpu:cpu:nanoseconds")};
    const struct sf_tree *tree;
    assert_ok(r->r.store->ops->prof_merge(r->r.store, &query, &r->r.q, &tree, &r->r.why));
    return tree->total;
}

static void pass(struct profile_store *r, int hours)
{
    for (int i = 0; i < hours; i++) {
        profile_store_now_ns += HOUR;
        work(r);
    }
}

/* Past retention.detail its samples stay in their block; past retention.profiles they are all that
 * stays; when the pin ends they go. */
TEST(keep, keeps_the_samples_of_a_pinned_trace_until_the_pin_ends)
{
    struct profile_store r;
    struct rows before, now;
    struct sf_local_stats stats;
    struct sf_retention rule = {
        .min_free_len = 1, .detail_ns = 3 * HOUR, .profiles_ns = 8 * HOUR, .spans_ns = 8 * HOUR};
    struct sf_pin pin = {.tenant = 1, .trace = sf_profile_make_trace(2, 5)};
    int64_t total;
    profile_store_init(&r);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why));
    profile_store_send(&r, 30);
    pin.until_ns = profile_store_now_ns + 20 * HOUR;
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    work(&r);
    before = read_rows(&r);
    total = cpu_total(&r);
    assert_true(before.n[2][5] > 0 && before.all > before.n[2][5] && total > 0);
    pass(&r, 6);
    now = read_rows(&r);
    assert_int_equal(now.n[2][5], before.n[2][5]);
    assert_true(now.all < before.all / 2); /* its trace has four spans */
    assert_int_equal(now.n[0][5], 0);
    assert_int_equal(cpu_total(&r), total);
    r.r.config.retention = rule;
    profile_store_reopen(&r);
    work(&r);
    assert_int_equal(read_rows(&r).all, now.all);
    pass(&r, 6);
    assert_int_equal(read_rows(&r).all, now.all);
    assert_int_equal(cpu_total(&r), 0); /* totals go with retention.profiles */
    profile_store_check_disk(&r);
    pass(&r, 12);
    assert_int_equal(read_rows(&r).all, 0);
    sf_local_figures_stats(r.r.store, &stats);
    assert_int_equal(stats.n_blocks[0] + stats.n_blocks[1] + stats.n_blocks[2], 0);
    profile_store_done(&r);
}

static bool is_pinned_at(const struct sf_pinned *p, int64_t start_ns, int64_t length_ns)
{
    struct sf_profile_detail d = {.start_ns = start_ns, .length_ns = length_ns, .has_time = true};
    return sf_pinned_has(p, &d, SF_STR("shop"));
}

/* One long span, and one within it; the service of another trace sorts before and behind. */
TEST(keep, samples_without_ids_are_pinned_by_their_time)
{
    uint64_t shop = sf_hash_str(SF_STR("shop"));
    sf_trace_id trace = {{1}};
    struct sf_pinned_time times[] = {{shop - 1, 0, 9000, 9000},
                                     {shop, 100, 500, 500},
                                     {shop, 200, 210, 500},
                                     {shop + 1, 0, 9000, 9000}};
    struct sf_pinned p = {.traces = &trace, .n_traces = 1, .times = times, .n_times = 4};
    assert_true(is_pinned_at(&p, 300, 10)); /* the long one's, behind the short one */
    assert_true(is_pinned_at(&p, 500, 10));
    assert_true(is_pinned_at(&p, 50, 50));
    assert_false(is_pinned_at(&p, 501, 10));
    assert_false(is_pinned_at(&p, 50, 40));
    p.n_times = 3; /* none behind */
    assert_true(is_pinned_at(&p, 300, 10));
    p.n_times = 1; /* none of the service */
    assert_false(is_pinned_at(&p, 300, 10));
}

TEST(keep, erases_the_samples_of_a_pinned_trace_past_their_age)
{
    struct profile_store r;
    struct sf_retention rule = {.min_free_len = 1, .detail_ns = 3 * HOUR};
    struct sf_pin pin = {.tenant = 1, .trace = sf_profile_make_trace(2, 5), .until_ns = INT64_MAX};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &pin.trace, .n_traces = 1};
    profile_store_init(&r);
    assert_ok(r.r.store->ops->retain(r.r.store, &rule, &r.r.why));
    profile_store_send(&r, 30);
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    pass(&r, 6);
    assert_true(read_rows(&r).n[2][5] > 0);
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    assert_int_equal(read_rows(&r).all, 0);
    assert_int_equal(count_pins(&r), 0);
    pass(&r, 2);
    assert_int_equal(read_rows(&r).all, 0);
    profile_store_done(&r);
}

TEST(keep, forgets_verdict_and_pin_of_an_erased_trace)
{
    struct profile_store r;
    sf_trace_id trace = sf_profile_make_trace(1, 4);
    const sf_trace_id traces[] = {{{[15] = 1}}, trace, {{[0] = 255}}}; /* sorted */
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = traces, .n_traces = 3};
    struct sf_pin pin = {.tenant = 1, .until_ns = INT64_MAX, .trace = trace};
    struct sf_verdict v;
    int64_t hour = fill_an_hour(&r, SHARE);
    wait_for_the_verdict(&r);
    put_verdict(&r, hour);
    assert_ok(r.r.store->ops->pin(r.r.store, &pin, &r.r.why));
    assert_ok(r.r.store->ops->erase(r.r.store, 1, &which, &r.r.why));
    assert_int_equal(count_pins(&r), 0);
    work(&r);
    assert_ok(r.r.store->ops->keep_get(r.r.store, 1, hour, &r.a, &v, &r.r.why));
    assert_int_equal(v.n_kept, 0);
    assert_int_equal(read_rows(&r).n[1][4], 0);
    profile_store_done(&r);
}

/* ---- kill -9 ---- */

static struct profile_store *dying;
static int64_t dying_hour;

static pid_t start_rewriting(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sf_verdict_head head;
        if (store_rig_open(&dying->r))
            _exit(1);
        if (!sf_verdicts_find(store_rig_local(&dying->r), 1, dying_hour, &head))
            put_verdict(dying, dying_hour);
        for (int i = 0; i < 4; i++)
            (void)sf_compact_all(store_rig_local(&dying->r), &dying->r.why);
        _exit(0);
    }
    return pid;
}

TEST(keep, survives_kills_while_blocks_are_rewritten)
{
    enum { KILLS = 6 };
    struct profile_store r;
    struct rows before, now;
    int status = 0;
    uint32_t n_killed = 0;
    dying_hour = fill_an_hour(&r, SHARE);
    dying = &r;
    before = read_rows(&r);
    wait_for_the_verdict(&r);
    store_rig_close(&r.r); /* no thread may run while it forks */
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t pid = start_rewriting();
        usleep(500u << i); /* from half a millisecond to 16 */
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        n_killed += WIFSIGNALED(status);
        assert_ok(store_rig_open(&r.r));
        profile_store_check(&r); /* no aggregate, and no kept row is ever missing or there twice */
        now = read_rows(&r);
        for (uint32_t s = 0; s < 3; s++) {
            for (uint32_t k = 0; k < 50; k++)
                assert_true(now.n[s][k] == before.n[s][k] || now.n[s][k] == 0);
        }
        store_rig_close(&r.r);
    }
    printf("# %u of %d were killed before they ended\n", n_killed, KILLS);
    waitpid(start_rewriting(), &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ok(store_rig_open(&r.r));
    check_thinned(&r, &before);
    profile_store_check_disk(&r);
    profile_store_done(&r);
}
