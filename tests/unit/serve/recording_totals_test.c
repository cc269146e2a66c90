#include "test.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "serve/pyroscope/recording_totals.h"

static const sf_str TENANT = SF_STR("a"), RULE = SF_STR("abc");
static const int64_t NOW = INT64_C(1763200000) * SF_NS_PER_S;

/* One point for each value, of a group env="e0", env="e1", ... */
struct made {
    char names[8][16];
    struct sf_label labels[8];
    uint32_t ends[8];
    struct sf_prof_point points[8];
    struct sf_prof_points all;
};

static const struct sf_prof_points *points(struct made *m, uint32_t n, const int64_t *values)
{
    for (uint32_t i = 0; i < n; i++) {
        int len = snprintf(m->names[i], sizeof(m->names[i]), "e%u", i);
        m->labels[i] = (struct sf_label){SF_STR("env"), {m->names[i], (size_t)len}};
        m->ends[i] = i + 1;
        m->points[i] = (struct sf_prof_point){.group = i, .value = values[i]};
    }
    m->all = (struct sf_prof_points){{m->labels, m->ends, n}, m->points, n};
    return &m->all;
}

static const struct sf_prof_points NONE = {0};

static void apply(struct sf_recording_totals *t, int64_t closed_ns,
                  const struct sf_prof_points *closed, const struct sf_prof_points *open,
                  int64_t now_ns)
{
    struct sf_why why;
    assert_int_equal(sf_recording_totals_apply(t, sf_recording_totals_find(t, TENANT, RULE),
                                               closed_ns, closed, open, now_ns, &why),
                     SF_OK);
}

static const char *shown(struct sf_recording_totals *t, char out[1000])
{
    struct sf_recording_rule rule = {.id = RULE};
    struct sf_buf text = {0};
    struct sf_exposition e = {.out = &text};
    sf_exposition_family(&e, "m", SF_METRIC_COUNTER_BARE, "x");
    sf_buf_reset(&text);
    sf_recording_totals_render_one(sf_recording_totals_find(t, TENANT, RULE), &rule, SF_STR_NONE,
                                   &e);
    snprintf(out, 1000, "%.*s", SF_STR_ARG(sf_buf_str(&text)));
    sf_buf_done(&text);
    return out;
}

TEST(recording_totals, sums_what_is_open_anew_and_what_is_closed_once)
{
    struct sf_recording_totals t = {0};
    struct made a, b;
    char text[1000];
    assert_non_null(sf_recording_totals_add(&t, TENANT, RULE, NOW));
    apply(&t, NOW, &NONE, points(&a, 2, (int64_t[]){5, 7}), NOW);
    assert_string_equal(shown(&t, text), "m{profiles_rule_id=\"abc\",env=\"e0\"} 5\n"
                                         "m{profiles_rule_id=\"abc\",env=\"e1\"} 7\n");
    /* A late profile of 1 came for the first; then all of that is closed. */
    apply(&t, NOW, &NONE, points(&a, 2, (int64_t[]){6, 7}), NOW + 1);
    apply(&t, NOW + 10, points(&a, 2, (int64_t[]){6, 7}), points(&b, 1, (int64_t[]){100}), NOW + 2);
    assert_string_equal(shown(&t, text), "m{profiles_rule_id=\"abc\",env=\"e0\"} 106\n"
                                         "m{profiles_rule_id=\"abc\",env=\"e1\"} 7\n");
    assert_int_equal(sf_recording_totals_find(&t, TENANT, RULE)->closed_ns, NOW + 10);
    /* Erased: it does not fall. */
    apply(&t, NOW + 10, &NONE, &NONE, NOW + 3);
    assert_non_null(strstr(shown(&t, text), "env=\"e0\"} 106\n"));
    sf_recording_totals_done(&t);
}

TEST(recording_totals, drops_label_sets_that_went_quiet)
{
    struct sf_recording_totals t = {0};
    struct made a;
    char text[1000];
    assert_non_null(sf_recording_totals_add(&t, TENANT, RULE, NOW));
    apply(&t, NOW + 10, points(&a, 2, (int64_t[]){5, 7}), &NONE, NOW);
    apply(&t, NOW + 20, points(&a, 1, (int64_t[]){5}), &NONE, NOW + 16 * SF_NS_PER_MIN);
    assert_string_equal(shown(&t, text), "m{profiles_rule_id=\"abc\",env=\"e0\"} 10\n");
    assert_int_equal(t.n_series, 1);
    sf_recording_totals_done(&t);
}

