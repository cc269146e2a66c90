#include "decode/pprof/legacy.h"

#include <stdlib.h>

#include "base/text.h"
#include "decode/frame_kind.h"
#include "decode/profile_type.h"
#include "decode/text_word.h"

enum { MAX_MAPS = 65536 };

struct range {
    uint64_t start, limit, off;
    sf_str file;
};

struct name {
    uint64_t addr;
    sf_str name, file;
    uint32_t line;
};

void sf_legacy_init(struct sf_legacy *l, struct sf_profile_build *b)
{
    *l = (struct sf_legacy){.b = b};
}

bool sf_legacy_hex(sf_str text, uint64_t *out)
{
    uint64_t v = 0;
    if (sf_str_starts(text, SF_STR("0x")))
        text = sf_str_from_at(text, 2);
    if (!text.len || text.len > 16)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (digit < 0)
            return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return true;
}

/* "start-end r-xp off dev inode file", "start-end: file" or "start-end file". Only executable
 * ranges are kept. */
static bool take_range(struct sf_legacy *l, sf_str line)
{
    struct range r = {0}, *to;
    sf_str rest = line, word, more;
    size_t dash;
    if (!sf_text_word(&rest, &word))
        return false;
    if (sf_str_ends(word, SF_STR(":")))
        word.len--;
    if (!sf_str_find_char(word, '-', &dash) ||
        !sf_legacy_hex(sf_str_part(word, 0, dash), &r.start) ||
        !sf_legacy_hex(sf_str_from_at(word, dash + 1), &r.limit) || r.limit <= r.start)
        return false;
    more = rest;
    if (sf_text_word(&more, &word) && word.len == 4 && (word.p[0] == 'r' || word.p[0] == '-')) {
        if (word.p[2] != 'x')
            return true;
        if (sf_text_word(&more, &word))
            sf_legacy_hex(word, &r.off);
        sf_text_word(&more, &word); /* device */
        sf_text_word(&more, &word); /* inode */
        rest = more;
    }
    r.file = sf_str_trim(rest);
    if (!r.file.len || l->maps.n == MAX_MAPS)
        return true;
    to = sf_profile_list_more(l->b, &l->maps, sizeof(*to));
    if (to) {
        *to = r;
        l->maps.n++;
    }
    return true;
}

/* "0xADDR name (file:line)", "0xADDR name (library)" or "0xADDR GC" */
static void take_name(struct sf_legacy *l, sf_str line)
{
    struct name n = {0}, *to;
    sf_str rest = line, word, where;
    size_t open, colon;
    uint64_t number;
    if (!sf_text_word(&rest, &word) || !sf_str_starts(word, SF_STR("0x")) ||
        !sf_legacy_hex(word, &n.addr))
        return;
    n.name = sf_str_trim(rest);
    for (open = n.name.len; open && n.name.p[open - 1] != '(';)
        open--;
    if (open > 1 && sf_str_ends(n.name, SF_STR(")"))) {
        where = sf_str_part(n.name, open, n.name.len - open - 1);
        n.file = where;
        for (colon = where.len; colon && where.p[colon - 1] != ':';)
            colon--;
        if (colon && sf_str_to_u64(sf_str_from_at(where, colon), &number) && number < INT32_MAX) {
            n.line = (uint32_t)number;
            n.file.len = colon - 1;
        }
        n.name = sf_str_trim(sf_str_part(n.name, 0, open - 1));
    }
    if (!n.name.len)
        return;
    to = sf_profile_list_more(l->b, &l->names, sizeof(*to));
    if (to) {
        *to = n;
        l->names.n++;
    }
}

