/* What the pprof tool prints with -raw and -traces.
 *
 *     Samples:                                        File: server
 *     samples/count cpu/nanoseconds                   Type: cpu
 *              1   10000000: 1 2                      -----------+------------------
 *                     span_id:[00f1a2b3c4d5e6f7]           10ms   main.work
 *     Locations                                                   main.main (inline)
 *          1: 0x40 M=1 main.work /a.go:12 s=10         -----------+------------------
 *     Mappings
 *     1: 0x4/0x5/0x0 /bin/server
 *
 * On the left everything is reported in numbers; locations stand behind the samples, so they are
 * read first, and lines below a location are calls that were inlined into it. Labels stand in lines
 * of their own below their sample, numbers behind texts; nothing is quoted, so a number without a
 * unit is distinguished from a text by the names that profilers use for numbers. On the right
 * values were rounded for people, and of several sample types only one is there. */
#include <inttypes.h>
#include <math.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/frame_kind.h"
#include "decode/id_map.h"
#include "decode/profile_type.h"
#include "decode/sample_sums.h"
#include "decode/text_word.h"

struct location {
    uint64_t id, addr, mapping;
    uint32_t first, n; /* range of its lines */
};

struct reader {
    struct sf_profile_build *b;
    struct sf_sample_sums sums;
    struct sf_profile_list locations, lines, mappings, stack; /* mappings: file names by id - 1 */
    struct sf_id_map ids;
    uint32_t series[SF_LIMIT_SAMPLE_TYPES], n_types;
    uint32_t whats[SF_LIMIT_SAMPLE_TYPES]; /* types of a text in the form of `pprof -raw` */
    int64_t values[SF_LIMIT_SAMPLE_TYPES]; /* of the sample whose labels may follow */
    struct sf_label labels[SF_LIMIT_SAMPLE_LABELS];
    uint32_t n_labels;
    struct sf_profile_ids of_labels;
    bool is_open;
    bool has_count; /* the first type counts events */
    int64_t period;
    sf_str period_type, period_unit;
    uint64_t n_line;
};

/* --- raw --- */

/* "name /file.go:12:0 s=10"; the name may contain blanks. */
static void take_function(struct reader *r, sf_str text)
{
    struct sf_function f = {.name = sf_str_trim(text)};
    struct sf_line *to, line = {0};
    sf_str where;
    uint64_t n;
    size_t at, mark = f.name.len;
    for (size_t i = 0; i + 3 < f.name.len; i++) {
        if (sf_str_starts(sf_str_from_at(f.name, i), SF_STR(" s=")))
            mark = i;
    }
    if (mark < f.name.len) {
        f.name.len = mark;
        for (at = mark; at && !sf_text_is_blank(f.name.p[at - 1]);)
            at--;
        where = sf_str_from_at(f.name, at);
        for (int i = 0; i < 2; i++) { /* the column, then the line; or the line alone */
            size_t colon = where.len;
            while (colon && where.p[colon - 1] != ':')
                colon--;
            if (!colon || !sf_str_to_u64(sf_str_from_at(where, colon), &n))
                break;
            line.line = n < INT32_MAX ? (uint32_t)n : 0;
            where.len = colon - 1;
        }
        if (at > 1) {
            f.file = where;
            f.name = sf_str_trim(sf_str_part(f.name, 0, at));
        }
    }
    if (!f.name.len)
        return;
    line.function = sf_profile_build_function(r->b, &f);
    to = line.function == SF_NONE ? NULL : sf_profile_list_more(r->b, &r->lines, sizeof(*to));
    if (!to || !r->locations.n)
        return;
    *to = line;
    r->lines.n++;
    ((struct location *)r->locations.items)[r->locations.n - 1].n++;
}

