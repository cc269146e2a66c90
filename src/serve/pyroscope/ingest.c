/* ingest.c - POST /ingest. Parameters (application name with labels, time range, format, sample
 * rate) become hints for the decoder; the body may be the profile itself or a multipart form with
 * the profile, its labels and type information. */
#include "serve/pyroscope/ingest.h"

#include <stdio.h>

#include "base/time_unit.h"
#include "decode/profile_type.h"
#include "http/multipart.h"
#include "serve/profile_take.h"
#include "wire/time_text.h"

enum { MAX_LABELS = 128 };

/* ---- parameters ---- */

static bool ingest_is_word(char c, const char *also)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')
        return true;
    for (; *also; also++) {
        if (c == *also)
            return true;
    }
    return false;
}

static enum sf_err check_word(sf_str word, const char *also, const char *what, struct sf_why *why)
{
    if (word.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "name: %s is empty", what);
    for (size_t i = 0; i < word.len; i++) {
        if (!ingest_is_word(word.p[i], also))
            return sf_fail(why, SF_ERR_INPUT,
                           "name: %s \"%.*s\" has a character that is not allowed", what,
                           SF_STR_ARG(sf_str_part(word, 0, 60)));
    }
    return SF_OK;
}

enum sf_err sf_ingest_app_name_parse(sf_str text, struct sf_arena *req, struct sf_app_name *out,
                                     struct sf_why *why)
{
    size_t brace = text.len, end;
    sf_str rest = SF_STR_NONE, pair;
    enum sf_err err = SF_OK;
    struct sf_app_name a = {.labels = sf_arena_new_n(req, MAX_LABELS, sizeof(*a.labels))};
    if (!a.labels)
        return sf_fail(why, SF_ERR_LIMIT, "name: no room");
    if (sf_str_find_char(text, '{', &brace))
        rest = sf_str_from_at(text, brace + 1);
    a.name = sf_str_trim(sf_str_part(text, 0, brace));
    if (sf_str_find_char(rest, '}', &end)) {
        rest = sf_str_part(rest, 0, end);
    } else if (rest.len) { /* the incomplete pair at the end is ignored */
        while (rest.len && rest.p[rest.len - 1] != ',')
            rest.len--;
    }
    while (!err && sf_str_split_next(&rest, ',', &pair)) {
        struct sf_label l = {.val = pair};
        if (sf_str_trim(pair).len == 0)
            continue;
        if (!sf_str_split_next(&l.val, '=', &l.key))
            continue;
        l.key = sf_str_trim(l.key);
        l.val = sf_str_trim(l.val);
        err = check_word(l.key, ".", "a label's key", why);
        if (!err && sf_str_eq(l.key, SF_STR("__name__"))) {
            a.name = l.val;
        } else if (!err && l.val.len) {
            if (a.n_labels == MAX_LABELS)
                return sf_fail(why, SF_ERR_INPUT, "name: more than %d labels", MAX_LABELS);
            a.labels[a.n_labels++] = l;
        }
    }
    if (!err)
        err = check_word(a.name, ".-/", "the application", why);
    if (!err)
        *out = a;
    return err;
}

static bool is_day(sf_str digits, int64_t *out_ns)
{
    char text[24];
    int64_t y = 0;
    for (size_t i = 0; i < 4; i++)
        y = y * 10 + (digits.p[i] - '0');
    if (y < 1970 || y > 2200)
        return false;
    snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT00:00:00Z", digits.p, digits.p + 4, digits.p + 6);
    return sf_time_text_parse(sf_str_from(text), 0, out_ns);
}

static int64_t offset_ns(sf_str text)
{
    static const struct {
        const char *unit;
        int64_t s;
    } units[] = {{"mon", 30 * 86400}, {"M", 30 * 86400}, {"min", 60},   {"m", 60},         {"s", 1},
                 {"h", 3600},         {"d", 86400},      {"w", 604800}, {"y", 365 * 86400}};
    size_t n = 0;
    uint64_t count;
    while (n < text.len && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    if (!sf_str_to_u64(sf_str_part(text, 0, n), &count) || count > 1000000)
        return 0;
    text = sf_str_from_at(text, n);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (sf_str_starts(text, sf_str_from(units[i].unit)))
            return (int64_t)count * units[i].s * SF_NS_PER_S;
    }
    return 0;
}

