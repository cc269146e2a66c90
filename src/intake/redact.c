/* One pass over a batch. Parts that change are copied into the arena when the first change in them
 * is found, so a batch without secrets costs the looking and nothing else. */
#include "intake/redact.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "intake/redact_rules.h"
#include "model/value_list.h"
#include "wire/pb_writer.h"

enum { RECENT_KEYS = 256, RECENT_PLACES = 32 };

struct pass {
    const struct sf_redactor *r;
    struct sf_arena *req;
    struct sf_regex_scratch *scratch; /* NULL: no expressions */
    const struct sf_redact_watch *watch;
    struct sf_shape_names names;
    const char *place;
    uint32_t resource, span;
    sf_str key; /* of the attribute at hand */
    uint64_t n;
    bool has_own; /* words or expressions that any text may match */
    bool is_full; /* the arena is; nothing of this pass will be used */
    /* Spans of one sender carry their keys in one order, and there are few kinds of them: a key of
     * this length that stood at this place before is nearly always what stands there now, and often
     * with the same value. */
    struct recent {
        sf_str key;
        sf_str clean; /* the value seen last in which nothing was found */
        enum sf_redact_verdict verdict;
    } recent[RECENT_KEYS];
};

/* ---- replacements ---- */

static void note(struct pass *p, uint32_t rule, sf_str before)
{
    p->n++;
    atomic_fetch_add_explicit(&p->r->n_by_rule[rule], 1, memory_order_relaxed);
    if (p->watch) {
        struct sf_redact_change change = {.place = p->place,
                                          .resource = p->resource,
                                          .span = p->span,
                                          .key = p->key,
                                          .before = before,
                                          .rule = p->r->rules[rule]};
        p->watch->see(p->watch->arg, &change);
    }
}

enum { REPLACED_MAX = 32 };
static const char plain_text[] = "[REDACTED]";

/* What stands for `secret`: at most REPLACED_MAX bytes. Equal secrets have equal hashes, so that
 * they can still be counted and joined; without the key nobody can try guesses against them. */
static size_t replacement(const struct pass *p, sf_str secret, char *to)
{
    uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    memcpy(to, plain_text, sizeof(plain_text) - 1);
    if (!p->r->hash_key_len)
        return sizeof(plain_text) - 1;
    if (!HMAC(EVP_sha256(), p->r->hash_key, (int)p->r->hash_key_len,
              (const unsigned char *)(secret.p ? secret.p : ""), secret.len, mac, &len))
        return sizeof(plain_text) - 1;
    to[9] = ':';
    sf_hex_encode(mac, 8, to + 10);
    to[26] = ']';
    return 27;
}

/* Already replaced, by us or by the sender's own collector: again would hash a hash. */
static bool is_replaced(sf_str text)
{
    if (sf_str_eq(text, SF_STR("[REDACTED]")))
        return true;
    if (text.len != 27 || !sf_str_starts(text, SF_STR("[REDACTED:")) || text.p[26] != ']')
        return false;
    for (size_t i = 10; i < 26; i++) {
        if (sf_hex_digit(text.p[i]) < 0)
            return false;
    }
    return true;
}

static bool replace_whole(struct pass *p, uint32_t rule, sf_str secret, sf_str *out)
{
    char text[REPLACED_MAX];
    size_t len = replacement(p, secret, text);
    if (is_replaced(secret))
        return false;
    if (!sf_arena_copy(p->req, (sf_str){text, len}, out)) {
        p->is_full = true;
        return false;
    }
    note(p, rule, secret);
    return true;
}

/* ---- text ---- */

struct part {
    size_t at, end;
    uint32_t rule;
};

static bool is_char_middle(sf_str text, size_t at)
{
    return at < text.len && ((uint8_t)text.p[at] & 0xc0) == 0x80;
}