static bool pprof_text_hex_of(sf_str text, uint64_t *out)
{
    uint64_t v = 0;
    if (!sf_str_starts(text, SF_STR("0x")) || text.len < 3 || text.len > 18)
        return false;
    for (size_t i = 2; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (digit < 0)
            return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return true;
}

/* "     1: 0x44cb2 M=1 main.f /a.go:3 s=1", or another line of the same location. */
static void take_location(struct reader *r, sf_str line)
{
    struct location l = {.first = r->lines.n}, *to;
    sf_str rest = line, word;
    if (!sf_text_word(&rest, &word) || !sf_str_ends(word, SF_STR(":")) ||
        !sf_str_to_u64(sf_str_part(word, 0, word.len - 1), &l.id)) {
        take_function(r, line);
        return;
    }
    sf_text_word(&rest, &word);
    pprof_text_hex_of(word, &l.addr);
    for (sf_str again = rest; sf_text_word(&again, &word); rest = again) {
        if (sf_str_starts(word, SF_STR("M=")) && sf_str_to_u64(sf_str_from_at(word, 2), &l.mapping))
            continue;
        if (!sf_str_eq(word, SF_STR("[F]")))
            break;
    }
    to = sf_profile_list_more(r->b, &r->locations, sizeof(*to));
    if (!to)
        return;
    *to = l;
    r->locations.n++;
    take_function(r, rest);
}

/* "1: 0x400000/0x4b6000/0x0 /bin/server buildid [FN]" */
static void take_mapping(struct reader *r, sf_str line)
{
    sf_str rest = line, word, *to;
    uint64_t id;
    if (!sf_text_word(&rest, &word) || !sf_str_ends(word, SF_STR(":")) ||
        !sf_str_to_u64(sf_str_part(word, 0, word.len - 1), &id) || !sf_text_word(&rest, &word) ||
        id != r->mappings.n + 1u)
        return;
    to = sf_profile_list_more(r->b, &r->mappings, sizeof(*to));
    if (!to)
        return;
    sf_text_word(&rest, to);
    r->mappings.n++;
}

enum part { HEAD, SAMPLES, LOCATIONS, MAPPINGS };

static bool pprof_text_is_part(sf_str line, enum part *io)
{
    enum part now = sf_str_eq(line, SF_STR("Samples:"))    ? SAMPLES
                    : sf_str_eq(line, SF_STR("Locations")) ? LOCATIONS
                    : sf_str_eq(line, SF_STR("Mappings"))  ? MAPPINGS
                                                           : HEAD;
    if (now == HEAD)
        return false;
    *io = now;
    return true;
}

static void read_tables(struct reader *r, sf_str text)
{
    enum part part = HEAD;
    sf_str line;
    while (sf_str_split_next(&text, '\n', &line) && !r->b->is_full) {
        line = sf_str_trim(line);
        if (!line.len || line.len > SF_LIMIT_LINE_LEN || pprof_text_is_part(line, &part))
            continue;
        if (part == LOCATIONS)
            take_location(r, line);
        else if (part == MAPPINGS)
            take_mapping(r, line);
    }
    if (r->b->is_full || !sf_id_map_init(&r->ids, r->b, r->locations.n))
        return;
    for (uint32_t i = 0; i < r->locations.n; i++) {
        const struct location *at = (const struct location *)r->locations.items + i;
        struct sf_location l = {.mapping = SF_NONE, .n_lines = at->n};
        if (at->n) /* otherwise there may be no list */
            l.lines = (const struct sf_line *)r->lines.items + at->first;
        sf_str file = at->mapping && at->mapping <= r->mappings.n
                          ? ((const sf_str *)r->mappings.items)[at->mapping - 1]
                          : SF_STR_NONE;
        if (file.len)
            l.mapping = sf_profile_build_mapping(r->b, &(struct sf_mapping){.file = file});
        if (!at->n)
            l.addr = at->addr;
        l.kind = (uint8_t)sf_frame_kind_of_file(
            at->n ? ((const struct sf_function *)r->b->functions.items)[l.lines->function].file
                  : SF_STR_NONE,
            file);
        sf_id_map_add(&r->ids, at->id, sf_profile_build_location(r->b, &l));
    }
    sf_id_map_close(&r->ids, r->b);
}

/* "samples/count cpu/nanoseconds[dflt]" */
static void take_types(struct reader *r, sf_str line)
{
    sf_str rest = line, word, names[SF_LIMIT_SAMPLE_TYPES], units[SF_LIMIT_SAMPLE_TYPES];
    struct sf_profile_what what = {.period = r->period};
    uint32_t n = 0;
    while (n < SF_LIMIT_SAMPLE_TYPES && sf_text_word(&rest, &word)) {
        size_t slash, open;
        if (!sf_str_find_char(word, '/', &slash))
            continue;
        if (sf_str_find_char(word, '[', &open))
            word.len = open;
        names[n] = sf_str_part(word, 0, slash);
        units[n++] = sf_profile_type_unit_of(sf_str_from_at(word, slash + 1));
    }
    for (uint32_t i = 0; i < n; i++) {
        what.type = (struct sf_profile_type){sf_profile_type_name_of(names, n, SF_STR_NONE),
                                             names[i], units[i], r->period_type, r->period_unit};
        r->whats[i] = sf_profile_build_what(r->b, &what, n == 1);
    }
    r->n_types = n;
    r->has_count = n && (sf_str_starts(names[0], SF_STR("sample")) ||
                         sf_str_eq(names[0], SF_STR("contentions")) || n == 1);
}

static void pprof_text_close_sample(struct reader *r)
{
    struct sf_sample s = {.count = 1};
    uint32_t set;
    if (!r->is_open)
        return;
    r->is_open = false;
    set = sf_profile_build_set(r->b, &r->b->me, r->labels, r->n_labels);
    s.stack = sf_profile_build_stack(r->b, r->stack.items, r->stack.n);
    sf_profile_label_ids_put(&r->of_labels, &s);
    if (r->has_count && r->values[0] > 0 && r->values[0] < UINT32_MAX)
        s.count = (uint32_t)r->values[0];
    for (uint32_t i = 0; i < r->n_types && sf_profile_build_ok(r->b); i++) {
        s.series = sf_profile_build_series(r->b, set, r->whats[i]);
        s.value = r->values[i];
        sf_profile_build_sample(r->b, &r->b->me, &s);
    }
}

/* "  1   10000000: 1 2 3" */
static void pprof_text_open_sample(struct reader *r, sf_str line, size_t colon)
{
    sf_str rest = sf_str_part(line, 0, colon), word;
    uint32_t n = 0;
    uint64_t id;
    while (n < r->n_types && sf_text_word(&rest, &word)) {
        if (!sf_str_to_i64(word, &r->values[n++]))
            return;
    }
    if (n != r->n_types || sf_text_word(&rest, &word)) {
        sf_profile_build_drop(r->b, &r->b->drops.n_samples,
                              "pprof -raw: line %" PRIu64 " does not have one value per type",
                              r->n_line);
        return;
    }
    rest = sf_str_from_at(line, colon + 1);
    r->stack.n = r->n_labels = 0;
    r->of_labels = (struct sf_profile_ids){0};
    while (sf_text_word(&rest, &word)) {
        uint32_t *to = sf_profile_list_more(r->b, &r->stack, sizeof(*to));
        uint32_t place = sf_str_to_u64(word, &id) ? sf_id_map_place(&r->ids, id) : SF_NONE;
        if (!to || place == SF_NONE) {
            r->b->drops.n_frames++;
            continue;
        }
        *to = place;
        r->stack.n++;
    }
    r->is_open = true;
}

/* "4096 bytes", or a number under a name that profilers use for numbers. */
static bool pprof_text_is_number(sf_str key, sf_str val, int64_t *out)
{
    static const char *const names[] = {"bytes", "request", "alignment"};
    sf_str rest = val, word, unit;
    bool is_named = false;
    if (!sf_text_word(&rest, &word) || !sf_str_to_i64(word, out))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        is_named = is_named || sf_str_eq(key, sf_str_from(names[i]));
    return is_named || (sf_text_word(&rest, &unit) && !sf_text_word(&rest, &word));
}

static void take_label(struct reader *r, sf_str key, sf_str val)
{
    int64_t number;
    if (pprof_text_is_number(key, val, &number)) {
        sf_profile_label_ids_take_num(&r->of_labels, key, number);
        return;
    }
    if (!key.len || !val.len || sf_profile_label_ids_take_str(&r->of_labels, key, val))
        return;
    if (r->n_labels == SF_LIMIT_SAMPLE_LABELS) {
        sf_profile_build_drop(r->b, &r->b->drops.n_labels,
                              "pprof -raw: more than %d labels on a sample",
                              SF_LIMIT_SAMPLE_LABELS);
        return;
    }
    r->labels[r->n_labels++] = (struct sf_label){key, sf_profile_clean(r->b, val)};
}

/* The end of the value at `val`: the last bracket before the next label. */
static size_t value_end(sf_str val)
{
    size_t last = val.len;
    for (size_t i = 0; i < val.len; i++) {
        bool is_end = val.p[i] == ']' && (i + 1 == val.len || val.p[i + 1] == ' ');
        if (is_end)
            last = i;
        else if (last < val.len && sf_str_starts(sf_str_from_at(val, i), SF_STR(":[")))
            return last;
    }
    return last;
}

/* "a b:[one value] c:[2]" */
static void take_labels(struct reader *r, sf_str line)
{
    size_t open;
    while (r->is_open && sf_str_find(line, SF_STR(":["), &open)) {
        sf_str val = sf_str_from_at(line, open + 2);
        size_t end = value_end(val);
        take_label(r, sf_str_trim(sf_str_part(line, 0, open)), sf_str_part(val, 0, end));
        line = sf_str_from_at(val, end + 1);
    }
}

static void pprof_text_take_sample(struct reader *r, sf_str line)
{
    size_t colon;
    if (!sf_str_find_char(line, ':', &colon))
        return;
    if (colon + 1 < line.len && line.p[colon + 1] == '[') {
        take_labels(r, line);
        return;
    }
    pprof_text_close_sample(r);
    pprof_text_open_sample(r, line, colon);
}

static void take_head(struct reader *r, sf_str line)
{
    sf_str rest = line, word;
    sf_text_word(&rest, &word);
    if (sf_str_eq(word, SF_STR("PeriodType:"))) {
        sf_text_word(&rest, &r->period_type);
        sf_text_word(&rest, &r->period_unit);
    } else if (sf_str_eq(word, SF_STR("Period:")) && sf_text_word(&rest, &word) &&
               !sf_str_to_i64(word, &r->period)) {
        r->period = 0;
    }
}

static enum sf_err decode_raw(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    enum part part = HEAD;
    sf_str rest = bytes, line;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = b;
    read_tables(r, bytes);
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        r->n_line++;
        line = sf_str_trim(line);
        if (!line.len || line.len > SF_LIMIT_LINE_LEN || pprof_text_is_part(line, &part))
            continue;
        if (part == HEAD)
            take_head(r, line);
        else if (part == SAMPLES && !r->n_types)
            take_types(r, line);
        else if (part == SAMPLES)
            pprof_text_take_sample(r, line);
    }
    pprof_text_close_sample(r);
    if (!r->n_types && sf_profile_build_ok(b))
        return sf_fail(b->why, SF_ERR_INPUT, "pprof -raw: cut short, it has no sample types");
    return SF_OK;
}

