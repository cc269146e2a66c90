#include "intake/intake_profiles.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "intake/intake.h"
#include "intake/quota.h"
#include "intake/redact.h"
#include "intake/series_cap.h"
#include "model/profile_codec.h"

static const int64_t AHEAD_NS = SF_NS_PER_HOUR;

static enum sf_err full(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "intake: the profile does not fit its memory");
}

static void *own_list(struct sf_arena *req, const void *list, size_t n, size_t size)
{
    void *copy = sf_arena_new_n(req, n ? n : 1, size);
    if (copy && n)
        memcpy(copy, list, n * size);
    return copy;
}

/* ---- labels and times ---- */

static bool intake_profiles_is_id(sf_str key)
{
    return sf_str_eq(key, SF_STR("trace_id")) || sf_str_eq(key, SF_STR("span_id")) ||
           sf_str_eq(key, SF_STR("profile_id"));
}

/* Ids never become labels, and the number of labels is limited. */
static bool trim_labels(struct sf_arena *req, struct sf_series *s, uint64_t *io_n_cut)
{
    struct sf_label *own;
    uint32_t n = 0, n_ids = 0;
    for (uint32_t i = 0; i < s->n_labels; i++)
        n_ids += intake_profiles_is_id(s->labels[i].key);
    if (n_ids == 0 && s->n_labels <= SF_LIMIT_LABELS)
        return true;
    own = sf_arena_new_n(req, s->n_labels, sizeof(*own));
    if (!own)
        return false;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        bool is_service = sf_str_eq(s->labels[i].key, SF_STR("service_name"));
        if (intake_profiles_is_id(s->labels[i].key))
            continue;
        if (n >= SF_LIMIT_LABELS && !is_service) {
            (*io_n_cut)++;
            continue;
        }
        own[n++] = s->labels[i];
    }
    s->labels = own;
    s->n_labels = n;
    return true;
}

static uint32_t intake_profiles_series_of(const struct sf_intake_profiles *how, sf_str service)
{
    uint64_t n = how->quota ? sf_quota_value(how->quota, how->tenant_name, service, SF_QUOTA_SERIES)
                            : 0;
    return (uint32_t)n; /* at most ten million */
}

/* May replace its label set by another one. */
static enum sf_err admit_series(const struct sf_intake_profiles *how, struct sf_arena *req,
                                struct sf_series *s, struct sf_intake_profiles_result *out,
                                struct sf_why *why)
{
    struct sf_series_limits limits = {intake_profiles_series_of(how, s->service),
                                      intake_profiles_series_of(how, SF_STR_NONE)};
    if (!how->cap)
        return SF_OK;
    switch (sf_series_cap_admit(how->cap, how->tenant, s, limits, how->recv_ns, req)) {
    case SF_SERIES_FOLDED: out->n_folded++; break;
    case SF_SERIES_NO_ROOM: return full(why);
    case SF_SERIES_REFUSED:
        out->is_over_series = true;
        return sf_fail(
            why, SF_ERR_BUSY,
            "tenant %.*s is over its limit series: %u; the new service %.*s is refused for now",
            SF_STR_ARG(sf_str_part(how->tenant_name, 0, 60)), limits.of_tenant,
            SF_STR_ARG(sf_str_part(s->service, 0, 60)));
    case SF_SERIES_TAKEN: break;
    }
    return SF_OK;
}

static enum sf_err settle_series(const struct sf_intake_profiles *how, struct sf_arena *req,
                                 struct sf_profile_batch *p, struct sf_intake_profiles_result *out,
                                 struct sf_why *why)
{
    struct sf_series *series = own_list(req, p->series, p->n_series, sizeof(*series));
    if (!series)
        return full(why);
    for (uint32_t i = 0; i < p->n_series; i++) {
        enum sf_err err = trim_labels(req, &series[i], &out->n_cut_labels)
                              ? admit_series(how, req, &series[i], out, why)
                              : full(why);
        if (err)
            return err;
        if (series[i].duration_ns < 0)
            series[i].duration_ns = 0;
        if (series[i].time_ns <= 0) {
            series[i].time_ns = how->recv_ns - series[i].duration_ns;
        } else if (series[i].time_ns > sf_add_sat_i64(how->recv_ns, AHEAD_NS)) {
            series[i].time_ns = how->recv_ns;
            out->n_retimed++;
        }
    }
    p->series = series;
    return SF_OK;
}

