#include "serve/own/deploy_book.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_lines.h"
#include "base/heap.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "intake/redact.h"
#include "os/fetch.h"
#include "os/random.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { N_TEXTS = 7 };

void sf_deploy_book_done(struct sf_deploy_book *b)
{
    for (size_t i = 0; i < b->n; i++)
        sf_heap_free(b->list[i].block);
    sf_heap_free(b->list);
    *b = (struct sf_deploy_book){0};
}

static void texts_of(struct sf_deploy *d, sf_str *out[N_TEXTS])
{
    sf_str *all[N_TEXTS] = {&d->tenant,      &d->service, &d->version, &d->commit,
                            &d->environment, &d->comment, &d->url};
    memcpy(out, all, sizeof(all));
}

/* `is_told`: sent by a client, for which fewer keys are allowed than in our file. */
static enum sf_err read_deploy(struct sf_json *j, bool is_told, struct sf_deploy *d,
                               struct sf_why *why)
{
    sf_str key, id, *texts[N_TEXTS];
    static const char *const names[N_TEXTS] = {"tenant",      "service", "version", "commit",
                                               "environment", "comment", "url"};
    enum sf_err err = SF_OK;
    texts_of(d, texts);
    if (!sf_json_object(j))
        return sf_fail(why, SF_ERR_INPUT, "a deploy is an object with service and version");
    while (sf_json_key(j, &key)) {
        size_t i = 0;
        while (i < N_TEXTS && !sf_str_eq(key, sf_str_from(names[i])))
            i++;
        if (is_told && (i == 0 || (i == N_TEXTS && !sf_str_eq(key, SF_STR("time")))))
            return sf_fail(why, SF_ERR_INPUT,
                           "unknown key %.*s; known are service, version, commit, environment, "
                           "comment, url, time",
                           SF_STR_ARG(sf_str_part(key, 0, 60)));
        if (i < N_TEXTS) {
            *texts[i] = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("time"))) {
            sf_str text = sf_json_str(j);
            if (text.len && !sf_time_text_parse(text, 0, &d->time_ns) && !err)
                err = sf_fail(why, SF_ERR_INPUT,
                              "time is not a valid time: write 2026-01-31T12:00:00Z");
        } else if (sf_str_eq(key, SF_STR("timeUnixNano"))) {
            d->time_ns = sf_json_i64(j);
        } else if (sf_str_eq(key, SF_STR("id"))) {
            id = sf_json_str(j);
            snprintf(d->id, sizeof(d->id), "%.*s", SF_STR_ARG(sf_str_part(id, 0, 16)));
        } else {
            sf_json_skip(j);
        }
    }
    (void)sf_json_end(j);
    return err ? err : sf_json_why(j, "a deploy", why);
}

/* The page shows the URL as a link, so it must be safe. */
static enum sf_err deploy_book_check_url(sf_str url, struct sf_why *why)
{
    enum sf_err err = url.len ? sf_fetch_check_url(url, why) : SF_OK;
    if (err)
        sf_why_prefix(why, "url");
    return err;
}

static enum sf_err deploy_book_check(struct sf_deploy *d, struct sf_why *why)
{
    sf_str *texts[N_TEXTS];
    size_t len = 0;
    texts_of(d, texts);
    if (!d->version.len)
        d->version = d->commit;
    if (!d->service.len || !d->version.len)
        return sf_fail(why, SF_ERR_INPUT, "a deploy needs a service, and a version or a commit");
    for (size_t i = 0; i < N_TEXTS; i++) {
        len += texts[i]->len;
        if (!sf_utf8_is_valid(*texts[i]))
            return sf_fail(why, SF_ERR_INPUT, "a text that is not UTF-8");
    }
    return len > SF_LIMIT_DEPLOY_TEXT_LEN
               ? sf_fail(why, SF_ERR_LIMIT, "a deploy has at most %d bytes of text",
                         SF_LIMIT_DEPLOY_TEXT_LEN)
               : SF_OK;
}

static enum sf_err deploy_book_redact(struct sf_deploy_book *b, struct sf_deploy *d,
                                      struct sf_arena *req, struct sf_why *why)
{
    const struct {
        const char *key;
        sf_str *text;
    } all[] = {{"service.name", &d->service}, {"service.version", &d->version},
               {"commit", &d->commit},        {"environment", &d->environment},
               {"comment", &d->comment},      {"url", &d->url}};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < sizeof(all) / sizeof(all[0]); i++)
        err = sf_redact_text(b->redactor, req, all[i].key, all[i].text, &b->n_redacted, why);
    return err;
}

static enum sf_err deploy_book_own(struct sf_deploy *d, struct sf_why *why)
{
    sf_str *texts[N_TEXTS];
    size_t len = N_TEXTS;
    char *to;
    texts_of(d, texts);
    for (size_t i = 0; i < N_TEXTS; i++)
        len += texts[i]->len;
    d->block = to = sf_heap_new(len);
    if (!to)
        return sf_no_memory(why, "a deploy");
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (texts[i]->len)
            memcpy(to, texts[i]->p, texts[i]->len);
        texts[i]->p = to;
        to += texts[i]->len + 1;
    }
    return SF_OK;
}

/* ---- eviction ---- */

static size_t deploy_book_count_of(const struct sf_deploy_book *b, sf_str tenant)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += sf_str_eq(b->list[i].tenant, tenant);
    return n;
}

/* The oldest deploy of the tenant with the most, so that a tenant with many evicts its own. n: none
 * has to go. */
