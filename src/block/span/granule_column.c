/* granule_column.c - single columns of a granule, decoded and checked: numbers, codes, fixed-size
 * values, texts, shapes of attributes and the values of one key. A column that is absent means all
 * zero and gives NULL. Codes are checked against their dictionary before they are used. */
#include "block/format/encoding.h"
#include "block/format/overflow.h"
#include "block/format/planes.h"
#include "block/span/reader.h"

static enum sf_err corrupt(const struct sf_granule_ctx *c, uint32_t column)
{
    return sf_span_block_reader_corrupt(c->r, c->granule, column, c->why);
}

static enum sf_err granule_column_fault(const struct sf_granule_ctx *c, uint32_t column,
                                        enum sf_err err)
{
    return err == SF_ERR_LIMIT ? sf_span_block_reader_limit(c->why) : corrupt(c, column);
}

static bool is_codes(const struct sf_chunk_desc *d)
{
    return d->encoding >= SF_ENC_CODE8 && d->encoding <= SF_ENC_CODE32;
}

/* Call after the result's array was allocated: reads the chunk into a copy of the arena, so that
 * its memory is free again when it was decoded. */
static enum sf_err chunk_into_scratch(struct sf_granule_ctx *c, const struct sf_chunk_desc *d,
                                      struct sf_arena *tmp, sf_bytes *out)
{
    *tmp = *c->req;
    return sf_span_block_reader_chunk(c->r, c->granule, d, tmp, out, c->why);
}

enum sf_err sf_granule_column_numbers(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                      const uint64_t **out)
{
    struct sf_chunk_desc d[2];
    unsigned n_descs = sf_span_block_reader_descs(c->r, c->granule, column, d);
    struct sf_arena tmp;
    uint64_t *nums;
    sf_bytes raw;
    enum sf_err err;

    *out = NULL;
    if (n_descs == 0)
        return SF_OK;
    if (n_descs != 1 || d[0].n_values != n)
        return corrupt(c, column);
    nums = sf_arena_raw(c->req, (size_t)n * sizeof(*nums), 16);
    if (!nums)
        return sf_span_block_reader_limit(c->why);
    err = chunk_into_scratch(c, &d[0], &tmp, &raw);
    if (err)
        return err;
    if (!sf_encoding_numbers_decode(d[0].encoding, raw, n, nums))
        return corrupt(c, column);
    *out = nums;
    return SF_OK;
}

enum sf_err sf_granule_column_u32s(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                   uint32_t limit, const uint32_t **out)
{
    uint32_t *narrow = sf_arena_raw(c->req, (size_t)n * sizeof(*narrow), 16);
    struct sf_arena tmp;
    struct sf_granule_ctx inner = *c;
    const uint64_t *wide;
    uint64_t high = 0;
    enum sf_err err;

    if (!narrow)
        return sf_span_block_reader_limit(c->why);
    tmp = *c->req;
    inner.req = &tmp;
    err = sf_granule_column_numbers(&inner, column, n, &wide);
    if (err)
        return err;
    if (!wide) {
        memset(narrow, 0, (size_t)n * sizeof(*narrow));
    } else {
        for (uint32_t i = 0; i < n; i++) {
            high = wide[i] > high ? wide[i] : high;
            narrow[i] = (uint32_t)wide[i];
        }
    }
    if (n && high > limit)
        return corrupt(c, column);
    *out = narrow;
    return SF_OK;
}

