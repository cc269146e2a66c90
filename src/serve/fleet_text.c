#include "serve/fleet_text.h"

static struct sf_store *fleet_store(struct sf_service *s)
{
    struct sf_store *store = s ? atomic_load(&s->store) : NULL;
    return store && store->ops->shared_get ? store : NULL;
}

bool sf_fleet_text_is_on(struct sf_service *s)
{
    return fleet_store(s) != NULL;
}

enum sf_err sf_fleet_text_pull(struct sf_fleet_text *t, struct sf_service *s, struct sf_arena *req,
                               sf_str *out, bool *out_is_new, struct sf_why *why)
{
    struct sf_store *store = fleet_store(s);
    struct sf_query_ctx q = {.req = req};
    struct sf_shared_text text = {.kind = sf_str_from(t->kind)};
    enum sf_err err = SF_OK;
    *out_is_new = false;
    if (!store)
        return SF_OK;
    err = store->ops->shared_get(store, &q, &text, why);
    if (err || text.version <= t->version)
        return err;
    t->version = text.version;
    *out = text.body;
    *out_is_new = true;
    return SF_OK;
}

enum sf_err sf_fleet_text_push(struct sf_fleet_text *t, struct sf_service *s, sf_str body,
                               struct sf_why *why)
{
    struct sf_store *store = fleet_store(s);
    struct sf_shared_text text = {
        .kind = sf_str_from(t->kind), .version = t->version, .body = body};
    enum sf_err err = store ? store->ops->shared_put(store, &text, why) : SF_OK;
    if (store && !err)
        t->version++;
    return err;
}