static bool is_raw(sf_str bytes)
{
    sf_str head = sf_str_part(bytes, 0, 16384);
    size_t at;
    return sf_str_starts(head, SF_STR("PeriodType:")) ||
           (sf_str_find(head, SF_STR("\nSamples:\n"), &at) &&
            (sf_str_starts(head, SF_STR("Comment:")) || sf_str_starts(head, SF_STR("Period:")) ||
             sf_str_starts(head, SF_STR("Time:"))));
}

/* --- traces --- */

static bool is_rule(sf_str line)
{
    return sf_str_starts(line, SF_STR("-----------+"));
}

/* "10ms", "1.50MB", "12": in nanoseconds, bytes, or unchanged. */
static bool pprof_text_value_of(sf_str word, double *out)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {
        {"ns", 1},       {"us", 1e3},        {"\xc2\xb5s", 1e3},    {"ms", 1e6}, {"s", 1e9},
        {"mins", 60e9},  {"hrs", 3600e9},    {"days", 86400e9},     {"B", 1},    {"kB", 1024},
        {"MB", 1048576}, {"GB", 1073741824}, {"TB", 1099511627776}, {"", 1}};
    size_t n = 0;
    double v;
    while (n < word.len && ((word.p[n] >= '0' && word.p[n] <= '9') || word.p[n] == '.' ||
                            (n == 0 && word.p[n] == '-')))
        n++;
    if (!n || !sf_str_to_f64(sf_str_part(word, 0, n), &v))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (sf_str_eq(sf_str_from_at(word, n), sf_str_from(units[i].unit))) {
            *out = v * units[i].factor;
            return fabs(*out) < 9e18;
        }
    }
    return false;
}

