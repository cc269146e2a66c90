/* The first entry of a unit gives all its addresses. .debug_aranges would do so too, but clang and
 * rustc do not write it, and each unit must be visited anyway to find where units begin. */
#include "symbol/dwarf_units.h"

#include "symbol/dwarf_addresses.h"

enum { MAX_UNITS = 1 << 18 };

static void own_range(struct sf_dwarf *d, const uint64_t *at, uint32_t n, uint32_t *owner,
                      uint32_t unit, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = sf_dwarf_first_from(at, n, lo); i < n && at[i] < hi && sf_dwarf_spend(d);
         i++) {
        if (owner[i] == SF_DWARF_NO_UNIT)
            owner[i] = unit;
    }
}

static void own_all(struct sf_dwarf *d, const struct sf_dwarf_unit *unit, const uint64_t *at,
                    uint32_t n, uint32_t *owner, uint32_t number)
{
    struct sf_dwarf_ranges r;
    uint64_t lo, hi;
    sf_dwarf_ranges_init(&r, d, unit, &unit->code);
    while (sf_dwarf_ranges_next(&r, &lo, &hi))
        own_range(d, at, n, owner, number, lo, hi);
}

void sf_dwarf_units_scan(struct sf_dwarf_units *u, struct sf_dwarf *d, const uint64_t *at,
                         uint32_t n, uint32_t *owner)
{
    struct sf_dwarf_unit unit;
    uint32_t number = 0;
    bool is_known;
    for (uint32_t i = 0; i < n; i++)
        owner[i] = SF_DWARF_NO_UNIT;
    sf_buf_reset(&u->offs);
    for (uint64_t off = 0; off < d->info.len && number < MAX_UNITS; off = unit.end) {
        if (!sf_dwarf_spend(d) || !sf_dwarf_unit_read(&unit, d, off, &is_known))
            return;
        if (!is_known)
            continue;
        sf_buf_add(&u->offs, &off, sizeof(off));
        if (!sf_buf_ok(&u->offs))
            return;
        if (sf_dwarf_unit_read_root(&unit, d, &u->scratch))
            own_all(d, &unit, at, n, owner, number);
        number++;
        sf_file_pages_trim();
    }
}

void sf_dwarf_units_forget(struct sf_dwarf_units *u)
{
    for (int i = 0; i < SF_DWARF_UNITS_LOADED; i++)
        u->loaded[i].used = 0; /* their names point into the file's pages */
    sf_file_pages_trim();
}

void sf_dwarf_units_done(struct sf_dwarf_units *u)
{
    for (int i = 0; i < SF_DWARF_UNITS_LOADED; i++)
        sf_dwarf_abbrevs_done(&u->loaded[i].abbrevs);
    sf_dwarf_abbrevs_done(&u->scratch);
    sf_buf_done(&u->offs);
}

static uint32_t dwarf_units_count(const struct sf_dwarf_units *u)
{
    return (uint32_t)(u->offs.len / sizeof(uint64_t));
}

static uint64_t dwarf_units_off_of(const struct sf_dwarf_units *u, uint32_t number)
{
    return ((const uint64_t *)(const void *)u->offs.p)[number];
}

const struct sf_dwarf_loaded *sf_dwarf_units_load(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                  uint32_t number)
{
    struct sf_dwarf_loaded *oldest = &u->loaded[0];
    bool is_known;
    uint64_t off;
    if (number >= dwarf_units_count(u))
        return NULL;
    off = dwarf_units_off_of(u, number);
    for (int i = 0; i < SF_DWARF_UNITS_LOADED; i++) {
        struct sf_dwarf_loaded *one = &u->loaded[i];
        if (one->used && one->unit.off == off) {
            one->used = ++u->clock;
            return one;
        }
        oldest = one->used < oldest->used ? one : oldest;
    }
    oldest->used = 0;
    if (!sf_dwarf_unit_read(&oldest->unit, d, off, &is_known) ||
        !sf_dwarf_unit_read_root(&oldest->unit, d, &u->scratch) ||
        !sf_dwarf_abbrevs_read(&oldest->abbrevs, d, &oldest->unit, 0))
        return NULL;
    oldest->used = ++u->clock;
    return oldest;
}

const struct sf_dwarf_loaded *sf_dwarf_units_load_of(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                     uint64_t entry_off)
{
    uint32_t lo = 0, hi = dwarf_units_count(u);
    const struct sf_dwarf_loaded *one;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (dwarf_units_off_of(u, middle) <= entry_off)
            lo = middle + 1;
        else
            hi = middle;
    }
    one = lo ? sf_dwarf_units_load(u, d, lo - 1) : NULL;
    return one && entry_off >= one->unit.entry_off && entry_off < one->unit.end ? one : NULL;
}
