#include "wire/native_block.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "wire/row_binary.h"

enum { KEPT_LEN = 1 << 20 }; /* longer buffers are not kept for the next block */

/* Before the texts of a LowCardinality column: its version; that the texts follow; and how long the
 * numbers are (0: one byte, 1: two, 2: four). */
enum { DICTIONARY_VERSION = 1, HAS_TEXTS = 0x600 };

struct text {
    sf_str is;     /* borrowed from the rows */
    uint32_t next; /* which text came after it the last time: lists of keys repeat */
};

struct column {
    sf_str name;
    char letter;
    bool is_array, is_text, is_numbered; /* numbered: LowCardinality */
    uint8_t size;                        /* of a value that is no text */
    struct sf_buf ends;                  /* of arrays: how many values so far */
    struct sf_buf values;                /* of numbered texts: their numbers, four bytes each */
    uint64_t n;                          /* values */
    struct text *texts;
    uint32_t n_texts, cap_texts, last;
    struct sf_table at; /* of texts */
};

struct sf_native_block {
    struct column *list;
    size_t n;
    bool is_short; /* no memory */
};

/* ---- types ---- */

const char *sf_native_block_type(char letter, uint8_t *out_size)
{
    static const struct {
        char letter;
        uint8_t size;
        const char *name;
    } types[] = {{'1', 1, "UInt8"},
                 {'4', 4, "UInt32"},
                 {'8', 8, "UInt64"},
                 {'i', 8, "Int64"},
                 {'d', 8, "Float64"},
                 {'D', 2, "Date"},
                 {'F', 16, "FixedString(16)"},
                 {'S', 0, "String"},
                 {'s', 0, "LowCardinality(String)"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].letter != letter)
            continue;
        *out_size = types[i].size;
        return types[i].name;
    }
    return NULL;
}

/* False: `types` ends, or has another letter. */
static bool native_block_describe(struct column *c, const char **types)
{
    c->is_array = **types == '*';
    *types += c->is_array;
    c->letter = **types;
    if (!c->letter || !sf_native_block_type(c->letter, &c->size))
        return false;
    ++*types;
    c->is_text = c->size == 0;
    c->is_numbered = c->letter == 's';
    return true;
}

static size_t native_block_count(const char *columns)
{
    size_t n = 1;
    for (; *columns; columns++)
        n += *columns == ',';
    return n;
}

struct sf_native_block *sf_native_block_new(const char *columns, const char *types)
{
    struct sf_native_block *b = sf_heap_new(sizeof(*b));
    sf_str rest = sf_str_from(columns);
    bool is_right = b != NULL;
    if (b) {
        b->n = native_block_count(columns);
        b->list = sf_heap_new_n(b->n, sizeof(*b->list));
        is_right = b->list != NULL;
    }
    for (size_t i = 0; is_right && i < b->n; i++) {
        size_t len = 0;
        while (len < rest.len && rest.p[len] != ',')
            len++;
        b->list[i].name = sf_str_part(rest, 0, len);
        rest = sf_str_from_at(rest, len + 2 < rest.len ? len + 2 : rest.len);
        is_right = native_block_describe(&b->list[i], &types);
    }
    if (!is_right || *types) {
        sf_native_block_free(b);
        return NULL;
    }
    return b;
}

void sf_native_block_free(struct sf_native_block *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->list && i < b->n; i++) {
        sf_buf_done(&b->list[i].ends);
        sf_buf_done(&b->list[i].values);
        sf_table_done(&b->list[i].at);
        sf_heap_free(b->list[i].texts);
    }
    sf_heap_free(b->list);
    sf_heap_free(b);
}

/* ---- from rows ---- */

static void native_block_empty(struct sf_buf *b)
{
    if (b->cap > KEPT_LEN)
        sf_buf_done(b);
    sf_buf_reset(b);
}

static void native_block_begin(struct sf_native_block *b)
{
    b->is_short = false;
    for (size_t i = 0; i < b->n; i++) {
        struct column *c = &b->list[i];
        native_block_empty(&c->ends);
        native_block_empty(&c->values);
        if (c->cap_texts * sizeof(*c->texts) > KEPT_LEN) {
            sf_heap_free(c->texts);
            sf_table_done(&c->at);
            c->texts = NULL;
            c->cap_texts = 0;
        }
        sf_table_clear(&c->at);
        c->n = 0;
        c->n_texts = c->last = 0;
    }
}

static bool native_block_find(const struct column *c, sf_str text, struct sf_table_lookup *lookup,
                              uint32_t *out)
{
    while (sf_table_next(lookup, out)) {
        if (sf_str_eq(c->texts[*out].is, text))
            return true;
    }
    return false;
}