int64_t sf_ingest_time(sf_str text, int64_t now_ns)
{
    char digits[24];
    size_t n = 0;
    bool is_number = true;
    int64_t day_ns;
    uint64_t v;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (c == ' ' || c == '_' || c == ',')
            continue;
        is_number = is_number && c >= '0' && c <= '9' && n < sizeof(digits);
        if (is_number)
            digits[n++] = c;
    }
    if (!is_number || n == 0 || !sf_str_to_u64((sf_str){digits, n}, &v)) {
        for (size_t i = 0; i < text.len; i++) {
            if (text.p[i] == '-')
                return now_ns - offset_ns(sf_str_from_at(text, i + 1));
            if (text.p[i] == '+')
                return now_ns + offset_ns(sf_str_from_at(text, i + 1));
        }
        return now_ns;
    }
    if (n == 8 && is_day((sf_str){digits, n}, &day_ns))
        return day_ns;
    if (n == 13 && v < INT64_MAX / SF_NS_PER_MS)
        return (int64_t)v * SF_NS_PER_MS;
    if (n == 16 && v < INT64_MAX / 1000)
        return (int64_t)v * 1000;
    if (n == 19 && v <= INT64_MAX)
        return (int64_t)v;
    return v < INT64_MAX / SF_NS_PER_S ? (int64_t)v * SF_NS_PER_S : now_ns;
}

/* ---- parameters of the request ---- */

struct asked {
    struct sf_app_name app;
    sf_str format, from, until, spy, rate;
    bool has_name;
};

static enum sf_err ingest_read_parameters(const struct sf_request *r, struct sf_arena *req,
                                          struct asked *a, struct sf_why *why)
{
    struct sf_buf name = {.max = SF_LIMIT_PARAM_LEN}, val = {.max = SF_LIMIT_PARAM_LEN};
    sf_str rest = r->query;
    enum sf_err err = SF_OK;
    while (!err && sf_request_param_next(&rest, &name, &val)) {
        sf_str key = sf_buf_str(&name), kept;
        if (!sf_arena_copy(req, sf_buf_str(&val), &kept)) {
            err = sf_no_room(why, "the request");
        } else if (sf_str_eq(key, SF_STR("name"))) {
            err = sf_ingest_app_name_parse(kept, req, &a->app, why);
            a->has_name = true;
        } else if (sf_str_eq(key, SF_STR("format"))) {
            a->format = kept;
        } else if (sf_str_eq(key, SF_STR("from"))) {
            a->from = kept;
        } else if (sf_str_eq(key, SF_STR("until"))) {
            a->until = kept;
        } else if (sf_str_eq(key, SF_STR("spyName"))) {
            a->spy = kept;
        } else if (sf_str_eq(key, SF_STR("sampleRate"))) {
            a->rate = kept;
        }
    }
    sf_buf_done(&name);
    sf_buf_done(&val);
    if (!err && !a->has_name)
        err = sf_fail(why, SF_ERR_INPUT, "the parameter name is missing");
    return err;
}

static bool ingest_is_id(sf_str key)
{
    return sf_str_eq(key, SF_STR("trace_id")) || sf_str_eq(key, SF_STR("span_id")) ||
           sf_str_eq(key, SF_STR("profile_id"));
}

/* Adds a label from another part of the request unless the key is already given. */
static void ingest_add_label(struct sf_app_name *app, sf_str key, sf_str val)
{
    for (uint32_t i = 0; i < app->n_labels; i++) {
        if (sf_str_eq(app->labels[i].key, key))
            return;
    }
    if (val.len && app->n_labels < MAX_LABELS)
        app->labels[app->n_labels++] = (struct sf_label){key, val};
}

