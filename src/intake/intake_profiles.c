/* intake_profiles.c - completes decoded profiles for the store and chooses what the log keeps.
 *
 * Redaction first, then labels and times, then detail rows that are shed under load. If none of
 * these changed anything and all text of the upload was scanned, the log gets the bytes as
 * received; otherwise the normalised form, cut in halves until each fits in a record. */
#include "intake/intake_profiles.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "decode/profile_sent.h"
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

/* Whether the bytes carry no text outside the profile: uncompressed, or a single gzip member whose
 * header has no file name or comment. */
static bool intake_profiles_is_bare(sf_str bytes)
{
    const char *at = bytes.p, *end = bytes.p + bytes.len;
    if (sf_str_starts(bytes, SF_STR("\x28\xb5\x2f\xfd")))
        return false; /* zstd skippable frames may hold any text */
    if (!sf_str_starts(bytes, SF_STR("\x1f\x8b")))
        return true;
    if (bytes.len < 4 || bytes.p[3])
        return false;
    while ((at = memchr(at + 1, 0x1f, (size_t)(end - at - 1)))) {
        if (end - at > 2 && at[1] == '\x8b' && at[2] == '\x08')
            return false;
    }
    return true;
}

/* Whether decoding the received bytes again gives exactly `p`: intake refused, cut and changed
 * nothing. */
static bool is_as_sent(const struct sf_intake_profiles *how, const struct sf_profile_batch *p,
                       const struct sf_intake_profiles_result *r)
{
    const struct sf_profile_drops *d = &p->drops;
    return how->hint && p->is_all_seen && how->bytes.len <= SF_LIMIT_LOGGED_BODY_LEN &&
           intake_profiles_is_bare(how->bytes) && sf_profile_sent_can(how->hint) &&
           !r->n_redacted && !r->n_folded && !r->n_cut_labels && !r->shed.n_baseline &&
           !r->shed.n_other && !d->n_samples && !d->n_frames && !d->n_parts && !d->n_labels &&
           !d->n_cut_stacks && !d->n_cut_names;
}

/* Scans the texts that are in the received bytes or the request's parameters but not in the batch.
 * Sets `*out` to false if one of them contains a secret. */
static enum sf_err check_unseen(const struct sf_intake_profiles *how, struct sf_arena *req,
                                const struct sf_profile_batch *p, bool *out, struct sf_why *why)
{
    const struct sf_profile_hint *h = how->hint;
    const struct sf_label own[] = {{SF_STR("service"), h->service},
                                   {SF_STR("spy"), h->spy},
                                   {SF_STR("session"), h->session_id},
                                   {SF_STR("peer"), h->peer}};
    size_t n_own = sizeof(own) / sizeof(own[0]);
    size_t n = n_own + h->n_labels + p->n_unseen;
    struct sf_attr *list = sf_arena_new_n(req, n, sizeof(*list));
    uint64_t n_found = 0;
    enum sf_err err;
    if (!list)
        return full(why);
    for (size_t i = 0; i < n; i++) {
        const struct sf_label *l = i < n_own                 ? &own[i]
                                   : i < n_own + h->n_labels ? &h->labels[i - n_own]
                                                             : &p->unseen[i - n_own - h->n_labels];
        list[i] = (struct sf_attr){l->key, {.type = SF_VALUE_STR, .str = l->val}};
    }
    err = sf_redact_profile_rest(how->redactor, (struct sf_attrs){list, (uint32_t)n}, req, &n_found,
                                 why);
    *out = n_found == 0;
    return err;
}

static enum sf_err log_sent(const struct sf_intake_profiles *how, struct sf_batch *b,
                            struct sf_why *why)
{
    struct sf_logged log = {
        .kind = SF_LOG_PROFILE_SENT, .tenant = how->tenant, .recv_ns = how->recv_ns};
    sf_buf_reset(&b->body);
    sf_buf_reserve(&b->body, how->bytes.len + 1024);
    sf_profile_sent_encode(how->hint, how->bytes, &b->body);
    if (!sf_buf_ok(&b->body))
        return sf_fail(why, b->body.err, "intake: no memory to write a profile");
    sf_intake_log_body(&log, how->dup_hash, b);
    return SF_OK;
}

static enum sf_err log_profile(const struct sf_intake_profiles *how, struct sf_batch *b,
                               const struct sf_intake_profiles_result *r, struct sf_why *why)
{
    bool is_clean = is_as_sent(how, b->profiles, r);
    enum sf_err err = SF_OK;
    if (is_clean && how->redactor)
        err = check_unseen(how, &b->arena, b->profiles, &is_clean, why);
    if (err)
        return err;
    return is_clean ? log_sent(how, b, why) : log_pieces(how, b, how->dup_hash, why);
}

enum sf_err sf_intake_profiles_again(struct sf_batch *b, int64_t recv_ns, struct sf_why *why)
{
    struct sf_intake_profiles how = {.recv_ns = recv_ns};
    struct sf_intake_profiles_result result = {0};
    struct sf_profile_batch *p = sf_arena_new(&b->arena, sizeof(*p));
    enum sf_err err = SF_OK;
    if (!p)
        return full(why);
    *p = *b->profiles;
    err = settle_series(&how, &b->arena, p, &result, why);
    if (!err)
        err = settle_samples(&how, &b->arena, p, &result, why);
    if (!err)
        b->profiles = p;
    return err;
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
        out->shed.is_of_request = result.shed.is_of_request;
        return err;
    }
    b->profiles = p;
    result.n_samples = p->n_samples;
    result.n_series = p->n_series;
    err = log_profile(how, b, &result, why);
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
