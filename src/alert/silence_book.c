/* silence_book.c - silences in memory: read from Alertmanager's JSON, checked, matched against an
 * alert's labels (equality or regular expression), expired and tidied. The file is the same JSON,
 * one silence per line. */
#include "alert/silence_book.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_lines.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "intake/redact.h"
#include "os/random.h"
#include "wire/json.h"
#include "wire/time_text.h"

static const int64_t LONGEST_NS = SF_LIMIT_SILENCE_DAYS * SF_NS_PER_DAY;

static void silence_book_done(struct sf_silence *s)
{
    for (size_t i = 0; i < s->n_matchers; i++)
        sf_regex_free(s->matchers[i].re);
    sf_heap_free(s->block);
}

void sf_silence_book_done(struct sf_silence_book *b)
{
    for (size_t i = 0; i < b->n; i++)
        silence_book_done(&b->list[i]);
    sf_heap_free(b->list);
    sf_regex_scratch_free(b->regex);
    *b = (struct sf_silence_book){0};
}

/* ---- one silence ---- */

/* An unknown key is refused: ignoring it could make the silence wider than intended. */
static void refuse_key(struct sf_json *j, sf_str key, struct sf_why *why, enum sf_err *err)
{
    if (!*err)
        *err = sf_fail(why, SF_ERR_INPUT, "unknown key %.*s in a silence",
                       SF_STR_ARG(sf_str_part(key, 0, 60)));
    sf_json_skip(j);
}

static void silence_book_read_matcher(struct sf_json *j, struct sf_silence *s, struct sf_why *why,
                                      enum sf_err *err)
{
    struct sf_silence_matcher m = {0};
    bool has_value = false;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            m.name = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("value"))) {
            m.value = sf_json_str(j);
            has_value = true;
        } else if (sf_str_eq(key, SF_STR("isRegex"))) {
            m.is_regex = sf_json_bool(j);
        } else if (sf_str_eq(key, SF_STR("isEqual"))) {
            m.is_not = !sf_json_bool(j);
        } else {
            refuse_key(j, key, why, err);
        }
    }
    if (*err || !sf_json_ok(j))
        return;
    if (!m.name.len || !has_value)
        *err = sf_fail(why, SF_ERR_INPUT, "a matcher needs the name of a label and its value");
    else if (s->n_matchers == SF_LIMIT_SILENCE_MATCHERS)
        *err = sf_fail(why, SF_ERR_LIMIT, "more than %d matchers", SF_LIMIT_SILENCE_MATCHERS);
    else
        s->matchers[s->n_matchers++] = m;
}

static int64_t silence_book_read_time(struct sf_json *j, const char *what, struct sf_why *why,
                                      enum sf_err *err)
{
    sf_str text = sf_json_str(j);
    int64_t ns = 0;
    if (text.len && !sf_time_text_parse(text, 0, &ns) && !*err)
        *err = sf_fail(why, SF_ERR_INPUT, "%s is not a time: write 2026-01-31T12:00:00Z", what);
    return ns;
}