/* Expressions match bytes: never leave half a character behind. */
static struct part whole_chars(sf_str text, struct part part)
{
    for (int i = 0; i < 3 && part.at > 0 && is_char_middle(text, part.at); i++)
        part.at--;
    for (int i = 0; i < 3 && is_char_middle(text, part.end); i++)
        part.end++;
    return part;
}

/* All parts of `text` that expressions match; SIZE_MAX: one gave up, or there are too many. */
static size_t find_expressions(struct pass *p, sf_str text, struct part *parts, size_t n,
                               uint32_t *out_rule)
{
    for (size_t i = 0; i < p->r->n_regexes; i++) {
        size_t from = 0, at, end;
        while (from <= text.len) {
            enum sf_regex_result found = sf_regex_find(p->r->regexes[i].re, text, from, p->scratch,
                                                       &at, &end);
            if (found == SF_REGEX_NONE)
                break;
            *out_rule = p->r->regexes[i].rule;
            if (found == SF_REGEX_GAVE_UP || n == SF_REDACT_MAX_HITS)
                return SIZE_MAX;
            if (end > at)
                parts[n++] = whole_chars(text, (struct part){at, end, *out_rule});
            from = end > from ? end : from + 1;
        }
    }
    return n;
}

static void sort_parts(struct part *parts, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct part part = parts[i];
        size_t at = i;
        for (; at > 0 && parts[at - 1].at > part.at; at--)
            parts[at] = parts[at - 1];
        parts[at] = part;
    }
}

static bool replace_parts(struct pass *p, sf_str text, struct part *parts, size_t n, sf_str *out)
{
    size_t len = 0, from = 0;
    char *to;

    sort_parts(parts, n);
    to = sf_arena_raw(p->req, text.len + n * REPLACED_MAX, 1);
    if (!to) {
        p->is_full = true;
        return false;
    }
    for (size_t i = 0; i < n;) {
        struct part part = parts[i];
        sf_str secret;
        for (i++; i < n && parts[i].at <= part.end; i++)
            part.end = parts[i].end > part.end ? parts[i].end : part.end;
        secret = sf_str_part(text, part.at, part.end - part.at);
        if (is_replaced(secret))
            continue;
        memcpy(to + len, text.p + from, part.at - from);
        len += part.at - from;
        len += replacement(p, secret, to + len);
        from = part.end;
        note(p, part.rule, secret);
    }
    if (from == 0 && len == 0)
        return false;
    memcpy(to + len, text.p + from, text.len - from);
    *out = (sf_str){to, len + text.len - from};
    return true;
}

static bool holds_own_word(const struct sf_redactor *r, sf_str text, uint32_t *out_rule)
{
    for (size_t i = 0; r->has_own_words && i < r->n_words; i++) {
        const struct sf_redact_word *w = &r->words[i];
        if (w->is_builtin || (r->is_substring ? !sf_word_find_substring(&w->word, text)
                                              : sf_word_find(&w->word, text) == SF_WORD_NONE))
            continue;
        *out_rule = w->rule;
        return true;
    }
    return false;
}

static bool redact_suspect(struct pass *p, unsigned look, sf_str *text)
{
    struct sf_shape_hit hits[SF_REDACT_MAX_HITS];
    struct part parts[SF_REDACT_MAX_HITS];
    uint32_t rule = 0;
    size_t n;

    if (p->r->has_own_words && holds_own_word(p->r, *text, &rule))
        return replace_whole(p, rule, *text, text);
    n = look ? sf_shape_find(*text, look, &p->names, hits, SF_REDACT_MAX_HITS) : 0;
    if (n > SF_REDACT_MAX_HITS)
        return replace_whole(p, (uint32_t)hits[0].shape, *text, text);
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct part){hits[i].at, hits[i].end, (uint32_t)hits[i].shape};
    if (p->r->n_regexes) {
        n = find_expressions(p, *text, parts, n, &rule);
        if (n == SIZE_MAX)
            return replace_whole(p, rule, *text, text);
    }
    return n && replace_parts(p, *text, parts, n, text);
}

