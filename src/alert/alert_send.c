#include "alert/alert_send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alert/alert_value.h"
#include "base/hash.h"
#include "base/time_unit.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

static const int64_t RESEND_NS = SF_NS_PER_MIN, CONNECT_NS = 3 * SF_NS_PER_S,
                     ALL_NS = 10 * SF_NS_PER_S;

enum { LABELS_MAX = 1 << 20 };

/* ---- JSON ---- */

void sf_alert_send_json_time(int64_t ns, struct sf_buf *out)
{
    struct sf_buf text = {0};
    sf_time_text_add(&text, (uint64_t)(ns > 0 ? ns : 0));
    for (size_t i = 0; i < text.len; i++)
        text.p[i] = text.p[i] == ' ' ? 'T' : text.p[i];
    sf_buf_print(out, "\"%.*sZ\"", SF_STR_ARG(sf_buf_str(&text)));
    sf_buf_done(&text);
}

void sf_alert_send_json_labels(const struct sf_alert *a, struct sf_buf *out)
{
    sf_buf_print(out, "{%s}", a->labels);
}

void sf_alert_send_json_notes(const struct sf_alert *a, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_buf_print(out, "{%s", a->notes ? a->notes : "");
    j.needs_comma = a->notes && a->notes[0];
    sf_json_write_key(&j, SF_STR("value"));
    sf_buf_print(out, "\"%.6g\"", a->value);
    j.needs_comma = true;
    if (a->reason)
        sf_json_write_key_str(&j, SF_STR("why"), sf_str_from(a->reason));
    sf_buf_add_u8(out, '}');
}

/* Adds a link to the page with the data that the rule examined. */
static void alert_send_add_link(const struct sf_alert *a, const struct sf_alert_rules *rules,
                                struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    struct sf_buf url = {0};
    const struct sf_alert_rule *rule = NULL;
    sf_str ask = SF_STR_NONE;
    struct sf_arena room = {0};
    for (size_t i = 0; i < rules->n; i++) {
        if (sf_alert_book_is_of(a, &rules->list[i]))
            rule = &rules->list[i];
    }
    if (rules->url.len) {
        sf_buf_print(&url, "%.*s/?", SF_STR_ARG(rules->url));
        if (rule && (rule->kind == SF_ALERT_TRACEQL || rule->spans.len)) {
            ask = a->spans ? sf_str_from(a->spans) : rule->spans;
            sf_buf_print(&url, "view=search&q=");
        } else if (rule) {
            ask = rule->service;
            if (!ask.len && sf_arena_init(&room, LABELS_MAX))
                (void)sf_alert_book_label(a, SF_STR("service"), &room, &ask);
            sf_buf_print(&url, "view=profiles&service=");
        }
        for (size_t i = 0; i < ask.len; i++) {
            unsigned char c = (unsigned char)ask.p[i];
            bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
            sf_buf_print(&url, is_plain ? "%c" : "%%%02X", c);
        }
        sf_buf_print(&url, "&from=%" PRId64 "&until=%" PRId64,
                     (a->since_ns - (rule ? rule->window_ns : 0)) / SF_NS_PER_MS,
                     (a->resolved_ns ? a->resolved_ns : a->fired_ns) / SF_NS_PER_MS);
    }
    sf_json_write_str(&j, sf_buf_str(&url));
    sf_buf_done(&url);
    sf_arena_done(&room);
}

static bool is_told(const struct sf_alert *a, const struct sf_alert_receiver *r)
{
    if (a->is_silenced || a->is_news)
        return false;
    return a->state == SF_ALERT_FIRING ||
           (a->state == SF_ALERT_RESOLVED && a->fired_ns && a->change > r->told);
}

static void alert_send_add_alert(const struct sf_alert *a, const struct sf_alert_receiver *r,
                                 const struct sf_alert_sending *s, struct sf_buf *out)
{
    int64_t pause_ns = s->rules->interval_ns > RESEND_NS ? s->rules->interval_ns : RESEND_NS;
    bool is_over = a->state == SF_ALERT_RESOLVED;
    sf_buf_add_u8(out, '{');
    if (r->is_webhook)
        sf_buf_print(out, "\"status\":\"%s\",\"fingerprint\":\"%016" PRIx64 "\",",
                     is_over ? "resolved" : "firing", sf_hash_str(sf_str_from(a->labels)));
    sf_buf_print(out, "\"labels\":");
    sf_alert_send_json_labels(a, out);
    sf_buf_print(out, ",\"annotations\":");
    sf_alert_send_json_notes(a, out);
    sf_buf_print(out, ",\"startsAt\":");
    sf_alert_send_json_time(a->fired_ns, out);
    sf_buf_print(out, ",\"endsAt\":");
    if (is_over)
        sf_alert_send_json_time(a->resolved_ns, out);
    else if (r->is_webhook)
        sf_buf_print(out, "\"0001-01-01T00:00:00Z\"");
    else /* time after which an Alertmanager resolves the alert if it gets no update */
        sf_alert_send_json_time(s->now_ns + 4 * pause_ns, out);
    sf_buf_print(out, ",\"generatorURL\":");
    alert_send_add_link(a, s->rules, out);
    sf_buf_add_u8(out, '}');
}

