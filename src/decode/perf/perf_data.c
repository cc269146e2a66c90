/* perf.data, as `perf record` writes it to a file or a pipe, in the byte order of its machine:
 *
 *     "PERFILE2", size of the header, size of an attribute, and where attributes, records and
 *     features are; of a pipe only the first two, and attributes come as records
 *
 * A record is type (4 bytes), misc (2), size (2) and a body; the attribute of its event describes
 * the body of a sample. Records of several CPUs are not in order of time, so they are sorted first.
 * Maps, forks and commands build up the address spaces in which the addresses of samples are looked
 * up: there are no symbols in the file, so a frame is a file, its build id and an offset. All other
 * records are skipped.
 *
 * With `perf record -z` records are inside other records as one zstd stream, which is flushed with
 * each of them and never ended; a record may begin in one piece and end in the next. On a
 * big-endian machine the magic reads "2ELIFREP", and bits of words that hold flags count from the
 * other end. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/perf/perf_cursor.h"
#include "decode/perf/perf_event.h"
#include "decode/perf/perf_maps.h"
#include "decode/sample_clock.h"

enum {
    RECORD_MMAP = 1,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_ATTR = 64,
    RECORD_AUXTRACE = 71,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
};

enum { /* sample_type */
       HAS_IP = 1 << 0,
       HAS_TID = 1 << 1,
       HAS_TIME = 1 << 2,
       HAS_ADDR = 1 << 3,
       HAS_READ = 1 << 4,
       HAS_CALLCHAIN = 1 << 5,
       HAS_ID = 1 << 6,
       HAS_CPU = 1 << 7,
       HAS_PERIOD = 1 << 8,
       HAS_STREAM = 1 << 9,
       HAS_IDENTIFIER = 1 << 16,
};

enum {
    MISC_CPUMODE = 7,
    MISC_KERNEL = 1,
    MISC_EXEC = 1 << 13,
    MISC_MMAP_BUILD_ID = 1 << 14,
    HEADER_LEN = 104,
    PIPE_HEADER_LEN = 16,
    MIN_ATTR_LEN = 48,
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_EVENT_DESC = 12,
    MAX_FEATURES = 256,
    MAX_ATTRS = 256,
    MAX_IDS = 65536, /* limited, because they are sorted again with every attribute of a pipe */
};

#define CONTEXT_MAX    ((uint64_t)-4095) /* larger values mark whose code follows */
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER   ((uint64_t)-512)

struct attr {
    uint64_t config, period, sample_type, read_format;
    uint32_t type;
    bool is_freq, has_sample_id;
    sf_str name;
};

struct event_id {
    uint64_t id;
    uint32_t attr;
};

struct record {
    uint64_t time;
    const uint8_t *p;
    uint32_t order;
};

struct build_id {
    sf_str file, hex;
};

struct data {
    struct sf_profile_build *b;
    sf_bytes file;
    struct sf_profile_list attrs, ids, records, build_ids, frames;
    struct sf_perf_maps maps;
    struct sf_perf_events events;
    struct sf_sample_clock clock;
    struct sf_buf packed; /* the stream of compressed records */
    bool has_clock, is_big;
};

static struct sf_perf_cursor perf_data_part(const struct data *d, uint64_t off, uint64_t len)
{
    if (off > d->file.len || len > d->file.len - off)
        return (struct sf_perf_cursor){d->file.p, d->file.p, true, d->is_big};
    return (struct sf_perf_cursor){d->file.p + off, d->file.p + off + len, false, d->is_big};
}

/* --- events --- */