static enum sf_err read_silence(struct sf_json *j, int64_t now_ns, struct sf_silence *s,
                                struct sf_why *why)
{
    enum sf_err err = SF_OK;
    int64_t length_ns = 0;
    sf_str key, id;
    if (!sf_json_object(j))
        return sf_fail(why, SF_ERR_INPUT, "a silence is an object with matchers and endsAt");
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("matchers"))) {
            if (sf_json_array(j))
                while (sf_json_item(j))
                    silence_book_read_matcher(j, s, why, &err);
        } else if (sf_str_eq(key, SF_STR("startsAt"))) {
            s->start_ns = silence_book_read_time(j, "startsAt", why, &err);
        } else if (sf_str_eq(key, SF_STR("endsAt"))) {
            s->end_ns = silence_book_read_time(j, "endsAt", why, &err);
        } else if (sf_str_eq(key, SF_STR("createdAt"))) {
            s->created_ns = silence_book_read_time(j, "createdAt", why, &err);
        } else if (sf_str_eq(key, SF_STR("duration"))) {
            if (sf_setting_duration_parse(sf_json_str(j), SF_DURATION_BLANKS, &length_ns, NULL) &&
                !err)
                err = sf_fail(why, SF_ERR_INPUT, "duration is a time such as 2h");
        } else if (sf_str_eq(key, SF_STR("comment"))) {
            s->comment = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("createdBy"))) {
            s->by = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("tenant"))) {
            s->tenant = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("id"))) {
            id = sf_json_str(j);
            snprintf(s->id, sizeof(s->id), "%.*s", SF_STR_ARG(sf_str_part(id, 0, 16)));
        } else if (sf_str_eq(key, SF_STR("status")) || sf_str_eq(key, SF_STR("updatedAt")) ||
                   sf_str_eq(key, SF_STR("annotations"))) { /* fields of Alertmanager's own answers,
                                                             * ignored */
            sf_json_skip(j);
        } else {
            refuse_key(j, key, why, &err);
        }
    }
    (void)sf_json_end(j);
    if (!err)
        err = sf_json_why(j, "a silence", why);
    if (err)
        return err;
    if (!s->start_ns)
        s->start_ns = now_ns;
    if (length_ns > 0 && !s->end_ns)
        s->end_ns = sf_add_sat_i64(s->start_ns,
                                   length_ns < LONGEST_NS ? length_ns : LONGEST_NS + 1);
    return SF_OK;
}

/* Checks times given by users; the file may also contain a silence that ended before it began. */
static enum sf_err check_times(const struct sf_silence *s, struct sf_why *why)
{
    if (s->end_ns <= s->start_ns)
        return sf_fail(why, SF_ERR_INPUT,
                       "a silence needs endsAt, later than startsAt, or duration");
    return sf_sub_sat_i64(s->end_ns, s->start_ns) > LONGEST_NS
               ? sf_fail(why, SF_ERR_LIMIT, "a silence lasts at most %d days",
                         SF_LIMIT_SILENCE_DAYS)
               : SF_OK;
}

static enum sf_err silence_book_check(const struct sf_silence *s, struct sf_why *why)
{
    size_t len = s->comment.len + s->by.len;
    if (s->n_matchers == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "a silence needs matchers: without them it would silence every alert");
    for (size_t i = 0; i < s->n_matchers; i++)
        len += s->matchers[i].name.len + s->matchers[i].value.len;
    return len > SF_LIMIT_SILENCE_TEXT_LEN
               ? sf_fail(why, SF_ERR_LIMIT, "a silence has at most %d bytes of text",
                         SF_LIMIT_SILENCE_TEXT_LEN)
               : SF_OK;
}

/* Removes secrets from texts. A matcher that contains one is refused, because after redaction it
 * would match something else. */
static enum sf_err silence_book_redact(struct sf_silence_book *b, struct sf_silence *s,
                                       struct sf_arena *req, struct sf_why *why)
{
    enum sf_err err = sf_redact_text(b->redactor, req, "comment", &s->comment, &b->n_redacted, why);
    if (!err)
        err = sf_redact_text(b->redactor, req, "createdBy", &s->by, &b->n_redacted, why);
    for (size_t i = 0; b->redactor && !err && i < s->n_matchers; i++) {
        const struct sf_silence_matcher *m = &s->matchers[i];
        struct sf_attr attr = {m->name, {.type = SF_VALUE_STR, .str = m->value}};
        uint64_t n = 0;
        err = sf_redact_attr(b->redactor, req, &attr, &n, why);
        bool is_hidden = sf_str_starts(m->value, SF_STR("[REDACTED")); /* already redacted, as in
                                                                        * the alert */
        if (!err &&
            (!sf_str_eq(attr.key, m->name) || (!is_hidden && !sf_str_eq(attr.val.str, m->value))))
            err = sf_fail(why, SF_ERR_INPUT,
                          "a matcher looks like a secret, and silences are kept; labels of alerts "
                          "have [REDACTED] in its place");
    }
    return err;
}

static sf_str silence_book_keep(char **to, sf_str text)
{
    sf_str kept = {*to, text.len};
    if (text.len)
        memcpy(*to, text.p, text.len);
    *to += text.len + 1;
    return kept;
}