enum sf_err sf_granule_column_fixed(struct sf_granule_ctx *c, uint32_t column, uint8_t encoding,
                                    uint32_t n, const uint8_t **out)
{
    struct sf_chunk_desc d[2];
    unsigned n_descs = sf_span_block_reader_descs(c->r, c->granule, column, d);
    size_t size = encoding == SF_ENC_FIX16 ? 16 : encoding == SF_ENC_FIX8 ? 8 : 1;
    uint8_t *to;
    sf_bytes raw;
    struct sf_arena tmp;
    enum sf_err err;

    if (n_descs == 0 && n == 0) {
        *out = NULL;
        return SF_OK;
    }
    if (n_descs != 1 || d[0].n_values != n || d[0].encoding != encoding || d[0].raw_len != n * size)
        return corrupt(c, column);
    /* Copied even if it could be borrowed: callers read it as aligned numbers. */
    to = sf_arena_raw(c->req, n * size, 16);
    if (!to)
        return sf_span_block_reader_limit(c->why);
    err = chunk_into_scratch(c, &d[0], &tmp, &raw);
    if (err)
        return err;
    memcpy(to, raw.p, n * size);
    *out = to;
    return SF_OK;
}

/* ---- codes ---- */

static enum sf_err read_codes(struct sf_granule_ctx *c, const struct sf_chunk_desc *d, uint32_t n,
                              uint32_t limit, const uint32_t **out)
{
    unsigned width = d->encoding == SF_ENC_CODE8 ? 1 : d->encoding == SF_ENC_CODE16 ? 2 : 4;
    uint32_t *codes = sf_arena_raw(c->req, (size_t)n * sizeof(*codes), 16);
    struct sf_arena tmp;
    sf_bytes raw;
    enum sf_err err;

    if (!codes)
        return sf_span_block_reader_limit(c->why);
    err = chunk_into_scratch(c, d, &tmp, &raw);
    if (err)
        return err;
    if (!is_codes(d) || d->n_values != n || raw.len != (size_t)n * width ||
        !sf_planes_decode_codes(raw.p, n, width, limit, codes))
        return corrupt(c, d->column);
    *out = codes;
    return SF_OK;
}

static enum sf_err counting_codes(struct sf_granule_ctx *c, uint32_t n, bool is_zero,
                                  const uint32_t **out)
{
    uint32_t *codes = sf_arena_raw(c->req, (size_t)n * sizeof(*codes), 16);
    if (!codes)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t i = 0; i < n; i++)
        codes[i] = is_zero ? 0 : i;
    *out = codes;
    return SF_OK;
}

/* ---- texts ---- */

struct texts { /* occurrence i is list[code[i]]; code NULL: i itself, or 0 when n_list is 1 */
    const sf_str *list;
    const uint32_t *code;
    uint32_t n_list;
};

/* Texts of a chunk that is a dictionary, a constant or the values themselves. They borrow from the
 * chunk, which therefore remains in the arena. */
static enum sf_err granule_column_read_list(struct sf_granule_ctx *c, const struct sf_chunk_desc *d,
                                            const sf_str **out)
{
    uint32_t n = d->encoding == SF_ENC_CONST ? 1 : d->n_values;
    sf_str *list;
    sf_bytes raw;
    enum sf_err err;

    list = sf_arena_raw(c->req, (size_t)n * sizeof(*list), 16);
    if (!list)
        return sf_span_block_reader_limit(c->why);
    err = sf_span_block_reader_chunk(c->r, c->granule, d, c->req, &raw, c->why);
    if (err)
        return err;
    *out = list;
    if (d->encoding == SF_ENC_CONST) {
        list[0] = sf_bytes_str(raw);
        return SF_OK;
    }
    err = sf_encoding_strings_decode(d->encoding, raw, n, c->req, list);
    return err ? granule_column_fault(c, d->column, err) : SF_OK;
}

static enum sf_err read_texts(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                              struct texts *out)
{
    struct sf_chunk_desc d[2];
    unsigned n_descs = sf_span_block_reader_descs(c->r, c->granule, column, d);
    enum sf_err err;

    *out = (struct texts){0};
    if (n_descs == 0 || d[0].n_values != n)
        return corrupt(c, column);
    if (n_descs == 1) {
        out->n_list = d[0].encoding == SF_ENC_CONST ? 1 : n;
        return granule_column_read_list(c, &d[0], &out->list);
    }
    out->n_list = d[1].n_values;
    if (d[1].encoding == SF_ENC_CONST || d[1].n_values > n || d[0].cardinality != d[1].n_values)
        return corrupt(c, column);
    err = read_codes(c, &d[0], n, d[1].n_values, &out->code);
    return err ? err : granule_column_read_list(c, &d[1], &out->list);
}