static int legacy_by_start(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_addr(const void *x, const void *y)
{
    const struct name *a = x, *b = y;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

void sf_legacy_read_map(struct sf_legacy *l, sf_str text)
{
    sf_str line;
    while (!l->b->is_full && sf_str_split_next(&text, '\n', &line)) {
        line = sf_str_trim(line);
        if (line.len && !take_range(l, line))
            take_name(l, line);
    }
    if (l->maps.n)
        qsort(l->maps.items, l->maps.n, sizeof(struct range), legacy_by_start);
    if (l->names.n)
        qsort(l->names.items, l->names.n, sizeof(struct name), by_addr);
}

static void split_type(const char *both, sf_str *type, sf_str *unit)
{
    size_t slash = 0;
    sf_str_find_char(sf_str_from(both), '/', &slash);
    *type = sf_str_part(sf_str_from(both), 0, slash);
    *unit = sf_str_from_at(sf_str_from(both), slash + 1);
}

void sf_legacy_types(struct sf_legacy *l, const char *const *types, uint32_t n,
                     const struct sf_legacy_period *period)
{
    sf_str names[SF_LEGACY_TYPES], units[SF_LEGACY_TYPES], period_type, period_unit;
    uint32_t set = sf_profile_build_set(l->b, &l->b->me, NULL, 0);
    struct sf_profile_what what = {.period = period->period, .duration_ns = period->duration_ns};
    split_type(period->type, &period_type, &period_unit);
    for (uint32_t i = 0; i < n; i++)
        split_type(types[i], &names[i], &units[i]);
    for (uint32_t i = 0; i < n; i++) {
        what.type = (struct sf_profile_type){sf_profile_type_name_of(names, n, SF_STR_NONE),
                                             names[i], units[i], period_type, period_unit};
        l->series[i] = sf_profile_build_series(l->b, set,
                                               sf_profile_build_what(l->b, &what, n == 1));
    }
    l->n_types = n;
    l->has_count = period->has_count;
}

static const struct range *legacy_find_range(const struct sf_legacy *l, uint64_t addr)
{
    const struct range *all = l->maps.items;
    uint32_t low = 0, high = l->maps.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (all[mid].start <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low && addr < all[low - 1].limit ? &all[low - 1] : NULL;
}

bool sf_legacy_file(const struct sf_legacy *l, uint64_t addr, sf_str *out)
{
    const struct range *r = legacy_find_range(l, addr);
    if (r)
        *out = r->file;
    return r;
}

static const struct name *legacy_find_name(const struct sf_legacy *l, uint64_t addr)
{
    struct name key = {.addr = addr};
    return l->names.n ? bsearch(&key, l->names.items, l->names.n, sizeof(key), by_addr) : NULL;
}

static void legacy_put(struct sf_legacy *l, uint32_t location)
{
    uint32_t *to = sf_profile_list_more(l->b, &l->stack, sizeof(*to));
    if (!to || location == SF_NONE)
        return;
    *to = location;
    l->stack.n++;
}

void sf_legacy_push_name(struct sf_legacy *l, sf_str name, sf_str file, uint32_t line)
{
    struct sf_function f = {.name = name, .file = file};
    legacy_put(l, sf_profile_build_frame(l->b, &f, line, sf_frame_kind_of_file(file, SF_STR_NONE)));
}

void sf_legacy_push(struct sf_legacy *l, uint64_t addr, bool is_return)
{
    struct sf_location at = {.mapping = SF_NONE};
    const struct name *name = legacy_find_name(l, addr);
    const struct range *range;
    if (name) {
        sf_legacy_push_name(l, name->name, name->file, name->line);
        return;
    }
    at.addr = is_return && addr ? addr - 1 : addr;
    range = legacy_find_range(l, at.addr);
    if (range) {
        at.mapping = sf_profile_build_mapping(l->b, &(struct sf_mapping){.file = range->file});
        at.addr = at.addr - range->start + range->off;
        at.kind = (uint8_t)sf_frame_kind_of_file(SF_STR_NONE, range->file);
    }
    if (at.kind == SF_FRAME_UNKNOWN)
        at.kind = SF_FRAME_NATIVE;
    legacy_put(l, sf_profile_build_location(l->b, &at));
}

void sf_legacy_add(struct sf_legacy *l, const int64_t *values, uint64_t thread, sf_str thread_name)
{
    struct sf_sample s = {.thread = thread, .thread_name = thread_name};
    s.stack = sf_profile_build_stack(l->b, l->stack.items, l->stack.n);
    l->stack.n = 0;
    s.count = l->has_count && values[0] > 0 && values[0] <= UINT32_MAX ? (uint32_t)values[0] : 1;
    for (uint32_t i = 0; i < l->n_types; i++) {
        s.series = l->series[i];
        s.value = values[i];
        sf_profile_build_sample(l->b, &l->b->me, &s);
    }
}
