/* redact_pass.c - one pass of the redactor over a batch. Each text is first scanned for anything
 * suspicious; only then are words, shapes and expressions searched for and the matching parts
 * replaced. Keys and clean values seen recently are remembered, since batches repeat them. */
#include "intake/redact_pass.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/secret_args.h"
#include "base/text.h"
#include "model/value_list.h"
#include "wire/pb_write.h"

/* ---- replacements ---- */

static void redact_pass_note(struct sf_redact_pass *p, uint32_t rule, sf_str before)
{
    p->n++;
    atomic_fetch_add_explicit(&p->r->n_by_rule[rule], 1, memory_order_relaxed);
    if (p->watch) {
        struct sf_redact_change change = {.place = p->place,
                                          .resource = p->resource,
                                          .span = p->row,
                                          .key = p->key,
                                          .before = before,
                                          .rule = p->r->rules[rule]};
        p->watch->see(p->watch->arg, &change);
    }
}

enum { REPLACED_MAX = 32 };
static const char plain_text[] = "[REDACTED]";

/* The replacement of `secret`: at most REPLACED_MAX bytes. Equal secrets have equal hashes, so that
 * they can still be counted and joined; without the key, guesses cannot be checked against the
 * hashes. */
static size_t replacement(const struct sf_redact_pass *p, sf_str secret, char *to)
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

/* Already replaced, by this server or the sender's collector: do not hash a hash. */
static bool redact_pass_is_replaced(sf_str text)
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

static bool replace_whole(struct sf_redact_pass *p, uint32_t rule, sf_str secret, sf_str *out)
{
    char text[REPLACED_MAX];
    size_t len = replacement(p, secret, text);
    if (redact_pass_is_replaced(secret))
        return false;
    if (!sf_arena_copy(p->req, (sf_str){text, len}, out)) {
        p->is_full = true;
        return false;
    }
    redact_pass_note(p, rule, secret);
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

/* Expressions match bytes: extends a match to whole characters. */
static struct part whole_chars(sf_str text, struct part part)
{
    for (int i = 0; i < 3 && part.at > 0 && is_char_middle(text, part.at); i++)
        part.at--;
    for (int i = 0; i < 3 && is_char_middle(text, part.end); i++)
        part.end++;
    return part;
}

/* All parts of `text` that match expressions; SIZE_MAX: one reached its limit, or there are too
 * many. */
static size_t find_expressions(struct sf_redact_pass *p, sf_str text, struct part *parts, size_t n,
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

static bool replace_parts(struct sf_redact_pass *p, sf_str text, struct part *parts, size_t n,
                          sf_str *out)
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
        if (redact_pass_is_replaced(secret))
            continue;
        memcpy(to + len, text.p + from, part.at - from);
        len += part.at - from;
        len += replacement(p, secret, to + len);
        from = part.end;
        redact_pass_note(p, part.rule, secret);
    }
    if (from == 0 && len == 0)
        return false;
    memcpy(to + len, text.p + from, text.len - from);
    *out = (sf_str){to, len + text.len - from};
    return true;
}

/* Whether `text` contains a configured word. If a search in code is configured, built-in words that
 * are also configured count: "password" in the list means functions of that name. */
static bool holds_own_word(const struct sf_redactor *r, enum sf_redact_code code, sf_str text,
                           uint32_t *out_rule)
{
    bool is_chosen = code != SF_REDACT_CODE_MATCH;
    bool is_substring = is_chosen ? code == SF_REDACT_CODE_SUBSTRING : r->is_substring;
    if (code == SF_REDACT_CODE_NONE || !(r->has_own_words || (is_chosen && r->has_listed_words)))
        return false;
    for (size_t i = 0; i < r->n_words; i++) {
        const struct sf_redact_word *w = &r->words[i];
        if ((w->is_builtin && !(is_chosen && w->is_listed)) ||
            (is_substring ? !sf_secret_words_find_substring(&w->word, text)
                          : sf_secret_words_find(&w->word, text) == SF_WORD_NONE))
            continue;
        *out_rule = w->rule;
        return true;
    }
    return false;
}