static void open_traces(struct reader *r, sf_str type)
{
    bool is_bytes = sf_str_ends(type, SF_STR("space")) || sf_str_ends(type, SF_STR("bytes"));
    bool is_time = sf_str_eq(type, SF_STR("cpu")) || sf_str_eq(type, SF_STR("wall")) ||
                   sf_str_eq(type, SF_STR("delay")) || sf_str_eq(type, SF_STR("time"));
    sf_str unit = is_time ? SF_STR("nanoseconds") : is_bytes ? SF_STR("bytes") : SF_STR("count");
    struct sf_profile_what what = {
        .type = {sf_profile_type_name_of(&type, 1, SF_STR_NONE), type, unit, type, unit}};
    r->series[0] = sf_profile_build_series(r->b, sf_profile_build_set(r->b, &r->b->me, NULL, 0),
                                           sf_profile_build_what(r->b, &what, true));
    r->n_types = 1;
}

static void pprof_text_push_name(struct reader *r, sf_str name)
{
    uint32_t *to = sf_profile_list_more(r->b, &r->stack, sizeof(*to));
    if (sf_str_ends(name, SF_STR(" (inline)")))
        name.len -= 9;
    if (!to || r->stack.n > 4 * SF_LIMIT_FRAMES)
        return;
    *to = sf_profile_build_frame(r->b, &(struct sf_function){.name = name}, 0, SF_FRAME_UNKNOWN);
    r->stack.n += *to != SF_NONE;
}