static inline bool redact_text(struct pass *p, sf_str *text)
{
    unsigned look = sf_shape_look(*text);
    return text->len && (look || p->has_own) && redact_suspect(p, look, text);
}

static bool redact_name(struct pass *p, const char *place, sf_str *name)
{
    p->place = place;
    p->key = SF_STR_NONE;
    return p->r->in_names && redact_text(p, name);
}

static bool redact_free_text(struct pass *p, const char *place, sf_str *text)
{
    p->place = place;
    p->key = SF_STR_NONE;
    return p->r->in_values && text->len && redact_text(p, text);
}

/* ---- values ---- */

static bool redact_attr(struct pass *p, struct sf_attr *attr, enum sf_redact_verdict verdict,
                        unsigned depth);

static void write_any(struct sf_buf *out, uint32_t field, struct sf_value v)
{
    size_t mark = sf_pb_write_begin(out, field);
    switch (v.type) {
    case SF_VALUE_STR: sf_pb_write_str(out, 1, v.str); break;
    case SF_VALUE_BOOL: sf_pb_write_bool(out, 2, v.is_true); break;
    case SF_VALUE_INT: sf_pb_write_i64(out, 3, v.i64); break;
    case SF_VALUE_DOUBLE: sf_pb_write_double(out, 4, v.f64); break;
    case SF_VALUE_ARRAY: sf_pb_write_str(out, 5, v.str); break;
    case SF_VALUE_KVLIST: sf_pb_write_str(out, 6, v.str); break;
    case SF_VALUE_BYTES: sf_pb_write_str(out, 7, v.str); break;
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY:
    case SF_VALUE_TYPES: break;
    }
    sf_pb_write_end(out, mark);
}

/* An array or map keeps its protobuf form: when something inside changes, all of it is written
 * anew. Depth was checked by the decoder; the count here is for bytes that come another way. */
static bool redact_list(struct pass *p, struct sf_value *val, unsigned depth)
{
    struct sf_value_list list = sf_value_list_init(*val);
    bool is_kvlist = val->type == SF_VALUE_KVLIST, is_changed = false;
    sf_str key = p->key;
    struct sf_buf out = {0};
    struct sf_attr item;

    while (sf_value_list_next(&list, &item)) {
        struct sf_attr before = item;
        if (!is_kvlist)
            item.key = key; /* an element belongs to the array's key */
        is_changed = redact_attr(p, &item, sf_redactor_key(p->r, item.key, p->scratch),
                                 depth + 1) ||
                     is_changed;
        p->key = key;
        if (is_kvlist) {
            size_t mark = sf_pb_write_begin(&out, 1);
            if (item.key.len)
                sf_pb_write_str(&out, 1, item.key);
            if (before.val.type != SF_VALUE_NONE)
                write_any(&out, 2, item.val);
            sf_pb_write_end(&out, mark);
        } else {
            write_any(&out, 1, item.val);
        }
    }
    /* Written anew it must be the same: if not, something is in there that nobody looked at. */
    if (!is_changed && sf_buf_ok(&out) && !sf_str_eq(sf_buf_str(&out), val->str)) {
        note(p, SF_SHAPE_UNKNOWN, val->str);
        is_changed = true;
    }
    if (!sf_buf_ok(&out))
        p->is_full = true;
    if (is_changed && (!sf_buf_ok(&out) || !sf_arena_copy(p->req, sf_buf_str(&out), &val->str)))
        p->is_full = true;
    sf_buf_done(&out);
    return is_changed;
}

