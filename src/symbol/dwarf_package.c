/* The index, of version 2 (GNU, DWARF 4) or 5:
 *
 *   version, columns, units, slots   of 4 bytes each (version 5: of 2, and 2 of nothing)
 *   slots ids of 8 bytes             a hash table: where an id is not, the next one is examined
 *   slots rows of 4 bytes            from 1 on; 0: the slot is free
 *   columns kinds of 4 bytes         which section a column is about
 *   units * columns offsets, and as many lengths, of 4 bytes */
#include "symbol/dwarf_package.h"

#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_unit.h"

enum {
    COLUMN_INFO = 1,
    COLUMN_ABBREV = 3,
    COLUMN_LINE = 4,
    COLUMN_STR_OFFSETS = 6,
    COLUMN_RNGLISTS = 8, /* in version 5; in version 2 this number is for macros */
    MAX_COLUMNS = 16,
};

struct index {
    uint32_t version, n_columns, n_units, n_slots;
    uint64_t ids_off, rows_off, kinds_off, offs_off, lens_off;
};

static uint64_t number_at(sf_bytes index, uint64_t off, unsigned len)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(index, off);
    uint64_t v = sf_dwarf_uint(&c, len);
    return c.is_bad ? 0 : v;
}

static bool dwarf_package_read_index(sf_bytes bytes, struct index *x)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(bytes, 0);
    uint64_t cells;
    x->version = (uint32_t)sf_dwarf_uint(&c, 4) & 0xffff;
    x->n_columns = (uint32_t)sf_dwarf_uint(&c, 4);
    x->n_units = (uint32_t)sf_dwarf_uint(&c, 4);
    x->n_slots = (uint32_t)sf_dwarf_uint(&c, 4);
    if (c.is_bad || (x->version != 2 && x->version != 5) || !x->n_columns ||
        x->n_columns > MAX_COLUMNS || !x->n_slots || (x->n_slots & (x->n_slots - 1)))
        return false;
    cells = (uint64_t)x->n_units * x->n_columns; /* below 2^36 */
    x->ids_off = 16;
    x->rows_off = x->ids_off + 8ull * x->n_slots;
    x->kinds_off = x->rows_off + 4ull * x->n_slots;
    x->offs_off = x->kinds_off + 4ull * x->n_columns;
    x->lens_off = x->offs_off + 4 * cells;
    return x->lens_off + 4 * cells <= bytes.len;
}

/* The unit's row, from 0. */
static bool dwarf_package_find_row(sf_bytes bytes, const struct index *x, struct sf_dwarf *d,
                                   uint64_t id, uint32_t *out)
{
    uint32_t mask = x->n_slots - 1, at = (uint32_t)id & mask,
             step = ((uint32_t)(id >> 32) & mask) | 1;
    for (uint32_t i = 0; i < x->n_slots && sf_dwarf_spend(d); i++, at = (at + step) & mask) {
        uint32_t row = (uint32_t)number_at(bytes, x->rows_off + 4ull * at, 4);
        if (!row)
            return false;
        if (number_at(bytes, x->ids_off + 8ull * at, 8) != id)
            continue;
        *out = row - 1;
        return row <= x->n_units;
    }
    return false;
}

static sf_bytes *section_of(const struct index *x, struct sf_dwarf *d, uint64_t kind)
{
    switch (kind) {
    case COLUMN_INFO: return &d->info;
    case COLUMN_ABBREV: return &d->abbrev;
    case COLUMN_LINE: return &d->line;
    case COLUMN_STR_OFFSETS: return &d->str_offsets;
    case COLUMN_RNGLISTS: return x->version == 5 ? &d->rnglists : NULL;
    default: return NULL;
    }
}

static bool dwarf_package_cut(sf_bytes *section, uint64_t off, uint64_t len)
{
    if (off > section->len || len > section->len - off)
        return false;
    *section = (sf_bytes){section->p + off, len};
    return true;
}

bool sf_dwarf_package_enter(const struct sf_dwarf_package *p, struct sf_dwarf *d,
                            const struct sf_dwarf_unit *skeleton, struct sf_dwarf *out)
{
    struct index x;
    uint32_t row;
    if (!skeleton->split_id || !dwarf_package_read_index(p->index, &x) ||
        !dwarf_package_find_row(p->index, &x, d, skeleton->split_id, &row))
        return false;
    *out = p->all;
    for (uint32_t i = 0; i < x.n_columns; i++) {
        uint64_t cell = 4 * ((uint64_t)row * x.n_columns + i);
        sf_bytes *section = section_of(&x, out, number_at(p->index, x.kinds_off + 4ull * i, 4));
        if (section && !dwarf_package_cut(section, number_at(p->index, x.offs_off + cell, 4),
                                          number_at(p->index, x.lens_off + cell, 4)))
            return false;
    }
    out->addr = d->addr;
    out->ranges = d->ranges;
    out->skeleton = skeleton;
    out->work_left = d->work_left;
    return out->info.len && out->abbrev.len;
}

void sf_dwarf_package_leave(struct sf_dwarf *d, const struct sf_dwarf *part)
{
    d->work_left = part->work_left;
}
