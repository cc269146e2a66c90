#include "symbol/dwarf_value.h"

#include "symbol/dwarf_abbrevs.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_unit.h"

bool sf_dwarf_value_form_len(const struct sf_dwarf_unit *unit, uint16_t form, unsigned *out)
{
    *out = 0;
    switch (form) {
    case SF_FORM_FLAG_PRESENT:
    case SF_FORM_IMPLICIT_CONST: break;
    case SF_FORM_DATA1:
    case SF_FORM_REF1:
    case SF_FORM_FLAG:
    case SF_FORM_STRX1:
    case SF_FORM_ADDRX1: *out = 1; break;
    case SF_FORM_DATA2:
    case SF_FORM_REF2:
    case SF_FORM_STRX2:
    case SF_FORM_ADDRX2: *out = 2; break;
    case SF_FORM_STRX3:
    case SF_FORM_ADDRX3: *out = 3; break;
    case SF_FORM_DATA4:
    case SF_FORM_REF4:
    case SF_FORM_REF_SUP4:
    case SF_FORM_STRX4:
    case SF_FORM_ADDRX4: *out = 4; break;
    case SF_FORM_DATA8:
    case SF_FORM_REF8:
    case SF_FORM_REF_SUP8:
    case SF_FORM_REF_SIG8: *out = 8; break;
    case SF_FORM_DATA16: *out = 16; break;
    case SF_FORM_ADDR: *out = unit->addr_size; break;
    case SF_FORM_REF_ADDR: *out = unit->version < 3 ? unit->addr_size : unit->off_size; break;
    case SF_FORM_STRP:
    case SF_FORM_LINE_STRP:
    case SF_FORM_SEC_OFFSET:
    case SF_FORM_STRP_SUP:
    case SF_FORM_GNU_REF_ALT:
    case SF_FORM_GNU_STRP_ALT: *out = unit->off_size; break;
    default: return false;
    }
    return true;
}

static struct sf_dwarf_value symbol_dwarf_value(enum sf_dwarf_class kind, uint64_t u)
{
    return (struct sf_dwarf_value){.kind = kind, .u = u};
}

static struct sf_dwarf_value dwarf_value_read_block(struct sf_dwarf_cursor *c, uint64_t len)
{
    sf_dwarf_skip(c, len);
    return symbol_dwarf_value(SF_DWARF_NONE, 0);
}

/* Forms whose length depends on the value. */
static struct sf_dwarf_value read_long(struct sf_dwarf_cursor *c, uint16_t form,
                                       const struct sf_dwarf_unit *unit)
{
    switch (form) {
    case SF_FORM_BLOCK1: return dwarf_value_read_block(c, sf_dwarf_u8(c));
    case SF_FORM_BLOCK2: return dwarf_value_read_block(c, sf_dwarf_uint(c, 2));
    case SF_FORM_BLOCK4: return dwarf_value_read_block(c, sf_dwarf_uint(c, 4));
    case SF_FORM_BLOCK:
    case SF_FORM_EXPRLOC: return dwarf_value_read_block(c, sf_dwarf_uleb(c));
    case SF_FORM_STRING: return (struct sf_dwarf_value){SF_DWARF_TEXT, 0, sf_dwarf_str(c)};
    case SF_FORM_UDATA: return symbol_dwarf_value(SF_DWARF_NUMBER, sf_dwarf_uleb(c));
    case SF_FORM_SDATA: return symbol_dwarf_value(SF_DWARF_NUMBER, (uint64_t)sf_dwarf_sleb(c));
    case SF_FORM_REF_UDATA: return symbol_dwarf_value(SF_DWARF_ENTRY, unit->off + sf_dwarf_uleb(c));
    case SF_FORM_STRX:
    case SF_FORM_GNU_STR_INDEX: return symbol_dwarf_value(SF_DWARF_TEXT_AT, sf_dwarf_uleb(c));
    case SF_FORM_ADDRX:
    case SF_FORM_GNU_ADDR_INDEX: return symbol_dwarf_value(SF_DWARF_ADDRESS_AT, sf_dwarf_uleb(c));
    case SF_FORM_RNGLISTX: return symbol_dwarf_value(SF_DWARF_LIST_AT, sf_dwarf_uleb(c));
    case SF_FORM_LOCLISTX: sf_dwarf_uleb(c); return symbol_dwarf_value(SF_DWARF_NONE, 0);
    default: c->is_bad = true; return symbol_dwarf_value(SF_DWARF_NONE, 0);
    }
}

