#include "test.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "intake/intake.h"
#include "intake/intake_profiles.h"
#include "intake/redact.h"
#include "intake/series_cap.h"
#include "support/profile_make.h"

static struct sf_why why;
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;

static struct sf_batch *make(uint32_t n_samples)
{
    struct sf_profile_make m = {.rng = 7, .now_ns = NOW_NS, .span_percent = 30};
    struct sf_batch *b = sf_batch_new(SF_LIMIT_ARENA_LEN);
    struct sf_profile_batch *p;
    assert_non_null(b);
    p = sf_arena_new(&b->arena, sizeof(*p));
    sf_profile_make_one(&m, 1, n_samples, &b->arena, p);
    b->profiles = p;
    return b;
}

static void finish(struct sf_batch *b, const struct sf_redactor *r, struct sf_series_cap *cap,
                   struct sf_intake_profiles_result *out)
{
    struct sf_intake_profiles how = {
        .redactor = r, .cap = cap, .tenant = 4, .recv_ns = NOW_NS, .dup_hash = 99};
    if (sf_intake_profiles(&how, b, out, &why))
        fail_msg("%s", why.text);
}

TEST(intake_profiles, are_replayed_from_the_log_as_they_were_stored)
{
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(200), *again = NULL;
    char what[160];
    finish(b, NULL, NULL, &result);
    assert_int_equal(result.n_samples, 400);
    assert_int_equal(b->log.kind, SF_LOG_PROFILES);
    assert_int_equal(b->log.tenant, 4);
    if (sf_intake_replay(&b->log, &again, &why))
        fail_msg("%s", why.text);
    assert_int_equal(again->dup_hash, 99);
    if (!sf_profile_make_is_same(b->profiles, again->profiles, what))
        fail_msg("%s", what);
    sf_batch_free(again);
    sf_batch_free(b);
}

TEST(intake_profiles, lose_secrets_in_functions_files_and_labels_before_the_log)
{
    struct sf_redact_config config = {
        .has_builtin = true, .in_keys = true, .in_values = true, .in_names = true};
    struct sf_redactor *r = NULL;
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(20), *again = NULL;
    struct sf_profile_batch *p = (struct sf_profile_batch *)b->profiles;
    struct sf_function *f = (struct sf_function *)p->functions;
    struct sf_label *labels = (struct sf_label *)p->series[0].labels;
    assert_ok(sf_redactor_new(&config, &r, &why));
    f[3].name = SF_STR("login(AKIAIOSFODNN7EXAMPLE)");
    f[4].file = SF_STR("/home/x?password=hunter2");
    labels[0] = (struct sf_label){SF_STR("auth_token"), SF_STR("s3cr3t-value")};
    finish(b, r, NULL, &result);
    assert_true(result.n_redacted >= 3);
    assert_ok(sf_intake_replay(&b->log, &again, &why));
    assert_null(memmem(again->plain.p, again->plain.len, "AKIAIOSFODNN7EXAMPLE", 20));
    assert_null(memmem(again->plain.p, again->plain.len, "hunter2", 7));
    assert_null(memmem(again->plain.p, again->plain.len, "s3cr3t-value", 12));
    assert_str(b->profiles->series[0].labels[0].key, "auth_token");
    assert_str(b->profiles->functions[5].name, "pkg6.Function5");
    sf_batch_free(again);
    sf_batch_free(b);
    sf_redactor_free(r);
}

TEST(intake_profiles, never_keep_ids_as_labels)
{
    static struct sf_label labels[] = {{SF_STR("env"), SF_STR("dev")},
                                       {SF_STR("service_name"), SF_STR("a")},
                                       {SF_STR("span_id"), SF_STR("00f067aa0ba902b7")},
                                       {SF_STR("trace_id"), SF_STR("1")}};
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(5);
    struct sf_series *s = (struct sf_series *)b->profiles->series;
    s[0].labels = labels;
    s[0].n_labels = 4;
    finish(b, NULL, NULL, &result);
    assert_int_equal(b->profiles->series[0].n_labels, 2);
    assert_str(b->profiles->series[0].labels[1].key, "service_name");
    sf_batch_free(b);
}

