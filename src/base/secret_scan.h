/* secret_scan.h - state of a search for secrets in one text, and what was found. Private to
 * secret_*.c. */
#pragma once
#include <string.h>

#include "base/secret_shape.h"

struct sf_secret_scan {
    sf_str text;
    const struct sf_shape_names *names;
    struct sf_shape_hit *out;
    size_t n, max;
    bool has_args; /* contains something that looks like a flag */
    /* Ends that were found, of a value, a line, a run of token characters and a key. A text is
     * searched from its start, so these are the ends for all that begins before them, too. Without
     * them a text of many names and one value would be read once for each name. */
    size_t value_end, line_end, token_end, pem_end;
    size_t user_at, user_start,
        user_colon; /* the last @, what is before it, and the colon in that */
};

static inline void sf_scan_add(struct sf_secret_scan *s, enum sf_shape shape, size_t at, size_t end)
{
    if (at >= end)
        return;
    if (s->n < s->max)
        s->out[s->n] = (struct sf_shape_hit){at, end, shape};
    s->n++;
}

/* ---- characters ---- */

enum sf_char {
    SF_CHAR_ALNUM = 1,
    SF_CHAR_TOKEN68 = 2,
    SF_CHAR_BASE64URL = 4,
    SF_CHAR_NAME = 8,
    SF_CHAR_UPPER_DIGIT = 16,
    SF_CHAR_DIGIT = 32,
    SF_CHAR_END = 64, /* ends the value of a pair */
    SF_CHAR_HEX = 128
};

extern const uint8_t sf_scan_classes[256]; /* bits of enum sf_char */

static inline uint8_t sf_scan_class(char c)
{
    return sf_scan_classes[(uint8_t)c];
}

static inline size_t sf_scan_run(sf_str text, size_t at, uint8_t wanted)
{
    size_t end = at;
    while (end < text.len && (sf_scan_class(text.p[end]) & wanted))
        end++;
    return end;
}

static inline size_t sf_scan_token_end(struct sf_secret_scan *s, size_t at)
{
    if (at >= s->token_end)
        s->token_end = sf_scan_run(s->text, at, SF_CHAR_BASE64URL);
    return s->token_end;
}

static inline bool sf_scan_is_one_of(char c, const char *set)
{
    return c && strchr(set, c) != NULL;
}

static inline bool sf_scan_has_at(sf_str text, size_t at, const char *word)
{
    size_t len = strlen(word);
    return at <= text.len && len <= text.len - at && memcmp(text.p + at, word, len) == 0;
}

/* Whether `word` ends right before `end`, and no letter or digit precedes it. */
static inline bool sf_scan_has_before(sf_str text, size_t end, const char *word)
{
    size_t len = strlen(word);
    return len <= end && memcmp(text.p + end - len, word, len) == 0 &&
           (len == end || !(sf_scan_class(text.p[end - len - 1]) & SF_CHAR_ALNUM));
}

static inline bool sf_scan_has_word_before(sf_str text, size_t end, const char *word)
{
    size_t len = strlen(word);
    if (len > end || (len < end && (sf_scan_class(text.p[end - len - 1]) & SF_CHAR_ALNUM)))
        return false;
    return sf_str_ieq(sf_str_part(text, end - len, len), sf_str_from(word));
}

/* ---- tokens, keys and addresses that hold them: secret_token.c ---- */

/* Each is called where its shape may begin; the source says at which character of it. */
void sf_secret_token_check_jwt(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_cloud_key(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_private_key(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_auth_header(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_token(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_sendgrid(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_databricks(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_slack(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_slack_flow(struct sf_secret_scan *s, size_t at);
void sf_secret_token_check_discord(struct sf_secret_scan *s, size_t at);
