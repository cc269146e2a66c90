#include "regex/word_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"

struct sf_word_list {
    char *text; /* the unescaped words, concatenated */
    sf_str *words;
    size_t n;
};

static bool is_special(char c)
{
    return c == '\0' || strchr("\\.+*?()[]{}^$", c);
}

bool sf_word_list_is(sf_str pattern)
{
    size_t bar;
    if (!sf_str_find_char(pattern, '|', &bar))
        return false;
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.p[i] == '\\') {
            i++;
            if (i == pattern.len || !(is_special(pattern.p[i]) || strchr("|-/", pattern.p[i])) ||
                pattern.p[i] == '\0')
                return false;
        } else if (is_special(pattern.p[i])) {
            return false;
        }
    }
    return sf_utf8_is_valid(pattern);
}

static int by_bytes(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

struct sf_word_list *sf_word_list_new(sf_str pattern)
{
    struct sf_word_list *l = sf_heap_new(sizeof(*l));
    size_t n = 1, len = 0, start = 0;
    for (size_t i = 0; i < pattern.len; i++)
        n += pattern.p[i] == '|';
    if (!l)
        return NULL;
    l->text = sf_heap_new(pattern.len + 1);
    l->words = sf_heap_new_n(n, sizeof(*l->words));
    if (!l->text || !l->words) {
        sf_word_list_free(l);
        return NULL;
    }
    for (size_t i = 0; i <= pattern.len; i++) {
        if (i == pattern.len || pattern.p[i] == '|') {
            l->words[l->n++] = (sf_str){l->text + start, len - start};
            start = len;
        } else {
            i += pattern.p[i] == '\\';
            l->text[len++] = pattern.p[i];
        }
    }
    qsort(l->words, l->n, sizeof(*l->words), by_bytes);
    return l;
}

void sf_word_list_free(struct sf_word_list *l)
{
    if (l) {
        sf_heap_free(l->text);
        sf_heap_free(l->words);
        sf_heap_free(l);
    }
}

bool sf_word_list_has(const struct sf_word_list *l, sf_str text)
{
    return bsearch(&text, l->words, l->n, sizeof(*l->words), by_bytes) != NULL;
}