static enum sf_err pprof_text_decode_traces(struct sf_profile_build *b, sf_str bytes)
{
    struct reader r = {.b = b, .sums = {.b = b}};
    sf_str rest = bytes, line, word, more;
    double value = 0;
    bool is_open = false;
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        bool is_value;
        r.n_line++;
        line = sf_str_trim(line);
        more = line;
        if (!line.len || line.len > SF_LIMIT_LINE_LEN)
            continue;
        if (sf_str_starts(line, SF_STR("Type:")) && !r.n_types) {
            open_traces(&r, sf_str_trim(sf_str_from_at(line, 5)));
            continue;
        }
        is_value = !is_rule(line) && !is_open && sf_text_word(&more, &word) &&
                   pprof_text_value_of(word, &value);
        if (is_rule(line)) {
            if (is_open && r.n_types) {
                struct sf_sample s = {.series = r.series[0], .count = 1, .value = llround(value)};
                s.stack = sf_profile_build_stack(b, r.stack.items, r.stack.n);
                sf_sample_sums_add(&r.sums, &s);
            }
            r.stack.n = 0;
            is_open = false;
        } else if (is_value) {
            is_open = true;
            pprof_text_push_name(&r, sf_str_trim(more));
        } else if (is_open) {
            pprof_text_push_name(&r, line);
        } /* otherwise a label, or a line of the head */
    }
    if (!r.n_types && sf_profile_build_ok(b))
        return sf_fail(b->why, SF_ERR_INPUT, "pprof -traces: the profile type is missing");
    if (is_open && sf_profile_build_ok(b))
        sf_profile_build_drop(b, &b->drops.n_samples,
                              "pprof -traces: cut short, the stack at its end is left out");
    return SF_OK;
}

static bool pprof_text_is_traces(sf_str bytes)
{
    sf_str head = sf_str_part(bytes, 0, 16384);
    size_t at;
    return (sf_str_starts(head, SF_STR("Type:")) || sf_str_find(head, SF_STR("\nType:"), &at)) &&
           sf_str_find(head, SF_STR("\n-----------+---"), &at);
}

const struct sf_profile_format sf_pprof_raw_format = {
    .name = "pprof-raw",
    .also = "",
    .is = is_raw,
    .decode = decode_raw,
};

const struct sf_profile_format sf_pprof_traces_format = {
    .name = "pprof-traces",
    .also = "",
    .is = pprof_text_is_traces,
    .decode = pprof_text_decode_traces,
};