static size_t find_surplus(const struct sf_deploy_book *b)
{
    size_t at = b->n, most = 0;
    if (b->n <= SF_LIMIT_DEPLOYS)
        return b->n;
    for (size_t i = 0; i < b->n && most <= b->n / 2; i++) {
        size_t n = deploy_book_count_of(b, b->list[i].tenant);
        at = n > most ? i : at;
        most = n > most ? n : most;
    }
    return at;
}

static void deploy_book_take_out(struct sf_deploy_book *b, size_t at)
{
    sf_heap_free(b->list[at].block);
    memmove(&b->list[at], &b->list[at + 1], (b->n - at - 1) * sizeof(*b->list));
    b->n--;
}

void sf_deploy_book_tidy(struct sf_deploy_book *b)
{
    size_t at = find_surplus(b);
    if (at < b->n)
        deploy_book_take_out(b, at);
}

void sf_deploy_book_remove(struct sf_deploy_book *b, const char *id)
{
    for (size_t i = 0; i < b->n; i++) {
        if (!strcmp(b->list[i].id, id)) {
            deploy_book_take_out(b, i);
            return;
        }
    }
}

/* ---- add ---- */

static enum sf_err deploy_book_add(struct sf_deploy_book *b, struct sf_deploy *d, size_t *out_at,
                                   struct sf_why *why)
{
    size_t at;
    enum sf_err err = deploy_book_check(d, why);
    if (!err && !b->list && !(b->list = sf_heap_new_n(SF_LIMIT_DEPLOYS + 1, sizeof(*b->list))))
        err = sf_no_memory(why, "deploys");
    if (!err)
        err = deploy_book_own(d, why);
    if (err)
        return err;
    sf_deploy_book_tidy(b);
    at = b->n;
    while (at > 0 && b->list[at - 1].time_ns > d->time_ns)
        at--;
    memmove(&b->list[at + 1], &b->list[at], (b->n - at) * sizeof(*b->list));
    b->list[at] = *d;
    b->n++;
    *out_at = at;
    return SF_OK;
}

enum sf_err sf_deploy_book_add(struct sf_deploy_book *b, sf_str json, sf_str tenant, int64_t now_ns,
                               const struct sf_deploy **out, struct sf_why *why)
{
    struct sf_arena arena = {0};
    struct sf_deploy d = {0};
    struct sf_json j;
    size_t at = 0;
    enum sf_err err;
    if (!sf_arena_init(&arena, 4 * SF_LIMIT_DEPLOY_BODY_LEN))
        return sf_no_memory(why, "a deploy");
    sf_json_init(&j, json, &arena);
    err = read_deploy(&j, true, &d, why);
    d.tenant = tenant;
    if (d.time_ns <= 0)
        d.time_ns = now_ns;
    if (!err && d.time_ns > now_ns + SF_NS_PER_DAY)
        err = sf_fail(why, SF_ERR_INPUT, "time lies in the future");
    if (!err)
        err = deploy_book_check_url(d.url, why);
    if (!err)
        err = deploy_book_redact(b, &d, &arena, why);
    snprintf(d.id, sizeof(d.id), "%016" PRIx64, sf_random_u64());
    if (!err)
        err = deploy_book_add(b, &d, &at, why);
    if (!err)
        *out = &b->list[at];
    sf_arena_done(&arena);
    return err;
}

/* ---- the file ---- */

static const char head[] = "spanflame-deploys 1 ";

void sf_deploy_book_write(const struct sf_deploy_book *b, struct sf_buf *out)
{
    struct sf_buf body = {0};
    size_t surplus = find_surplus(b);
    for (size_t i = 0; i < b->n; i++) {
        const struct sf_deploy *d = &b->list[i];
        struct sf_json_writer j = sf_json_writer_init(&body);
        if (i == surplus)
            continue;
        sf_json_write_object(&j);
        sf_json_write_key_str(&j, SF_STR("id"), sf_str_from(d->id));
        sf_json_write_key(&j, SF_STR("timeUnixNano"));
        sf_json_write_i64(&j, d->time_ns);
        sf_json_write_key_str(&j, SF_STR("tenant"), d->tenant);
        sf_json_write_key_str(&j, SF_STR("service"), d->service);
        sf_json_write_key_str(&j, SF_STR("version"), d->version);
        sf_json_write_key_str(&j, SF_STR("commit"), d->commit);
        sf_json_write_key_str(&j, SF_STR("environment"), d->environment);
        sf_json_write_key_str(&j, SF_STR("comment"), d->comment);
        sf_json_write_key_str(&j, SF_STR("url"), d->url);
        sf_json_write_object_end(&j);
        sf_buf_add_u8(&body, '\n');
    }
    sf_checked_lines_write(head, &body, out);
}

enum sf_err sf_deploy_book_read(struct sf_deploy_book *b, sf_str text, struct sf_why *why)
{
    struct sf_arena arena = {0};
    sf_str line, rest;
    enum sf_err err = sf_checked_lines_read(head, "deploys", text, &rest, why);
    size_t at;
    if (err)
        return err;
    if (!sf_arena_init(&arena, (size_t)1 << 20))
        return sf_no_memory(why, "deploys");
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        struct sf_deploy d = {0};
        struct sf_json j;
        if (!line.len)
            continue;
        sf_arena_reset(&arena);
        sf_json_init(&j, line, &arena);
        err = read_deploy(&j, false, &d, why);
        if (!err)
            err = deploy_book_add(b, &d, &at, why);
    }
    sf_arena_done(&arena);
    if (err)
        sf_deploy_book_done(b);
    return err ? SF_ERR_CORRUPT : SF_OK;
}
