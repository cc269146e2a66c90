#include "scrape/target_list.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"

void sf_target_list_done(struct sf_target_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        sf_scrape_target_free(l->list[i]);
    sf_heap_free(l->list);
    *l = (struct sf_target_list){0};
}

void sf_target_list_keep(struct sf_target_list *l, const struct sf_scrape_jobs *jobs)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct sf_scrape_target *t = l->list[i];
        bool is_there = false;
        for (size_t k = 0; !is_there && k < jobs->n; k++)
            is_there = sf_str_eq(jobs->list[k].name, t->job->name);
        t->is_gone = t->is_gone || !is_there;
        if (t->is_gone && !t->is_busy)
            sf_scrape_target_free(t);
        else
            l->list[n++] = t;
    }
    l->n = n;
}

void sf_target_list_remove(struct sf_target_list *l, struct sf_scrape_target *t)
{
    size_t i = 0;
    while (i < l->n && l->list[i] != t)
        i++;
    if (i == l->n)
        return;
    memmove(&l->list[i], &l->list[i + 1], (l->n - i - 1) * sizeof(struct sf_scrape_target *));
    l->n--;
    sf_scrape_target_free(t);
}

/* ---- an update ---- */

static enum sf_err target_list_add(struct sf_target_update *u,
                                   const struct sf_scrape_target_spec *spec, struct sf_why *why)
{
    struct sf_scrape_target *t;
    if (!u->n_others_plus) { /* the job's old targets will be removed, so they are not counted */
        u->n_others_plus = 1;
        for (size_t i = 0; i < u->list->n; i++)
            u->n_others_plus += !sf_str_eq(u->list->list[i]->job->name, u->job->name);
    }
    if (u->n_others_plus - 1 + u->n_fresh >= SF_LIMIT_SCRAPE_TARGETS) {
        u->n_over++;
        return SF_OK;
    }
    if (!sf_list_room(&u->fresh, u->n_fresh, &u->cap_fresh, 16) ||
        !(t = sf_scrape_target_new(spec)))
        return sf_no_memory(why, "targets");
    t->due_ns = u->now_ns + (int64_t)(t->key % (uint64_t)t->job->interval_ns);
    u->fresh[u->n_fresh++] = t;
    return SF_OK;
}

/* Labels of discovery and rules may have changed any part of the address. */
static enum sf_err target_list_check(const struct sf_target_update *u,
                                     const struct sf_scrape_target_spec *s, struct sf_why *why)
{
    bool is_ok = sf_sd_groups_is_address(s->address) &&
                 (sf_str_eq(s->scheme, SF_STR("http")) || sf_str_eq(s->scheme, SF_STR("https"))) &&
                 (!s->prefix.len || s->prefix.p[0] == '/');
    for (size_t i = 0; i < s->prefix.len; i++)
        is_ok = is_ok && (unsigned char)s->prefix.p[i] > ' ' && (unsigned char)s->prefix.p[i] < 127;
    return is_ok ? SF_OK
                 : sf_fail(why, SF_ERR_INPUT, "job %.*s: %.*s://%.*s%.*s is not an address",
                           SF_STR_ARG(sf_str_part(u->job->name, 0, 40)),
                           SF_STR_ARG(sf_str_part(s->scheme, 0, 20)),
                           SF_STR_ARG(sf_str_part(s->address, 0, 60)),
                           SF_STR_ARG(sf_str_part(s->prefix, 0, 60)));
}

static enum sf_err target_list_add_address(struct sf_target_update *u, sf_str address,
                                           const struct sf_label_set *more, struct sf_why *why)
{
    struct sf_scrape_job *job = u->job;
    struct sf_label_set labels = job->labels;
    struct sf_scrape_target_spec spec = {.jobs = u->jobs, .job = job, .labels = &labels};
    bool keeps = true;
    enum sf_err err = sf_relabel_label_put(&labels, SF_STR("job"), job->name, why);
    for (size_t i = 0; !err && more && i < more->n; i++)
        err = sf_relabel_label_put(&labels, more->list[i].key, more->list[i].val, why);
    if (!err)
        err = sf_relabel_label_put(&labels, SF_STR("__address__"), address, why);
    if (!err && !sf_relabel_label_get(&labels, SF_STR("__scheme__")).len)
        err = sf_relabel_label_put(&labels, SF_STR("__scheme__"), job->scheme, why);
    if (!err && !sf_relabel_label_get(&labels, SF_STR("__profile_path_prefix__")).len)
        err = sf_relabel_label_put(&labels, SF_STR("__profile_path_prefix__"), job->path_prefix,
                                   why);
    if (!err)
        err = sf_relabel_run(job->relabel, job->n_relabel, &labels, u->scratch, u->regex, &keeps,
                             why);
    if (!err && !keeps)
        u->n_dropped++;
    if (err || !keeps)
        return err;
    spec.address = sf_relabel_label_get(&labels, SF_STR("__address__"));
    spec.scheme = sf_relabel_label_get(&labels, SF_STR("__scheme__"));
    spec.prefix = sf_relabel_label_get(&labels, SF_STR("__profile_path_prefix__"));
    err = target_list_check(u, &spec, why);
    if (!err && !sf_relabel_label_get(&labels, SF_STR("instance")).len)
        err = sf_relabel_label_put(&labels, SF_STR("instance"), spec.address, why);
    if (job->url.len)
        return err ? err : target_list_add(u, &spec, why);
    for (size_t i = 0; !err && i < job->paths.n; i++) {
        spec.path = job->paths.list[i];
        err = target_list_add(u, &spec, why);
    }
    return err;
}

