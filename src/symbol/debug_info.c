/* debug_info.c - resolves addresses with DWARF. Addresses are grouped by compilation unit, and each
 * unit is loaded once: its line table gives file and line, its functions give the chain of inlined
 * calls. Split units (-gsplit-dwarf) continue in their other file. Names and work are bounded per
 * file. */
#include "symbol/debug_info.h"

#include <elf.h>

#include "base/heap.h"
#include "symbol/dwarf_function.h"
#include "symbol/dwarf_lines.h"
#include "symbol/dwarf_scope.h"
#include "symbol/elf_inflate.h"

static const sf_str section_names[SF_DEBUG_SECTIONS] = {
    {".debug_info", 11}, {".debug_abbrev", 13},   {".debug_line", 11},
    {".debug_str", 10},  {".debug_line_str", 15}, {".debug_str_offsets", 18},
    {".debug_addr", 11}, {".debug_ranges", 13},   {".debug_rnglists", 15},
};

static const sf_str package_names[SF_DEBUG_SECTIONS] = {
    {".debug_info.dwo", 15},
    {".debug_abbrev.dwo", 17},
    {".debug_line.dwo", 15},
    {".debug_str.dwo", 14},
    SF_STR_NONE,
    {".debug_str_offsets.dwo", 22},
    SF_STR_NONE,
    SF_STR_NONE,
    {".debug_rnglists.dwo", 19},
};

static sf_bytes *section_place(struct sf_dwarf *d, int which)
{
    sf_bytes *const places[SF_DEBUG_SECTIONS] = {&d->info, &d->abbrev,   &d->line,
                                                 &d->str,  &d->line_str, &d->str_offsets,
                                                 &d->addr, &d->ranges,   &d->rnglists};
    return places[which];
}

static bool take_section(struct sf_dwarf *d, struct sf_buf *inflated, int which,
                         const struct sf_elf_section *s, sf_elf_unzstd *unzstd, size_t *room)
{
    sf_bytes *to = section_place(d, which);
    struct sf_buf *plain = &inflated[which];
    if (!(s->flags & SHF_COMPRESSED)) {
        *to = s->bytes;
        return true;
    }
    sf_buf_reset(plain);
    if (!sf_elf_inflate(s, *room, unzstd, plain))
        return false;
    *room -= plain->len;
    *to = sf_buf_bytes(plain);
    return true;
}

static uint64_t work_for(struct sf_dwarf *d, uint64_t max_work)
{
    uint64_t len = 1 << 16, work;
    for (int k = 0; k < SF_DEBUG_SECTIONS; k++)
        len += section_place(d, k)->len;
    work = len < SF_DWARF_WORK_MAX / SF_DWARF_WORK_PER_BYTE ? len * SF_DWARF_WORK_PER_BYTE
                                                            : SF_DWARF_WORK_MAX;
    return max_work && max_work < work ? max_work : work;
}

/* Finds the next section from `*at` on that has one of those names; returns the index of the
 * name in `names`, negative: none. */
static int next_section(const struct sf_elf_file *f, const sf_str *names, uint32_t *at,
                        struct sf_elf_section *out)
{
    while (*at < f->n_sections) {
        if (!sf_elf_file_section(f, (*at)++, out) || out->type != SHT_PROGBITS)
            continue;
        for (int k = 0; k < SF_DEBUG_SECTIONS; k++) {
            if (names[k].len && sf_str_eq(out->name, names[k]))
                return k;
        }
    }
    return -1;
}

/* Checked before any of them is decompressed: all or none. */
static bool debug_info_has_room(struct sf_debug_info *i, const struct sf_elf_file *f,
                                const struct sf_debug_more *more, const sf_str *names)
{
    struct sf_elf_section s;
    uint64_t room = more->max_inflated, now = more->max_now ? more->max_now : room;
    for (uint32_t at = 0; next_section(f, names, &at, &s) >= 0;) {
        uint64_t len = sf_elf_inflate_len(&s);
        if (len > room)
            return false;
        room -= len;
    }
    i->is_cut |= more->max_inflated - room > now;
    return more->max_inflated - room <= now;
}