static void fill_hint(const struct sf_profile_take *t, struct asked *a, struct sf_profile_hint *h)
{
    int64_t now_ns = t->call->request->recv_ns;
    uint64_t rate = 100;
    if (a->rate.len && (!sf_str_to_u64(a->rate, &rate) || rate > UINT32_MAX))
        rate = 100; /* an invalid rate means the default */
    ingest_add_label(&a->app, SF_STR("pyroscope_spy"), a->spy);
    *h = (struct sf_profile_hint){.service = a->app.name,
                                  .labels = a->app.labels,
                                  .n_labels = a->app.n_labels,
                                  .from_ns = sf_ingest_time(a->from, now_ns),
                                  .until_ns = sf_ingest_time(a->until, now_ns),
                                  .now_ns = now_ns,
                                  .has_sample_rate = true,
                                  .sample_rate = (uint32_t)rate,
                                  .spy = a->spy,
                                  .peer = sf_profile_take_peer(t->call),
                                  .max_frames = t->call->service->max_frames};
    for (uint32_t i = 0; i < a->app.n_labels; i++)
        h->is_request = h->is_request || ingest_is_id(a->app.labels[i].key);
}

/* In text formats the last part of the application name is the profile type. */
static enum sf_err split_name(struct sf_profile_hint *h, struct sf_why *why)
{
    struct sf_profile_type type;
    bool is_time;
    size_t dot = h->service.len;
    while (dot > 0 && h->service.p[dot - 1] != '.')
        dot--;
    if (dot == 0)
        return SF_OK;
    h->type_word = sf_str_from_at(h->service, dot);
    h->service = sf_str_part(h->service, 0, dot - 1);
    if (!sf_profile_type_of_word(h->type_word, h->sample_rate != 0, &type, &is_time))
        return sf_fail(why, SF_ERR_INPUT, "unknown profile type: %.*s",
                       SF_STR_ARG(sf_str_part(h->type_word, 0, 60)));
    return SF_OK;
}

/* ---- the body ---- */

/* Decompresses a part other than the profile into the arena. */
static enum sf_err unwrap_part(struct sf_profile_take *t, sf_str part, sf_str *out,
                               struct sf_why *why)
{
    struct sf_buf plain = {0};
    sf_str view;
    enum sf_err err = sf_profile_format_unwrap(sf_intake_tools_inflate(t->worker->tools), part,
                                               t->upload.max_len, &plain, &view, why);
    if (!err && !sf_arena_copy(&t->worker->arena, view, out))
        err = sf_no_room(why, "a part");
    sf_buf_done(&plain);
    return err;
}

static enum sf_err ingest_add_parts(struct sf_profile_take *t, struct sf_profile_hint *h,
                                    bool is_jfr, struct sf_why *why)
{
    sf_str type = sf_request_header(t->call->request, SF_STR("content-type"));
    struct sf_multipart m;
    struct sf_multipart_part part;
    sf_str profile = SF_STR_NONE;
    enum sf_err err = sf_multipart_init(&m, type, t->body, why);
    while (!err && sf_multipart_next(&m, &part)) {
        if (sf_str_eq(part.name, is_jfr ? SF_STR("jfr") : SF_STR("profile")) && !profile.p)
            profile = part.content;
        else if (sf_str_eq(part.name, SF_STR("labels")) && is_jfr && !h->jfr_labels.p)
            err = unwrap_part(t, part.content, &h->jfr_labels, why);
        else if (sf_str_eq(part.name, SF_STR("prev_profile")) && !is_jfr && !h->prev.p)
            err = unwrap_part(t, part.content, &h->prev, why);
        else if (sf_str_eq(part.name, SF_STR("sample_type_config")) && !h->sample_type_config.p)
            h->sample_type_config = part.content;
    }
    if (!err && m.err)
        err = sf_fail(why, m.err, "%s", m.why.text);
    if (!err && !profile.p)
        err = sf_fail(why, SF_ERR_INPUT, "the part %s is missing", is_jfr ? "jfr" : "profile");
    if (err || profile.len == 0)
        return err; /* an empty profile is valid; nothing is stored */
    return sf_profile_upload_add(&t->upload, profile, h, why);
}