static bool redact_value(struct pass *p, struct sf_value *val, unsigned depth)
{
    uint32_t rule = SF_SHAPE_CARD;
    sf_str text;
    char digits[24];

    switch (val->type) {
    case SF_VALUE_STR: return redact_text(p, &val->str);
    case SF_VALUE_BYTES:
        if (!redact_text(p, &val->str))
            return false;
        val->type = SF_VALUE_STR;
        return true;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST:
        if (depth < SF_LIMIT_NESTING)
            return redact_list(p, val, depth);
        if (!replace_whole(p, rule, val->str, &text))
            return false;
        *val = (struct sf_value){.type = SF_VALUE_STR, .str = text};
        return true;
    case SF_VALUE_INT:
        if (!p->names.has_shapes || val->i64 < 0 || !sf_shape_is_card((uint64_t)val->i64))
            return false;
        text = (sf_str){digits,
                        (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)val->i64)};
        if (!replace_whole(p, rule, text, &text))
            return false;
        *val = (struct sf_value){.type = SF_VALUE_STR, .str = text};
        return true;
    case SF_VALUE_DOUBLE:
    case SF_VALUE_BOOL:
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY:
    case SF_VALUE_TYPES: break;
    }
    return false;
}

/* The value under a secret key. A yes or no is no secret. */
static bool hide_value(struct pass *p, uint32_t rule, struct sf_value *val)
{
    char digits[32];
    sf_str text = val->str;

    if (val->type == SF_VALUE_NONE || val->type == SF_VALUE_EMPTY || val->type == SF_VALUE_BOOL)
        return false;
    if (val->type == SF_VALUE_INT)
        text = (sf_str){digits,
                        (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)val->i64)};
    else if (val->type == SF_VALUE_DOUBLE)
        text = (sf_str){digits, (size_t)snprintf(digits, sizeof(digits), "%.17g", val->f64)};
    if (text.len == 0 || !replace_whole(p, rule, text, &text))
        return false;
    *val = (struct sf_value){.type = SF_VALUE_STR, .str = text};
    return true;
}

/* An expression or shape in the key itself: that part of the key goes, and with an expression the
 * value as well. The key goes first, so that nobody who watches sees what was in it. */
static bool rewrite_key(struct pass *p, struct sf_attr *attr, unsigned depth)
{
    uint32_t rule = sf_redactor_key_rule(p->r, attr->key, p->scratch);
    bool is_changed;

    p->key = SF_STR_NONE;
    is_changed = redact_text(p, &attr->key);
    p->key = attr->key;
    if (rule >= SF_SHAPES)
        return hide_value(p, rule, &attr->val) || is_changed;
    return (p->r->in_values && redact_value(p, &attr->val, depth)) || is_changed;
}

static bool redact_attr(struct pass *p, struct sf_attr *attr, enum sf_redact_verdict verdict,
                        unsigned depth)
{
    p->key = attr->key;
    switch (verdict) {
    case SF_VERDICT_ALLOWED: return false;
    case SF_VERDICT_SECRET_TEXT:
        if (attr->val.type == SF_VALUE_INT || attr->val.type == SF_VALUE_DOUBLE)
            return false;
        return hide_value(p, sf_redactor_key_rule(p->r, attr->key, p->scratch), &attr->val);
    case SF_VERDICT_SECRET:
        return hide_value(p, sf_redactor_key_rule(p->r, attr->key, p->scratch), &attr->val);
    case SF_VERDICT_REWRITE: return rewrite_key(p, attr, depth);
    case SF_VERDICT_UNKNOWN:
    case SF_VERDICT_CLEAN: break;
    }
    return p->r->in_values && redact_value(p, &attr->val, depth);
}

/* Equal strings of equal length, without a call for the lengths keys have. */
static inline bool is_same(const char *a, const char *b, size_t len)
{
    if (len > 32 || len < 8)
        return len == 0 || memcmp(a, b, len) == 0;
    if (len > 16 && (sf_load_u64le(a + 8) != sf_load_u64le(b + 8) ||
                     sf_load_u64le(a + len - 16) != sf_load_u64le(b + len - 16)))
        return false;
    return sf_load_u64le(a) == sf_load_u64le(b) &&
           sf_load_u64le(a + len - 8) == sf_load_u64le(b + len - 8);
}

