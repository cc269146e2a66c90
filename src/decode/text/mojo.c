/* MOJO, Austin's binary form: "MOJ", a version, then events of one byte and their fields.
 *
 *     1 metadata: key, value     2 stack: process, [3+: interpreter], thread
 *     3 frame: key, file, function, line, [2+: end line, column, end column]
 *     4 invalid frame            5 frame by key           6 kernel frame: name
 *     7 garbage collection       8 idle                   9, 10 time, memory: number
 *     11 string: key, text       12 string by key
 *
 * Numbers have a sign in bit 6 and 6 bits of value in their first byte, 7 in the others, and bit 7
 * when more follow. Texts end with a zero byte. Frames and strings are defined once and referred to
 * by key. A stack has its frames from the root and ends with its metrics. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/text.h"
#include "decode/text/austin.h"

enum { MAX_VERSION = 3 };

struct item { /* a string or a frame */
    uint64_t key;
    sf_str text, function;
    uint32_t line;
};

struct mojo {
    struct sf_austin a;
    const char *at, *end, *start;
    const char *fault;
    int64_t version;
    struct sf_profile_list strings, frames; /* of struct item */
    struct sf_table string_at, frame_at;
    struct sf_austin_value value;
    bool is_open, has_value;
};

static int64_t take_int(struct mojo *m)
{
    uint64_t v = 0;
    unsigned shift = 0;
    bool is_negative = false, is_first = true;
    for (;;) {
        unsigned char c;
        if (m->at == m->end || shift > 62) {
            m->fault = m->at == m->end ? "it ends inside a number" : "a number of too many bits";
            return 0;
        }
        c = (unsigned char)*m->at++;
        if (is_first) {
            is_negative = c >> 6 & 1;
            v = c & 0x3f;
            shift = 6;
        } else {
            v |= (uint64_t)(c & 0x7f) << shift;
            shift += 7;
        }
        is_first = false;
        if (!(c & 0x80))
            break;
    }
    v &= INT64_MAX;
    return is_negative ? -(int64_t)v : (int64_t)v;
}

static sf_str take_text(struct mojo *m)
{
    sf_str rest = {m->at, (size_t)(m->end - m->at)};
    size_t len;
    if (!sf_str_find_char(rest, 0, &len)) {
        m->fault = "it ends inside a text";
        return SF_STR_NONE;
    }
    m->at += len + 1;
    return sf_str_part(rest, 0, len);
}

struct item_key {
    const struct sf_profile_list *list;
    uint64_t key;
};

static bool mojo_is_item(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct item_key *k = key;
    (void)b;
    return ((const struct item *)k->list->items)[place].key == k->key;
}

static void mojo_keep(struct mojo *m, struct sf_table *at, struct sf_profile_list *list,
                      const struct item *item)
{
    struct item_key key = {list, item->key};
    struct sf_profile_spot spot;
    if (sf_profile_table_is_new(m->a.b, at, sf_key_u64(item->key), mojo_is_item, &key, &spot))
        sf_profile_table_keep(m->a.b, &spot, list, item, sizeof(*item));
    else if (spot.place != SF_NONE)
        ((struct item *)list->items)[spot.place] = *item; /* the key was used before */
}

static const struct item *mojo_find(struct mojo *m, struct sf_table *at,
                                    const struct sf_profile_list *list, uint64_t id)
{
    struct item_key key = {list, id};
    struct sf_profile_spot spot;
    if (sf_profile_table_is_new(m->a.b, at, sf_key_u64(id), mojo_is_item, &key, &spot) ||
        spot.place == SF_NONE)
        return NULL;
    return (const struct item *)list->items + spot.place;
}

static sf_str mojo_string_of(struct mojo *m, uint64_t key)
{
    const struct item *found = mojo_find(m, &m->string_at, &m->strings, key);
    return found ? found->text : SF_STR_NONE;
}

static void mojo_close_sample(struct mojo *m)
{
    if (m->is_open && m->has_value)
        sf_austin_add(&m->a, &m->value);
    m->a.path.n = 0;
    m->is_open = m->has_value = false;
    m->value = (struct sf_austin_value){0};
}

static void mojo_take_stack(struct mojo *m)
{
    sf_str thread;
    uint64_t tid = 0;
    mojo_close_sample(m);
    take_int(m);
    if (m->version >= 3)
        take_int(m);
    thread = take_text(m);
    if (sf_str_starts(thread, SF_STR("0x")))
        thread = sf_str_from_at(thread, 2);
    for (size_t i = 0; i < thread.len && i < 16; i++) {
        int digit = sf_hex_digit(thread.p[i]);
        if (digit < 0) {
            tid = sf_hash_str(thread);
            break;
        }
        tid = tid << 4 | (uint64_t)digit;
    }
    m->a.thread = tid;
    m->is_open = true;
}