static bool ingest_is_type(const struct sf_profile_take *t, sf_str what)
{
    return sf_str_ieq(t->call->request->content_type, what);
}

static enum sf_err ingest_read_upload(struct sf_profile_take *t, struct sf_why *why)
{
    static const sf_str texts[] = {SF_STR("trie"), SF_STR("tree"), SF_STR("lines"),
                                   SF_STR("folded")};
    struct asked a = {0};
    struct sf_profile_hint h;
    bool is_multipart = ingest_is_type(t, SF_STR("multipart/form-data"));
    bool is_jfr, is_pprof, is_text = false, is_unknown = false;
    enum sf_err err = ingest_read_parameters(t->call->request, &t->worker->arena, &a, why);
    if (err)
        return err;
    fill_hint(t, &a, &h);
    if (ingest_is_type(t, SF_STR("binary/octet-stream+trie")) && !a.format.len)
        a.format = SF_STR("trie");
    if (ingest_is_type(t, SF_STR("binary/octet-stream+tree")) && !a.format.len)
        a.format = SF_STR("tree");
    is_jfr = sf_str_eq(a.format, SF_STR("jfr"));
    is_pprof = sf_str_eq(a.format, SF_STR("pprof"));
    for (size_t i = 0; i < 3; i++) /* old clients send "folded" for any format */
        is_text = is_text || sf_str_eq(a.format, texts[i]);
    if (!is_text && !is_jfr && !is_pprof && !is_multipart) {
        /* A recognisable format is read as such, whatever the client calls it. */
        sf_str found = sf_str_from(sf_profile_format_find(t->body));
        is_text = !found.len;
        is_unknown = is_text && !a.format.len && sf_str_trim(t->body).len;
        h.format = is_text ? SF_STR("folded") : SF_STR_NONE;
        for (size_t i = 0; i < 4; i++) {
            if (sf_str_eq(found, texts[i]))
                is_text = true, h.format = texts[i];
        }
        if (sf_str_starts(t->body, SF_STR("\x1f\x8b")))
            is_text = is_unknown = false, h.format = SF_STR_NONE;
    } else if (!is_multipart || is_text || is_pprof) {
        h.format = a.format;
    }
    if (is_text)
        err = split_name(&h, why);
    if (err || t->body.len == 0)
        return err;
    if (!is_text)
        t->upload.dup_hash = sf_intake_profiles_hash(t->upload.tenant, t->call->request->query,
                                                     sf_str_bytes(t->body));
    t->is_malformed = true;
    if (is_multipart && !is_pprof && !is_text)
        return ingest_add_parts(t, &h, is_jfr, why);
    /* Many texts have a line that ends in a number: unless the sender says so, it is not read as
     * folded. */
    return is_unknown ? sf_profile_format_refuse(t->body, why)
                      : sf_profile_upload_add(&t->upload, t->body, &h, why);
}

static void ingest_refuse(struct sf_profile_take *t, enum sf_err err, const struct sf_why *why)
{
    static const struct sf_outcome unparsable = {422, SF_GRPC_UNKNOWN, 0};
    bool is_theirs = err == SF_ERR_INPUT || err == SF_ERR_UNSUPPORTED;
    if (t->is_malformed && (is_theirs || err == SF_ERR_LIMIT)) /* a profile that is too large is
                                                                * answered like a malformed one */
        sf_call_refuse(t->call, is_theirs ? SF_COUNT_REJECT_MALFORMED : SF_COUNT_REJECT_TOO_LARGE,
                       unparsable, why->text);
    else
        sf_call_fail(t->call, err, why);
}

bool sf_ingest_handle(struct sf_call *call, struct sf_worker *worker)
{
    return sf_profile_take_run(call, worker, ingest_read_upload, NULL, ingest_refuse);
}