enum sf_err sf_granule_column_texts(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                    struct sf_str_column *out)
{
    static const sf_str NOTHING = {"", 0};
    struct sf_chunk_desc d[2];
    struct texts t;
    const uint32_t *code = NULL;
    enum sf_err err;

    if (sf_span_block_reader_descs(c->r, c->granule, column, d) == 0) {
        err = counting_codes(c, n, true, &code);
        *out = (struct sf_str_column){code, &NOTHING, 1};
        return err;
    }
    err = read_texts(c, column, n, &t);
    if (err)
        return err;
    code = t.code;
    if (!code)
        err = counting_codes(c, n, t.n_list == 1, &code);
    *out = (struct sf_str_column){code, t.list, t.n_list};
    return err;
}

/* ---- shapes ---- */

static enum sf_err read_shape_list(struct sf_granule_ctx *c, const struct sf_chunk_desc *d,
                                   uint8_t scope, struct sf_shape_column *out)
{
    uint32_t *ends = sf_arena_raw(c->req, (size_t)d->n_values * 4, 16);
    uint32_t *keys = sf_arena_raw(c->req, (size_t)d->cardinality * 4, 16);
    struct sf_arena tmp;
    struct sf_planes lens_planes, key_planes;
    uint64_t *lens, *wide, sum = 0;
    sf_bytes raw;
    enum sf_err err;

    if (!ends || !keys)
        return sf_span_block_reader_limit(c->why);
    err = chunk_into_scratch(c, d, &tmp, &raw);
    if (err)
        return err;
    if (d->encoding != SF_ENC_SHAPE || d->n_values == 0 ||
        !sf_planes_parse(&raw, d->n_values, &lens_planes) ||
        !sf_planes_parse(&raw, d->cardinality, &key_planes) || raw.len)
        return corrupt(c, d->column);
    lens = sf_arena_raw(&tmp, (size_t)d->n_values * 8, 8);
    wide = sf_arena_raw(&tmp, (size_t)d->cardinality * 8, 8);
    if (!lens || !wide)
        return sf_span_block_reader_limit(c->why);
    sf_planes_decode(&lens_planes, d->n_values, lens);
    sf_planes_decode(&key_planes, d->cardinality, wide);
    for (uint32_t i = 0; i < d->n_values; i++) {
        if (lens[i] > d->cardinality - sum)
            return corrupt(c, d->column);
        sum += lens[i];
        ends[i] = (uint32_t)sum;
    }
    if (sum != d->cardinality)
        return corrupt(c, d->column);
    for (uint32_t i = 0; i < d->cardinality; i++) {
        const struct sf_typed_key *k = wide[i] < c->r->n_typed ? &c->r->typed[wide[i]] : NULL;
        if (!k || k->scope != scope || k->tenant != c->tenant)
            return corrupt(c, d->column);
        keys[i] = (uint32_t)wide[i];
    }
    out->ends = ends;
    out->keys = keys;
    out->n_shapes = d->n_values;
    return SF_OK;
}

enum sf_err sf_granule_column_shapes(struct sf_granule_ctx *c, uint32_t column, uint8_t scope,
                                     uint32_t n, struct sf_shape_column *out)
{
    struct sf_chunk_desc d[2];
    unsigned n_descs = sf_span_block_reader_descs(c->r, c->granule, column, d);
    enum sf_err err;

    *out = (struct sf_shape_column){.n_items = n};
    if (n == 0 && n_descs == 0)
        return SF_OK;
    if (n_descs == 0)
        return corrupt(c, column);
    err = read_shape_list(c, &d[n_descs - 1], scope, out);
    if (err || n_descs == 1)
        return err ? err : out->n_shapes == 1 ? SF_OK : corrupt(c, column);
    return read_codes(c, &d[0], n, out->n_shapes, &out->code);
}

