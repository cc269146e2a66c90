#include "symbol/dwarf_abbrevs.h"

#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_unit.h"
#include "symbol/dwarf_value.h"

/* Ten times the largest tables that compilers produce. */
enum { MAX_ABBREVS = 1 << 15, MAX_ATTRS = 1 << 17 };

void sf_dwarf_abbrevs_done(struct sf_dwarf_abbrevs *a)
{
    sf_buf_done(&a->list);
    sf_buf_done(&a->attrs);
    *a = (struct sf_dwarf_abbrevs){0};
}

static void dwarf_abbrevs_add_attr(struct sf_dwarf_abbrevs *a, const struct sf_dwarf_unit *unit,
                                   struct sf_dwarf_abbrev *one, struct sf_dwarf_attr attr)
{
    unsigned len;
    sf_buf_add(&a->attrs, &attr, sizeof(attr));
    one->n_attrs++;
    one->has_code |= attr.name == SF_AT_LOW_PC || attr.name == SF_AT_RANGES;
    one->has_sibling |= attr.name == SF_AT_SIBLING;
    one->is_fixed = one->is_fixed && sf_dwarf_value_form_len(unit, attr.form, &len);
    one->len = one->is_fixed ? one->len + len : 0;
}

static bool dwarf_abbrevs_read_attrs(struct sf_dwarf_abbrevs *a, struct sf_dwarf *d,
                                     const struct sf_dwarf_unit *unit, struct sf_dwarf_cursor *c,
                                     struct sf_dwarf_abbrev *one)
{
    while (sf_dwarf_spend(d)) {
        uint64_t name = sf_dwarf_uleb(c), form = sf_dwarf_uleb(c);
        struct sf_dwarf_attr attr = {0};
        if (c->is_bad || form > UINT16_MAX)
            return false;
        if (!name && !form)
            return true;
        attr.name = name > UINT16_MAX ? 0 : (uint16_t)name;
        attr.form = (uint16_t)form;
        if (form == SF_FORM_IMPLICIT_CONST)
            attr.constant = sf_dwarf_sleb(c);
        if (a->attrs.len / sizeof(attr) >= MAX_ATTRS)
            return false;
        dwarf_abbrevs_add_attr(a, unit, one, attr);
    }
    return false;
}

bool sf_dwarf_abbrevs_read(struct sf_dwarf_abbrevs *a, struct sf_dwarf *d,
                           const struct sf_dwarf_unit *unit, uint64_t last_code)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(d->abbrev, unit->abbrev_off);
    uint32_t n = 0;
    a->off = unit->abbrev_off;
    a->is_dense = true;
    sf_buf_reset(&a->list);
    sf_buf_reset(&a->attrs);
    while (n < MAX_ABBREVS) {
        struct sf_dwarf_abbrev one = {.code = sf_dwarf_uleb(&c), .is_fixed = true};
        uint64_t tag;
        if (!one.code)
            break;
        tag = sf_dwarf_uleb(&c);
        one.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
        one.has_children = sf_dwarf_u8(&c) != 0;
        one.attrs_at = (uint32_t)(a->attrs.len / sizeof(struct sf_dwarf_attr));
        if (c.is_bad || !dwarf_abbrevs_read_attrs(a, d, unit, &c, &one))
            return false;
        sf_buf_add(&a->list, &one, sizeof(one));
        a->is_dense = a->is_dense && one.code == ++n;
        if (one.code == last_code)
            break;
    }
    return !c.is_bad && n < MAX_ABBREVS && sf_buf_ok(&a->list) && sf_buf_ok(&a->attrs);
}

const struct sf_dwarf_abbrev *sf_dwarf_abbrevs_find(const struct sf_dwarf_abbrevs *a,
                                                    struct sf_dwarf *d, uint64_t code)
{
    const struct sf_dwarf_abbrev *list = (const void *)a->list.p;
    size_t n = a->list.len / sizeof(*list);
    if (a->is_dense)
        return code && code <= n ? &list[code - 1] : NULL;
    for (size_t i = 0; i < n && sf_dwarf_spend(d); i++) {
        if (list[i].code == code)
            return &list[i];
    }
    return NULL;
}

const struct sf_dwarf_attr *sf_dwarf_abbrevs_attrs(const struct sf_dwarf_abbrevs *a,
                                                   const struct sf_dwarf_abbrev *one)
{
    const struct sf_dwarf_attr *all = (const void *)a->attrs.p;
    return all ? all + one->attrs_at : NULL; /* NULL: no abbreviation has attributes */
}
