#include "store/clickhouse/pin_names.h"

#include "base/heap.h"
#include "base/key.h"
#include "base/list.h"

static uint64_t pin_names_key(sf_str tenant, sf_str name)
{
    return sf_key_mix(sf_key_str(tenant), sf_key_str(name));
}

/* True: it is in the set. False: `lookup` is the slot for it. */
static bool pin_names_find(const struct sf_pin_names *p, sf_str tenant, sf_str name,
                           struct sf_table_lookup *lookup)
{
    uint32_t i;
    *lookup = sf_table_lookup(&p->table, pin_names_key(tenant, name));
    while (sf_table_next(lookup, &i)) {
        const struct sf_pin_name *x = &p->list[i];
        sf_str text = sf_str_from_at(sf_buf_str(&p->text), x->at);
        if (sf_str_eq(sf_str_part(text, 0, x->tenant_len), tenant) &&
            sf_str_eq(sf_str_part(text, x->tenant_len, x->name_len), name))
            return true;
    }
    return false;
}

bool sf_pin_names_add(struct sf_pin_names *p, sf_str tenant, sf_str name)
{
    struct sf_table_lookup lookup;
    size_t at = p->text.len;
    if (!sf_table_more(&p->table) || !sf_list_room(&p->list, p->n, &p->cap, 64))
        return false;
    if (pin_names_find(p, tenant, name, &lookup))
        return true;
    sf_buf_add_str(&p->text, tenant);
    sf_buf_add_str(&p->text, name);
    if (!sf_buf_ok(&p->text))
        return false;
    sf_table_keep(&p->table, &lookup, p->n);
    p->list[p->n++] = (struct sf_pin_name){at, tenant.len, name.len};
    return true;
}

bool sf_pin_names_has(const struct sf_pin_names *p, sf_str tenant, sf_str name)
{
    struct sf_table_lookup lookup;
    return p->n && pin_names_find(p, tenant, name, &lookup);
}

void sf_pin_names_done(struct sf_pin_names *p)
{
    sf_buf_done(&p->text);
    sf_heap_free(p->list);
    sf_table_done(&p->table);
    *p = (struct sf_pin_names){0};
}
