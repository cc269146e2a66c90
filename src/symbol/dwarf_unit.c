#include "symbol/dwarf_unit.h"

#include "symbol/dwarf_abbrevs.h"
#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_value.h"

/* Reads the fields between version and first entry, in the order of DWARF 5. */
static void read_kind(struct sf_dwarf_unit *u, struct sf_dwarf_cursor *c)
{
    u->type = sf_dwarf_u8(c);
    u->addr_size = sf_dwarf_u8(c);
    u->abbrev_off = sf_dwarf_uint(c, u->off_size);
    if (u->type == SF_UNIT_SKELETON || u->type == SF_UNIT_SPLIT_COMPILE)
        u->split_id = sf_dwarf_uint(c, 8);
    else if (u->type == SF_UNIT_TYPE || u->type == SF_UNIT_SPLIT_TYPE)
        sf_dwarf_skip(c, 8 + (uint64_t)u->off_size);
}

bool sf_dwarf_unit_read(struct sf_dwarf_unit *u, const struct sf_dwarf *d, uint64_t off,
                        bool *is_known)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(d->info, off), body;
    *u = (struct sf_dwarf_unit){.off = off, .type = SF_UNIT_COMPILE};
    body = sf_dwarf_part(&c, sf_dwarf_length(&c, &u->off_size));
    if (c.is_bad)
        return false;
    u->end = (uint64_t)(c.at - d->info.p);
    u->version = (uint16_t)sf_dwarf_uint(&body, 2);
    *is_known = u->version >= 2 && u->version <= 5;
    if (!*is_known)
        return !body.is_bad;
    if (u->version >= 5) {
        read_kind(u, &body);
    } else {
        u->abbrev_off = sf_dwarf_uint(&body, u->off_size);
        u->addr_size = sf_dwarf_u8(&body);
    }
    u->entry_off = body.is_bad ? 0 : (uint64_t)(body.at - d->info.p);
    *is_known = u->type >= SF_UNIT_COMPILE && u->type <= SF_UNIT_SPLIT_COMPILE &&
                u->type != SF_UNIT_TYPE && (u->addr_size == 8 || u->addr_size == 4);
    return !body.is_bad;
}

struct root {
    struct sf_dwarf_value name, folder;
};

static void dwarf_unit_take(struct sf_dwarf_unit *u, struct root *r, uint16_t name,
                            const struct sf_dwarf_value *v)
{
    switch (name) {
    case SF_AT_NAME: r->name = *v; break;
    case SF_AT_COMP_DIR: r->folder = *v; break;
    case SF_AT_STMT_LIST:
        u->has_lines = v->kind == SF_DWARF_NUMBER;
        u->lines_off = v->u;
        break;
    case SF_AT_DWO_NAME:
    case SF_AT_GNU_DWO_NAME: u->is_split = true; break;
    case SF_AT_GNU_DWO_ID: u->split_id = v->u; break;
    case SF_AT_GNU_RANGES_BASE: u->ranges_base = v->u; break;
    case SF_AT_STR_OFFSETS_BASE: u->str_offsets_base = v->u; break;
    case SF_AT_ADDR_BASE:
    case SF_AT_GNU_ADDR_BASE: u->addr_base = v->u; break;
    case SF_AT_RNGLISTS_BASE: u->rnglists_base = v->u; break;
    default: sf_dwarf_ranges_code_take(&u->code, name, v); break;
    }
}

/* Sets the values that the part in a .dwp file does not have itself. Its tables of version 5 have
 * headers. */
static void take_skeleton(struct sf_dwarf_unit *u, const struct sf_dwarf_unit *skeleton)
{
    bool is_wide = u->off_size == 8;
    u->addr_base = skeleton->addr_base;
    u->ranges_base = skeleton->ranges_base;
    if (u->version >= 5) {
        u->str_offsets_base = is_wide ? 16 : 8;
        u->rnglists_base = is_wide ? 20 : 12;
    }
}

/* Values may depend on others that come later: first all are read, then they are interpreted. */
bool sf_dwarf_unit_read_root(struct sf_dwarf_unit *u, struct sf_dwarf *d,
                             struct sf_dwarf_abbrevs *scratch)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at((sf_bytes){d->info.p, u->end}, u->entry_off);
    uint64_t code = sf_dwarf_uleb(&c);
    const struct sf_dwarf_abbrev *shape;
    const struct sf_dwarf_attr *attrs;
    struct root r = {0};
    if (c.is_bad || !code || !sf_dwarf_abbrevs_read(scratch, d, u, code))
        return false;
    shape = sf_dwarf_abbrevs_find(scratch, d, code);
    if (!shape)
        return false;
    attrs = sf_dwarf_abbrevs_attrs(scratch, shape);
    if (d->skeleton)
        take_skeleton(u, d->skeleton);
    for (uint32_t i = 0; i < shape->n_attrs && !c.is_bad; i++) {
        struct sf_dwarf_value v = sf_dwarf_value_read(u, &attrs[i], &c);
        dwarf_unit_take(u, &r, attrs[i].name, &v);
    }
    u->name = sf_dwarf_value_text(d, u, &r.name);
    u->folder = sf_dwarf_value_text(d, u, &r.folder);
    if (!sf_dwarf_value_address(d, u, &u->code.low, &u->base))
        u->base = d->skeleton ? d->skeleton->base : 0;
    if (d->skeleton && !u->folder.len)
        u->folder = d->skeleton->folder;
    return !c.is_bad;
}
