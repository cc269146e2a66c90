#include "test.h"

#include <string.h>

#include "intake/recent_traces.h"
#include "intake/shed_detail.h"

static const sf_str TENANT = {"red", 3};
static struct sf_why why;
static struct sf_arena req;
static struct sf_recent_traces *recent;

static sf_trace_id trace_of(uint8_t n)
{
    sf_trace_id id;
    memset(&id, n, sizeof(id));
    return id;
}

/* A failed trace 1, a slow trace 2, a dull trace 3. */
static void begin(void)
{
    static struct sf_span list[3];
    struct sf_span_batch spans = {.spans = list, .n_spans = 3};
    for (uint8_t i = 0; i < 3; i++)
        list[i] = (struct sf_span){.trace_id = trace_of((uint8_t)(i + 1)),
                                   .span_id = i + 1u,
                                   .start_ns = 1000,
                                   .end_ns = i == 1 ? 3000 : 1500};
    list[0].status = SF_STATUS_ERROR;
    recent = sf_recent_traces_new((struct sf_recent_rule){.slow_ns = 2000, .has_errors = true});
    assert_true(recent && sf_arena_init(&req, 1 << 20));
    sf_recent_traces_note(recent, TENANT, &spans);
}

static void end(void)
{
    sf_recent_traces_free(recent);
    sf_arena_done(&req);
}

enum { N = 6 };

/* Failed, slow by its span alone, dull, a time without ids, nothing, of another tenant's trace. */
static struct sf_shed_counts shed(enum sf_pressure level, sf_str tenant, struct sf_sample *out)
{
    static const struct sf_series series = {.service = {"shop", 4}};
    struct sf_sample samples[N] = {{.trace_id = trace_of(1), .span_id = 9},
                                   {.span_id = 2},
                                   {.trace_id = trace_of(3), .span_id = 3},
                                   {.has_time = true, .start_ns = 5, .length_ns = 7},
                                   {.value = 3},
                                   {.trace_id = trace_of(4)}};
    struct sf_profile_batch p = {.series = &series, .n_series = 1, .samples = samples};
    struct sf_shed_detail how = {level, recent, tenant};
    struct sf_shed_counts counts = {0};
    p.n_samples = N;
    assert_int_equal(sf_shed_detail(&how, &req, &p, &counts, &why), SF_OK);
    memcpy(out, p.samples, sizeof(samples));
    return counts;
}

static bool has_detail(const struct sf_sample *s)
{
    return s->span_id || s->has_time || s->start_ns || s->length_ns ||
           !sf_trace_id_is_zero(s->trace_id);
}

TEST(shed_detail, dull_samples_lose_their_detail_first_and_all_of_them_next)
{
    struct sf_sample s[N];
    struct sf_shed_counts n;
    begin();
    n = shed(SF_PRESSURE_NONE, TENANT, s);
    assert_int_equal(n.n_baseline + n.n_other, 0);
    assert_true(has_detail(&s[0]) && has_detail(&s[2]));
    n = shed(SF_PRESSURE_BASELINE, TENANT, s);
    assert_int_equal(n.n_baseline, 3);
    assert_int_equal(n.n_other, 0);
    assert_true(has_detail(&s[0]) && has_detail(&s[1]));
    assert_false(has_detail(&s[2]) || has_detail(&s[3]) || has_detail(&s[5]));
    assert_int_equal(s[4].value, 3);
    n = shed(SF_PRESSURE_DETAIL, TENANT, s);
    assert_int_equal(n.n_baseline, 3);
    assert_int_equal(n.n_other, 2);
    for (unsigned i = 0; i < N; i++)
        assert_false(has_detail(&s[i]));
    end();
}

TEST(shed_detail, traces_of_one_tenant_say_nothing_of_another)
{
    struct sf_sample s[N];
    begin();
    assert_int_equal(shed(SF_PRESSURE_BASELINE, SF_STR("blue"), s).n_baseline, 5);
    end();
}

TEST(shed_detail, a_profile_of_one_request_is_refused_whole)
{
    static const struct sf_series series = {.service = {"shop", 4}, .is_request = true};
    const struct sf_sample sample = {.trace_id = {{3}}};
    struct sf_profile_batch p = {
        .series = &series, .n_series = 1, .samples = &sample, .n_samples = 1};
    struct sf_shed_detail how = {SF_PRESSURE_BASELINE, NULL, TENANT};
    struct sf_shed_counts counts = {0};
    assert_int_equal(sf_shed_detail(&how, &req, &p, &counts, &why), SF_ERR_BUSY);
    assert_true(counts.is_of_request);
    assert_ptr_equal(p.samples, &sample);
}
