#include "serve/own/profile_upload.h"

#include "serve/otlp/otlp_partial.h"
#include "serve/params.h"
#include "serve/profile_take.h"
#include "wire/json_write.h"
#include "wire/pb_write.h"
#include "wire/time_text.h"

enum { MAX_LABELS = 64 };

/* ---- POST /api/v1/profile ---- */

struct asked {
    struct sf_profile_hint hint;
    struct sf_label labels[MAX_LABELS];
    struct sf_arena *req;
};

static enum sf_err profile_upload_read_type(struct asked *a, sf_str val, struct sf_why *why)
{
    sf_str *parts[] = {&a->hint.type.name, &a->hint.type.sample_type, &a->hint.type.sample_unit,
                       &a->hint.type.period_type, &a->hint.type.period_unit};
    sf_str rest = val, part;
    size_t n = 0, at;
    if (!sf_str_find_char(val, ':', &at)) {
        a->hint.type_word = val;
        return SF_OK;
    }
    while (sf_str_split_next(&rest, ':', &part)) {
        if (n == 5)
            return sf_fail(why, SF_ERR_INPUT, "type=%.*s: at most five parts",
                           SF_STR_ARG(sf_str_part(val, 0, 80)));
        *parts[n++] = part;
    }
    return SF_OK;
}