enum sf_err sf_target_list_update_groups(struct sf_target_update *u,
                                         const struct sf_sd_groups *groups, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (const struct sf_sd_group *g = groups->first; !err && g; g = g->next) {
        for (size_t i = 0; !err && i < g->n_targets; i++)
            err = target_list_add_address(u, g->targets[i], &g->labels, why);
    }
    return err;
}

enum sf_err sf_target_list_update_static(struct sf_target_update *u, struct sf_why *why)
{
    struct sf_sd_groups all = {0};
    struct sf_sd_group *group = sf_sd_groups_add(&all, u->scratch);
    sf_str host = u->job->url;
    enum sf_err err = group ? SF_OK : sf_no_room(why, "targets");
    size_t at;
    if (u->job->url.len) {
        host = sf_str_from_at(host, sf_str_starts(host, SF_STR("https://")) ? 8 : 7);
        if (sf_str_find_char(host, '/', &at) || sf_str_find_char(host, '?', &at))
            host = sf_str_part(host, 0, at);
        return err ? err : target_list_add_address(u, host, NULL, why);
    }
    for (size_t i = 0; !err && i < u->job->targets.n; i++)
        err = sf_sd_groups_target(&all, group, u->job->targets.list[i], u->scratch, why);
    return err ? err : sf_target_list_update_groups(u, &all, why);
}

void sf_target_list_update_drop(struct sf_target_update *u)
{
    for (size_t i = 0; i < u->n_fresh; i++)
        sf_scrape_target_free(u->fresh[i]);
    sf_heap_free(u->fresh);
    u->fresh = NULL;
    u->n_fresh = u->cap_fresh = 0;
}

/* A target that is listed twice is used once. */
static void index_fresh(struct sf_target_update *u, struct sf_table *at)
{
    size_t n = 0;
    for (size_t i = 0; i < u->n_fresh; i++) {
        struct sf_scrape_target *t = u->fresh[i];
        struct sf_table_lookup lookup = sf_table_lookup(at, sf_key_u64(t->key));
        uint32_t place;
        bool is_there = false;
        while (!is_there && sf_table_next(&lookup, &place))
            is_there = u->fresh[place]->key == t->key;
        if (is_there) {
            sf_scrape_target_free(t);
            continue;
        }
        sf_table_keep(at, &lookup, (uint32_t)n);
        u->fresh[n++] = t;
    }
    u->n_fresh = n;
}

/* An existing target replaces the equal new one. */
static void reuse(struct sf_target_update *u, const struct sf_table *at)
{
    for (size_t i = 0; i < u->list->n; i++) {
        struct sf_scrape_target *old = u->list->list[i];
        struct sf_table_lookup lookup = sf_table_lookup(at, sf_key_u64(old->key));
        const struct sf_scrape_jobs *was;
        uint32_t place;
        if (old->is_gone)
            continue;
        while (sf_table_next(&lookup, &place)) {
            struct sf_scrape_target *fresh = u->fresh[place];
            if (fresh->key != old->key || fresh == old || !sf_str_eq(fresh->url, old->url))
                continue;
            was = old->jobs;
            sf_scrape_jobs_free(old->jobs); /* it may refer to an old set of jobs */
            old->jobs = sf_scrape_jobs_share(fresh->jobs);
            old->job = fresh->job;
            old->job->n_busy += old->is_busy && fresh->jobs != was;
            old->body.max = old->job->max_len;
            sf_scrape_target_free(fresh);
            u->fresh[place] = old;
            old->is_seen = true;
            break;
        }
    }
}

enum sf_err sf_target_list_update_end(struct sf_target_update *u, struct sf_why *why)
{
    struct sf_target_list *l = u->list;
    struct sf_table at = {0};
    struct sf_scrape_target **list = sf_heap_new_n(l->n + u->n_fresh + 1,
                                                   sizeof(struct sf_scrape_target *));
    size_t n = 0;
    if (!list || !sf_table_reset(&at, (uint32_t)u->n_fresh + 1)) {
        sf_heap_free(list);
        sf_table_done(&at);
        return sf_no_memory(why, "targets");
    }
    for (size_t i = 0; i < l->n; i++)
        l->list[i]->is_seen = false;
    index_fresh(u, &at);
    reuse(u, &at);
    sf_table_done(&at);
    for (size_t i = 0; i < l->n; i++) {
        struct sf_scrape_target *old = l->list[i];
        if (old->is_seen)
            continue; /* also in the new list */
        if (!sf_str_eq(old->job->name, u->job->name)) {
            list[n++] = old;
        } else if (old->is_busy) {
            old->is_gone = true; /* removed when its answer has arrived */
            list[n++] = old;
        } else {
            sf_scrape_target_free(old);
        }
    }
    if (u->n_fresh)
        memcpy(list + n, u->fresh, u->n_fresh * sizeof(struct sf_scrape_target *));
    n += u->n_fresh;
    sf_heap_free(l->list);
    l->list = list;
    l->n = n;
    sf_heap_free(u->fresh);
    u->fresh = NULL;
    u->n_fresh = u->cap_fresh = 0;
    return SF_OK;
}
