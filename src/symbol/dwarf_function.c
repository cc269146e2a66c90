#include "symbol/dwarf_function.h"

#include "symbol/dwarf_names.h"

enum {
    MAX_HOPS = 8
}; /* references to follow: inlined copy, abstract function, declaration are
    * three */

static void dwarf_function_take(struct sf_dwarf_function *f, const struct sf_dwarf *d,
                                const struct sf_dwarf_unit *unit, uint16_t name,
                                const struct sf_dwarf_value *v, struct sf_dwarf_value *next)
{
    switch (name) {
    case SF_AT_NAME: f->name = f->name.len ? f->name : sf_dwarf_value_text(d, unit, v); break;
    case SF_AT_LINKAGE_NAME:
    case SF_AT_MIPS_LINKAGE_NAME:
        if (!f->linkage_name.len)
            f->linkage_name = sf_dwarf_value_text(d, unit, v);
        break;
    case SF_AT_DECL_LINE:
        if (!f->decl_line && v->u <= UINT32_MAX)
            f->decl_line = (uint32_t)v->u;
        break;
    case SF_AT_ABSTRACT_ORIGIN:
    case SF_AT_SPECIFICATION: *next = *v; break;
    default: break;
    }
}

/* Reads one entry; returns the reference to the next entry to read, if there is one. */
static struct sf_dwarf_value dwarf_function_read_one(struct sf_dwarf_function *f,
                                                     const struct sf_dwarf_loaded *in,
                                                     struct sf_dwarf *d, uint64_t entry_off)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at((sf_bytes){d->info.p, in->unit.end}, entry_off);
    const struct sf_dwarf_abbrev *shape = sf_dwarf_abbrevs_find(&in->abbrevs, d, sf_dwarf_uleb(&c));
    const struct sf_dwarf_attr *attrs;
    struct sf_dwarf_value next = {0};
    if (!shape)
        return next;
    attrs = sf_dwarf_abbrevs_attrs(&in->abbrevs, shape);
    for (uint32_t i = 0; i < shape->n_attrs && !c.is_bad && sf_dwarf_spend(d); i++) {
        struct sf_dwarf_value v = sf_dwarf_value_read(&in->unit, &attrs[i], &c);
        if (!c.is_bad)
            dwarf_function_take(f, d, &in->unit, attrs[i].name, &v, &next);
    }
    return next;
}

void sf_dwarf_function_read(struct sf_dwarf_function *f, struct sf_dwarf_units *units,
                            struct sf_dwarf *d, uint64_t entry_off)
{
    bool is_shared = false;
    *f = (struct sf_dwarf_function){0};
    for (int hop = 0; hop < MAX_HOPS && entry_off; hop++) {
        const struct sf_dwarf_loaded *in = sf_dwarf_units_load_of(units, d, entry_off);
        struct sf_dwarf_value next;
        if (!in)
            return;
        if (!f->name.len) {
            f->name_off = entry_off;
            f->is_shared = is_shared;
        }
        next = dwarf_function_read_one(f, in, d, entry_off);
        entry_off = next.kind == SF_DWARF_ENTRY || next.kind == SF_DWARF_SHARED_ENTRY ? next.u : 0;
        if (next.kind == SF_DWARF_SHARED_ENTRY) {
            units = d->shared_units; /* before `d` changes: the shared file has no way back */
            d = d->shared;
            is_shared = true;
            if (!d)
                return;
        }
    }
}