/* What is known of a key at this place; NULL: so far back nothing is remembered. */
static inline struct recent *recent_at(struct pass *p, sf_str key, uint32_t place)
{
    struct recent *known = &p->recent[(place * 8 + key.len % 8) % RECENT_KEYS];
    if (place >= RECENT_PLACES)
        return NULL;
    if (known->verdict == SF_VERDICT_UNKNOWN || known->key.len != key.len ||
        !is_same(known->key.p, key.p, key.len))
        *known = (struct recent){.key = key, .verdict = sf_redactor_key(p->r, key, p->scratch)};
    return known;
}

/* Texts without anything that looks like a secret: most of them, and many of them again and again.
 */
static inline bool is_clean(const struct pass *p, struct recent *known, sf_str text)
{
    if (p->has_own)
        return false;
    if (known && known->clean.len == text.len && text.len &&
        is_same(known->clean.p, text.p, text.len))
        return true;
    if (sf_shape_look(text))
        return false;
    if (known)
        known->clean = text;
    return true;
}

static bool redact_attrs(struct pass *p, const char *place, struct sf_attrs *attrs)
{
    struct sf_attr *copy = NULL;

    p->place = place;
    for (uint32_t i = 0; i < attrs->n; i++) {
        const struct sf_attr *from = &attrs->list[i];
        struct recent *known = recent_at(p, from->key, i);
        enum sf_redact_verdict verdict = known ? known->verdict
                                               : sf_redactor_key(p->r, from->key, p->scratch);
        struct sf_attr attr;
        if (verdict == SF_VERDICT_CLEAN && from->val.type == SF_VALUE_STR &&
            is_clean(p, known, from->val.str))
            continue;
        if (verdict == SF_VERDICT_CLEAN && from->val.type == SF_VALUE_INT &&
            !sf_shape_is_card((uint64_t)from->val.i64)) /* most of the rest */
            continue;
        attr = *from;
        if (!redact_attr(p, &attr, verdict, 0))
            continue;
        if (!copy) {
            copy = sf_arena_new_n(p->req, attrs->n, sizeof(*copy));
            if (!copy) {
                p->is_full = true;
                return false;
            }
            memcpy(copy, attrs->list, attrs->n * sizeof(*copy));
        }
        copy[i] = attr;
    }
    if (copy)
        attrs->list = copy;
    return copy != NULL;
}

/* ---- batches ---- */

/* A list's own copy, made at the first change. NULL: the arena is full. */
static void *own_list(struct pass *p, void **copy, const void *list, size_t n, size_t size)
{
    if (!*copy) {
        *copy = sf_arena_new_n(p->req, n, size);
        if (*copy)
            memcpy(*copy, list, n * size);
        else
            p->is_full = true;
    }
    return *copy;
}

static void redact_resources(struct pass *p, struct sf_span_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_resources && !p->is_full; i++) {
        struct sf_resource res = b->resources[i];
        bool is_changed;
        p->resource = i;
        is_changed = redact_attrs(p, "resource.attributes", &res.attrs);
        is_changed = redact_free_text(p, "resource.schema_url", &res.schema_url) || is_changed;
        if (!is_changed || !own_list(p, &copy, b->resources, b->n_resources, sizeof(res)))
            continue;
        if (sf_attrs_str(res.attrs, SF_STR("service.name")).len)
            res.service = sf_attrs_str(res.attrs, SF_STR("service.name"));
        ((struct sf_resource *)copy)[i] = res;
    }
    if (copy)
        b->resources = copy;
}