static bool redact_suspect(struct sf_redact_pass *p, enum sf_redact_code code, unsigned look,
                           sf_str *text)
{
    struct sf_shape_hit hits[SF_REDACT_MAX_HITS];
    struct part parts[SF_REDACT_MAX_HITS];
    uint32_t rule = 0;
    size_t n;

    if (holds_own_word(p->r, code, *text, &rule))
        return replace_whole(p, rule, *text, text);
    n = look ? sf_secret_shape_find(*text, look, &p->names, hits, SF_REDACT_MAX_HITS) : 0;
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

static inline bool redact_text(struct sf_redact_pass *p, sf_str *text)
{
    unsigned look = sf_secret_shape_scan(*text);
    return text->len && (look || p->has_own) && redact_suspect(p, SF_REDACT_CODE_MATCH, look, text);
}

bool sf_redact_pass_name(struct sf_redact_pass *p, const char *place, sf_str *name)
{
    p->place = place;
    p->key = SF_STR_NONE;
    return p->r->in_names && redact_text(p, name);
}

bool sf_redact_pass_free_text(struct sf_redact_pass *p, const char *place, sf_str *text)
{
    p->place = place;
    p->key = SF_STR_NONE;
    return p->r->in_values && text->len && redact_text(p, text);
}

bool sf_redact_pass_code(struct sf_redact_pass *p, const char *place, enum sf_redact_code code,
                         sf_str *text)
{
    unsigned look = sf_secret_shape_scan(*text);
    p->place = place;
    p->key = SF_STR_NONE;
    return text->len && (look || p->has_own || p->r->has_listed_words) &&
           redact_suspect(p, code, look, text);
}

/* ---- values ---- */

static bool redact_attr(struct sf_redact_pass *p, struct sf_attr *attr,
                        enum sf_redact_verdict verdict, unsigned depth);

static void redact_pass_write_any(struct sf_buf *out, uint32_t field, struct sf_value v)
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

/* An element of a list that may be the arguments of a command: ["mysql", "-p..."]. */
static bool redact_arg(struct sf_redact_pass *p, struct sf_secret_args *args, sf_str *text)
{
    struct part part = {.rule = SF_SHAPE_ARG};
    return sf_secret_args_next(args, *text, &p->names, &part.at, &part.end) &&
           replace_parts(p, *text, &part, 1, text);
}

/* An array or map keeps its protobuf form: when a part changes, all of it is encoded again. The
 * decoder has checked the depth; it is limited here too, for bytes from other sources. */
static bool redact_list(struct sf_redact_pass *p, struct sf_value *val, unsigned depth)
{
    struct sf_value_list list = sf_value_list_init(*val);
    bool is_kvlist = val->type == SF_VALUE_KVLIST, is_changed = false;
    sf_str key = p->key;
    struct sf_secret_args args = {0};
    struct sf_buf out = {0};
    struct sf_attr item;

    while (sf_value_list_next(&list, &item)) {
        struct sf_attr before = item;
        if (!is_kvlist)
            item.key = key; /* elements have the key of the array */
        if (!is_kvlist && item.val.type == SF_VALUE_STR && redact_arg(p, &args, &item.val.str))
            is_changed = true;
        is_changed = redact_attr(p, &item, sf_redactor_key(p->r, item.key, p->scratch),
                                 depth + 1) ||
                     is_changed;
        p->key = key;
        if (is_kvlist) {
            size_t mark = sf_pb_write_begin(&out, 1);
            if (item.key.len)
                sf_pb_write_str(&out, 1, item.key);
            if (before.val.type != SF_VALUE_NONE)
                redact_pass_write_any(&out, 2, item.val);
            sf_pb_write_end(&out, mark);
        } else {
            redact_pass_write_any(&out, 1, item.val);
        }
    }
    /* If encoding it again gives other bytes, it contains something that was not scanned. */
    if (!is_changed && sf_buf_ok(&out) && !sf_str_eq(sf_buf_str(&out), val->str)) {
        redact_pass_note(p, SF_SHAPE_UNKNOWN, val->str);
        is_changed = true;
    }
    if (!sf_buf_ok(&out))
        p->is_full = true;
    if (is_changed && (!sf_buf_ok(&out) || !sf_arena_copy(p->req, sf_buf_str(&out), &val->str)))
        p->is_full = true;
    sf_buf_done(&out);
    return is_changed;
}

static bool redact_value(struct sf_redact_pass *p, struct sf_value *val, unsigned depth)
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

/* Redacts the value of a secret key. A boolean is not a secret. */
static bool hide_value(struct sf_redact_pass *p, uint32_t rule, struct sf_value *val)
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

/* For a key that itself contains an expression or shape: that part of the key is replaced and, for
 * an expression or a secret word, the value as well. The key is cleared first, so that its former
 * content is never visible. */
static bool rewrite_key(struct sf_redact_pass *p, struct sf_attr *attr, unsigned depth)
{
    uint32_t rule = sf_redactor_key_rule(p->r, attr->key, p->scratch), word_rule = 0;
    enum sf_redact_verdict by_words = sf_redactor_key_words(p->r, attr->key, &word_rule);
    bool is_changed,
        is_number = attr->val.type == SF_VALUE_INT || attr->val.type == SF_VALUE_DOUBLE;

    p->key = SF_STR_NONE;
    is_changed = redact_text(p, &attr->key);
    p->key = attr->key;
    if (rule >= SF_SHAPES)
        return hide_value(p, rule, &attr->val) || is_changed;
    if (by_words == SF_VERDICT_SECRET || (by_words == SF_VERDICT_SECRET_TEXT && !is_number))
        return hide_value(p, word_rule, &attr->val) || is_changed;
    return (p->r->in_values && redact_value(p, &attr->val, depth)) || is_changed;
}

static bool redact_attr(struct sf_redact_pass *p, struct sf_attr *attr,
                        enum sf_redact_verdict verdict, unsigned depth)
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

/* Equal strings of equal length; avoids a call for the usual lengths of keys. */
static inline bool redact_pass_is_same(const char *a, const char *b, size_t len)
{
    if (len > 32 || len < 8)
        return len == 0 || memcmp(a, b, len) == 0;
    if (len > 16 && (sf_load_u64le(a + 8) != sf_load_u64le(b + 8) ||
                     sf_load_u64le(a + len - 16) != sf_load_u64le(b + len - 16)))
        return false;
    return sf_load_u64le(a) == sf_load_u64le(b) &&
           sf_load_u64le(a + len - 8) == sf_load_u64le(b + len - 8);
}

/* The cache entry for a key at this position; NULL: positions so far back are not cached. */
static inline struct sf_redact_recent *recent_at(struct sf_redact_pass *p, sf_str key,
                                                 uint32_t place)
{
    struct sf_redact_recent *known = &p->recent[(place * 8 + key.len % 8) % SF_REDACT_RECENT];
    if (place >= SF_REDACT_RECENT_PLACES)
        return NULL;
    if (known->verdict == SF_VERDICT_UNKNOWN || known->key.len != key.len ||
        !redact_pass_is_same(known->key.p, key.p, key.len))
        *known = (struct sf_redact_recent){.key = key,
                                           .verdict = sf_redactor_key(p->r, key, p->scratch)};
    return known;
}

/* Texts without anything that looks like a secret: most texts, and many are repeated. */
static inline bool redact_pass_is_clean(const struct sf_redact_pass *p,
                                        struct sf_redact_recent *known, sf_str text)
{
    if (p->has_own)
        return false;
    if (known && known->clean.len == text.len && text.len &&
        redact_pass_is_same(known->clean.p, text.p, text.len))
        return true;
    if (sf_secret_shape_scan(text))
        return false;
    if (known)
        known->clean = text;
    return true;
}

bool sf_redact_pass_attrs(struct sf_redact_pass *p, const char *place, struct sf_attrs *attrs)
{
    struct sf_attr *copy = NULL;

    p->place = place;
    for (uint32_t i = 0; i < attrs->n; i++) {
        const struct sf_attr *from = &attrs->list[i];
        struct sf_redact_recent *known = recent_at(p, from->key, i);
        enum sf_redact_verdict verdict = known ? known->verdict
                                               : sf_redactor_key(p->r, from->key, p->scratch);
        struct sf_attr attr;
        if (verdict == SF_VERDICT_CLEAN && from->val.type == SF_VALUE_STR &&
            redact_pass_is_clean(p, known, from->val.str))
            continue;
        if (verdict == SF_VERDICT_CLEAN && from->val.type == SF_VALUE_INT &&
            !sf_shape_is_card((uint64_t)from->val.i64)) /* the most common remaining case */
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

void *sf_redact_pass_own_list(struct sf_redact_pass *p, void **copy, const void *list, size_t n,
                              size_t size)
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

static bool pair_is_secret(const void *arg, sf_str name, bool is_number)
{
    const struct sf_redact_pass *p = arg;
    enum sf_redact_verdict verdict = sf_redactor_key(p->r, name, p->scratch);
    return verdict == SF_VERDICT_SECRET || (verdict == SF_VERDICT_SECRET_TEXT && !is_number);
}

enum sf_err sf_redact_pass_init(struct sf_redact_pass *p, const struct sf_redactor *r,
                                struct sf_arena *req, const struct sf_redact_watch *watch,
                                struct sf_why *why)
{
    *p = (struct sf_redact_pass){.r = r, .req = req, .watch = watch, .row = UINT32_MAX};
    p->names = (struct sf_shape_names){pair_is_secret, p, r->has_builtin};
    p->has_own = r->has_own_words || r->n_regexes;
    if (r->n_regexes) {
        p->scratch = sf_regex_scratch_new();
        if (!p->scratch)
            return sf_fail(why, SF_ERR_NOMEM, "redact: no memory");
    }
    return SF_OK;
}

enum sf_err sf_redact_pass_done(struct sf_redact_pass *p, struct sf_why *why)
{
    sf_regex_scratch_free(p->scratch);
    p->scratch = NULL;
    if (p->is_full)
        return sf_fail(why, SF_ERR_LIMIT, "redact: the request does not fit its memory");
    return SF_OK;
}