static void mojo_take_frame(struct mojo *m)
{
    struct item f = {.key = (uint64_t)take_int(m)};
    int64_t line;
    f.text = mojo_string_of(m, (uint64_t)take_int(m));
    f.function = mojo_string_of(m, (uint64_t)take_int(m));
    line = take_int(m);
    f.line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    for (int i = 0; i < 3 && m->version >= 2; i++)
        take_int(m);
    if (!m->fault)
        mojo_keep(m, &m->frame_at, &m->frames, &f);
}

static void push_frame(struct mojo *m, uint64_t key)
{
    const struct item *f = mojo_find(m, &m->frame_at, &m->frames, key);
    if (f)
        sf_austin_frame(&m->a, f->text, f->function, f->line);
    else
        sf_austin_frame(&m->a, SF_STR_NONE, SF_STR_NONE, 0);
}

static void mojo_take_event(struct mojo *m)
{
    struct item string;
    sf_str key;
    switch (*m->at++) {
    case 0: break; /* padding */
    case 1:
        key = take_text(m);
        sf_austin_metadata(&m->a, key, take_text(m));
        break;
    case 2: mojo_take_stack(m); break;
    case 3: mojo_take_frame(m); break;
    case 4: sf_austin_frame(&m->a, SF_STR_NONE, SF_STR("INVALID"), 0); break;
    case 5: push_frame(m, (uint64_t)take_int(m)); break;
    case 6: sf_austin_frame(&m->a, SF_STR("kernel"), take_text(m), 0); break;
    case 7: sf_austin_frame(&m->a, SF_STR_NONE, SF_STR("GC"), 0); break;
    case 8: m->value.is_idle = true; break;
    case 9:
        m->value.time_us = take_int(m);
        m->has_value = true;
        break;
    case 10:
        m->value.bytes = take_int(m);
        m->has_value = true;
        break;
    case 11:
        string = (struct item){.key = (uint64_t)take_int(m)};
        string.text = take_text(m);
        if (!m->fault)
            mojo_keep(m, &m->string_at, &m->strings, &string);
        break;
    case 12: take_int(m); break;
    default: m->fault = "an event of no known kind"; break;
    }
}

static enum sf_err mojo_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct mojo m = {.at = bytes.p, .start = bytes.p};
    if (!sf_str_starts(bytes, SF_STR("MOJ")))
        return sf_fail(b->why, SF_ERR_INPUT, "MOJO: it does not begin with MOJ");
    m.end = bytes.p + bytes.len;
    m.at += 3;
    sf_austin_init(&m.a, b);
    m.version = take_int(&m);
    if (m.version < 1 || m.version > MAX_VERSION)
        return sf_fail(b->why, SF_ERR_UNSUPPORTED, "MOJO: version %" PRId64 ", 1 to %d are read",
                       m.version, MAX_VERSION);
    if (m.at == m.end) /* Austin was stopped, or saw no thread */
        return sf_fail(b->why, SF_ERR_INPUT,
                       "MOJO: it ends after its header: there are no samples");
    while (m.at < m.end && !m.fault && sf_profile_build_ok(b)) {
        if (m.a.path.n > 4 * SF_LIMIT_FRAMES)
            m.fault = "a stack of too many frames";
        else
            mojo_take_event(&m);
    }
    if (m.fault && !sf_profile_build_ok(b))
        return SF_OK;
    if (!m.fault)
        mojo_close_sample(&m);
    else if (b->samples.n) /* the profiler was stopped while it wrote */
        sf_profile_build_drop(b, &b->drops.n_parts, "MOJO: %s, at byte %zu", m.fault,
                              (size_t)(m.at - m.start));
    else
        return sf_fail(b->why, SF_ERR_INPUT, "MOJO: %s, at byte %zu", m.fault,
                       (size_t)(m.at - m.start));
    return SF_OK;
}

static bool is_mojo(sf_str bytes)
{
    return bytes.len >= 4 && sf_str_starts(bytes, SF_STR("MOJ")) &&
           (unsigned char)bytes.p[3] < 0x40;
}

const struct sf_profile_format sf_mojo_format = {
    .name = "mojo",
    .also = "austin-mojo",
    .is = is_mojo,
    .decode = mojo_decode,
};