/* ---- labels common to all alerts of a message ---- */

struct common {
    struct sf_alert_pair pairs[SF_ALERT_PAIRS];
    bool is_met[SF_ALERT_PAIRS]; /* found in the current alert */
    size_t n;
    bool has_begun;
};

/* `text` is an object of strings: labels or annotations. Pairs that it lacks are no longer
 * common. */
static void keep_common(struct common *c, sf_str text, struct sf_arena *req)
{
    struct sf_arena own = *req;
    struct sf_json j;
    sf_str key, val;
    size_t n = 0;
    memset(c->is_met, 0, sizeof(c->is_met));
    sf_json_init(&j, text, c->has_begun ? &own : req);
    if (!sf_json_object(&j))
        return;
    while (sf_json_key(&j, &key)) {
        val = sf_json_str(&j);
        if (!c->has_begun && c->n < SF_ALERT_PAIRS && sf_arena_copy(req, key, &key) &&
            sf_arena_copy(req, val, &val))
            c->pairs[c->n++] = (struct sf_alert_pair){key, val};
        for (size_t i = 0; c->has_begun && i < c->n; i++)
            c->is_met[i] |= sf_str_eq(c->pairs[i].key, key) && sf_str_eq(c->pairs[i].val, val);
    }
    for (size_t i = 0; c->has_begun && i < c->n; i++) {
        if (c->is_met[i])
            c->pairs[n++] = c->pairs[i];
    }
    c->n = c->has_begun ? n : c->n;
    c->has_begun = true;
}

static void add_common(const struct sf_alert_receiver *r, const struct sf_alert_sending *s,
                       void (*write)(const struct sf_alert *a, struct sf_buf *out),
                       struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    struct sf_arena room = {0};
    struct sf_buf text = {0};
    struct common c = {.n = 0};
    bool is_ok = sf_arena_init(&room, LABELS_MAX);
    for (size_t i = 0; is_ok && i < s->book->n; i++) {
        if (!is_told(&s->book->list[i], r) || (c.has_begun && c.n == 0))
            continue;
        sf_buf_reset(&text);
        write(&s->book->list[i], &text);
        keep_common(&c, sf_buf_str(&text), &room);
    }
    sf_json_write_object(&j);
    for (size_t i = 0; i < c.n; i++)
        sf_json_write_key_str(&j, c.pairs[i].key, c.pairs[i].val);
    sf_json_write_object_end(&j);
    sf_buf_done(&text);
    sf_arena_done(&room);
}

size_t sf_alert_send_body(const struct sf_alert_receiver *r, const struct sf_alert_sending *s,
                          struct sf_buf *out)
{
    size_t n = 0, n_firing = 0;
    struct sf_json_writer j = sf_json_writer_init(out);
    for (size_t i = 0; i < s->book->n; i++)
        n_firing += s->book->list[i].state == SF_ALERT_FIRING && is_told(&s->book->list[i], r);
    if (r->is_webhook) {
        sf_buf_print(out,
                     "{\"version\":\"4\",\"groupKey\":\"spanflame\",\"truncatedAlerts\":0,"
                     "\"status\":\"%s\",\"receiver\":\"spanflame\",\"groupLabels\":{},"
                     "\"commonLabels\":",
                     n_firing ? "firing" : "resolved");
        add_common(r, s, sf_alert_send_json_labels, out);
        sf_buf_print(out, ",\"commonAnnotations\":");
        add_common(r, s, sf_alert_send_json_notes, out);
        sf_buf_print(out, ",\"externalURL\":");
        sf_json_write_str(&j, s->rules->url);
        sf_buf_print(out, ",\"alerts\":");
    }
    sf_buf_add_u8(out, '[');
    for (size_t i = 0; i < s->book->n; i++) {
        if (!is_told(&s->book->list[i], r))
            continue;
        if (n++)
            sf_buf_add_u8(out, ',');
        alert_send_add_alert(&s->book->list[i], r, s, out);
    }
    sf_buf_print(out, r->is_webhook ? "]}" : "]");
    return n;
}

/* ---- when to send, and the request ---- */

bool sf_alert_send_is_due(const struct sf_alert_receiver *r, const struct sf_alert_sending *s)
{
    for (size_t i = 0; i < s->book->n; i++) {
        const struct sf_alert *a = &s->book->list[i];
        if (is_told(a, r) && (a->change > r->told || s->mono_ns - r->last_ns >= RESEND_NS))
            return true;
    }
    return false;
}

void sf_alert_send_post(const struct sf_alert_receiver *r, sf_bytes body,
                        const atomic_bool *is_stopping, struct sf_alert_post *out)
{
    size_t len = strlen(r->url);
    while (len && r->url[len - 1] == '/' && !r->is_webhook)
        len--;
    snprintf(out->url, sizeof(out->url), "%.*s%s", (int)len, r->url,
             r->is_webhook ? "" : "/api/v2/alerts");
    out->fetch = (struct sf_fetch){.url = out->url,
                                   .content_type = "application/json",
                                   .body = body,
                                   .connect_ns = CONNECT_NS,
                                   .whole_ns = ALL_NS,
                                   .cancel = is_stopping};
}