/* Uses four lists of counters: incrementing the same counter twice in a row would stall. */
static bool count_codes(const struct sf_shape_column *s, struct sf_arena tmp, uint32_t *rows)
{
    uint32_t *lists = sf_arena_new_n(&tmp, (size_t)s->n_shapes * 4, sizeof(*lists));
    uint32_t i = 0;
    if (!lists)
        return false;
    for (; i + 4 <= s->n_items; i += 4) {
        lists[s->code[i] * 4]++;
        lists[s->code[i + 1] * 4 + 1]++;
        lists[s->code[i + 2] * 4 + 2]++;
        lists[s->code[i + 3] * 4 + 3]++;
    }
    for (; i < s->n_items; i++)
        lists[s->code[i] * 4]++;
    for (uint32_t shape = 0; shape < s->n_shapes; shape++)
        rows[shape] = lists[shape * 4] + lists[shape * 4 + 1] + lists[shape * 4 + 2] +
                      lists[shape * 4 + 3];
    return true;
}

enum sf_err sf_granule_column_count_shapes(struct sf_granule_ctx *c,
                                           const struct sf_shape_column *s, struct sf_arena *req,
                                           uint32_t **out)
{
    uint32_t *counts = sf_arena_new_n(req, c->r->n_typed, sizeof(*counts));
    struct sf_arena tmp = *req;
    uint32_t *rows = sf_arena_new_n(&tmp, s->n_shapes, sizeof(*rows));
    uint64_t sum = 0;

    if (!counts || !rows)
        return sf_span_block_reader_limit(c->why);
    if (s->n_shapes && !s->code)
        rows[0] = s->n_items;
    else if (s->n_shapes && !count_codes(s, tmp, rows))
        return sf_span_block_reader_limit(c->why);
    for (uint32_t shape = 0, at = 0; shape < s->n_shapes; shape++) {
        for (; at < s->ends[shape]; at++) {
            sum += rows[shape];
            counts[s->keys[at]] += rows[shape];
        }
    }
    if (sum > UINT32_MAX)
        return sf_fail(c->why, SF_ERR_CORRUPT, "granule %u: more attributes than there can be",
                       c->granule);
    *out = counts;
    return SF_OK;
}

/* ---- values of attributes ---- */

static struct sf_value granule_column_value_of(uint8_t type, uint64_t bits)
{
    struct sf_value v = {.type = type};
    if (type == SF_VALUE_BOOL)
        v.is_true = bits & 1;
    else if (type != SF_VALUE_EMPTY)
        memcpy(&v.i64, &bits, sizeof(bits));
    return v;
}

/* Byte planes of width 1 already are codes. */
static enum sf_err bytes_as_codes(struct sf_granule_ctx *c, uint8_t type, const struct sf_planes *p,
                                  uint32_t n, struct sf_values *out)
{
    uint32_t *codes = sf_arena_raw(c->req, (size_t)n * sizeof(*codes), 16);
    struct sf_value *vals;
    uint32_t high = 0;

    if (!codes)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t i = 0; i < n; i++) {
        codes[i] = p->bytes[i];
        high = codes[i] > high ? codes[i] : high;
    }
    vals = sf_arena_raw(c->req, (high + 1) * sizeof(*vals), 16);
    if (!vals)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t i = 0; i <= high; i++)
        vals[i] = granule_column_value_of(type, p->min + i * p->divisor);
    *out = (struct sf_values){.vals = vals, .code = codes, .n_vals = high + 1, .n = n};
    return SF_OK;
}

