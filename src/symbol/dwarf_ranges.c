#include "symbol/dwarf_ranges.h"

#include "symbol/dwarf_names.h"
#include "symbol/dwarf_unit.h"

void sf_dwarf_ranges_code_take(struct sf_dwarf_code *code, uint16_t name,
                               const struct sf_dwarf_value *v)
{
    switch (name) {
    case SF_AT_LOW_PC: code->low = *v; break;
    case SF_AT_HIGH_PC: code->high = *v; break;
    case SF_AT_RANGES: code->ranges = *v; break;
    default: break;
    }
}

/* Finds the start of the list: an index is looked up in the table at the unit's base. */
static bool find_list(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                      const struct sf_dwarf_value *v, uint64_t *out)
{
    struct sf_dwarf_cursor c;
    *out = v->u;
    if (v->kind == SF_DWARF_NUMBER && d->skeleton && unit->version < 5)
        return !__builtin_add_overflow(v->u, unit->ranges_base, out);
    if (v->kind != SF_DWARF_LIST_AT)
        return v->kind == SF_DWARF_NUMBER;
    if (v->u > d->rnglists.len || unit->rnglists_base > d->rnglists.len)
        return false;
    c = sf_dwarf_cursor_at(d->rnglists, unit->rnglists_base + v->u * unit->off_size);
    *out = sf_dwarf_uint(&c, unit->off_size);
    return !c.is_bad && !__builtin_add_overflow(*out, unit->rnglists_base, out);
}

void sf_dwarf_ranges_init(struct sf_dwarf_ranges *r, struct sf_dwarf *d,
                          const struct sf_dwarf_unit *unit, const struct sf_dwarf_code *code)
{
    uint64_t off;
    *r = (struct sf_dwarf_ranges){.d = d, .unit = unit, .base = unit->base};
    if (find_list(d, unit, &code->ranges, &off)) {
        r->kind = unit->version >= 5 ? SF_RANGES_LIST : SF_RANGES_OLD;
        r->c = sf_dwarf_cursor_at(unit->version >= 5 ? d->rnglists : d->ranges, off);
        return;
    }
    if (!sf_dwarf_value_address(d, unit, &code->low, &r->lo))
        return;
    if (code->high.kind == SF_DWARF_NUMBER)
        r->hi = r->lo + code->high.u;
    else if (!sf_dwarf_value_address(d, unit, &code->high, &r->hi))
        return;
    r->kind = SF_RANGES_ONE;
}

/* Two addresses each; both zero: the end; the first all ones: the second is the new base. */
static bool next_old(struct sf_dwarf_ranges *r)
{
    uint8_t size = r->unit->addr_size;
    uint64_t ones = size == 8 ? UINT64_MAX : UINT32_MAX;
    while (sf_dwarf_spend(r->d)) {
        r->lo = sf_dwarf_uint(&r->c, size);
        r->hi = sf_dwarf_uint(&r->c, size);
        if (r->c.is_bad || (!r->lo && !r->hi))
            return false;
        if (r->lo != ones) {
            r->lo += r->base;
            r->hi += r->base;
            return true;
        }
        r->base = r->hi;
    }
    return false;
}

static bool next_in_list(struct sf_dwarf_ranges *r)
{
    uint8_t size = r->unit->addr_size;
    while (sf_dwarf_spend(r->d)) {
        switch (sf_dwarf_u8(&r->c)) {
        case SF_RANGE_BASE_INDEX:
            if (!sf_dwarf_value_address_at(r->d, r->unit, sf_dwarf_uleb(&r->c), &r->base))
                return false;
            continue;
        case SF_RANGE_BASE: r->base = sf_dwarf_uint(&r->c, size); continue;
        case SF_RANGE_START_INDEX_END_INDEX:
            if (!sf_dwarf_value_address_at(r->d, r->unit, sf_dwarf_uleb(&r->c), &r->lo) ||
                !sf_dwarf_value_address_at(r->d, r->unit, sf_dwarf_uleb(&r->c), &r->hi))
                return false;
            break;
        case SF_RANGE_START_INDEX_LEN:
            if (!sf_dwarf_value_address_at(r->d, r->unit, sf_dwarf_uleb(&r->c), &r->lo))
                return false;
            r->hi = r->lo + sf_dwarf_uleb(&r->c);
            break;
        case SF_RANGE_OFFSET_PAIR:
            r->lo = r->base + sf_dwarf_uleb(&r->c);
            r->hi = r->base + sf_dwarf_uleb(&r->c);
            break;
        case SF_RANGE_START_END:
            r->lo = sf_dwarf_uint(&r->c, size);
            r->hi = sf_dwarf_uint(&r->c, size);
            break;
        case SF_RANGE_START_LEN:
            r->lo = sf_dwarf_uint(&r->c, size);
            r->hi = r->lo + sf_dwarf_uleb(&r->c);
            break;
        default: return false; /* the end, or unknown: the rest cannot be read */
        }
        return !r->c.is_bad;
    }
    return false;
}

static bool next_any(struct sf_dwarf_ranges *r)
{
    switch (r->kind) {
    case SF_RANGES_ONE: r->kind = SF_RANGES_DONE; return true;
    case SF_RANGES_OLD: return next_old(r);
    case SF_RANGES_LIST: return next_in_list(r);
    default: return false;
    }
}

bool sf_dwarf_ranges_next(struct sf_dwarf_ranges *r, uint64_t *lo, uint64_t *hi)
{
    while (next_any(r)) {
        if (r->lo > 1 && r->lo < r->hi) {
            *lo = r->lo;
            *hi = r->hi;
            return true;
        }
    }
    r->kind = SF_RANGES_DONE;
    return false;
}
