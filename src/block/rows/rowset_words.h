/* rowset_words.h - the layout of a row in the words of a rowset; private to the files that write
 * and read them.
 *
 *   name, shape, values of its attributes, then the rare parts in the order of their bits:
 *   message | trace state | flags | dropped attributes, events, links |
 *   count, per event: time (2), dropped, name, shape, values |
 *   count, per link: trace id (4), span id (2), dropped, flags, state, shape, values
 *
 * Names, messages and states are codes of `texts`. A value is a code of its key's dictionary, two
 * words of bits for integers and doubles, one for booleans, none when empty. In memory only, never
 * on disk. */
#pragma once
#include <string.h>

#include "block/rows/rowset.h"
#include "block/span/layout.h"

enum { SF_ROW_WORDS = 2 + 1 + 1 + 1 + 3, SF_EVENT_WORDS = 5, SF_LINK_WORDS = 10 };

/* Is there space for `n` more words? */
static inline bool sf_rowset_has_room(const struct sf_rowset *r, size_t n)
{
    size_t used = r->n_words * sizeof(*r->words) + r->text_len;
    return used <= r->data_cap && n <= (r->data_cap - used) / sizeof(*r->words);
}
/* The caller has checked that there is space. */
static inline void sf_rowset_put(struct sf_rowset *r, uint32_t v)
{
    r->words[r->n_words++] = v;
}
static inline void sf_rowset_put_u64(struct sf_rowset *r, uint64_t v)
{
    memcpy(r->words + r->n_words, &v, sizeof(v));
    r->n_words += 2;
}
static inline uint64_t sf_words_u64(const uint32_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}
static inline sf_str sf_rowset_text(const struct sf_rowset *r, uint32_t code)
{
    return code ? sf_dict_get(&r->texts, code - 1) : SF_STR_NONE;
}
static inline sf_str sf_rowset_key_name(const struct sf_rowset *r, const struct sf_row_key *k)
{
    return (sf_str){(const char *)r->key_ids.bytes.p + k->name_off, k->name_len};
}
/* Words of one value of this type. */
static inline unsigned sf_value_words(uint8_t type)
{
    return type == SF_VALUE_INT || type == SF_VALUE_DOUBLE ? 2 : type == SF_VALUE_EMPTY ? 0 : 1;
}

/* rowset_attrs.c */
enum sf_err sf_rowset_attrs_key(struct sf_rowset *r, uint32_t root, uint8_t type, sf_str name,
                                uint32_t *out);
enum sf_err sf_rowset_attrs_put_text(struct sf_rowset *r, sf_str s); /* a code of `texts` */
enum sf_err sf_rowset_attrs_text_code(struct sf_rowset *r, sf_str s, uint32_t *out);
/* Code of a value in its key's dictionary; `hash` is its sf_hash. */
enum sf_err sf_rowset_attrs_value_code(struct sf_rowset *r, struct sf_row_key *k, sf_str s,
                                       uint64_t hash, uint32_t *out);
/* Shape and values. */
enum sf_err sf_rowset_attrs_put(struct sf_rowset *r, uint32_t root, struct sf_attrs attrs);