static enum sf_err plain_numbers(struct sf_granule_ctx *c, uint8_t type,
                                 const struct sf_chunk_desc *d, uint32_t n, struct sf_values *out)
{
    uint32_t n_vals = d->encoding == SF_ENC_CONST ? 1 : n;
    struct sf_value *vals = sf_arena_raw(c->req, (size_t)n_vals * sizeof(*vals), 16);
    struct sf_arena tmp;
    uint64_t *nums;
    sf_bytes raw;
    enum sf_err err;

    if (!vals)
        return sf_span_block_reader_limit(c->why);
    err = chunk_into_scratch(c, d, &tmp, &raw);
    if (err)
        return err;
    nums = sf_arena_raw(&tmp, (size_t)n_vals * 8, 8);
    if (!nums)
        return sf_span_block_reader_limit(c->why);
    if (!sf_encoding_numbers_decode(d->encoding, raw, n_vals, nums))
        return corrupt(c, d->column);
    for (uint32_t i = 0; i < n_vals; i++)
        vals[i] = granule_column_value_of(type, nums[i]);
    *out = (struct sf_values){.vals = vals, .n_vals = n_vals, .n = n};
    return SF_OK;
}

static enum sf_err granule_column_read_numbers(struct sf_granule_ctx *c, uint32_t column,
                                               uint8_t type, uint32_t n, struct sf_values *out)
{
    struct sf_chunk_desc d[2];
    unsigned n_descs = sf_span_block_reader_descs(c->r, c->granule, column, d);
    const uint32_t *codes;
    enum sf_err err;

    if (n_descs == 0 || d[0].n_values != n)
        return corrupt(c, column);
    if (n_descs == 1 && d[0].encoding == SF_ENC_PLANES && type == SF_VALUE_INT &&
        d[0].raw_len == SF_PLANES_HEAD_LEN + (uint64_t)n) {
        struct sf_planes p;
        sf_bytes raw;
        err = sf_span_block_reader_chunk(c->r, c->granule, &d[0], c->req, &raw, c->why);
        if (err)
            return err;
        if (!sf_planes_parse(&raw, n, &p) || raw.len || p.width != 1)
            return corrupt(c, column);
        return bytes_as_codes(c, type, &p, n, out);
    }
    if (n_descs == 1)
        return plain_numbers(c, type, &d[0], n, out);
    if (d[1].encoding == SF_ENC_CONST || d[1].n_values > n || d[0].cardinality != d[1].n_values)
        return corrupt(c, column);
    err = read_codes(c, &d[0], n, d[1].n_values, &codes);
    if (!err)
        err = plain_numbers(c, type, &d[1], d[1].n_values, out);
    out->code = codes;
    out->n = n;
    return err;
}

enum sf_err sf_granule_column_values(struct sf_granule_ctx *c, uint32_t key, uint32_t n,
                                     struct sf_values *out)
{
    uint32_t column = SF_BLOCK_FIRST_KEY + key;
    uint8_t type = c->r->typed[key].type;
    struct sf_value *vals;
    struct sf_attr *packed;
    struct texts t;
    enum sf_err err;

    *out = (struct sf_values){0};
    if (n == 0)
        return SF_OK;
    if (!sf_block_type_is_text(type))
        return granule_column_read_numbers(c, column, type, n, out);
    err = read_texts(c, column, n, &t);
    if (err)
        return err;
    *out = (struct sf_values){.code = t.code, .n_vals = t.n_list, .n = n};
    if (type == SF_VALUE_NONE) {
        packed = sf_arena_raw(c->req, (size_t)t.n_list * sizeof(*packed), 16);
        if (!packed)
            return sf_span_block_reader_limit(c->why);
        for (uint32_t i = 0; i < t.n_list; i++) {
            if (!sf_overflow_unpack(t.list[i], &packed[i]))
                return corrupt(c, column);
        }
        out->packed = packed;
        return SF_OK;
    }
    vals = sf_arena_raw(c->req, (size_t)t.n_list * sizeof(*vals), 16);
    if (!vals)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t i = 0; i < t.n_list; i++)
        vals[i] = (struct sf_value){.type = type, .str = t.list[i]};
    out->vals = vals;
    return SF_OK;
}
