#include "serve/pyroscope/push.h"

#include "base/text.h"
#include "serve/connect.h"
#include "serve/profile_take.h"
#include "wire/json.h"
#include "wire/pb.h"

enum { MAX_LABELS = 256, MAX_SAMPLES = 512 };

struct series { /* state while reading one message */
    struct sf_label labels[MAX_LABELS];
    sf_str samples[MAX_SAMPLES];
    uint32_t n_labels, n_samples;
    uint64_t n_unknown; /* unknown fields of the request */
};

static enum sf_err push_too_many(const char *what, int most, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "push: more than %d %s in a series", most, what);
}

static bool push_is_id(sf_str key)
{
    return sf_str_eq(key, SF_STR("trace_id")) || sf_str_eq(key, SF_STR("span_id")) ||
           sf_str_eq(key, SF_STR("profile_id"));
}

static enum sf_err check_repeats(const struct series *s, struct sf_why *why)
{
    for (uint32_t i = 0; i < s->n_labels; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (sf_str_eq(s->labels[i].key, s->labels[k].key))
                return sf_fail(why, SF_ERR_INPUT, "push: a series with two labels %.*s",
                               SF_STR_ARG(sf_str_part(s->labels[i].key, 0, 80)));
        }
    }
    return SF_OK;
}

/* Adds every sample of a series as one profile with the series' labels. */
static enum sf_err push_add_series(struct sf_profile_take *t, const struct series *s,
                                   struct sf_why *why)
{
    struct sf_profile_hint hint = {.format = SF_STR("pprof"),
                                   .labels = s->labels,
                                   .n_labels = s->n_labels,
                                   .now_ns = t->call->request->recv_ns,
                                   .peer = sf_profile_take_peer(t->call),
                                   .max_frames = t->call->service->max_frames};
    bool has_name = false;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        has_name = has_name ||
                   (sf_str_eq(s->labels[i].key, SF_STR("__name__")) && s->labels[i].val.len);
        hint.is_request = hint.is_request || push_is_id(s->labels[i].key);
    }
    if (!has_name)
        return sf_fail(why, SF_ERR_INPUT, "push: a series without the label __name__");
    err = check_repeats(s, why);
    t->is_malformed = true;
    for (uint32_t i = 0; !err && i < s->n_samples; i++)
        err = sf_profile_upload_add(&t->upload, s->samples[i], &hint, why);
    return err;
}

/* ---- protobuf ---- */

static enum sf_err read_series_pb(struct sf_pb *pb, struct series *s, struct sf_why *why)
{
    s->n_labels = s->n_samples = 0;
    while (sf_pb_next(pb)) {
        struct sf_pb m;
        if (pb->field != 1 && pb->field != 2) {
            s->n_unknown += pb->field != 3; /* internal annotations of Pyroscope servers are
                                             * ignored */
            sf_pb_skip(pb);
            continue;
        }
        if (pb->field == 1 && s->n_labels == MAX_LABELS)
            return push_too_many("labels", MAX_LABELS, why);
        if (pb->field == 2 && s->n_samples == MAX_SAMPLES)
            return push_too_many("profiles", MAX_SAMPLES, why);
        bool is_label = pb->field == 1;
        struct sf_label l = {0};
        m = sf_pb_msg(pb);
        sf_str raw = SF_STR_NONE;
        while (sf_pb_next(&m)) {
            if (m.field == 1 && is_label)
                l.key = sf_pb_str(&m);
            else if (m.field == 2 && is_label)
                l.val = sf_pb_str(&m);
            else if (m.field == 1)
                raw = sf_pb_str(&m);
            else {
                s->n_unknown += is_label || m.field != 2; /* the profile's id is ignored: the server
                                                           * assigns one */
                sf_pb_skip(&m);
            }
        }
        sf_pb_join(pb, &m);
        if (is_label)
            s->labels[s->n_labels++] = l;
        else
            s->samples[s->n_samples++] = raw;
    }
    return SF_OK;
}

static enum sf_err push_read_pb(struct sf_profile_take *t, struct series *s, struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(t->body));
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(&pb)) {
        struct sf_pb m;
        if (pb.field != 1) {
            s->n_unknown++;
            sf_pb_skip(&pb);
            continue;
        }
        m = sf_pb_msg(&pb);
        err = read_series_pb(&m, s, why);
        if (!err && sf_pb_join(&pb, &m))
            err = push_add_series(t, s, why);
    }
    return err ? err : sf_pb_why(&pb, "push", why);
}

/* ---- JSON ---- */

static void push_skip_unknown(struct sf_json *j, struct series *s)
{
    s->n_unknown++;
    sf_json_skip(j);
}

