#include "symbol/dwarf_scope.h"

#include "symbol/dwarf_function.h"
#include "symbol/dwarf_names.h"

enum { MAX_DEPTH = 32 };

struct walk {
    const struct sf_dwarf_loaded *in;
    struct sf_dwarf *d;
    struct sf_dwarf_cursor c;
    struct around {
        uint64_t entry_off;
        uint32_t number; /* of a class without a name: its number among its siblings */
        uint16_t tag;
    } around[MAX_DEPTH];
    uint32_t n_unnamed[MAX_DEPTH + 1]; /* number of such classes so far, by depth */
    uint32_t depth;
};

static uint64_t here(const struct walk *w)
{
    return (uint64_t)(w->c.at - w->d->info.p);
}

/* Skips the attributes; returns the offset of the next entry of the same depth, 0 if not given. */
static uint64_t pass_attrs(struct walk *w, const struct sf_dwarf_abbrev *shape)
{
    const struct sf_dwarf_attr *attrs = sf_dwarf_abbrevs_attrs(&w->in->abbrevs, shape);
    uint64_t sibling_off = 0;
    if (shape->is_fixed && !shape->has_sibling) {
        sf_dwarf_skip(&w->c, shape->len);
        return 0;
    }
    for (uint32_t i = 0; i < shape->n_attrs && !w->c.is_bad && sf_dwarf_spend(w->d); i++) {
        struct sf_dwarf_value v = sf_dwarf_value_read(&w->in->unit, &attrs[i], &w->c);
        if (attrs[i].name == SF_AT_SIBLING && v.kind == SF_DWARF_ENTRY)
            sibling_off = v.u;
    }
    return sibling_off;
}

static bool is_unnamed_class(const struct walk *w, const struct sf_dwarf_abbrev *shape)
{
    const struct sf_dwarf_attr *attrs = sf_dwarf_abbrevs_attrs(&w->in->abbrevs, shape);
    if (shape->tag != SF_TAG_CLASS && shape->tag != SF_TAG_STRUCTURE)
        return false;
    for (uint32_t i = 0; i < shape->n_attrs; i++) {
        if (attrs[i].name == SF_AT_NAME)
            return false;
    }
    return true;
}

/* Processes one entry. False: damaged, or nested too deep. */
static bool dwarf_scope_step(struct walk *w, uint64_t target)
{
    uint64_t off = here(w), code = sf_dwarf_uleb(&w->c), sibling_off;
    const struct sf_dwarf_abbrev *shape;
    if (w->c.is_bad || !sf_dwarf_spend(w->d))
        return false;
    if (!code) {
        w->n_unnamed[w->depth] = 0;
        return w->depth-- > 1;
    }
    shape = sf_dwarf_abbrevs_find(&w->in->abbrevs, w->d, code);
    if (!shape)
        return false;
    w->n_unnamed[w->depth] += is_unnamed_class(w, shape);
    sibling_off = pass_attrs(w, shape);
    if (!shape->has_children || w->c.is_bad)
        return !w->c.is_bad;
    if (sibling_off > here(w) && sibling_off <= target) {
        sf_dwarf_skip(&w->c, sibling_off - here(w));
        return !w->c.is_bad;
    }
    if (w->depth == MAX_DEPTH)
        return false;
    w->around[w->depth] = (struct around){off, w->n_unnamed[w->depth], shape->tag};
    w->n_unnamed[++w->depth] = 0;
    return true;
}

static bool dwarf_scope_find_around(struct walk *w, uint64_t target)
{
    w->c = sf_dwarf_cursor_at((sf_bytes){w->d->info.p, w->in->unit.end}, w->in->unit.entry_off);
    while (here(w) < target) {
        if (!dwarf_scope_step(w, target))
            return false;
    }
    return here(w) == target;
}

static bool is_scope(uint16_t tag)
{
    return tag == SF_TAG_CLASS || tag == SF_TAG_STRUCTURE || tag == SF_TAG_UNION ||
           tag == SF_TAG_NAMESPACE || tag == SF_TAG_SUBPROGRAM;
}

/* A lambda's class has no name, or "<lambda(int)>"; demanglers write "{lambda(int)#1}". */
static void dwarf_scope_add_name(const struct around *a, sf_str name, struct sf_buf *out)
{
    if (sf_str_starts(name, SF_STR("<lambda")) && name.p[name.len - 1] == '>')
        sf_buf_print(out, "{%.*s}", SF_STR_ARG(sf_str_part(name, 1, name.len - 2)));
    else if (name.len)
        sf_buf_add_str(out, name);
    else if (a->tag == SF_TAG_NAMESPACE)
        sf_buf_add_str(out, SF_STR("(anonymous namespace)"));
    else
        sf_buf_print(out, "{lambda#%u}", a->number);
    sf_buf_add_str(out, SF_STR("::"));
}

bool sf_dwarf_scope_add(struct sf_dwarf_units *units, struct sf_dwarf *d, uint64_t entry_off,
                        struct sf_buf *out)
{
    struct walk w = {.in = sf_dwarf_units_load_of(units, d, entry_off), .d = d};
    size_t before = out->len;
    if (!w.in || !dwarf_scope_find_around(&w, entry_off))
        return false;
    for (uint32_t i = 0; i < w.depth; i++) {
        struct sf_dwarf_function f;
        if (!is_scope(w.around[i].tag))
            continue;
        sf_dwarf_function_read(&f, units, d, w.around[i].entry_off);
        dwarf_scope_add_name(&w.around[i], f.name, out);
    }
    if (sf_buf_ok(out) && out->len > before)
        return true;
    out->len = before < out->len ? before : out->len;
    return false;
}
