/* pprof's texts from before protobuf, which gperftools, jemalloc and Go's "?debug=1" still write:
 *
 *     heap profile: 13: 1595680 [47: 25845] @ heap_v2/524288   n: bytes [n: bytes] @ addresses
 *     heap profile: ... @ growthz                              likewise, not sampled
 *     --- contentionz 1 ---   "name = value" lines, then       cycles count @ addresses
 *     --- heapz 1 ---         of Java, likewise                bytes count @ addresses
 *     goroutine profile: total 7                               count @ addresses
 *     --- threadz 1 ---       --- Thread 7f (name: main/12) stack: ---, then addresses
 *
 * and after the samples a memory map. Go writes the names of a stack below it, in lines that begin
 * with "#"; they are used instead of the addresses. Sampled heaps are scaled up to estimate what
 * was allocated, each bucket by its average size. */
#include <inttypes.h>
#include <math.h>

#include "base/limits.h"
#include "base/num.h"
#include "decode/pprof/legacy.h"
#include "decode/text_word.h"

enum kind { HEAP, CONTENTION, JAVA_HEAP, COUNT, THREAD };

struct reader {
    struct sf_profile_build *b;
    struct sf_legacy l;
    enum kind kind;
    bool has_alloc;
    double rate; /* sampling rate of a heap; 0: not sampled */
    double period, cycles_per_ns, unit_ns;
    int64_t duration_ns;
    sf_str type; /* of a count: "goroutine", for example */
    int64_t values[SF_LEGACY_TYPES];
    sf_str addrs; /* addresses of the sample whose names may follow */
    bool is_open, has_names;
    sf_str thread_name;
    uint64_t thread, n_line;
};

/* --- headers --- */

/* Reads numbers separated by any other characters: "1: 2 [3: 4] @". */
static unsigned legacy_text_read_numbers(sf_str text, uint64_t *out, unsigned n)
{
    unsigned found = 0;
    for (size_t i = 0; i < text.len && found < n; i++) {
        size_t from = i;
        while (i < text.len && text.p[i] >= '0' && text.p[i] <= '9')
            i++;
        if (i > from && sf_str_to_u64(sf_str_part(text, from, i - from), &out[found]))
            found++;
    }
    return found;
}

static bool read_heap_header(struct reader *r, sf_str line)
{
    uint64_t n[4], rate = 0;
    size_t at, slash;
    sf_str name;
    if (!sf_str_starts(line, SF_STR("heap profile:")) || !sf_str_find_char(line, '@', &at) ||
        legacy_text_read_numbers(sf_str_part(line, 0, at), n, 4) != 4)
        return false;
    name = sf_str_trim(sf_str_from_at(line, at + 1));
    if (sf_str_find_char(name, '/', &slash)) {
        if (!sf_str_to_u64(sf_str_from_at(name, slash + 1), &rate))
            rate = 0;
        name.len = slash;
    }
    r->kind = HEAP;
    r->has_alloc = n[0] != n[2] || n[1] != n[3];
    if (sf_str_eq(name, SF_STR("heap_v2")) || sf_str_eq(name, SF_STR("heapz_v2")))
        r->rate = (double)rate;
    else if (sf_str_eq(name, SF_STR("heap"))) /* written by Go, which gives twice its rate */
        r->rate = (double)(rate / 2);
    return sf_str_starts(name, SF_STR("heap")) || sf_str_starts(name, SF_STR("growth")) ||
           sf_str_starts(name, SF_STR("fragmentation"));
}

static bool legacy_text_read_header(struct reader *r, sf_str line)
{
    size_t at;
    line = sf_str_trim(line);
    if (read_heap_header(r, line))
        return true;
    if (sf_str_starts(line, SF_STR("--- contention")) || sf_str_starts(line, SF_STR("--- mutex"))) {
        r->kind = CONTENTION;
        return true;
    }
    if (sf_str_starts(line, SF_STR("--- heapz"))) {
        r->kind = JAVA_HEAP;
        r->rate = 512 * 1024;
        return true;
    }
    if (sf_str_starts(line, SF_STR("--- thread"))) {
        r->kind = THREAD;
        return true;
    }
    if (!sf_str_find(line, SF_STR(" profile: total "), &at) || !at)
        return false;
    r->type = sf_str_part(line, 0, at);
    r->kind = COUNT;
    for (size_t i = 0; i < r->type.len; i++) { /* a word */
        char c = r->type.p[i];
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (c < '0' || c > '9'))
            return false;
    }
    return true;
}

