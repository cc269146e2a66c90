/* Java Flight Recorder files: chunk after chunk, each read in four steps. Its header; its metadata,
 * which says how everything else is laid out; its constants; then its events, once for the settings
 * and once for the samples.
 *
 * A chunk that cannot be read is left out, counted and reported, and the others are kept: a process
 * may die while it writes. The rest of a chunk after a broken event is left out in the same way. */
#include "decode/jfr/jfr.h"

#include <inttypes.h>
#include <math.h>

#include "base/heap.h"
#include "base/time_unit.h"

enum { MAX_CHUNKS = 1024, SCRATCH_KEPT_LEN = 1 << 20, PAGE_LEN = 4096 };

static uint16_t load_u16be(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static bool has_magic(sf_str file, uint64_t off)
{
    return file.len - off >= SF_JFR_HEADER_LEN &&
           memcmp(file.p + off, "FLR", 4) == 0; /* and a zero */
}

static void load_header(sf_str file, uint64_t off, struct sf_jfr_header *h)
{
    const uint8_t *p = (const uint8_t *)file.p + off;
    *h = (struct sf_jfr_header){.major = load_u16be(p + 4),
                                .minor = load_u16be(p + 6),
                                .size = sf_load_u64be(p + 8),
                                .pool_off = sf_load_u64be(p + 16),
                                .meta_off = sf_load_u64be(p + 24),
                                .start_ns = (int64_t)sf_load_u64be(p + 32),
                                .duration_ns = (int64_t)sf_load_u64be(p + 40),
                                .start_ticks = (int64_t)sf_load_u64be(p + 48),
                                .rate = sf_load_u64be(p + 56),
                                .state = p[64],
                                .flags = load_u16be(p + 66)};
}

/* NULL: the header is valid. */
static const char *header_fault(const struct sf_jfr_header *h, uint64_t left)
{
    if (h->major != 2)
        return "a version that is not 2";
    if (h->pool_off == 0 || h->meta_off == 0)
        return "it is unfinished";
    if (h->size < SF_JFR_HEADER_LEN || h->size > left || h->size > UINT32_MAX)
        return h->size > left ? "it is cut off" : "a size that cannot be";
    if (h->pool_off < SF_JFR_HEADER_LEN || h->pool_off >= h->size ||
        h->meta_off < SF_JFR_HEADER_LEN || h->meta_off >= h->size || h->pool_off == h->meta_off)
        return "parts outside of it";
    return NULL;
}

static bool is_chunk(sf_str file, uint64_t off)
{
    struct sf_jfr_header h;
    if (off >= file.len || !has_magic(file, off))
        return false;
    load_header(file, off, &h);
    return !header_fault(&h, file.len - off);
}

/* Offset of the next readable chunk at or after `off`; the file's length: none. */
static uint64_t jfr_next_chunk(sf_str file, uint64_t off)
{
    while (off < file.len && !is_chunk(file, off)) {
        size_t at;
        if (!sf_str_find(sf_str_from_at(file, off + 1), (sf_str){"FLR", 4}, &at))
            return file.len;
        off += at + 1;
    }
    return off < file.len ? off : file.len;
}

static void drop_chunk(struct sf_jfr *r, uint64_t off, const char *fault, uint64_t fault_off)
{
    sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                          "jfr: chunk %" PRIu32 " at byte %" PRIu64 ": %s (byte %" PRIu64 ")",
                          r->n_chunk, off, fault, fault_off);
}

/* --- one chunk --- */

/* The rate in the header is the CPU's nominal one, which can be wrong. The last checkpoint is
 * written when the chunk ends, so the ticks between start and checkpoint correspond to the chunk's
 * duration. */
static void calibrate(struct sf_jfr *r, int64_t last_ticks)
{
    const struct sf_jfr_header *h = &r->h;
    double rate = (double)h->rate;
    double ticks = (double)last_ticks - (double)h->start_ticks;
    if (ticks > 0 && h->duration_ns > 100000000) {
        double measured = ticks * 1e9 / (double)h->duration_ns;
        if (measured > 1e3 && measured < 1e12)
            rate = measured;
    }
    r->has_time = rate > 1e3 && rate < 1e12 && h->start_ns > 0 && !(h->flags & ~3);
    r->ns_per_tick = rate > 1e3 && rate < 1e12 ? 1e9 / rate : 1;
    if (fabs(rate / (double)h->rate - 1) < 1e-3 && h->rate) /* the header's rate is right, and
                                                             * exact */
        r->ns_per_tick = 1e9 / (double)h->rate;
}