static sf_str perf_data_name_of(uint32_t type, uint64_t config)
{
    static const sf_str hardware[] = {SF_STR("cycles"),
                                      SF_STR("instructions"),
                                      SF_STR("cache-references"),
                                      SF_STR("cache-misses"),
                                      SF_STR("branches"),
                                      SF_STR("branch-misses"),
                                      SF_STR("bus-cycles"),
                                      SF_STR("stalled-cycles-frontend"),
                                      SF_STR("stalled-cycles-backend"),
                                      SF_STR("ref-cycles")},
                        software[] = {SF_STR("cpu-clock"),        SF_STR("task-clock"),
                                      SF_STR("page-faults"),      SF_STR("context-switches"),
                                      SF_STR("cpu-migrations"),   SF_STR("minor-faults"),
                                      SF_STR("major-faults"),     SF_STR("alignment-faults"),
                                      SF_STR("emulation-faults"), SF_STR("dummy")};
    if (type == 0 && (config & 0xff) < 10)
        return hardware[config & 0xff];
    if (type == 1 && config < 10)
        return software[config];
    return SF_STR("samples");
}

static void perf_data_add_ids(struct data *d, struct sf_perf_cursor *c, uint64_t n, uint32_t attr)
{
    for (uint64_t i = 0; i < n && !c->is_short && d->ids.n < MAX_IDS; i++) {
        uint64_t id = sf_perf_take_u64(c);
        struct event_id *to = sf_profile_list_more(d->b, &d->ids, sizeof(*to));
        if (!to || c->is_short)
            return;
        *to = (struct event_id){id, attr};
        d->ids.n++;
    }
}

static bool perf_data_add_attr(struct data *d, struct sf_perf_cursor c)
{
    struct attr a = {0}, *to;
    uint64_t flags;
    a.type = sf_perf_take_u32(&c);
    sf_perf_take_u32(&c); /* size */
    a.config = sf_perf_take_u64(&c);
    a.period = sf_perf_take_u64(&c);
    a.sample_type = sf_perf_take_u64(&c);
    a.read_format = sf_perf_take_u64(&c);
    flags = sf_perf_take_u64(&c);
    a.is_freq = flags >> (c.is_big ? 63 - 10 : 10) & 1;
    a.has_sample_id = flags >> (c.is_big ? 63 - 18 : 18) & 1;
    a.name = perf_data_name_of(a.type, a.config);
    to = c.is_short ? NULL : sf_profile_list_more(d->b, &d->attrs, sizeof(*to));
    if (!to)
        return false;
    *to = a;
    d->attrs.n++;
    return true;
}

static enum sf_err perf_data_read_attrs(struct data *d)
{
    uint64_t attr_len = sf_perf_u64(d->file.p + 16, d->is_big),
             off = sf_perf_u64(d->file.p + 24, d->is_big),
             len = sf_perf_u64(d->file.p + 32, d->is_big);
    struct sf_perf_cursor all = perf_data_part(d, off, len);
    if (all.is_short || attr_len < MIN_ATTR_LEN + 16 || attr_len > 4096 ||
        len / attr_len > MAX_ATTRS)
        return sf_fail(d->b->why, SF_ERR_INPUT,
                       "perf.data: its attributes (%" PRIu64 " bytes at byte %" PRIu64
                       ") are not in the file or no attributes",
                       len, off);
    for (; (uint64_t)(all.end - all.at) >= attr_len && !d->b->is_full; all.at += attr_len) {
        struct sf_perf_cursor section = {all.at + attr_len - 16, all.at + attr_len, false,
                                         d->is_big},
                              ids;
        uint64_t ids_off = sf_perf_take_u64(&section), ids_len = sf_perf_take_u64(&section);
        if (!perf_data_add_attr(
                d, (struct sf_perf_cursor){all.at, all.at + attr_len - 16, false, d->is_big}))
            break;
        ids = perf_data_part(d, ids_off, ids_len);
        if (!ids.is_short)
            perf_data_add_ids(d, &ids, ids_len / 8, d->attrs.n - 1);
    }
    return SF_OK;
}

static int perf_data_by_id(const void *x, const void *y)
{
    const struct event_id *a = x, *b = y;
    return a->id < b->id ? -1 : a->id > b->id;
}