static void legacy_text_open_types(struct reader *r)
{
    static const char *const heap[] = {"alloc_objects/count", "alloc_space/bytes",
                                       "inuse_objects/count", "inuse_space/bytes"},
                             *const plain[] = {"inuse_objects/count", "inuse_space/bytes"},
                             *const contention[] = {"contentions/count", "delay/nanoseconds"},
                             *const threads[] = {"thread/count"};
    struct sf_legacy_period space = {"space/bytes", (int64_t)r->rate, 0, false},
                            contentions = {"contentions/count", (int64_t)r->period, r->duration_ns,
                                           true},
                            one = {"thread/count", 1, 0, true};
    sf_str own = SF_STR_NONE;
    const char *count[1];
    switch (r->kind) {
    case HEAP:
        if (r->has_alloc)
            sf_legacy_types(&r->l, heap, 4, &space);
        else
            sf_legacy_types(&r->l, plain, 2, &space);
        return;
    case JAVA_HEAP: sf_legacy_types(&r->l, plain, 2, &space); return;
    case CONTENTION: sf_legacy_types(&r->l, contention, 2, &contentions); return;
    case THREAD: sf_legacy_types(&r->l, threads, 1, &one); return;
    case COUNT:
        if (!sf_arena_print(r->b->a, &own, "%.*s/count", SF_STR_ARG(r->type)))
            r->b->is_full = true;
        count[0] = one.type = own.p ? own.p : "samples/count";
        sf_legacy_types(&r->l, count, 1, &one);
        return;
    }
}

/* --- samples --- */

/* Estimates the totals of a sampled bucket. */
static void legacy_text_scale(const struct reader *r, int64_t *n, int64_t *bytes)
{
    double factor;
    if (!(r->rate > 1) || *n <= 0 || *bytes <= 0)
        return;
    factor = 1 / (1 - exp(-((double)*bytes / (double)*n) / r->rate));
    if (!isfinite(factor) || (double)*bytes * factor > 9e18 || (double)*n * factor > 9e18)
        return;
    *n = (int64_t)((double)*n * factor);
    *bytes = (int64_t)((double)*bytes * factor);
}

static int64_t legacy_text_clip(double v)
{
    return v > 0 ? v < 9e18 ? (int64_t)v : INT64_MAX : 0;
}

static bool legacy_text_take_values(struct reader *r, sf_str text)
{
    uint64_t n[4] = {0};
    unsigned found = legacy_text_read_numbers(text, n, 4);
    for (unsigned i = 0; i < 4; i++) {
        if (n[i] > INT64_MAX)
            return false;
    }
    switch (r->kind) {
    case HEAP: {
        int64_t in_n = (int64_t)n[0], in_bytes = (int64_t)n[1], all_n = (int64_t)n[2],
                all_bytes = (int64_t)n[3];
        if (found != 4)
            return false;
        legacy_text_scale(r, &in_n, &in_bytes);
        legacy_text_scale(r, &all_n, &all_bytes);
        r->values[0] = r->has_alloc ? all_n : in_n;
        r->values[1] = r->has_alloc ? all_bytes : in_bytes;
        r->values[2] = in_n;
        r->values[3] = in_bytes;
        return true;
    }
    case JAVA_HEAP:
        r->values[0] = (int64_t)n[1];
        r->values[1] = (int64_t)n[0];
        legacy_text_scale(r, &r->values[0], &r->values[1]);
        return found == 2;
    case CONTENTION:
        r->values[0] = legacy_text_clip((double)n[1] * r->period);
        r->values[1] = legacy_text_clip(r->unit_ns > 0
                                            ? (double)n[0] * r->period * r->unit_ns
                                            : (double)n[0] * r->period / r->cycles_per_ns);
        return found == 2;
    case COUNT:
    case THREAD: break;
    }
    r->values[0] = (int64_t)n[0];
    return found == 1;
}