static struct sf_dwarf_value made_of(const struct sf_dwarf_unit *unit, uint16_t form, uint64_t u)
{
    switch (form) {
    case SF_FORM_DATA1:
    case SF_FORM_DATA2:
    case SF_FORM_DATA4:
    case SF_FORM_DATA8:
    case SF_FORM_FLAG:
    case SF_FORM_SEC_OFFSET: return symbol_dwarf_value(SF_DWARF_NUMBER, u);
    case SF_FORM_ADDR: return symbol_dwarf_value(SF_DWARF_ADDRESS, u);
    case SF_FORM_REF1:
    case SF_FORM_REF2:
    case SF_FORM_REF4:
    case SF_FORM_REF8: return symbol_dwarf_value(SF_DWARF_ENTRY, unit->off + u);
    case SF_FORM_REF_ADDR: return symbol_dwarf_value(SF_DWARF_ENTRY, u);
    case SF_FORM_STRP: return symbol_dwarf_value(SF_DWARF_TEXT_OFF, u);
    case SF_FORM_LINE_STRP: return symbol_dwarf_value(SF_DWARF_LINE_TEXT_OFF, u);
    case SF_FORM_STRX1:
    case SF_FORM_STRX2:
    case SF_FORM_STRX3:
    case SF_FORM_STRX4: return symbol_dwarf_value(SF_DWARF_TEXT_AT, u);
    case SF_FORM_ADDRX1:
    case SF_FORM_ADDRX2:
    case SF_FORM_ADDRX3:
    case SF_FORM_ADDRX4: return symbol_dwarf_value(SF_DWARF_ADDRESS_AT, u);
    case SF_FORM_REF_SUP4:
    case SF_FORM_REF_SUP8:
    case SF_FORM_GNU_REF_ALT: return symbol_dwarf_value(SF_DWARF_SHARED_ENTRY, u);
    case SF_FORM_STRP_SUP:
    case SF_FORM_GNU_STRP_ALT: return symbol_dwarf_value(SF_DWARF_SHARED_TEXT_OFF, u);
    default: return symbol_dwarf_value(SF_DWARF_NONE, 0);
    }
}

struct sf_dwarf_value sf_dwarf_value_read(const struct sf_dwarf_unit *unit,
                                          const struct sf_dwarf_attr *attr,
                                          struct sf_dwarf_cursor *c)
{
    uint16_t form = attr->form;
    unsigned len;
    if (form == SF_FORM_INDIRECT) { /* the value contains its form; not nested */
        uint64_t told = sf_dwarf_uleb(c);
        form = told == SF_FORM_INDIRECT || told == SF_FORM_IMPLICIT_CONST || told > UINT16_MAX
                   ? 0
                   : (uint16_t)told;
    }
    if (form == SF_FORM_IMPLICIT_CONST)
        return symbol_dwarf_value(SF_DWARF_NUMBER, (uint64_t)attr->constant);
    if (!sf_dwarf_value_form_len(unit, form, &len))
        return read_long(c, form, unit);
    if (len > 8)
        return dwarf_value_read_block(c, len);
    return made_of(unit, form, len ? sf_dwarf_uint(c, len) : 0);
}

static sf_str dwarf_value_text_at(sf_bytes section, uint64_t off)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(section, off);
    return sf_dwarf_str(&c);
}

sf_str sf_dwarf_value_text(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                           const struct sf_dwarf_value *v)
{
    struct sf_dwarf_cursor c;
    uint64_t off;
    switch (v->kind) {
    case SF_DWARF_TEXT: return v->s;
    case SF_DWARF_TEXT_OFF: return dwarf_value_text_at(d->str, v->u);
    case SF_DWARF_LINE_TEXT_OFF: return dwarf_value_text_at(d->line_str, v->u);
    case SF_DWARF_SHARED_TEXT_OFF:
        return d->shared ? dwarf_value_text_at(d->shared->str, v->u) : SF_STR_NONE;
    case SF_DWARF_TEXT_AT:
        if (v->u > d->str_offsets.len || unit->str_offsets_base > d->str_offsets.len)
            return SF_STR_NONE;
        c = sf_dwarf_cursor_at(d->str_offsets, unit->str_offsets_base + v->u * unit->off_size);
        off = sf_dwarf_uint(&c, unit->off_size);
        return c.is_bad ? SF_STR_NONE : dwarf_value_text_at(d->str, off);
    default: return SF_STR_NONE;
    }
}

bool sf_dwarf_value_address_at(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                               uint64_t place, uint64_t *out)
{
    struct sf_dwarf_cursor c;
    if (place > d->addr.len || unit->addr_base > d->addr.len)
        return false;
    c = sf_dwarf_cursor_at(d->addr, unit->addr_base + place * unit->addr_size);
    *out = sf_dwarf_uint(&c, unit->addr_size);
    return !c.is_bad;
}

bool sf_dwarf_value_address(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                            const struct sf_dwarf_value *v, uint64_t *out)
{
    if (v->kind == SF_DWARF_ADDRESS_AT)
        return sf_dwarf_value_address_at(d, unit, v->u, out);
    *out = v->u;
    return v->kind == SF_DWARF_ADDRESS;
}