TEST(recording_totals, has_a_limit_of_label_sets)
{
    struct sf_recording_totals t = {0};
    static char names[SF_LIMIT_RULE_SERIES + 1][12];
    static struct sf_label labels[SF_LIMIT_RULE_SERIES + 1];
    static uint32_t ends[SF_LIMIT_RULE_SERIES + 1];
    static struct sf_prof_point list[SF_LIMIT_RULE_SERIES + 1];
    struct sf_prof_points all = {
        {labels, ends, SF_LIMIT_RULE_SERIES + 1}, list, SF_LIMIT_RULE_SERIES + 1};
    for (uint32_t i = 0; i <= SF_LIMIT_RULE_SERIES; i++) {
        int len = snprintf(names[i], sizeof(names[i]), "%u", i);
        labels[i] = (struct sf_label){SF_STR("pod"), {names[i], (size_t)len}};
        ends[i] = i + 1;
        list[i] = (struct sf_prof_point){.group = i, .value = 1};
    }
    assert_non_null(sf_recording_totals_add(&t, TENANT, RULE, NOW));
    apply(&t, NOW, &NONE, &all, NOW);
    assert_int_equal(t.n_series, SF_LIMIT_RULE_SERIES);
    assert_int_equal(t.n_dropped, 1);
    sf_recording_totals_remove(&t, TENANT, RULE);
    assert_int_equal(t.n_series, 0);
    sf_recording_totals_done(&t);
}

TEST(recording_totals, come_back_from_their_file)
{
    struct sf_recording_totals t = {0}, again = {0};
    struct sf_buf text = {0};
    struct sf_arena arena = {0};
    struct sf_why why;
    struct made a, b;
    char first[1000], second[1000];
    assert_true(sf_arena_init(&arena, 1 << 20));
    assert_non_null(sf_recording_totals_add(&t, TENANT, RULE, NOW));
    apply(&t, NOW + 5, points(&a, 2, (int64_t[]){5, 7}), points(&b, 1, (int64_t[]){1}), NOW);
    sf_recording_totals_write(&t, &text);
    assert_int_equal(sf_recording_totals_read(&again, sf_buf_str(&text), arena, &why), SF_OK);
    assert_int_equal(sf_recording_totals_find(&again, TENANT, RULE)->closed_ns, NOW + 5);
    assert_string_equal(shown(&t, first), shown(&again, second));
    /* What was open is summed again, not added. */
    apply(&again, NOW + 5, &NONE, points(&b, 1, (int64_t[]){1}), NOW + 1);
    assert_string_equal(shown(&t, first), shown(&again, second));
    /* Cut anywhere it is read in part or refused, and never half taken. */
    for (size_t n = 0; n < text.len; n++) {
        struct sf_recording_totals part = {0};
        sf_str cut = sf_str_part(sf_buf_str(&text), 0, n);
        enum sf_err err = sf_recording_totals_read(&part, cut, arena, &why);
        assert_true(!err || (err == SF_ERR_CORRUPT && part.n == 0));
        sf_recording_totals_done(&part);
    }
    assert_int_equal(
        sf_recording_totals_read(&again, SF_STR("{\"labels\":[\"a\"],\"shown\":1}\n"), arena, &why),
        SF_ERR_CORRUPT);
    assert_int_equal(sf_recording_totals_read(&again, SF_STR("{\"labels\":[]}\n"), arena, &why),
                     SF_ERR_CORRUPT);
    assert_int_equal(again.n, 1); /* as it was */
    sf_recording_totals_done(&again);
    sf_recording_totals_done(&t);
    sf_buf_done(&text);
    sf_arena_done(&arena);
}

TEST(recording_totals, has_a_limit_of_label_sets_of_all_rules)
{
    enum { RULES = SF_LIMIT_RULES_SERIES / SF_LIMIT_RULE_SERIES };
    struct sf_recording_totals t = {0};
    struct sf_why why;
    static char names[SF_LIMIT_RULE_SERIES][12];
    static struct sf_label labels[SF_LIMIT_RULE_SERIES];
    static uint32_t ends[SF_LIMIT_RULE_SERIES];
    static struct sf_prof_point list[SF_LIMIT_RULE_SERIES];
    for (uint32_t i = 0; i < SF_LIMIT_RULE_SERIES; i++) {
        int len = snprintf(names[i], sizeof(names[i]), "%u", i);
        labels[i] = (struct sf_label){SF_STR("pod"), {names[i], (size_t)len}};
        ends[i] = i + 1;
        list[i] = (struct sf_prof_point){.group = i, .value = 1};
    }
    for (uint32_t k = 0; k <= RULES; k++) { /* the last rule has one label set too many */
        uint32_t n = k < RULES ? SF_LIMIT_RULE_SERIES : 1;
        struct sf_prof_points all = {{labels, ends, n}, list, n};
        char id[12];
        int len = snprintf(id, sizeof(id), "rule%u", k);
        assert_int_equal(t.n_dropped, 0);
        assert_non_null(sf_recording_totals_add(&t, TENANT, (sf_str){id, (size_t)len}, NOW));
        assert_ok(sf_recording_totals_apply(
            &t, sf_recording_totals_find(&t, TENANT, (sf_str){id, (size_t)len}), NOW, &NONE, &all,
            NOW, &why));
    }
    assert_int_equal(t.n_series, SF_LIMIT_RULES_SERIES);
    assert_int_equal(t.n_dropped, 1);
    sf_recording_totals_done(&t);
}