static void push_addresses(struct reader *r)
{
    sf_str rest = r->addrs, word;
    uint64_t addr, n = 0;
    while (sf_text_word(&rest, &word) && !r->b->is_full) {
        if (!sf_legacy_hex(word, &addr))
            r->b->drops.n_frames++;
        else if (n++ < 4 * SF_LIMIT_FRAMES)
            sf_legacy_push(&r->l, addr, !r->l.names.n);
    }
}

static void legacy_text_close_sample(struct reader *r)
{
    if (!r->is_open)
        return;
    if (!r->has_names)
        push_addresses(r);
    sf_legacy_add(&r->l, r->values, r->thread, r->thread_name);
    r->is_open = r->has_names = false;
    r->addrs = SF_STR_NONE;
}

/* "#	0x44cb2	runtime.main+0x12	/usr/go/proc.go:12": a frame of the sample above. */
static void take_comment(struct reader *r, sf_str line)
{
    sf_str rest = sf_str_from_at(line, 1), word, name, file;
    uint64_t addr, n = 0;
    size_t at;
    if (!r->is_open || !sf_text_word(&rest, &word) || !sf_str_starts(word, SF_STR("0x")) ||
        !sf_legacy_hex(word, &addr))
        return;
    rest = sf_str_trim(rest);
    if (!sf_str_find_char(rest, '\t', &at))
        at = rest.len;
    name = sf_str_trim(sf_str_part(rest, 0, at));
    file = sf_str_trim(sf_str_from_at(rest, at));
    for (at = name.len; at && name.p[at - 1] != '+';)
        at--;
    if (at > 1)
        name.len = at - 1;
    for (at = file.len; at && file.p[at - 1] != ':';)
        at--;
    if (at && sf_str_to_u64(sf_str_from_at(file, at), &n) && n < INT32_MAX)
        file.len = at - 1;
    else
        n = 0;
    if (!name.len || r->l.stack.n > 4 * SF_LIMIT_FRAMES)
        return;
    r->has_names = true;
    sf_legacy_push_name(&r->l, name, file, (uint32_t)n);
}

/* "cycles/second = 3201000000" */
static bool take_attribute(struct reader *r, sf_str line)
{
    sf_str key, val;
    size_t at;
    double v;
    if (!sf_str_find_char(line, '=', &at))
        return false;
    key = sf_str_trim(sf_str_part(line, 0, at));
    val = sf_str_trim(sf_str_from_at(line, at + 1));
    if (sf_str_eq(key, SF_STR("resolution"))) {
        r->unit_ns = sf_str_eq(val, SF_STR("microseconds"))   ? 1e3
                     : sf_str_eq(val, SF_STR("milliseconds")) ? 1e6
                     : sf_str_eq(val, SF_STR("nanoseconds"))  ? 1
                                                              : 0;
        return true;
    }
    if (!sf_str_to_f64(val, &v) || !(v > 0) || v > 9e15)
        return true;
    if (sf_str_eq(key, SF_STR("cycles/second")))
        r->cycles_per_ns = v / 1e9;
    else if (sf_str_eq(key, SF_STR("sampling period")))
        r->period = v;
    else if (sf_str_eq(key, SF_STR("ms since reset")))
        r->duration_ns = legacy_text_clip(v * 1e6);
    return true;
}

/* "--- Thread 7f794ab90940 (name: main/14748) stack: ---" opens a stack of addresses. */
static void legacy_text_take_thread(struct reader *r, sf_str line)
{
    size_t open, end, slash;
    sf_str inner;
    legacy_text_close_sample(r);
    r->is_open = true;
    r->values[0] = 1;
    r->thread = 0;
    r->thread_name = SF_STR_NONE;
    r->has_names = true; /* its addresses are added as they are read */
    if (!sf_str_find(line, SF_STR("(name: "), &open) || !sf_str_find_char(line, ')', &end) ||
        end < open)
        return;
    inner = sf_str_part(line, open + 7, end - open - 7);
    r->thread_name = sf_profile_clean(r->b, inner);
    if (sf_str_find_char(inner, '/', &slash)) {
        r->thread_name = sf_profile_clean(r->b, sf_str_part(inner, 0, slash));
        if (!sf_str_to_u64(sf_str_from_at(inner, slash + 1), &r->thread))
            r->thread = 0;
    }
}

