#include "model/codec.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"

/* ---- write ---- */

enum { FIRST_STRINGS = 512, MAX_EXPECTED = 1 << 18 };

/* Reserves space for one more string; the first time for as many as are expected. */
static bool codec_make_room(struct sf_encoder *e)
{
    size_t first = e->n_expected > FIRST_STRINGS ? e->n_expected : FIRST_STRINGS;
    if (sf_list_room(&e->strings, e->n_strings, &e->cap_strings, first) &&
        (sf_table_has_room(&e->at) || sf_table_reserve(&e->at, e->cap_strings - e->n_strings)))
        return true;
    if (sf_buf_ok(e->out))
        e->out->err = SF_ERR_NOMEM;
    return false;
}

/* Returns its number; 0: an error. */
static uint32_t put_str(struct sf_encoder *e, sf_str s)
{
    struct sf_table_lookup lookup;
    uint32_t at;

    if (!sf_buf_ok(e->out) || !codec_make_room(e))
        return 0;
    lookup = sf_table_lookup(&e->at, sf_key_str(s));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(e->strings[at], s)) {
            sf_buf_add_varint(e->out, at + 1);
            return at + 1;
        }
    }
    sf_table_keep(&e->at, &lookup, e->n_strings);
    e->strings[e->n_strings++] = s;
    sf_buf_add_u8(e->out, 0);
    sf_buf_add_varint(e->out, s.len);
    sf_buf_add_str(e->out, s);
    return e->n_strings;
}

void sf_codec_put_str(struct sf_encoder *e, sf_str s)
{
    put_str(e, s);
}

void sf_codec_put_shared(struct sf_encoder *e, sf_str s)
{
    uint64_t at = ((uintptr_t)s.p * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
    struct sf_codec_seen *seen = &e->seen[at % SF_CODEC_SEEN];
    if (seen->number && seen->s.p == s.p && seen->s.len == s.len) {
        sf_buf_add_varint(e->out, seen->number);
        return;
    }
    *seen = (struct sf_codec_seen){s, put_str(e, s)};
}

void sf_codec_put_begin(struct sf_encoder *e, uint8_t version, struct sf_buf *out)
{
    *e = (struct sf_encoder){.out = out};
    sf_buf_add_u8(out, version);
    e->count_off = out->len;
    sf_buf_add_u32le(out, 0);
}

void sf_codec_put_expect(struct sf_encoder *e, uint32_t n)
{
    e->n_expected = n < MAX_EXPECTED ? n : MAX_EXPECTED;
}

void sf_codec_put_end(struct sf_encoder *e)
{
    if (sf_buf_ok(e->out))
        sf_store_u32le(e->out->p + e->count_off, e->n_strings);
    sf_heap_free(e->strings);
    e->strings = NULL;
    sf_table_done(&e->at);
}

/* ---- read ---- */

void sf_codec_get_fail(struct sf_decoder *d, const char *fault)
{
    if (!d->fault) {
        d->fault = fault;
        d->fault_off = (size_t)(d->at - d->start);
    }
    d->at = d->end; /* later reads return zero */
}

const uint8_t *sf_codec_get_raw(struct sf_decoder *d, size_t len)
{
    static const uint8_t zeros[16];
    const uint8_t *p = d->at;
    if (len > (size_t)(d->end - d->at)) {
        sf_codec_get_fail(d, "cut off");
        return zeros; /* for variable lengths callers check for an error first */
    }
    d->at += len;
    return p;
}

uint8_t sf_codec_get_u8(struct sf_decoder *d)
{
    return *sf_codec_get_raw(d, 1);
}

uint64_t sf_codec_get_u64le(struct sf_decoder *d)
{
    return sf_load_u64le(sf_codec_get_raw(d, 8));
}

uint64_t sf_codec_get_varint(struct sf_decoder *d)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sf_codec_get_u8(d);
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    sf_codec_get_fail(d, "a number longer than 64 bits");
    return 0;
}

uint32_t sf_codec_get_u32(struct sf_decoder *d)
{
    uint64_t v = sf_codec_get_varint(d);
    if (v <= UINT32_MAX)
        return (uint32_t)v;
    sf_codec_get_fail(d, "a number longer than 32 bits");
    return 0;
}

int64_t sf_codec_get_zigzag(struct sf_decoder *d)
{
    uint64_t v = sf_codec_get_varint(d);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* A number of items of at least `least` bytes each: larger numbers are rejected. */
uint32_t sf_codec_get_count(struct sf_decoder *d, size_t least)
{
    uint64_t n = sf_codec_get_varint(d);
    if (n <= (size_t)(d->end - d->at) / least && n <= UINT32_MAX)
        return (uint32_t)n;
    sf_codec_get_fail(d, "a count of more than there is");
    return 0;
}

void *sf_codec_get_list(struct sf_decoder *d, size_t n, size_t size)
{
    void *p;
    if (n == 0)
        return NULL;
    p = sf_arena_new_n(d->req, n, size);
    if (!p) {
        d->is_arena_full = true;
        sf_codec_get_fail(d, "no room");
    }
    return p;
}

sf_str sf_codec_get_str(struct sf_decoder *d)
{
    uint64_t number = sf_codec_get_varint(d), len;
    sf_str s;
    if (number) {
        if (number <= d->n_strings)
            return d->strings[number - 1];
        sf_codec_get_fail(d, "a string that was not given");
        return SF_STR_NONE;
    }
    if (d->fault)
        return SF_STR_NONE;
    len = sf_codec_get_varint(d);
    if (len > (size_t)(d->end - d->at)) {
        sf_codec_get_fail(d, "a string is cut off");
        return SF_STR_NONE;
    }
    if (d->n_strings == d->max_strings) {
        sf_codec_get_fail(d, "more strings than were counted");
        return SF_STR_NONE;
    }
    s = (sf_str){(const char *)d->at, (size_t)len};
    d->at += len;
    d->strings[d->n_strings++] = s;
    return s;
}

enum sf_err sf_codec_get_begin(struct sf_decoder *d, sf_bytes in, uint8_t version,
                               struct sf_arena *req, struct sf_why *why)
{
    const uint8_t *p = in.p ? in.p : (const uint8_t *)"";
    *d = (struct sf_decoder){.at = p, .end = p + in.len, .start = p, .req = req};
    d->version = sf_codec_get_u8(d);
    if (!d->fault && (d->version == 0 || d->version > version))
        return sf_fail(why, SF_ERR_UNSUPPORTED, "batch: version %u, this server reads up to %u",
                       d->version, version);
    d->max_strings = sf_load_u32le(sf_codec_get_raw(d, 4));
    if (d->max_strings > (size_t)(d->end - d->at) / 2)
        sf_codec_get_fail(d, "a count of more than there is");
    else
        d->strings = sf_codec_get_list(d, d->max_strings, sizeof(*d->strings));
    return SF_OK;
}

enum sf_err sf_codec_get_end(struct sf_decoder *d, struct sf_why *why)
{
    if (!d->fault && d->at != d->end)
        sf_codec_get_fail(d, "bytes behind the end");
    if (!d->fault && d->n_strings != d->max_strings)
        sf_codec_get_fail(d, "fewer strings than were counted");
    if (d->is_arena_full)
        return sf_fail(why, SF_ERR_LIMIT, "batch: decoded, it needs more than %zu bytes",
                       d->req->cap);
    if (d->fault)
        return sf_fail(why, SF_ERR_CORRUPT, "batch: %s at byte %zu", d->fault, d->fault_off);
    return SF_OK;
}