static enum sf_err profile_upload_read_label(struct asked *a, sf_str val, struct sf_why *why)
{
    struct sf_label *l = &a->labels[a->hint.n_labels];
    l->val = val;
    if (!sf_str_split_next(&l->val, '=', &l->key) || l->key.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "label=%.*s: key=value is expected",
                       SF_STR_ARG(sf_str_part(val, 0, 80)));
    if (++a->hint.n_labels == MAX_LABELS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d labels", MAX_LABELS - 1);
    return SF_OK;
}

static enum sf_err profile_upload_read_id(struct asked *a, sf_str name, sf_str val,
                                          struct sf_why *why)
{
    a->hint.is_request = true;
    if (sf_str_eq(name, SF_STR("trace_id")))
        return sf_params_trace_id(val, &a->hint.trace_id, why);
    if (!sf_span_id_parse(val, &a->hint.span_id))
        return sf_fail(why, SF_ERR_INPUT, "%.*s=%.*s: up to 16 hexadecimal digits are expected",
                       SF_STR_ARG(name), SF_STR_ARG(sf_str_part(val, 0, 60)));
    return SF_OK;
}

static enum sf_err profile_upload_read_one(struct asked *a, sf_str name, sf_str val, int64_t now_ns,
                                           struct sf_why *why)
{
    uint64_t number;
    if (val.len == 0)
        return SF_OK;
    if (sf_str_eq(name, SF_STR("service")) || sf_str_eq(name, SF_STR("app")))
        a->hint.service = val;
    else if (sf_str_eq(name, SF_STR("type")))
        return profile_upload_read_type(a, val, why);
    else if (sf_str_eq(name, SF_STR("label")))
        return profile_upload_read_label(a, val, why);
    else if (sf_str_eq(name, SF_STR("format")))
        a->hint.format = val;
    else if (sf_str_eq(name, SF_STR("trace_id")) || sf_str_eq(name, SF_STR("span_id")) ||
             sf_str_eq(name, SF_STR("profile_id")))
        return profile_upload_read_id(a, name, val, why);
    else if (sf_str_eq(name, SF_STR("sample_rate"))) {
        if (!sf_str_to_u64(val, &number) || number > UINT32_MAX)
            return sf_fail(why, SF_ERR_INPUT, "sample_rate=%.*s is not a number of Hz",
                           SF_STR_ARG(sf_str_part(val, 0, 60)));
        a->hint.has_sample_rate = true;
        a->hint.sample_rate = (uint32_t)number;
    } else if (sf_str_eq(name, SF_STR("from")) || sf_str_eq(name, SF_STR("until"))) {
        int64_t *to = sf_str_eq(name, SF_STR("from")) ? &a->hint.from_ns : &a->hint.until_ns;
        if (!sf_time_text_parse(val, now_ns, to))
            return sf_fail(why, SF_ERR_INPUT,
                           "%.*s=%.*s is not a time; use unix seconds, RFC 3339, now or now-15m",
                           SF_STR_ARG(name), SF_STR_ARG(sf_str_part(val, 0, 60)));
    }
    return SF_OK;
}

static enum sf_err profile_upload_read_parameters(const struct sf_request *r, struct asked *a,
                                                  struct sf_why *why)
{
    struct sf_buf name = {.max = SF_LIMIT_PARAM_LEN}, val = {.max = SF_LIMIT_PARAM_LEN};
    sf_str rest = r->query;
    enum sf_err err = SF_OK;
    while (!err && sf_request_param_next(&rest, &name, &val)) {
        sf_str kept;
        err = sf_arena_copy(a->req, sf_buf_str(&val), &kept)
                  ? profile_upload_read_one(a, sf_buf_str(&name), kept, r->recv_ns, why)
                  : sf_no_room(why, "the request");
    }
    sf_buf_done(&name);
    sf_buf_done(&val);
    return err;
}

static enum sf_err read_own(struct sf_profile_take *t, struct sf_why *why)
{
    struct asked *a = sf_arena_new(&t->worker->arena, sizeof(*a));
    enum sf_err err;
    if (!a)
        return sf_no_room(why, "the request");
    a->req = &t->worker->arena;
    a->hint.labels = a->labels;
    a->hint.now_ns = t->call->request->recv_ns;
    a->hint.peer = sf_profile_take_peer(t->call);
    a->hint.max_frames = t->call->service->max_frames;
    err = profile_upload_read_parameters(t->call->request, a, why);
    if (err)
        return err;
    if (t->body.len == 0)
        return sf_profile_format_refuse(t->body, why);
    if (sf_profile_upload_is_dated(t->body))
        t->upload.dup_hash = sf_intake_profiles_hash(t->upload.tenant, t->call->request->query,
                                                     sf_str_bytes(t->body));
    t->is_malformed = true;
    return sf_profile_upload_add(&t->upload, t->body, &a->hint, why);
}

static void own_answer(struct sf_profile_take *t)
{
    struct sf_json_writer w = sf_json_writer_init(&t->call->response->body);
    const struct sf_profile_drops *d = &t->upload.drops;
    sf_call_ok(t->call, "application/json");
    sf_json_write_object(&w);
    sf_json_write_key_u64(&w, SF_STR("profiles"), t->upload.n);
    sf_json_write_key_u64(&w, SF_STR("series"), t->upload.sum.n_series);
    sf_json_write_key_u64(&w, SF_STR("samples"), t->upload.sum.n_samples);
    if (d->n_samples)
        sf_json_write_key_u64(&w, SF_STR("droppedSamples"), d->n_samples);
    if (d->n_cut_stacks)
        sf_json_write_key_u64(&w, SF_STR("cutStacks"), d->n_cut_stacks);
    if (t->upload.sum.n_folded)
        sf_json_write_key_u64(&w, SF_STR("foldedSeries"), t->upload.sum.n_folded);
    if (t->upload.sum.n_retimed)
        sf_json_write_key_u64(&w, SF_STR("retimed"), t->upload.sum.n_retimed);
    if (d->first[0])
        sf_json_write_key_str(&w, SF_STR("note"), sf_str_from(d->first));
    sf_json_write_object_end(&w);
}

bool sf_profile_upload_own(struct sf_call *call, struct sf_worker *worker)
{
    return sf_profile_take_run(call, worker, read_own, own_answer, NULL);
}

/* ---- OTLP ---- */

static enum sf_err read_otlp(struct sf_profile_take *t, struct sf_why *why)
{
    bool is_json = t->call->form == SF_FORM_OTLP_JSON;
    struct sf_profile_hint hint = {.format = is_json ? SF_STR("otlp-json") : SF_STR("otlp"),
                                   .now_ns = t->call->request->recv_ns,
                                   .peer = sf_profile_take_peer(t->call),
                                   .max_frames = t->call->service->max_frames};
    if (t->body.len == 0) /* an empty request is a message without profiles */
        return SF_OK;
    t->upload.dup_hash = sf_intake_profiles_hash(t->upload.tenant, SF_STR("otlp"),
                                                 sf_str_bytes(t->body));
    t->is_malformed = true;
    return sf_profile_upload_add(&t->upload, t->body, &hint, why);
}

static void otlp_answer(struct sf_profile_take *t)
{
    const struct sf_profile_drops *d = &t->upload.drops;
    sf_otlp_partial_answer(t->call, "rejectedProfiles", d->n_parts, sf_str_from(d->first));
}

bool sf_profile_upload_otlp(struct sf_call *call, struct sf_worker *worker)
{
    return sf_profile_take_run(call, worker, read_otlp, otlp_answer, NULL);
}