/* Copies the texts and compiles the patterns. */
static enum sf_err silence_book_own(struct sf_silence *s, struct sf_why *why)
{
    size_t len = s->tenant.len + s->comment.len + s->by.len + 3;
    enum sf_err err = SF_OK;
    char *to;
    for (size_t i = 0; i < s->n_matchers; i++)
        len += s->matchers[i].name.len + s->matchers[i].value.len + 2;
    s->block = to = sf_heap_new(len);
    if (!to)
        return sf_no_memory(why, "a silence");
    s->tenant = silence_book_keep(&to, s->tenant);
    s->comment = silence_book_keep(&to, s->comment);
    s->by = silence_book_keep(&to, s->by);
    for (size_t i = 0; i < s->n_matchers; i++) {
        struct sf_silence_matcher *m = &s->matchers[i];
        m->name = silence_book_keep(&to, m->name);
        m->value = silence_book_keep(&to, m->value);
        if (!err && m->is_regex)
            err = sf_regex_new_whole(m->value, &m->re, why);
    }
    return err;
}

static size_t silence_book_count_of(const struct sf_silence_book *b, sf_str tenant)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += sf_str_eq(b->list[i].tenant, tenant);
    return n;
}

static size_t patterns_of(const struct sf_silence *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_matchers; i++)
        n += s->matchers[i].is_regex;
    return n;
}

static enum sf_err check_patterns(const struct sf_silence_book *b, const struct sf_silence *s,
                                  struct sf_why *why)
{
    size_t all = patterns_of(s), own = all;
    if (!all)
        return SF_OK;
    for (size_t i = 0; i < b->n; i++) {
        size_t n = patterns_of(&b->list[i]);
        all += n;
        own += sf_str_eq(b->list[i].tenant, s->tenant) ? n : 0;
    }
    return all > SF_LIMIT_SILENCE_PATTERNS || own > SF_LIMIT_SILENCE_PATTERNS / 2
               ? sf_fail(why, SF_ERR_LIMIT,
                         "silences have %d patterns (isRegex) together, half of them of one tenant",
                         SF_LIMIT_SILENCE_PATTERNS)
               : SF_OK;
}

static bool silence_book_holds(struct sf_silence_book *b, const struct sf_silence_matcher *m,
                               sf_str value)
{
    bool is_equal = m->re ? sf_regex_match(m->re, value, b->regex) == SF_REGEX_FOUND
                          : sf_str_eq(m->value, value);
    return is_equal != m->is_not;
}

/* Refuses silences whose matchers all match alerts without the label: that is Alertmanager's
 * rule. */
static enum sf_err check_width(struct sf_silence_book *b, const struct sf_silence *s,
                               struct sf_why *why)
{
    for (size_t i = 0; i < s->n_matchers; i++) {
        if (!silence_book_holds(b, &s->matchers[i], SF_STR_NONE))
            return SF_OK;
    }
    return sf_fail(why, SF_ERR_INPUT,
                   "a silence needs a matcher that alerts without its label do not meet: all "
                   "would be silent");
}

static enum sf_err silence_book_add(struct sf_silence_book *b, struct sf_silence *s, bool is_told,
                                    struct sf_why *why)
{
    enum sf_err err = silence_book_check(s, why);
    size_t n = err ? 0 : silence_book_count_of(b, s->tenant);
    if (!err && (b->n == SF_LIMIT_SILENCES || n >= SF_LIMIT_SILENCES / 2))
        err = sf_fail(why, SF_ERR_LIMIT, "there are %zu silences already",
                      b->n == SF_LIMIT_SILENCES ? b->n : n);
    if (!err && is_told)
        err = check_patterns(b, s, why);
    if (!err && !b->regex && !(b->regex = sf_regex_scratch_new()))
        err = sf_no_memory(why, "a silence");
    if (!err)
        err = silence_book_own(s, why);
    if (!err && is_told)
        err = check_width(b, s, why);
    if (!err && !sf_list_room(&b->list, b->n, &b->cap, 8))
        err = sf_no_memory(why, "a silence");
    if (err) {
        silence_book_done(s);
        return err;
    }
    b->list[b->n++] = *s;
    return SF_OK;
}