static const struct attr *perf_data_attr_of(const struct data *d, uint64_t id)
{
    struct event_id key = {.id = id};
    const struct event_id *found = d->ids.n ? bsearch(&key, d->ids.items, d->ids.n, sizeof(key),
                                                      perf_data_by_id)
                                            : NULL;
    return (const struct attr *)d->attrs.items + (found ? found->attr : 0);
}

/* --- features --- */

static void read_event_names(struct data *d, struct sf_perf_cursor c)
{
    uint32_t n = sf_perf_take_u32(&c), attr_len = sf_perf_take_u32(&c);
    for (uint32_t i = 0; i < n && i < d->attrs.n && !c.is_short; i++) {
        uint32_t n_ids, len;
        struct sf_perf_cursor text;
        sf_str name;
        sf_perf_skip(&c, attr_len);
        n_ids = sf_perf_take_u32(&c);
        len = sf_perf_take_u32(&c);
        text = c;
        sf_perf_skip(&c, len);
        if (c.is_short)
            return;
        text.end = c.at;
        name = sf_perf_take_text(&text);
        if (name.len)
            ((struct attr *)d->attrs.items)[i].name = name;
        sf_perf_skip(&c, (uint64_t)n_ids * 8);
    }
}

static sf_str perf_data_hex_of(struct data *d, const uint8_t *p, size_t len)
{
    char *to = sf_profile_new(d->b, 2 * len + 1, 1);
    if (!to)
        return SF_STR_NONE;
    sf_hex_encode(p, len, to);
    return (sf_str){to, 2 * len};
}

static void read_build_ids(struct data *d, struct sf_perf_cursor c)
{
    while (c.end - c.at >= 36 && d->build_ids.n < 65536) {
        uint16_t misc = sf_perf_u16(c.at + 4, d->is_big), size = sf_perf_u16(c.at + 6, d->is_big);
        size_t len = misc >> 15 && c.at[32] && c.at[32] <= 20 ? c.at[32] : 20;
        struct sf_perf_cursor name = {c.at + 36, c.at + size, false, d->is_big};
        struct build_id *to;
        if (size < 36 || size > c.end - c.at)
            return;
        to = sf_profile_list_more(d->b, &d->build_ids, sizeof(*to));
        if (!to)
            return;
        *to = (struct build_id){sf_perf_take_text(&name), perf_data_hex_of(d, c.at + 12, len)};
        d->build_ids.n++;
        c.at += size;
    }
}

static int perf_data_by_file(const void *x, const void *y)
{
    const struct build_id *a = x, *b = y;
    return sf_str_cmp(a->file, b->file);
}

/* The bits are in words of type long: on a big-endian machine the first byte of each is the
 * highest. */
static bool has_feature(const struct data *d, unsigned i, unsigned word_len)
{
    unsigned byte = i / 8;
    if (d->is_big)
        byte = byte / word_len * word_len + word_len - 1 - byte % word_len;
    return d->file.p[72 + byte] >> i % 8 & 1;
}

static void read_features(struct data *d)
{
    /* Every perf records the host name; the position of that bit tells the size of the words. */
    bool is_short = !has_feature(d, FEATURE_HOSTNAME, 8) && has_feature(d, FEATURE_HOSTNAME, 4);
    unsigned word_len = is_short ? 4 : 8;
    uint64_t at = sf_add_sat_u64(sf_perf_u64(d->file.p + 40, d->is_big),
                                 sf_perf_u64(d->file.p + 48, d->is_big));
    for (unsigned i = 0; i < MAX_FEATURES; i++) {
        struct sf_perf_cursor section, content;
        uint64_t off, len;
        if (!has_feature(d, i, word_len))
            continue;
        section = perf_data_part(d, at, 16);
        off = sf_perf_take_u64(&section);
        len = sf_perf_take_u64(&section);
        if (section.is_short)
            return;
        at += 16;
        content = perf_data_part(d, off, len);
        if (!content.is_short && i == FEATURE_EVENT_DESC)
            read_event_names(d, content);
        if (!content.is_short && i == FEATURE_BUILD_ID)
            read_build_ids(d, content);
    }
    if (d->build_ids.n)
        qsort(d->build_ids.items, d->build_ids.n, sizeof(struct build_id), perf_data_by_file);
}