/* Some writers stamp the checkpoint with the start time. This shows in the events: if the last one
 * is well after the end, its time is used as the end. */
static void calibrate_by_events(struct sf_jfr *r)
{
    double end = ((double)r->max_ticks - (double)r->h.start_ticks) * r->ns_per_tick;
    if (r->h.duration_ns > SF_NS_PER_S && end > 1.05 * (double)r->h.duration_ns &&
        end < 100 * (double)r->h.duration_ns)
        calibrate(r, r->max_ticks);
}

/* async-profiler and its forks record kernel frames, and use "Native" for C. */
static void find_writer(struct sf_jfr *r)
{
    r->is_native_c = false;
    for (int64_t key = 0; key < 16; key++) {
        if (sf_str_eq(sf_jfr_pool_text(r, SF_JFR_P_FRAME_TYPE, key), SF_STR("Kernel")))
            r->is_native_c = true;
    }
    r->set = &r->settings[r->is_native_c];
}

static void note_ticks(struct sf_jfr *r, struct sf_jfr_cursor c, const struct sf_jfr_class *k)
{
    int64_t ticks;
    r->n_events++;
    if (!k->n_steps || k->steps[0].slot != SF_JFR_START)
        return;
    ticks = sf_jfr_long(&c);
    if (ticks > r->max_ticks)
        r->max_ticks = ticks;
}

/* Walks over the events and reads the settings, or all others. False: the chunk is broken from
 * *out_off on. Also returns where the events end: a chunk with a wrong length contains the next
 * chunk's header among its events. */
static bool walk_events(struct sf_jfr *r, uint64_t file_off, bool is_settings, uint64_t *out_off,
                        const char **out_fault)
{
    uint64_t off = SF_JFR_HEADER_LEN;
    struct sf_jfr_values v;
    *out_fault = NULL;
    while (off < r->h.size && sf_profile_build_ok(r->b)) {
        struct sf_jfr_cursor c = sf_jfr_pool_cursor_at(r, off);
        int32_t size = sf_jfr_int(&c);
        int64_t type = sf_jfr_long(&c);
        const struct sf_jfr_class *k;
        *out_off = off;
        if (__builtin_expect(r->chunk[off] == 'F', 0) && is_chunk(r->file, file_off + off))
            return true;
        if (size <= 0 || (uint64_t)size > r->h.size - off || c.fault) {
            *out_fault = size <= 0 ? "an event without a size" : "an event that does not fit";
            return false;
        }
        c.end = r->chunk + off + (uint32_t)size;
        k = type > 1 ? sf_jfr_meta_class_at(r, (uint64_t)type) : NULL;
        if (is_settings && k && k->event)
            note_ticks(r, c, k);
        if (k && k->event && (k->event >= SF_JFR_EV_SETTING) == is_settings) {
            sf_jfr_values_read(r, &c, k, &v, NULL);
            if (c.fault) {
                *out_fault = c.fault;
                return false;
            }
            if (is_settings)
                sf_jfr_setting_take(r, k, &v);
            else
                sf_jfr_event_take(r, k, &v);
        }
        off += (uint32_t)size;
        *out_off = off;
    }
    return true;
}

/* Returns the offset at which to search for the next chunk. */
static uint64_t jfr_read_chunk(struct sf_jfr *r, uint64_t off)
{
    struct sf_jfr_cursor c;
    uint64_t end = r->h.size, none;
    uint32_t n_samples = r->b->samples.n;
    const char *fault;

    c = sf_jfr_pool_cursor_at(r, r->h.meta_off);
    if (sf_jfr_meta_read(r, &c))
        sf_jfr_pools_read(r, &c);
    if (r->b->is_full)
        return r->file.len;
    if (c.fault) {
        drop_chunk(r, off, c.fault, off + (uint64_t)(c.fault_at - r->chunk));
        return off + r->h.size;
    }
    calibrate(r, r->last_ticks);
    find_writer(r);
    walk_events(r, off, true, &none, &fault);
    calibrate_by_events(r);
    sf_profile_table_expect(r->b, 2 * r->n_events); /* most events give two samples: a count and a
                                                     * size */
    if (!walk_events(r, off, false, &end, &fault)) {
        drop_chunk(r, off, fault, off + end);
        end = r->h.size;
    }
    sf_jfr_spans_join(r, n_samples);
    return off + end;
}