enum sf_err sf_silence_book_add(struct sf_silence_book *b, sf_str json, sf_str tenant,
                                int64_t now_ns, struct sf_silence **out, struct sf_why *why)
{
    struct sf_arena arena = {0};
    struct sf_silence s = {0};
    struct sf_json j;
    enum sf_err err;
    if (!sf_arena_init(&arena, 4 * SF_LIMIT_SILENCE_BODY_LEN))
        return sf_no_memory(why, "a silence");
    sf_json_init(&j, json, &arena);
    err = read_silence(&j, now_ns, &s, why);
    s.tenant = tenant;
    s.created_ns = now_ns;
    snprintf(s.id, sizeof(s.id), "%016" PRIx64, sf_random_u64());
    if (!err)
        err = check_times(&s, why);
    if (!err)
        err = silence_book_redact(b, &s, &arena, why);
    if (!err)
        err = silence_book_add(b, &s, true, why);
    if (!err)
        *out = &b->list[b->n - 1];
    sf_arena_done(&arena);
    return err;
}

/* ---- the list ---- */

enum sf_err sf_silence_book_expire(struct sf_silence_book *b, sf_str id, sf_str tenant,
                                   int64_t now_ns, int64_t *out_end_ns, struct sf_why *why)
{
    for (size_t i = 0; i < b->n; i++) {
        struct sf_silence *s = &b->list[i];
        if (!sf_str_eq(sf_str_from(s->id), id) || !sf_str_eq(s->tenant, tenant))
            continue;
        *out_end_ns = s->end_ns;
        if (s->end_ns > now_ns)
            s->end_ns = now_ns;
        return SF_OK;
    }
    return sf_fail(why, SF_ERR_NOT_FOUND, "there is no such silence");
}

void sf_silence_book_set_end(struct sf_silence_book *b, sf_str id, int64_t end_ns)
{
    for (size_t i = 0; i < b->n; i++) {
        if (sf_str_eq(sf_str_from(b->list[i].id), id))
            b->list[i].end_ns = end_ns;
    }
}

void sf_silence_book_remove(struct sf_silence_book *b, const char *id)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (strcmp(b->list[i].id, id) == 0)
            silence_book_done(&b->list[i]);
        else
            b->list[n++] = b->list[i];
    }
    b->n = n;
}

void sf_silence_book_tidy(struct sf_silence_book *b, int64_t before_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (b->list[i].end_ns < before_ns)
            silence_book_done(&b->list[i]);
        else
            b->list[n++] = b->list[i];
    }
    b->n = n;
}

/* The value of a label; empty: missing. */
static sf_str silence_book_label_of(sf_str labels, sf_str name, struct sf_arena *req)
{
    struct sf_json j;
    struct sf_buf text = {0};
    sf_str key, found = SF_STR_NONE, whole;
    sf_buf_add_u8(&text, '{');
    sf_buf_add_str(&text, labels);
    sf_buf_add_u8(&text, '}');
    if (!sf_buf_ok(&text) || !sf_arena_copy(req, sf_buf_str(&text), &whole)) {
        sf_buf_done(&text);
        return found;
    }
    sf_buf_done(&text);
    sf_json_init(&j, whole, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, name))
                found = sf_json_str(&j);
            else
                sf_json_skip(&j);
        }
    }
    return found;
}

const struct sf_silence *sf_silence_book_find(struct sf_silence_book *b, sf_str tenant,
                                              sf_str labels, int64_t at_ns)
{
    struct sf_arena arena = {0};
    const struct sf_silence *found = NULL;
    if (b->n == 0 || !sf_arena_init(&arena, 8u << 20))
        return NULL;
    for (size_t i = 0; !found && i < b->n; i++) {
        struct sf_silence *s = &b->list[i];
        bool is_all = at_ns >= s->start_ns && at_ns < s->end_ns && sf_str_eq(s->tenant, tenant);
        for (size_t k = 0; is_all && k < s->n_matchers; k++) {
            sf_arena_reset(&arena);
            is_all = silence_book_holds(b, &s->matchers[k],
                                        silence_book_label_of(labels, s->matchers[k].name, &arena));
        }
        found = is_all ? s : NULL;
    }
    sf_arena_done(&arena);
    return found;
}