/* All or none: with a missing section the others would give wrong results. */
static bool take_sections(struct sf_debug_info *i, struct sf_dwarf *d, struct sf_buf *inflated,
                          const struct sf_elf_file *f, const struct sf_debug_more *more,
                          const sf_str *names)
{
    size_t room = more->max_inflated;
    struct sf_elf_section s;
    int which;
    if (!debug_info_has_room(i, f, more, names))
        return false;
    for (uint32_t at = 0; (which = next_section(f, names, &at, &s)) >= 0;) {
        if (!take_section(d, inflated, which, &s, more->unzstd, &room))
            return false;
    }
    d->work_left = work_for(d, more->max_work);
    return d->info.len && d->abbrev.len;
}

/* The index is a table of numbers, which is never compressed. */
static void take_package(struct sf_debug_info *i, const struct sf_debug_more *more)
{
    const struct sf_elf_file *f = more->package;
    if (!f || !f->image.len ||
        !take_sections(i, &i->package.all, i->inflated[2], f, more, package_names))
        return;
    for (uint32_t at = 0; at < f->n_sections; at++) {
        struct sf_elf_section s;
        if (sf_elf_file_section(f, at, &s) && s.type == SHT_PROGBITS &&
            !(s.flags & SHF_COMPRESSED) && sf_str_eq(s.name, SF_STR(".debug_cu_index")))
            i->package.index = s.bytes;
    }
    i->d.work_left += i->package.all.work_left;
    if (i->d.work_left > SF_DWARF_WORK_MAX)
        i->d.work_left = SF_DWARF_WORK_MAX;
    if (more->max_work && i->d.work_left > more->max_work)
        i->d.work_left = more->max_work;
}

bool sf_debug_info_init(struct sf_debug_info *i, const struct sf_elf_file *f,
                        const struct sf_debug_more *more)
{
    *i = (struct sf_debug_info){0};
    if (!take_sections(i, &i->d, i->inflated[0], f, more, section_names))
        return false;
    take_package(i, more);
    i->scope_work = i->d.work_left / 4;
    if (more->shared && more->shared->image.len &&
        (take_sections(i, &i->shared, i->inflated[1], more->shared, more, section_names) ||
         i->shared.str.len)) {
        i->d.shared = &i->shared;
        i->d.shared_units = &i->shared_units;
    }
    return true;
}

void sf_debug_info_done(struct sf_debug_info *i)
{
    sf_dwarf_units_done(&i->units);
    sf_dwarf_units_done(&i->shared_units);
    sf_dwarf_units_done(&i->part_units);
    sf_dwarf_line_table_done(&i->table);
    sf_dwarf_line_table_done(&i->part_table);
    sf_dwarf_calls_done(&i->calls);
    sf_buf_done(&i->path);
    sf_buf_done(&i->scopes);
    for (int k = 0; k < SF_DEBUG_FILES * SF_DEBUG_SECTIONS; k++)
        sf_buf_done(&i->inflated[k / SF_DEBUG_SECTIONS][k % SF_DEBUG_SECTIONS]);
}

/* ---- one unit ---- */

struct batch { /* the addresses of one unit, sorted */
    uint64_t *at;
    uint32_t *query, *innermost;
    struct sf_dwarf_place *places;
    uint32_t n;
};

struct answer {
    struct sf_symbol_line lines[SF_SYMBOL_LINES_MAX];
    size_t file_off[SF_SYMBOL_LINES_MAX]; /* offset in `path`, which may be reallocated */
    size_t name_off[SF_SYMBOL_LINES_MAX]; /* the same for composed names */
    bool is_put_together[SF_SYMBOL_LINES_MAX];
    unsigned n;
};

static void debug_info_add_place(struct sf_debug_info *i, struct answer *a, uint64_t file,
                                 uint32_t line, const struct sf_dwarf_line_table *table)
{
    struct sf_symbol_line *l = &a->lines[a->n];
    a->file_off[a->n] = i->path.len;
    a->is_put_together[a->n] = false;
    *l = (struct sf_symbol_line){.line = line};
    if (sf_dwarf_line_table_file(table, file, &i->path))
        l->file.len = i->path.len - a->file_off[a->n];
    a->n++;
}