/* Corrects times in the future: a sample from next year would keep its block for a year. */
static enum sf_err settle_samples(const struct sf_intake_profiles *how, struct sf_arena *req,
                                  struct sf_profile_batch *p, struct sf_intake_profiles_result *out,
                                  struct sf_why *why)
{
    int64_t latest_ns = sf_add_sat_i64(how->recv_ns, AHEAD_NS);
    struct sf_sample *samples = NULL;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct sf_sample *s = &p->samples[i];
        bool is_bad = s->has_time && (s->start_ns > latest_ns || s->start_ns < 0 ||
                                      s->length_ns < 0 || s->length_ns > latest_ns - s->start_ns);
        if (!is_bad)
            continue;
        if (!samples) {
            samples = own_list(req, p->samples, p->n_samples, sizeof(*samples));
            if (!samples)
                return full(why);
        }
        if (s->start_ns > latest_ns || s->start_ns < 0)
            samples[i].start_ns = how->recv_ns;
        samples[i].length_ns = 0;
        out->n_retimed++;
    }
    if (samples)
        p->samples = samples;
    return SF_OK;
}

/* ---- the logged form ---- */

static enum sf_err log_one(const struct sf_intake_profiles *how, struct sf_batch *b,
                           uint64_t dup_hash, struct sf_why *why)
{
    struct sf_logged log = {
        .kind = SF_LOG_PROFILES, .tenant = how->tenant, .recv_ns = how->recv_ns};
    struct sf_buf own = {0}, *plain = how->tools ? sf_intake_tools_scratch(how->tools) : &own;
    enum sf_err err = SF_OK;
    sf_buf_reset(&b->body);
    sf_profile_codec_encode(b->profiles, plain);
    if (!sf_buf_ok(plain))
        err = sf_fail(why, plain->err, "intake: no memory to write a profile");
    if (!err)
        err = sf_intake_log(how->tools, &log, dup_hash, sf_buf_bytes(plain), b, why);
    sf_buf_done(&own);
    return err;
}

/* Splits what is too long for a record in halves. Both have the tables; the store adds up a profile
 * that was split. */
static enum sf_err log_pieces(const struct sf_intake_profiles *how, struct sf_batch *b,
                              uint64_t dup_hash, struct sf_why *why)
{
    struct sf_profile_batch *first, *second;
    struct sf_batch *more;
    enum sf_err err = log_one(how, b, dup_hash, why);
    if (err != SF_ERR_LIMIT || b->profiles->n_samples < 2)
        return err;
    first = sf_arena_new(&b->arena, sizeof(*first));
    second = sf_arena_new(&b->arena, sizeof(*second));
    more = first && second ? sf_batch_new(64 << 10) : NULL;
    if (!more)
        return sf_fail(why, SF_ERR_NOMEM, "intake: no memory to cut a profile in two");
    *first = *second = *b->profiles;
    first->n_samples /= 2;
    second->samples += first->n_samples;
    second->n_samples -= first->n_samples;
    b->profiles = first;
    more->profiles = second;
    more->next = b->next;
    b->next = more;
    err = log_pieces(how, more, 0, why);
    return err ? err : log_pieces(how, b, dup_hash, why);
}

enum sf_err sf_intake_profiles(const struct sf_intake_profiles *how, struct sf_batch *b,
                               struct sf_intake_profiles_result *out, struct sf_why *why)
{
    struct sf_intake_profiles_result result = {0};
    struct sf_profile_batch *p = sf_arena_new(&b->arena, sizeof(*p));
    enum sf_err err = SF_OK;
    if (!p)
        return full(why);
    *p = *b->profiles;
    if (how->redactor)
        err = sf_redact_profiles(how->redactor, p, &b->arena, NULL, &result.n_redacted, why);
    if (!err)
        err = settle_series(how, &b->arena, p, &result, why);
    if (!err)
        err = settle_samples(how, &b->arena, p, &result, why);
    if (!err)
        err = sf_shed_detail(&how->shed, &b->arena, p, &result.shed, why);
    if (err) {
        out->is_over_series = result.is_over_series;
        return err;
    }
    b->profiles = p;
    result.n_samples = p->n_samples;
    result.n_series = p->n_series;
    err = log_pieces(how, b, how->dup_hash, why);
    if (!err)
        *out = result;
    return err;
}

uint64_t sf_intake_profiles_hash(uint32_t tenant, sf_str parameters, sf_bytes body)
{
    uint64_t hash = sf_hash_mix(sf_hash(body.p, body.len), tenant);
    hash = sf_hash_mix(hash, sf_hash_str(parameters));
    return hash ? hash : 1;
}