static sf_str build_id_of(const struct data *d, sf_str file)
{
    struct build_id key = {.file = file}, *found = NULL;
    if (d->build_ids.n)
        found = bsearch(&key, d->build_ids.items, d->build_ids.n, sizeof(key), perf_data_by_file);
    return found ? found->hex : SF_STR_NONE;
}

/* --- records --- */

/* The time of a record that is not a sample is in a trailer, counted from its end. */
static uint64_t time_of_other(const struct data *d, struct sf_perf_cursor c)
{
    const struct attr *a = d->attrs.items;
    size_t back = 8;
    if (!a->has_sample_id || !(a->sample_type & HAS_TIME))
        return 0;
    back += a->sample_type & HAS_ID ? 8 : 0;
    back += a->sample_type & HAS_STREAM ? 8 : 0;
    back += a->sample_type & HAS_CPU ? 8 : 0;
    back += a->sample_type & HAS_IDENTIFIER ? 8 : 0;
    return (size_t)(c.end - c.at) < back ? 0 : sf_perf_u64(c.end - back, d->is_big);
}

struct sample {
    const struct attr *attr;
    uint64_t ip, time, period;
    uint32_t pid, tid;
    struct sf_perf_cursor chain; /* addresses */
};

static void skip_read(struct sf_perf_cursor *c, uint64_t format)
{
    uint64_t each = 1 + (format >> 2 & 1) + (format >> 4 & 1),
             once = (format & 1) + (format >> 1 & 1), n = 1;
    if (format >> 3 & 1)
        n = sf_perf_take_u64(c);
    if (n > 1u << 16)
        c->is_short = true;
    else
        sf_perf_skip(c, 8 * (once + n * each));
}

static bool perf_data_read_sample(const struct data *d, struct sf_perf_cursor c, struct sample *out)
{
    struct sample s = {.attr = d->attrs.items};
    uint64_t type = s.attr->sample_type, id = 0, n;
    struct sf_perf_cursor again = c;
    if (type & HAS_IDENTIFIER) {
        id = sf_perf_take_u64(&c);
        s.attr = perf_data_attr_of(d, id);
        type = s.attr->sample_type;
    } else if (type & HAS_ID) { /* after fields that all events of a file have in common */
        sf_perf_skip(&again, (type & HAS_IP ? 8u : 0) + (type & HAS_TID ? 8u : 0) +
                                 (type & HAS_TIME ? 8u : 0) + (type & HAS_ADDR ? 8u : 0));
        s.attr = perf_data_attr_of(d, sf_perf_take_u64(&again));
        type = s.attr->sample_type;
    }
    if (type & HAS_IP)
        s.ip = sf_perf_take_u64(&c);
    if (type & HAS_TID) {
        s.pid = sf_perf_take_u32(&c);
        s.tid = sf_perf_take_u32(&c);
    }
    if (type & HAS_TIME)
        s.time = sf_perf_take_u64(&c);
    sf_perf_skip(&c, (type & HAS_ADDR ? 8u : 0) + (type & HAS_ID ? 8u : 0) +
                         (type & HAS_STREAM ? 8u : 0) + (type & HAS_CPU ? 8u : 0));
    if (type & HAS_PERIOD)
        s.period = sf_perf_take_u64(&c);
    else if (!s.attr->is_freq)
        s.period = s.attr->period;
    if (type & HAS_READ)
        skip_read(&c, s.attr->read_format);
    s.chain = (struct sf_perf_cursor){c.at, c.at, false, d->is_big};
    if (type & HAS_CALLCHAIN) {
        n = sf_perf_take_u64(&c);
        if (n > (uint64_t)(c.end - c.at) / 8)
            return false;
        s.chain = (struct sf_perf_cursor){c.at, c.at + 8 * n, false, d->is_big};
    }
    *out = s;
    return !c.is_short;
}