/* ---- JSON, and the file ---- */

static void silence_book_write_time(struct sf_json_writer *j, sf_str key, int64_t ns)
{
    struct sf_buf text = {0};
    sf_time_text_add(&text, (uint64_t)(ns > 0 ? ns : 0));
    for (size_t i = 0; i < text.len; i++)
        text.p[i] = text.p[i] == ' ' ? 'T' : text.p[i];
    sf_buf_add_u8(&text, 'Z');
    sf_json_write_key_str(j, key, sf_buf_str(&text));
    sf_buf_done(&text);
}

void sf_silence_book_json(const struct sf_silence *s, int64_t now_ns, struct sf_json_writer *j)
{
    sf_json_write_object(j);
    sf_json_write_key_str(j, SF_STR("id"), sf_str_from(s->id));
    sf_json_write_key(j, SF_STR("status"));
    sf_json_write_object(j);
    sf_json_write_key_str(j, SF_STR("state"),
                          now_ns < s->start_ns ? SF_STR("pending")
                          : now_ns < s->end_ns ? SF_STR("active")
                                               : SF_STR("expired"));
    sf_json_write_object_end(j);
    sf_json_write_key(j, SF_STR("matchers"));
    sf_json_write_array(j);
    for (size_t i = 0; i < s->n_matchers; i++) {
        sf_json_write_object(j);
        sf_json_write_key_str(j, SF_STR("name"), s->matchers[i].name);
        sf_json_write_key_str(j, SF_STR("value"), s->matchers[i].value);
        sf_json_write_key(j, SF_STR("isRegex"));
        sf_json_write_bool(j, s->matchers[i].is_regex);
        sf_json_write_key(j, SF_STR("isEqual"));
        sf_json_write_bool(j, !s->matchers[i].is_not);
        sf_json_write_object_end(j);
    }
    sf_json_write_array_end(j);
    silence_book_write_time(j, SF_STR("startsAt"), s->start_ns);
    silence_book_write_time(j, SF_STR("endsAt"), s->end_ns);
    silence_book_write_time(j, SF_STR("createdAt"), s->created_ns);
    sf_json_write_key_str(j, SF_STR("comment"), s->comment);
    sf_json_write_key_str(j, SF_STR("createdBy"), s->by);
    sf_json_write_key_str(j, SF_STR("tenant"), s->tenant);
    sf_json_write_object_end(j);
}

static const char head[] = "spanflame-silences 1 ";

void sf_silence_book_write(const struct sf_silence_book *b, struct sf_buf *out)
{
    struct sf_buf body = {0};
    for (size_t i = 0; i < b->n; i++) {
        struct sf_json_writer j = sf_json_writer_init(&body);
        sf_silence_book_json(&b->list[i], 0, &j);
        sf_buf_add_u8(&body, '\n');
    }
    sf_checked_lines_write(head, &body, out);
}

enum sf_err sf_silence_book_read(struct sf_silence_book *b, sf_str text, struct sf_why *why)
{
    struct sf_arena arena = {0};
    sf_str line, rest;
    enum sf_err err = sf_checked_lines_read(head, "silences", text, &rest, why);
    if (err)
        return err;
    if (!sf_arena_init(&arena, (size_t)1 << 20))
        return sf_no_memory(why, "silences");
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        struct sf_silence s = {0};
        struct sf_json j;
        if (!line.len)
            continue;
        sf_arena_reset(&arena);
        sf_json_init(&j, line, &arena);
        err = read_silence(&j, 0, &s, why);
        if (!err)
            err = silence_book_add(b, &s, false, why);
    }
    sf_arena_done(&arena);
    if (err)
        sf_silence_book_done(b);
    return err ? SF_ERR_CORRUPT : SF_OK;
}