/* The number of a text, which becomes the last one. */
static uint32_t native_block_number(struct sf_native_block *b, struct column *c, sf_str text)
{
    struct sf_table_lookup lookup;
    uint32_t at = c->n_texts ? c->texts[c->last].next : 0, last = c->last;
    if (at < c->n_texts && sf_str_eq(c->texts[at].is, text)) {
        c->last = at;
        return at;
    }
    if (!sf_table_more(&c->at) || !sf_list_room(&c->texts, c->n_texts, &c->cap_texts, 16)) {
        b->is_short = true;
        return 0;
    }
    lookup = sf_table_lookup(&c->at, sf_key_str(text));
    if (!native_block_find(c, text, &lookup, &at)) {
        at = c->n_texts++;
        c->texts[at] = (struct text){text, at};
        sf_table_keep(&c->at, &lookup, at);
    }
    c->texts[last].next = at;
    c->last = at;
    return at;
}

static void native_block_take_texts(struct sf_native_block *b, struct column *c,
                                    struct sf_row_reader *r, uint32_t n)
{
    for (uint32_t i = 0; i < n && !r->fault; i++) {
        sf_str text = sf_row_binary_str(r);
        if (r->fault)
            return;
        if (c->is_numbered)
            sf_buf_add_u32le(&c->values, native_block_number(b, c, text));
        else
            sf_row_add_str(&c->values, text);
    }
}

static void native_block_take(struct sf_native_block *b, struct column *c, struct sf_row_reader *r)
{
    uint32_t n = c->is_array ? sf_row_binary_count(r, c->is_text ? 1 : c->size) : 1;
    if (c->is_text) {
        native_block_take_texts(b, c, r, n);
    } else {
        sf_str raw = sf_row_binary_fixed(r, (size_t)n * c->size);
        sf_buf_add(&c->values, raw.p, raw.len);
    }
    c->n += n;
    if (c->is_array)
        sf_buf_add_u64le(&c->ends, c->n);
}

/* ---- into the block ---- */

static void native_block_put_type(const struct column *c, struct sf_buf *out)
{
    uint8_t size;
    sf_str name = sf_str_from(sf_native_block_type(c->letter, &size));
    sf_buf_add_varint(out, name.len + (c->is_array ? sizeof("Array()") - 1 : 0));
    if (c->is_array)
        sf_buf_add_str(out, SF_STR("Array("));
    sf_buf_add_str(out, name);
    if (c->is_array)
        sf_buf_add_u8(out, ')');
}

/* The numbers of values, shortened to `size` bytes. */
static void native_block_put_numbers(const struct column *c, unsigned size, struct sf_buf *out)
{
    uint8_t *to = sf_buf_take(out, c->n * size);
    for (uint64_t i = 0; to && i < c->n; i++)
        memcpy(to + i * size, c->values.p + i * sizeof(uint32_t), size);
}

static void native_block_put_texts(const struct column *c, struct sf_buf *out)
{
    unsigned width = c->n_texts <= 1u << 8 ? 0 : c->n_texts <= 1u << 16 ? 1 : 2;
    if (!c->n) /* neither texts nor numbers are expected */
        return;
    sf_buf_add_u64le(out, HAS_TEXTS | width);
    sf_buf_add_u64le(out, c->n_texts);
    for (uint32_t i = 0; i < c->n_texts; i++)
        sf_row_add_str(out, c->texts[i].is);
    sf_buf_add_u64le(out, c->n);
    native_block_put_numbers(c, 1u << width, out);
}

static void native_block_put(const struct column *c, struct sf_buf *out)
{
    sf_row_add_str(out, c->name);
    native_block_put_type(c, out);
    if (c->is_numbered)
        sf_buf_add_u64le(out, DICTIONARY_VERSION);
    sf_buf_add(out, c->ends.p, c->ends.len);
    if (c->is_numbered)
        native_block_put_texts(c, out);
    else
        sf_buf_add(out, c->values.p, c->values.len);
}

enum sf_err sf_native_block_write(struct sf_native_block *b, sf_bytes rows, struct sf_buf *out,
                                  struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(rows);
    size_t before = out->len;
    uint64_t n_rows = 0;
    enum sf_err err;
    native_block_begin(b);
    for (; sf_row_more(&r) && !b->is_short; n_rows++) {
        for (size_t i = 0; i < b->n; i++)
            native_block_take(b, &b->list[i], &r);
    }
    err = sf_row_binary_check(&r, why);
    for (size_t i = 0; i < b->n; i++)
        b->is_short = b->is_short || b->list[i].values.err || b->list[i].ends.err;
    if (!err && b->is_short)
        err = sf_no_memory(why, "a block for ClickHouse");
    if (err || !n_rows)
        return err;
    sf_buf_add_varint(out, b->n);
    sf_buf_add_varint(out, n_rows);
    for (size_t i = 0; i < b->n; i++)
        native_block_put(&b->list[i], out);
    if (out->err) {
        err = out->err;
        out->len = before;
        return sf_fail(why, err, "a block for ClickHouse");
    }
    return SF_OK;
}