static void perf_data_push(struct data *d, uint32_t location)
{
    uint32_t *to = sf_profile_list_more(d->b, &d->frames, sizeof(*to));
    if (!to || location == SF_NONE)
        return;
    *to = location;
    d->frames.n++;
}

static void perf_data_push_name(struct data *d, sf_str name)
{
    perf_data_push(
        d, sf_profile_build_frame(d->b, &(struct sf_function){.name = name}, 0, SF_FRAME_UNKNOWN));
}

static void push_addr(struct data *d, uint32_t pid, uint64_t addr, bool is_kernel, bool is_return)
{
    struct sf_location l = {.mapping = SF_NONE,
                            .addr = is_return ? addr - 1 : addr,
                            .kind = is_kernel ? SF_FRAME_KERNEL : SF_FRAME_NATIVE};
    const struct sf_perf_map *map = sf_perf_maps_find(
        &d->maps, is_kernel ? (uint32_t)SF_PERF_KERNEL_PID : pid, l.addr);
    if (!map && !is_kernel) {
        perf_data_push_name(d, SF_STR("[unknown]"));
        return;
    }
    if (map && !sf_str_starts(map->file, SF_STR("[kernel"))) {
        l.mapping = sf_profile_build_mapping(
            d->b, &(struct sf_mapping){.file = map->file, .build_id = map->build_id});
        l.addr = l.addr - map->start + map->off;
    } else {
        l.mapping = sf_profile_build_mapping(
            d->b, &(struct sf_mapping){.file = SF_STR("[kernel.kallsyms]"),
                                       .build_id = map ? map->build_id : SF_STR_NONE});
    }
    perf_data_push(d, sf_profile_build_location(d->b, &l));
}

static void perf_data_add_sample(struct data *d, struct sf_perf_cursor c, unsigned misc)
{
    struct sample s;
    struct sf_sample out = {.count = 1};
    bool is_kernel = (misc & MISC_CPUMODE) == MISC_KERNEL;
    uint32_t process;
    if (!perf_data_read_sample(d, c, &s)) {
        sf_profile_build_drop(d->b, &d->b->drops.n_samples,
                              "perf.data: sample %" PRIu32 " is longer than its record",
                              d->b->samples.n + 1);
        return;
    }
    d->frames.n = 0;
    if (s.chain.at == s.chain.end && s.ip)
        push_addr(d, s.pid, s.ip, is_kernel, false);
    while (s.chain.at < s.chain.end) {
        uint64_t addr = sf_perf_take_u64(&s.chain);
        if (addr >= CONTEXT_MAX)
            is_kernel = addr == CONTEXT_KERNEL || (is_kernel && addr != CONTEXT_USER);
        else if (d->frames.n < 4 * SF_LIMIT_FRAMES)
            push_addr(d, s.pid, addr, is_kernel, d->frames.n > 0);
    }
    process = sf_perf_maps_process(&d->maps, s.tid);
    if (process != SF_NONE)
        out.thread_name = sf_perf_maps_at(&d->maps, process)->comm;
    if (!out.thread_name.len && (process = sf_perf_maps_process(&d->maps, s.pid)) != SF_NONE)
        out.thread_name = sf_perf_maps_at(&d->maps, process)->comm;
    if (s.pid == 0 && !out.thread_name.len)
        out.thread_name = SF_STR("swapper");
    if (out.thread_name.len)
        perf_data_push_name(d, out.thread_name);
    out.thread = s.tid;
    out.series = sf_perf_events_find(&d->events, s.attr->name,
                                     s.attr->sample_type & HAS_PERIOD || !s.attr->is_freq);
    if (out.series == SF_NONE && !d->b->is_full) {
        sf_profile_build_drop(d->b, &d->b->drops.n_samples, "perf.data: more than %d events",
                              SF_LIMIT_SAMPLE_TYPES);
        return;
    }
    out.value = s.period && s.period <= INT64_MAX ? (int64_t)s.period : 1;
    out.stack = sf_profile_build_stack(d->b, d->frames.items, d->frames.n);
    if (s.time && s.time <= INT64_MAX) {
        if (!d->has_clock)
            d->clock = sf_sample_clock_init(d->b, (int64_t)s.time);
        d->has_clock = true;
        sf_sample_clock_stamp(&d->clock, (int64_t)s.time, 0, &out);
    }
    sf_profile_build_sample(d->b, &d->b->me, &out);
}