/* Finding a scope requires walking units, so results are cached, and the total work has its own
 * limit, so that names and lines of other functions can still be found. */
static sf_str find_scope(struct sf_debug_info *i, uint64_t entry_off, bool is_shared)
{
    struct sf_debug_scope *s = &i->scope_cache[entry_off % SF_DEBUG_SCOPES];
    struct sf_dwarf *d = is_shared ? &i->shared : i->now;
    uint64_t work_left = d->work_left;
    if (s->entry_off != entry_off || s->is_shared != is_shared) {
        *s = (struct sf_debug_scope){entry_off, i->scopes.len, 0, is_shared};
        d->work_left = i->scope_work;
        if (sf_dwarf_scope_add(is_shared ? &i->shared_units : i->now_units, d, entry_off,
                               &i->scopes))
            s->len = i->scopes.len - s->at;
        i->scope_work = d->work_left;
        d->work_left = work_left;
    }
    return sf_buf_ok(&i->scopes) ? sf_str_part(sf_buf_str(&i->scopes), s->at, s->len) : SF_STR_NONE;
}

/* A lambda is named after its enclosing scope: "operator()" alone is meaningless. */
static void debug_info_add_scope(struct sf_debug_info *i, struct answer *a,
                                 const struct sf_dwarf_function *f)
{
    unsigned at = a->n - 1;
    sf_str scope = find_scope(i, f->name_off, f->is_shared);
    if (!scope.len)
        return;
    a->name_off[at] = i->path.len;
    sf_buf_add_str(&i->path, scope);
    sf_buf_add_str(&i->path, f->name);
    a->is_put_together[at] = sf_buf_ok(&i->path);
    if (a->is_put_together[at])
        a->lines[at].name.len = i->path.len - a->name_off[at];
}

static void name_last(struct sf_debug_info *i, struct answer *a, uint64_t entry_off)
{
    struct sf_dwarf_function f;
    struct sf_symbol_line *l = &a->lines[a->n - 1];
    sf_dwarf_function_read(&f, i->now_units, i->now, entry_off);
    l->name = f.linkage_name.len ? f.linkage_name : f.name;
    l->decl_line = f.decl_line;
    if (!f.linkage_name.len && sf_str_starts(f.name, SF_STR("operator()")))
        debug_info_add_scope(i, a, &f);
}

/* The line table gives the line of the innermost call; each inlined call has the line at which it
 * was called, which is the line of its caller. */
static bool build_answer(struct sf_debug_info *i, const struct batch *b, uint32_t at,
                         struct answer *a)
{
    uint32_t call = b->innermost[at];
    const struct sf_dwarf_line_table *called = i->has_part_table ? &i->part_table : &i->table;
    if (!call && !b->places[at].is_found)
        return false;
    a->n = 0;
    sf_buf_reset(&i->path);
    debug_info_add_place(i, a, b->places[at].is_found ? b->places[at].file : UINT64_MAX,
                         b->places[at].line, &i->table);
    while (call) {
        const struct sf_dwarf_call *one = sf_dwarf_calls_get(&i->calls, call);
        name_last(i, a, one->entry_off);
        if (one->outer && a->n == SF_SYMBOL_LINES_MAX)
            return false;
        if (one->outer)
            debug_info_add_place(i, a, one->file, one->line, called);
        call = one->outer;
    }
    for (unsigned k = 0; k < a->n && i->path.p; k++) {
        a->lines[k].file.p = (const char *)i->path.p + a->file_off[k];
        if (a->is_put_together[k])
            a->lines[k].name.p = (const char *)i->path.p + a->name_off[k];
    }
    return true;
}

/* Offsets of entries in one part are not valid in the next. */
static void forget_part(struct sf_debug_info *i)
{
    for (int k = 0; k < SF_DEBUG_SCOPES; k++)
        i->scope_cache[k] = (struct sf_debug_scope){0};
    sf_dwarf_units_forget(&i->part_units);
}

