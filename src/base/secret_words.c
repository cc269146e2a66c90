#include "base/secret_words.h"

#include <string.h>

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}
static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static bool secret_words_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_word_char(char c)
{
    return is_lower(c) || is_upper(c) || secret_words_is_digit(c);
}
static char secret_words_lower(char c)
{
    return is_upper(c) ? (char)(c + 32) : c;
}

/* The next word part at or after *at; false at the end. *at moves after it. */
static bool words_next(sf_str text, size_t *at, sf_str *out)
{
    size_t i = *at, start;

    while (i < text.len && !is_word_char(text.p[i]))
        i++;
    start = i;
    if (i == text.len) {
        *at = i;
        return false;
    }
    for (i++; i < text.len && is_word_char(text.p[i]); i++) {
        char before = text.p[i - 1], here = text.p[i];
        if (is_upper(here) && !is_upper(before))
            break; /* authToken */
        if (is_upper(here) && is_upper(before) && i + 1 < text.len && is_lower(text.p[i + 1]))
            if (!(text.p[i + 1] == 's' && (i + 2 == text.len || !is_word_char(text.p[i + 2]))))
                break; /* HTTPToken, but not URLs */
    }
    *out = sf_str_part(text, start, i - start);
    *at = i;
    return true;
}

bool sf_secret_words_init(struct sf_word *out, sf_str text)
{
    size_t at = 0, len = 0;
    sf_str part;

    *out = (struct sf_word){0};
    while (words_next(text, &at, &part)) {
        if (out->n_parts == SF_WORDS_MAX_PARTS || part.len > SF_WORDS_MAX_LEN - len)
            return false;
        out->parts[out->n_parts++] = (sf_str){out->joined + len, part.len};
        for (size_t i = 0; i < part.len; i++)
            out->joined[len++] = secret_words_lower(part.p[i]);
    }
    out->whole = (sf_str){out->joined, len};
    return len > 0;
}

/* Equal except for case, or `part` is `word` followed by an s. */
static enum sf_word_found secret_words_compare(sf_str part, sf_str word)
{
    if (part.len != word.len && part.len != word.len + 1)
        return SF_WORD_NONE;
    for (size_t i = 0; i < word.len; i++) {
        if (secret_words_lower(part.p[i]) != word.p[i])
            return SF_WORD_NONE;
    }
    if (part.len == word.len)
        return SF_WORD_ONE;
    return secret_words_lower(part.p[word.len]) == 's' ? SF_WORD_PLURAL : SF_WORD_NONE;
}

static enum sf_word_found find_from(const struct sf_word *w, sf_str text, size_t at)
{
    enum sf_word_found found = SF_WORD_NONE;
    sf_str part;
    for (size_t i = 0; i < w->n_parts; i++) {
        if (!words_next(text, &at, &part))
            return SF_WORD_NONE;
        found = secret_words_compare(part, w->parts[i]);
        if (found == SF_WORD_NONE || (found == SF_WORD_PLURAL && i + 1 < w->n_parts))
            return SF_WORD_NONE;
    }
    return found;
}

enum sf_word_found sf_secret_words_find(const struct sf_word *w, sf_str text)
{
    size_t at = 0, next = 0;
    sf_str part;
    while (words_next(text, &next, &part)) {
        enum sf_word_found found = find_from(w, text, at);
        if (found == SF_WORD_NONE && w->n_parts > 1)
            found = secret_words_compare(part, w->whole);
        if (found != SF_WORD_NONE)
            return found;
        at = next;
    }
    return SF_WORD_NONE;
}

bool sf_secret_words_find_substring(const struct sf_word *w, sf_str text)
{
    char first = w->whole.p[0];
    if (text.len < w->whole.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        size_t at = i, n = 0;
        if (secret_words_lower(text.p[i]) != first)
            continue;
        /* Separators are ignored for a word of several parts: api_key contains "apikey". */
        while (at < text.len && n < w->whole.len) {
            if (secret_words_lower(text.p[at]) == w->whole.p[n])
                n++;
            else if (is_word_char(text.p[at]) || w->n_parts == 1)
                break;
            at++;
        }
        if (n == w->whole.len)
            return true;
    }
    return false;
}