static void redact_scopes(struct pass *p, struct sf_span_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_scopes && !p->is_full; i++) {
        struct sf_scope scope = b->scopes[i];
        bool is_changed = redact_name(p, "scope.name", &scope.name);
        is_changed = redact_free_text(p, "scope.version", &scope.version) || is_changed;
        is_changed = redact_free_text(p, "scope.schema_url", &scope.schema_url) || is_changed;
        is_changed = redact_attrs(p, "scope.attributes", &scope.attrs) || is_changed;
        if (is_changed && own_list(p, &copy, b->scopes, b->n_scopes, sizeof(scope)))
            ((struct sf_scope *)copy)[i] = scope;
    }
    if (copy)
        b->scopes = copy;
}

static bool redact_events(struct pass *p, struct sf_span *span)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < span->n_events && !p->is_full; i++) {
        struct sf_event event = span->events[i];
        bool is_changed = redact_name(p, "event.name", &event.name);
        is_changed = redact_attrs(p, "event.attributes", &event.attrs) || is_changed;
        if (is_changed && own_list(p, &copy, span->events, span->n_events, sizeof(event)))
            ((struct sf_event *)copy)[i] = event;
    }
    if (copy)
        span->events = copy;
    return copy != NULL;
}

static bool redact_links(struct pass *p, struct sf_span *span)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < span->n_links && !p->is_full; i++) {
        struct sf_link link = span->links[i];
        bool is_changed = redact_free_text(p, "link.trace_state", &link.trace_state);
        is_changed = redact_attrs(p, "link.attributes", &link.attrs) || is_changed;
        if (is_changed && own_list(p, &copy, span->links, span->n_links, sizeof(link)))
            ((struct sf_link *)copy)[i] = link;
    }
    if (copy)
        span->links = copy;
    return copy != NULL;
}

static bool redact_span(struct pass *p, struct sf_span *span)
{
    bool is_changed = redact_name(p, "span.name", &span->name);
    is_changed = redact_attrs(p, "span.attributes", &span->attrs) || is_changed;
    is_changed = redact_free_text(p, "span.status", &span->status_msg) || is_changed;
    is_changed = redact_free_text(p, "span.trace_state", &span->trace_state) || is_changed;
    if (span->n_events)
        is_changed = redact_events(p, span) || is_changed;
    if (span->n_links)
        is_changed = redact_links(p, span) || is_changed;
    return is_changed;
}

static bool pair_is_secret(const void *arg, sf_str name, bool is_number)
{
    const struct pass *p = arg;
    enum sf_redact_verdict verdict = sf_redactor_key(p->r, name, p->scratch);
    return verdict == SF_VERDICT_SECRET || (verdict == SF_VERDICT_SECRET_TEXT && !is_number);
}

enum sf_err sf_redact_spans(const struct sf_redactor *r, const struct sf_span_batch *in,
                            struct sf_arena *req, const struct sf_redact_watch *watch,
                            struct sf_span_batch *out, uint64_t *out_n, struct sf_why *why)
{
    struct pass p = {.r = r, .req = req, .watch = watch, .span = UINT32_MAX};
    struct sf_span_batch b = *in;
    void *copy = NULL;

    p.names = (struct sf_shape_names){pair_is_secret, &p, r->has_builtin};
    p.has_own = r->has_own_words || r->n_regexes;
    if (r->n_regexes) {
        p.scratch = sf_regex_scratch_new();
        if (!p.scratch)
            return sf_fail(why, SF_ERR_NOMEM, "redact: no memory");
    }
    redact_resources(&p, &b);
    redact_scopes(&p, &b);
    for (uint32_t i = 0; i < b.n_spans && !p.is_full; i++) {
        struct sf_span span = b.spans[i];
        p.span = i;
        p.resource = span.resource;
        if (redact_span(&p, &span) && own_list(&p, &copy, b.spans, b.n_spans, sizeof(span)))
            ((struct sf_span *)copy)[i] = span;
    }
    sf_regex_scratch_free(p.scratch);
    if (p.is_full)
        return sf_fail(why, SF_ERR_LIMIT, "redact: the request does not fit its memory");
    if (copy)
        b.spans = copy;
    *out = b;
    *out_n = p.n;
    return SF_OK;
}