/* The part of a split unit that has its functions; the unit itself if that part is missing. */
static const struct sf_dwarf_loaded *debug_info_enter(struct sf_debug_info *i,
                                                      const struct sf_dwarf_loaded *in)
{
    const struct sf_dwarf_loaded *half;
    i->now = &i->d;
    i->now_units = &i->units;
    i->has_part_table = false;
    if (!in->unit.is_split || !i->package.index.len ||
        !sf_dwarf_package_enter(&i->package, &i->d, &in->unit, &i->part))
        return in;
    forget_part(i);
    sf_dwarf_units_scan(&i->part_units, &i->part, NULL, 0, NULL);
    half = sf_dwarf_units_load(&i->part_units, &i->part, 0);
    if (!half) {
        sf_dwarf_package_leave(&i->d, &i->part);
        return in;
    }
    i->now = &i->part;
    i->now_units = &i->part_units;
    i->has_part_table = half->unit.has_lines &&
                        sf_dwarf_line_table_read(&i->part_table, &i->part, &half->unit);
    return half;
}

static void debug_info_leave(struct sf_debug_info *i)
{
    if (i->now != &i->part)
        return;
    sf_dwarf_package_leave(&i->d, &i->part);
    forget_part(i);
}

static void find_in_unit(struct sf_debug_info *i, uint32_t unit, const struct batch *b,
                         sf_debug_info_taker *take, void *arg)
{
    const struct sf_dwarf_loaded *in = sf_dwarf_units_load(&i->units, &i->d, unit);
    struct answer a;
    if (!in)
        return;
    if (!in->unit.has_lines || !sf_dwarf_line_table_read(&i->table, &i->d, &in->unit))
        sf_dwarf_line_table_done(&i->table);
    else
        sf_dwarf_lines_find(&i->table, &i->d, b->at, b->n, b->places);
    in = debug_info_enter(i, in);
    sf_dwarf_calls_find(&i->calls, i->now, in, b->at, b->n, b->innermost);
    for (uint32_t k = 0; k < b->n; k++) {
        if (build_answer(i, b, k, &a))
            take(arg, b->query[k], a.lines, a.n);
    }
    debug_info_leave(i);
}

/* ---- all addresses of a query ---- */

static bool batch_new(struct batch *b, uint32_t n)
{
    *b = (struct batch){.at = sf_heap_new_n(n, sizeof(*b->at)),
                        .query = sf_heap_new_n(n, sizeof(*b->query)),
                        .innermost = sf_heap_new_n(n, sizeof(*b->innermost)),
                        .places = sf_heap_new_n(n, sizeof(*b->places))};
    return b->at && b->query && b->innermost && b->places;
}

static void batch_free(struct batch *b)
{
    sf_heap_free(b->at);
    sf_heap_free(b->query);
    sf_heap_free(b->innermost);
    sf_heap_free(b->places);
}

/* Collects all addresses of `unit`; in most programs they are adjacent, but need not be. */
static void debug_info_collect(struct batch *b, const uint64_t *at, uint32_t *owner, uint32_t n,
                               uint32_t from)
{
    uint32_t unit = owner[from];
    b->n = 0;
    for (uint32_t i = from; i < n; i++) {
        if (owner[i] != unit)
            continue;
        b->at[b->n] = at[i];
        b->places[b->n] = (struct sf_dwarf_place){0};
        b->query[b->n++] = i;
        owner[i] = SF_DWARF_NO_UNIT;
    }
}

void sf_debug_info_find(struct sf_debug_info *i, const uint64_t *at, uint32_t n,
                        sf_debug_info_taker *take, void *arg)
{
    uint32_t *owner = sf_heap_new_n(n ? n : 1, sizeof(*owner));
    struct batch b = {0};
    if (owner && batch_new(&b, n ? n : 1)) {
        sf_dwarf_units_scan(&i->units, &i->d, at, n, owner);
        if (i->d.shared) /* only finds the units; none of them has code */
            sf_dwarf_units_scan(&i->shared_units, &i->shared, NULL, 0, NULL);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t unit = owner[k];
            if (unit == SF_DWARF_NO_UNIT)
                continue;
            debug_info_collect(&b, at, owner, n, k);
            find_in_unit(i, unit, &b, take, arg);
            sf_dwarf_units_forget(&i->shared_units);
            sf_dwarf_units_forget(&i->units);
        }
    }
    i->is_cut |= !i->d.work_left;
    batch_free(&b);
    sf_heap_free(owner);
}