static void open_chunk(struct sf_jfr *r, uint64_t off)
{
    load_header(r->file, off, &r->h);
    r->chunk = (const uint8_t *)r->file.p + off;
    if (r->scratch.at > r->scratch_used)
        r->scratch_used = r->scratch.at;
    r->scratch.at = 0;
    r->strings = NULL;
    r->constants = NULL;
    r->n_strings = r->n_constants = r->cap_constants = 0;
    for (unsigned i = 0; i < SF_JFR_POOLS; i++)
        r->pool_keys[i] = sf_key_u64(i);
    r->class_at = r->constant_at = (struct sf_table){.arena = &r->scratch};
    r->classes = r->fields = r->threads = r->spans = (struct sf_profile_list){0};
    memset(r->pool_class, 0, sizeof(r->pool_class));
    memset(r->class_seen, 0, sizeof(r->class_seen));
    r->last_ticks = r->max_ticks = 0;
    r->n_events = 0;
    r->frames = sf_jfr_new(r, SF_JFR_FRAME_CACHE, sizeof(*r->frames));
}

/* Start and end of the recording over all chunks, which may be in any order. */
static void find_times(struct sf_jfr *r)
{
    struct sf_jfr_header h;
    uint64_t off = 0;
    for (int n = 0; n < MAX_CHUNKS; n++) {
        int64_t end;
        off = jfr_next_chunk(r->file, off);
        if (off == r->file.len)
            break;
        load_header(r->file, off, &h);
        off += h.size;
        if (h.start_ns <= 0 || h.duration_ns < 0 ||
            __builtin_add_overflow(h.start_ns, h.duration_ns, &end))
            continue;
        if (!r->from_ns || h.start_ns < r->from_ns)
            r->from_ns = h.start_ns;
        if (end > r->until_ns)
            r->until_ns = end;
    }
}

static void jfr_read_file(struct sf_jfr *r)
{
    uint64_t off = 0;
    while (off < r->file.len && sf_profile_build_ok(r->b)) {
        uint64_t at = jfr_next_chunk(r->file, off);
        if (at > off && has_magic(r->file, off)) {
            load_header(r->file, off, &r->h);
            drop_chunk(r, off, header_fault(&r->h, r->file.len - off), off + 8);
            r->n_chunk++;
        } else if (at > off) {
            drop_chunk(r, off, "bytes that belong to no chunk", off);
        }
        if (at == r->file.len)
            return;
        if (r->n_chunk >= MAX_CHUNKS) {
            drop_chunk(r, at, "more chunks than are read", at);
            return;
        }
        open_chunk(r, at);
        if (r->b->is_full)
            return;
        off = jfr_read_chunk(r, at);
        r->n_chunk++;
    }
}

static void init_sets(struct sf_jfr *r)
{
    for (int i = 0; i < 2; i++)
        r->settings[i] = (struct sf_jfr_setting_set){.interval = -1, .wall = -1};
    for (int i = 0; i < SF_JFR_TYPES_MAX; i++)
        r->whats[i] = r->series[i] = SF_NONE;
    r->base_set = sf_profile_build_set(r->b, &r->b->me, NULL, 0);
}

static enum sf_err jfr_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_jfr *r = sf_profile_new(b, 1, sizeof(*r));
    struct sf_arena *a = b->a;
    size_t cap = a->cap, keep;
    enum sf_err err;

    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = b;
    r->file = bytes;
    /* The last third of the free arena is scratch memory of the chunk; it is given back at the
     * end. */
    keep = (cap - (cap - a->at) / 3 + PAGE_LEN - 1) & ~(size_t)(PAGE_LEN - 1);
    if (keep > cap)
        keep = cap;
    r->scratch = (struct sf_arena){.base = a->base + keep, .cap = cap - keep};
    a->cap = keep;
    init_sets(r);
    find_times(r);
    err = sf_jfr_labels_read(r);
    if (!err)
        jfr_read_file(r);
    a->cap = cap;
    if (r->scratch.at > SCRATCH_KEPT_LEN || r->scratch_used > SCRATCH_KEPT_LEN)
        sf_heap_pages_drop(r->scratch.base, r->scratch.cap & ~(size_t)(PAGE_LEN - 1));
    return err;
}

static bool is_jfr(sf_str bytes)
{
    return sf_str_starts(bytes, (sf_str){"FLR", 4});
}

const struct sf_profile_format sf_jfr_format = {
    .name = "jfr",
    .also = "",
    .is = is_jfr,
    .decode = jfr_decode,
};
