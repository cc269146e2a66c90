/* The profiled process, from the resource, its scope and, for some profilers, attributes of
 * samples. */
#include "base/key.h"
#include "decode/otlp/otlp_profile.h"

struct owner_item {
    uint32_t resource; /* number of the resource and scope it belongs to */
    const uint32_t *attrs;
    uint32_t n;
    struct sf_profile_owner owner;
};

struct owner_key {
    const struct sf_otlp_reader *r;
    struct owner_item item;
};

bool sf_otlp_profile_owner_is_key(sf_str key)
{
    static const sf_str starts[] = {
        {"service.", 8}, {"process.", 8}, {"container.", 10}, {"host.", 5}, {"k8s.", 4}};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (sf_str_starts(key, starts[i]))
            return true;
    }
    return false;
}

void sf_otlp_profile_owner_read(struct sf_otlp_reader *r, struct sf_pb *pb, uint32_t field)
{
    struct sf_pb msg = sf_pb_msg(pb);
    struct sf_profile_list list = {(void *)(uintptr_t)r->resource.list, r->resource.n,
                                   r->resource.n};
    r->n_resources++;
    while (sf_pb_next(&msg) && !r->b->is_full) {
        struct sf_attr a, *to;
        if (msg.tag != SF_PB_TAG(field, SF_PB_LEN)) {
            sf_pb_skip(&msg);
            continue;
        }
        a = sf_otlp_profile_attrs_read(r, &msg);
        if (!a.key.len)
            continue;
        if (list.n >= SF_LIMIT_ATTRS) {
            sf_profile_build_drop(r->b, &r->b->drops.n_labels,
                                  "otlp: more than %d attributes on a resource", SF_LIMIT_ATTRS);
            continue;
        }
        to = sf_profile_list_more(r->b, &list, sizeof(*to));
        if (!to)
            break;
        *to = a;
        list.n++;
    }
    r->resource = (struct sf_attrs){list.items, list.n};
    sf_pb_join(pb, &msg);
}

static bool is_owner(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct owner_key *k = key;
    const struct owner_item *o = (const struct owner_item *)k->r->owners.items + place;
    (void)b;
    return o->resource == k->item.resource && o->n == k->item.n &&
           (!o->n || memcmp(o->attrs, k->item.attrs, o->n * sizeof(*o->attrs)) == 0);
}

/* Adds an attribute as a label under its own name; the service has a fixed name. Numbers with
 * fractions are labels of resources only: on samples each would be a separate series. */
static void otlp_profile_owner_add_label(struct sf_profile_build *b, struct sf_label *labels,
                                         uint32_t *n, struct sf_attr a, bool is_resource)
{
    sf_str text = sf_otlp_profile_attrs_label_text(b, a.val);
    if (is_resource && a.val.type == SF_VALUE_DOUBLE &&
        !sf_arena_print(b->a, &text, "%.9g", a.val.f64))
        b->is_full = true;
    if (!text.len || sf_str_starts(a.key, SF_STR("__")))
        return;
    if (sf_str_eq(a.key, SF_STR("service.name")))
        a.key = SF_STR("service_name");
    labels[(*n)++] = (struct sf_label){a.key, text};
}

/* A process without a service is named after its executable. */
static void add_service(struct sf_profile_build *b, struct sf_label *labels, uint32_t *n,
                        struct sf_attrs all)
{
    sf_str program = sf_attrs_str(all, SF_STR("process.executable.name")), name;
    if (sf_attrs_str(all, SF_STR("service.name")).len || !program.len || b->hint->service.len)
        return;
    if (!sf_arena_print(b->a, &name, "unknown_service:%.*s", SF_STR_ARG(program)))
        b->is_full = true;
    else
        labels[(*n)++] = (struct sf_label){SF_STR("service_name"), name};
}

static bool make_owner(struct sf_otlp_reader *r, struct owner_item *item)
{
    struct sf_profile_build *b = r->b;
    struct sf_attr *all = sf_profile_new(b, (size_t)r->resource.n + item->n + 1, sizeof(*all));
    struct sf_label *labels = sf_profile_new(b, (size_t)r->resource.n + item->n + 1,
                                             sizeof(*labels));
    uint32_t *attrs = sf_profile_new(b, (size_t)item->n + 1, sizeof(*attrs)), n = 0, n_all = 0;
    if (b->is_full)
        return false;
    for (uint32_t i = 0; i < item->n; i++) {
        const struct sf_otlp_attr *a = &r->attrs[item->attrs[i]];
        attrs[i] = item->attrs[i];
        all[n_all++] = (struct sf_attr){a->key, a->val};
    }
    item->attrs = attrs;
    for (uint32_t i = 0; i < r->resource.n; i++) /* the resource's own attribute takes precedence */
        all[n_all++] = r->resource.list[i];
    for (uint32_t i = 0; i < n_all; i++)
        otlp_profile_owner_add_label(b, labels, &n, all[i], i >= item->n);
    add_service(b, labels, &n, (struct sf_attrs){all, n_all});
    sf_profile_build_owner(b, (struct sf_attrs){all, n_all}, labels, n, &item->owner);
    return !b->is_full;
}

const struct sf_profile_owner *sf_otlp_profile_owner(struct sf_otlp_reader *r,
                                                     const uint32_t *attrs, uint32_t n)
{
    struct owner_key key = {r, {.resource = r->n_resources, .attrs = attrs, .n = n}};
    uint64_t hash = sf_key_mix(n ? sf_key(attrs, n * sizeof(*attrs)) : 0, r->n_resources);
    struct sf_profile_spot spot;
    if (sf_profile_table_is_new(r->b, &r->owner_at, hash, is_owner, &key, &spot) &&
        make_owner(r, &key.item))
        spot.place = sf_profile_table_keep(r->b, &spot, &r->owners, &key.item, sizeof(key.item));
    if (spot.place == SF_NONE)
        return NULL;
    return &((const struct owner_item *)r->owners.items)[spot.place].owner;
}