static void add_map(struct data *d, struct sf_perf_cursor c, bool is_2, unsigned misc)
{
    struct sf_perf_map map = {0};
    uint32_t pid = sf_perf_take_u32(&c);
    uint64_t len;
    sf_perf_take_u32(&c); /* thread */
    map.start = sf_perf_take_u64(&c);
    len = sf_perf_take_u64(&c);
    map.off = sf_perf_take_u64(&c);
    if (is_2) {
        if (misc & MISC_MMAP_BUILD_ID && c.end - c.at >= 24 && c.at[0] && c.at[0] <= 20)
            map.build_id = perf_data_hex_of(d, c.at + 4, c.at[0]);
        sf_perf_skip(&c, 32);
    }
    map.file = sf_perf_take_text(&c);
    if (c.is_short || !map.file.len || !len || len > UINT64_MAX - map.start)
        return;
    map.limit = map.start + len;
    if (!map.build_id.len)
        map.build_id = build_id_of(d, map.file);
    sf_perf_maps_add(
        &d->maps, (misc & MISC_CPUMODE) == MISC_KERNEL ? (uint32_t)SF_PERF_KERNEL_PID : pid, &map);
}

static void take_comm(struct data *d, struct sf_perf_cursor c, unsigned misc)
{
    uint32_t pid = sf_perf_take_u32(&c), tid = sf_perf_take_u32(&c), place;
    sf_str comm = sf_perf_take_text(&c);
    if (c.is_short)
        return;
    if (misc & MISC_EXEC)
        sf_perf_maps_exec(&d->maps, pid);
    place = sf_perf_maps_process(&d->maps, tid);
    if (place != SF_NONE)
        sf_perf_maps_at(&d->maps, place)->comm = sf_profile_clean(d->b, comm);
}

static void take_fork(struct data *d, struct sf_perf_cursor c)
{
    uint32_t pid = sf_perf_take_u32(&c), parent = sf_perf_take_u32(&c), tid = sf_perf_take_u32(&c),
             from = sf_perf_take_u32(&c);
    uint32_t place;
    if (c.is_short)
        return;
    if (pid != parent)
        sf_perf_maps_fork(&d->maps, pid, parent);
    if (tid == pid)
        return;
    place = sf_perf_maps_process(&d->maps, from);
    if (place != SF_NONE) {
        sf_str comm = sf_perf_maps_at(&d->maps, place)->comm;
        place = sf_perf_maps_process(&d->maps, tid);
        if (place != SF_NONE)
            sf_perf_maps_at(&d->maps, place)->comm = comm;
    }
}

static void perf_data_take_record(struct data *d, const uint8_t *p)
{
    uint32_t type = sf_perf_u32(p, d->is_big);
    unsigned misc = sf_perf_u16(p + 4, d->is_big), size = sf_perf_u16(p + 6, d->is_big);
    struct sf_perf_cursor c = {p + 8, p + size, false, d->is_big};
    if (type == RECORD_SAMPLE)
        perf_data_add_sample(d, c, misc);
    else if (type == RECORD_MMAP || type == RECORD_MMAP2)
        add_map(d, c, type == RECORD_MMAP2, misc);
    else if (type == RECORD_COMM)
        take_comm(d, c, misc);
    else if (type == RECORD_FORK)
        take_fork(d, c);
}