TEST(intake_profiles, from_next_year_are_taken_for_todays)
{
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(5);
    struct sf_series *s = (struct sf_series *)b->profiles->series;
    struct sf_sample *samples = (struct sf_sample *)b->profiles->samples;
    s[0].time_ns = NOW_NS + INT64_C(365) * 86400 * 1000000000;
    s[1].time_ns = 0;
    samples[1].has_time = true;
    samples[1].start_ns = INT64_MAX;
    finish(b, NULL, NULL, &result);
    assert_int_equal(b->profiles->series[0].time_ns, NOW_NS);
    assert_int_equal(b->profiles->series[1].time_ns, NOW_NS - INT64_C(10000000000));
    assert_int_equal(b->profiles->samples[1].start_ns, NOW_NS);
    assert_int_equal(result.n_retimed, 2);
    sf_batch_free(b);
}

TEST(intake_profiles, fold_labels_over_the_cap_and_count_them)
{
    struct sf_series_cap *cap = sf_series_cap_new(1);
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(5);
    struct sf_series *s = (struct sf_series *)b->profiles->series;
    struct sf_label other[] = {{SF_STR("env"), SF_STR("stage")},
                               {SF_STR("service_name"), SF_STR("service-1")}};
    s[1].labels = other;
    s[1].n_labels = 2;
    finish(b, NULL, cap, &result);
    assert_int_equal(result.n_folded, 1);
    assert_str(b->profiles->series[1].labels[0].val, "other");
    assert_int_equal(b->profiles->n_samples, 10);
    sf_batch_free(b);
    sf_series_cap_free(cap);
}

/* Random ids do not compress: so many samples need several records of the log. */
TEST(intake_profiles, that_need_several_records_keep_every_sample_in_its_order)
{
    enum { N_SAMPLES = 1000 * 1000 };
    struct sf_intake_profiles_result result;
    struct sf_batch *b = make(20);
    struct sf_profile_batch *p = (struct sf_profile_batch *)b->profiles;
    struct sf_sample *samples = sf_heap_new_n(N_SAMPLES, sizeof(*samples));
    uint64_t mixed = 1, n_pieces = 0, at = 0;
    assert_non_null(samples);
    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        samples[i] = p->samples[i % p->n_samples];
        samples[i].value = i + 1;
        mixed = sf_hash_mix(mixed, i);
        samples[i].span_id = mixed | 1;
        memcpy(samples[i].trace_id.b, &mixed, 8);
        mixed = sf_hash_mix(mixed, 7);
        memcpy(samples[i].trace_id.b + 8, &mixed, 8);
    }
    p->samples = samples;
    p->n_samples = N_SAMPLES;
    finish(b, NULL, NULL, &result);
    assert_int_equal(result.n_samples, N_SAMPLES);
    for (const struct sf_batch *piece = b; piece; piece = piece->next) {
        struct sf_batch *again = NULL;
        if (sf_intake_replay(&piece->log, &again, &why))
            fail_msg("%s", why.text);
        assert_true(piece->log.body.len <= SF_LIMIT_RECORD_LEN);
        assert_int_equal(again->dup_hash, n_pieces == 0 ? 99 : 0); /* the request is known by one */
        assert_int_equal(again->profiles->n_samples, piece->profiles->n_samples);
        assert_int_equal(again->profiles->n_stacks, p->n_stacks);
        for (uint32_t i = 0; i < again->profiles->n_samples; i++, at++) {
            const struct sf_sample *s = &again->profiles->samples[i];
            if (at >= N_SAMPLES || s->value != (int64_t)at + 1 ||
                s->span_id != samples[at].span_id || s->stack != samples[at].stack)
                fail_msg("piece %u, sample %u of %u", (unsigned)n_pieces, i, (unsigned)at);
        }
        n_pieces++;
        sf_batch_free(again);
    }
    assert_int_equal(at, N_SAMPLES);
    assert_true(n_pieces > 1);
    sf_batch_free(b);
    sf_heap_free(samples);
}

TEST(intake_profiles, survive_every_failing_allocation)
{
    for (uint64_t n = 1;; n++) {
        struct sf_intake_profiles how = {.tenant = 1, .recv_ns = NOW_NS};
        struct sf_intake_profiles_result result = {0};
        struct sf_batch *b = make(30);
        enum sf_err err;
        sf_heap_fail_after(n);
        err = sf_intake_profiles(&how, b, &result, &why);
        sf_heap_fail_after(0);
        sf_batch_free(b);
        if (!err) {
            assert_int_equal(result.n_samples, 60);
            break;
        }
        assert_int_equal(err, SF_ERR_NOMEM);
        assert_true(n < 1000);
    }
}
