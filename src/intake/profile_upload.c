#include "intake/profile_upload.h"

#include <stdio.h>

#include "base/limits.h"
#include "intake/intake.h"

enum { MAX_PROFILES = 512 }; /* in one request: each holds address space until it is stored */

static void profile_upload_sum_up(struct sf_profile_upload *u,
                                  const struct sf_intake_profiles_result *r,
                                  const struct sf_profile_drops *d)
{
    u->sum.n_samples += r->n_samples;
    u->sum.n_series += r->n_series;
    u->sum.n_redacted += r->n_redacted;
    u->sum.n_folded += r->n_folded;
    u->sum.n_retimed += r->n_retimed;
    u->sum.n_cut_labels += r->n_cut_labels;
    u->sum.shed.n_baseline += r->shed.n_baseline;
    u->sum.shed.n_other += r->shed.n_other;
    u->drops.n_samples += d->n_samples;
    u->drops.n_frames += d->n_frames;
    u->drops.n_parts += d->n_parts;
    u->drops.n_labels += d->n_labels;
    u->drops.n_cut_stacks += d->n_cut_stacks;
    u->drops.n_cut_names += d->n_cut_names;
    if (!u->drops.first[0])
        snprintf(u->drops.first, sizeof(u->drops.first), "%s", d->first);
}

static enum sf_err profile_upload_decode(struct sf_profile_upload *u, struct sf_batch *b,
                                         sf_str bytes, const struct sf_profile_hint *hint,
                                         struct sf_intake_profiles_result *out, struct sf_why *why)
{
    struct sf_intake_profiles how = {.redactor = u->config->redactor,
                                     .cap = u->cap,
                                     .quota = u->quota,
                                     .tenant_name = u->tenant_name,
                                     .shed = u->shed,
                                     .tools = u->tools,
                                     .tenant = u->tenant,
                                     .recv_ns = u->recv_ns,
                                     .dup_hash = u->first ? 0 : u->dup_hash,
                                     .hint = hint,
                                     .bytes = bytes};
    struct sf_profile_batch *profiles = sf_arena_new(&b->arena, sizeof(*profiles));
    sf_str plain = bytes;
    enum sf_err err = sf_profile_format_unwrap(sf_intake_tools_inflate(u->tools), bytes, u->max_len,
                                               &b->plain, &plain, why);
    if (!err && plain.len > u->max_len)
        err = sf_fail(why, SF_ERR_LIMIT, "profile: %zu bytes exceed the limit of %zu", plain.len,
                      u->max_len);
    if (!err)
        err = sf_profile_format_decode(plain, hint, &b->arena, profiles, why);
    if (err)
        return err;
    b->profiles = profiles;
    if (profiles->n_series == 0)
        return SF_OK;
    return sf_intake_profiles(&how, b, out, why);
}

enum sf_err sf_profile_upload_add(struct sf_profile_upload *u, sf_str bytes,
                                  const struct sf_profile_hint *hint, struct sf_why *why)
{
    struct sf_intake_profiles_result result = {0};
    struct sf_profile_drops drops;
    struct sf_batch *b;
    enum sf_err err;
    if (u->n == MAX_PROFILES)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d profiles in one request", MAX_PROFILES);
    b = sf_batch_new(SF_LIMIT_ARENA_LEN);
    if (!b)
        return sf_fail(why, SF_ERR_NOMEM, "intake: no memory for a profile");
    err = profile_upload_decode(u, b, bytes, hint, &result, why);
    u->is_over_series = result.is_over_series;
    u->sum.shed.is_of_request = result.shed.is_of_request;
    if (err || b->profiles->n_series == 0) {
        sf_batch_free(b); /* SDKs send profiles without samples: nothing to store, not an error */
        return err;
    }
    drops = b->profiles->drops;
    profile_upload_sum_up(u, &result, &drops);
    u->n++;
    if (u->last)
        u->last->next = b;
    else
        u->first = b;
    for (u->last = b; u->last->next; u->last = u->last->next) {
        /* a long profile was split into pieces */
    }
    return SF_OK;
}

struct sf_batch *sf_profile_upload_take(struct sf_profile_upload *u)
{
    struct sf_batch *first = u->first;
    u->first = u->last = NULL;
    return first;
}

void sf_profile_upload_done(struct sf_profile_upload *u)
{
    sf_batch_free(u->first);
    u->first = u->last = NULL;
}

bool sf_profile_upload_is_dated(sf_str bytes)
{
    sf_str name = sf_str_from(sf_profile_format_find(bytes));
    return sf_str_starts(bytes, SF_STR("\x1f\x8b")) ||
           sf_str_starts(bytes, SF_STR("\x28\xb5\x2f\xfd")) || sf_str_eq(name, SF_STR("pprof")) ||
           sf_str_eq(name, SF_STR("jfr")) || sf_str_eq(name, SF_STR("gecko")) ||
           sf_str_starts(name, SF_STR("otlp"));
}