static void push_read_label_json(struct sf_json *j, struct series *s, struct sf_label *out)
{
    sf_str key;
    *out = (struct sf_label){0};
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name")))
            out->key = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            out->val = sf_json_str(j);
        else
            push_skip_unknown(j, s);
    }
}

static void read_sample_json(struct sf_json *j, struct sf_arena *req, struct series *s, sf_str *out)
{
    sf_str key;
    *out = SF_STR_NONE;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("rawProfile")) || sf_str_eq(key, SF_STR("raw_profile"))) {
            sf_str text = sf_json_str(j);
            struct sf_buf raw = {0};
            if (!sf_base64_decode(&raw, text) || !sf_arena_copy(req, sf_buf_str(&raw), out))
                sf_json_fault(j, "is not base64");
            sf_buf_done(&raw);
        } else if (sf_str_eq(key, SF_STR("ID"))) {
            sf_json_skip(j);
        } else {
            push_skip_unknown(j, s);
        }
    }
}

static void read_series_json(struct sf_json *j, struct sf_arena *req, struct series *s)
{
    sf_str key;
    s->n_labels = s->n_samples = 0;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        bool is_labels = sf_str_eq(key, SF_STR("labels"));
        if (!is_labels && !sf_str_eq(key, SF_STR("samples"))) {
            s->n_unknown += !sf_str_eq(key, SF_STR("annotations"));
            sf_json_skip(j);
            continue;
        }
        if (!sf_json_array(j))
            continue;
        while (sf_json_item(j)) {
            if (is_labels ? s->n_labels == MAX_LABELS : s->n_samples == MAX_SAMPLES)
                sf_json_fault(j, "holds too many");
            else if (is_labels)
                push_read_label_json(j, s, &s->labels[s->n_labels++]);
            else
                read_sample_json(j, req, s, &s->samples[s->n_samples++]);
        }
    }
}

static enum sf_err push_read_json(struct sf_profile_take *t, struct series *s, struct sf_why *why)
{
    struct sf_json *j = sf_arena_new(&t->worker->arena, sizeof(*j));
    enum sf_err err = SF_OK;
    sf_str key;
    if (!j)
        return sf_no_room(why, "the request");
    sf_json_init(j, t->body, &t->worker->arena);
    if (!sf_json_object(j))
        return sf_fail(why, SF_ERR_INPUT, "push: no JSON object");
    while (!err && sf_json_key(j, &key)) {
        if (!sf_str_eq(key, SF_STR("series"))) {
            push_skip_unknown(j, s);
            continue;
        }
        if (!sf_json_array(j))
            continue;
        while (!err && sf_json_item(j)) {
            read_series_json(j, &t->worker->arena, s);
            if (sf_json_ok(j))
                err = push_add_series(t, s, why);
        }
    }
    return err ? err : sf_json_why(j, "push", why);
}

static enum sf_err push_read_upload(struct sf_profile_take *t, struct sf_why *why)
{
    struct series *s = sf_arena_new(&t->worker->arena, sizeof(*s));
    enum sf_err err;
    if (!s)
        return sf_no_room(why, "the request");
    t->upload.dup_hash = sf_intake_profiles_hash(t->upload.tenant, SF_STR("push"),
                                                 sf_str_bytes(t->body));
    err = sf_connect_is_json(t->call) ? push_read_json(t, s, why) : push_read_pb(t, s, why);
    sf_counters_add(t->call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, s->n_unknown);
    if (!err && t->body.len == 0)
        err = sf_fail(why, SF_ERR_INPUT, "no profiles received");
    return err;
}

static void push_answer(struct sf_profile_take *t)
{
    if (sf_connect_is_json(t->call))
        sf_buf_add_str(&t->call->response->body, SF_STR("{}"));
    sf_connect_ok(t->call);
}

/* A profile that is too large will be too large on a retry: do not answer with a retryable
 * status. */
static void push_refuse(struct sf_profile_take *t, enum sf_err err, const struct sf_why *why)
{
    static const struct sf_outcome too_large = {400, SF_GRPC_INVALID_ARGUMENT, 0};
    if (err == SF_ERR_LIMIT) /* also a decompression bomb */
        sf_call_refuse(t->call, SF_COUNT_REJECT_TOO_LARGE, too_large, why->text);
    else
        sf_call_fail(t->call, err, why);
}

bool sf_push_handle(struct sf_call *call, struct sf_worker *worker)
{
    if (!sf_connect_admit(call))
        return true;
    return sf_profile_take_run(call, worker, push_read_upload, push_answer, push_refuse);
}