static void take_thread_line(struct reader *r, sf_str line)
{
    sf_str rest = line, word;
    uint64_t addr;
    if (sf_str_starts(line, SF_STR("--- Thread"))) {
        legacy_text_take_thread(r, line);
        return;
    }
    if (!r->is_open)
        return;
    while (sf_text_word(&rest, &word)) {
        if (sf_str_ends(word, SF_STR(":")))
            word.len--;
        if (sf_str_starts(word, SF_STR("0x")) && sf_legacy_hex(word, &addr) &&
            r->l.stack.n < 4 * SF_LIMIT_FRAMES)
            sf_legacy_push(&r->l, addr, r->l.stack.n > 0);
    }
}

static void legacy_text_take_line(struct reader *r, sf_str line)
{
    size_t at;
    if (line.p[0] == '#') {
        take_comment(r, line);
        return;
    }
    if (r->kind == THREAD) {
        take_thread_line(r, line);
        return;
    }
    if (!sf_str_find_char(line, '@', &at)) {
        if (!take_attribute(r, line) && !sf_str_starts(line, SF_STR("---")))
            sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                                  "legacy profile: line %" PRIu64 " is not a sample", r->n_line);
        return;
    }
    legacy_text_close_sample(r);
    if (!r->l.n_types)
        legacy_text_open_types(r); /* after the attributes */
    if (!legacy_text_take_values(r, sf_str_part(line, 0, at))) {
        sf_profile_build_drop(r->b, &r->b->drops.n_samples,
                              "legacy profile: line %" PRIu64 " has no usable values", r->n_line);
        return;
    }
    r->addrs = sf_str_from_at(line, at + 1);
    r->is_open = true;
}

/* The start of the memory map; the samples are before it. Java's addresses with names follow the
 * samples without a heading, indented. */
static sf_str find_map(const struct reader *r, sf_str bytes, sf_str *out_map)
{
    static const sf_str marks[] = {SF_STR("MAPPED_LIBRARIES:"), SF_STR("--- Memory map: ---")};
    sf_str rest = bytes, line;
    for (size_t i = 0; i < 2; i++) {
        size_t at;
        if (sf_str_find(bytes, marks[i], &at)) {
            *out_map = sf_str_from_at(bytes, at + marks[i].len);
            return sf_str_part(bytes, 0, at);
        }
    }
    *out_map = SF_STR_NONE;
    if (r->kind != JAVA_HEAP && r->kind != CONTENTION)
        return bytes;
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (sf_str_starts(sf_str_trim(line), SF_STR("0x"))) {
            *out_map = sf_str_from_at(bytes, (size_t)(line.p - bytes.p));
            return sf_str_part(bytes, 0, (size_t)(line.p - bytes.p));
        }
    }
    return bytes;
}

static enum sf_err legacy_text_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader r = {.b = b, .period = 1, .cycles_per_ns = 1};
    sf_str rest, line, map;
    bool has_header = false;
    sf_legacy_init(&r.l, b);
    rest = bytes;
    while (!has_header && sf_str_split_next(&rest, '\n', &line))
        has_header = legacy_text_read_header(&r, line);
    if (!has_header)
        return sf_fail(b->why, SF_ERR_INPUT, "legacy profile: it has no header");
    rest = find_map(&r, rest, &map);
    sf_legacy_read_map(&r.l, map);
    if (r.kind == THREAD)
        legacy_text_open_types(&r);
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        r.n_line++;
        line = sf_str_trim(line);
        if (line.len > SF_LIMIT_LINE_LEN)
            sf_profile_build_drop(b, &b->drops.n_parts,
                                  "legacy profile: line %" PRIu64 " has %zu bytes", r.n_line,
                                  line.len);
        else if (line.len)
            legacy_text_take_line(&r, line);
    }
    legacy_text_close_sample(&r);
    return SF_OK;
}

/* Examines the first line that is neither empty nor a comment. */
static bool legacy_text_is_text(sf_str bytes)
{
    struct reader r = {0};
    sf_str rest = sf_str_part(bytes, 0, 4096), line;
    while (sf_str_split_next(&rest, '\n', &line)) {
        line = sf_str_trim(line);
        if (line.len && line.p[0] != '#')
            return legacy_text_read_header(&r, line);
    }
    return false;
}

const struct sf_profile_format sf_legacy_text_format = {
    .name = "pprof-legacy",
    .also = "",
    .is = legacy_text_is_text,
    .decode = legacy_text_decode,
};