static bool perf_data_is_wanted(uint32_t type)
{
    return type == RECORD_SAMPLE || type == RECORD_MMAP || type == RECORD_MMAP2 ||
           type == RECORD_COMM || type == RECORD_FORK;
}

static void note_record(struct data *d, const uint8_t *p, uint32_t type, struct sf_perf_cursor c)
{
    struct record *to;
    struct sample s;
    if (!d->attrs.n)
        return;
    to = sf_profile_list_more(d->b, &d->records, sizeof(*to));
    if (!to)
        return;
    *to = (struct record){.p = p, .order = d->records.n};
    if (type != RECORD_SAMPLE)
        to->time = time_of_other(d, c);
    else if (perf_data_read_sample(d, c, &s))
        to->time = s.time;
    d->records.n++;
}

/* "perf record -o -": the attribute of an event, with its ids. */
static void take_attr(struct data *d, struct sf_perf_cursor c)
{
    uint32_t len = c.end - c.at >= 8 ? sf_perf_u32(c.at + 4, d->is_big) : 0;
    struct sf_perf_cursor ids = c;
    if (len < MIN_ATTR_LEN || len > (size_t)(c.end - c.at) || d->attrs.n == MAX_ATTRS ||
        !perf_data_add_attr(d, (struct sf_perf_cursor){c.at, c.at + len, false, d->is_big}))
        return;
    sf_perf_skip(&ids, len);
    perf_data_add_ids(d, &ids, (uint64_t)(ids.end - ids.at) / 8, d->attrs.n - 1);
    if (d->ids.n)
        qsort(d->ids.items, d->ids.n, sizeof(struct event_id), perf_data_by_id);
}

/* A piece of the stream; since perf 6.15 its length is given, because records are padded. */
static void take_packed(struct data *d, struct sf_perf_cursor c, bool is_2)
{
    uint64_t len = is_2 ? sf_perf_take_u64(&c) : (uint64_t)(c.end - c.at);
    if (c.is_short || len > (uint64_t)(c.end - c.at))
        sf_profile_build_drop(d->b, &d->b->drops.n_parts,
                              "perf.data: a compressed record is longer than itself");
    else
        sf_buf_add(&d->packed, c.at, (size_t)len);
}

/* Walks over consecutive records: of the file, or of its compressed stream. */
static void perf_data_walk(struct data *d, sf_bytes in, bool is_inside)
{
    const uint8_t *p = in.p, *end = in.len ? in.p + in.len : in.p; /* an empty one has no address */
    while (end - p >= 8 && !d->b->is_full) {
        uint32_t type = sf_perf_u32(p, d->is_big);
        size_t size = sf_perf_u16(p + 6, d->is_big);
        struct sf_perf_cursor c;
        if (size < 8 || size > (size_t)(end - p)) {
            sf_profile_build_drop(
                d->b, &d->b->drops.n_parts,
                "perf.data: the record at byte %zu%s does not fit, so it ends there",
                is_inside ? (size_t)(p - in.p) : (size_t)(p - d->file.p),
                is_inside ? " of the inflated ones" : "");
            break;
        }
        c = (struct sf_perf_cursor){p + 8, p + size, false, d->is_big};
        if (type == RECORD_ATTR)
            take_attr(d, c);
        else if (perf_data_is_wanted(type))
            note_record(d, p, type, c);
        else if ((type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2) && !is_inside)
            take_packed(d, c, type == RECORD_COMPRESSED2);
        p += size;
        if (type == RECORD_AUXTRACE) { /* raw bytes follow it */
            uint64_t more = sf_perf_take_u64(&c);
            if (more > (uint64_t)(end - p))
                break;
            p += more;
        }
    }
}

/* Decompresses the records into memory that the batch may point to. */
static enum sf_err walk_packed(struct data *d)
{
    struct sf_inflate *z = sf_inflate_new();
    size_t most = d->packed.len < SIZE_MAX / SF_LIMIT_RATIO ? d->packed.len * SF_LIMIT_RATIO
                                                            : SIZE_MAX;
    struct sf_buf plain = {0};
    enum sf_err err = z && sf_buf_ok(&d->packed)
                          ? sf_inflate_bytes(z, SF_INFLATE_ZSTD_OPEN, sf_buf_bytes(&d->packed),
                                             most < SF_LIMIT_INFLATED_LEN ? most
                                                                          : SF_LIMIT_INFLATED_LEN,
                                             &plain, d->b->why)
                          : sf_fail(d->b->why, SF_ERR_NOMEM, "perf.data: no memory to inflate");
    if (err == SF_ERR_INPUT || err == SF_ERR_LIMIT)
        sf_why_prefix(d->b->why, "perf.data: compressed records");
    if (!err)
        perf_data_walk(d, sf_str_bytes(sf_profile_table_copy(d->b, sf_buf_str(&plain))), true);
    sf_buf_done(&plain);
    sf_inflate_free(z);
    return err;
}

static enum sf_err walk_all(struct data *d, size_t from, size_t end)
{
    enum sf_err err = SF_OK;
    perf_data_walk(d, (sf_bytes){d->file.p + from, end - from}, false);
    if (d->packed.len && !d->b->is_full)
        err = walk_packed(d);
    sf_buf_done(&d->packed);
    return err;
}

static int perf_data_by_time(const void *x, const void *y)
{
    const struct record *a = x, *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static enum sf_err perf_data_read_file(struct data *d)
{
    uint64_t head = d->file.len >= 16 ? sf_perf_u64(d->file.p + 8, d->is_big) : 0, off, len;
    enum sf_err err;
    if (head == PIPE_HEADER_LEN)
        return walk_all(d, PIPE_HEADER_LEN, d->file.len);
    if (head < HEADER_LEN || d->file.len < HEADER_LEN)
        return sf_fail(d->b->why, SF_ERR_INPUT, "perf.data: cut short, %zu bytes hold no header",
                       d->file.len);
    err = perf_data_read_attrs(d);
    if (err)
        return err;
    if (d->ids.n)
        qsort(d->ids.items, d->ids.n, sizeof(struct event_id), perf_data_by_id);
    off = sf_perf_u64(d->file.p + 40, d->is_big);
    len = sf_perf_u64(d->file.p + 48, d->is_big);
    if (off > d->file.len)
        return sf_fail(d->b->why, SF_ERR_INPUT,
                       "perf.data: cut short, its records would begin at byte %" PRIu64 " of %zu",
                       off, d->file.len);
    read_features(d);
    if (!len || len > d->file.len - off) /* perf was killed, or the file was cut */
        len = d->file.len - off;
    return walk_all(d, (size_t)off, (size_t)(off + len));
}

static enum sf_err perf_data_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct data *d = sf_profile_new(b, 1, sizeof(*d));
    enum sf_err err;
    if (!d)
        return SF_OK; /* finish() reports the error */
    d->b = d->maps.b = d->events.b = b;
    d->file = sf_str_bytes(bytes);
    d->is_big = sf_str_starts(bytes, SF_STR("2ELIFREP"));
    err = perf_data_read_file(d);
    if (err || b->is_full)
        return err;
    if (!d->attrs.n)
        return sf_fail(b->why, SF_ERR_INPUT, "perf.data: no event is described in it");
    if (d->records.n)
        qsort(d->records.items, d->records.n, sizeof(struct record), perf_data_by_time);
    for (uint32_t i = 0; i < d->records.n && sf_profile_build_ok(b); i++)
        perf_data_take_record(d, ((const struct record *)d->records.items)[i].p);
    return SF_OK;
}

static bool is_perf_data(sf_str bytes)
{
    return sf_str_starts(bytes, SF_STR("PERFILE2")) || sf_str_starts(bytes, SF_STR("2ELIFREP"));
}

const struct sf_profile_format sf_perf_data_format = {
    .name = "perf-data",
    .also = "perf.data,perf_data",
    .is = is_perf_data,
    .decode = perf_data_decode,
};
