#include "store/local/profiles/profile_mem.h"

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"

/* Reserved address space for the tables of one batch while it is mapped. */
static const size_t SCRATCH_CAP = (size_t)256 << 20;

struct sf_profile_mem *sf_profile_mem_new(struct sf_budget *budget)
{
    struct sf_profile_mem *m = sf_heap_new(sizeof(*m));
    if (!m)
        return NULL;
    if (!sf_arena_init(&m->scratch, SCRATCH_CAP)) {
        sf_heap_free(m);
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->budget = budget;
    sf_mutex_init(&m->lock, SF_LOCK_STORE_PROFILES);
    return m;
}

struct sf_profile_mem *sf_profile_mem_ref(struct sf_profile_mem *m)
{
    atomic_fetch_add(&m->refs, 1);
    return m;
}

void sf_profile_mem_unref(struct sf_profile_mem *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    for (uint32_t i = 0; i < m->n_sets; i++)
        sf_profile_set_free(m->sets[i]);
    sf_budget_sub(m->budget, SF_LINE_PROFILES, m->counted_len);
    sf_dict_done(&m->keys);
    sf_heap_free(m->sets);
    sf_heap_free(m->marks);
    sf_heap_free(m->is_touched);
    sf_heap_free(m->touched);
    sf_arena_done(&m->scratch);
    sf_mutex_done(&m->lock);
    sf_heap_free(m);
}

void sf_profile_mem_learn(struct sf_profile_mem *m, const struct sf_profile_mem *before)
{
    for (uint32_t i = 0; i < before->n_sets; i++) {
        uint64_t hash = before->keys.hashes[i];
        size_t at = (hash >> 32) % SF_PROFILE_MEM_LAST;
        if (before->sets[i]) {
            m->last[at].hash = hash;
            m->last[at].sizes = sf_profile_set_sizes(before->sets[i]);
        }
    }
}

static void profile_mem_reserve(const struct sf_profile_mem *m, uint32_t place)
{
    uint64_t hash = m->keys.hashes[place];
    size_t at = (hash >> 32) % SF_PROFILE_MEM_LAST;
    if (m->last[at].hash == hash)
        sf_profile_set_reserve(m->sets[place], m->last[at].sizes);
}

static bool profile_mem_grow(struct sf_profile_mem *m)
{
    uint32_t sets = m->cap_sets, marks = sets, is_touched = sets;
    return sf_list_room(&m->sets, m->n_sets, &sets, 32) &&
           sf_list_room(&m->marks, m->n_sets, &marks, 32) &&
           sf_list_room(&m->is_touched, m->n_sets, &is_touched, 32) &&
           sf_list_room(&m->touched, m->n_sets, &m->cap_sets, 32);
}

/* Finds or creates the set of a service; marks it when this request uses it for the first time. */
static struct sf_profile_set *profile_mem_find_set(struct sf_profile_mem *m, uint32_t tenant,
                                                   sf_str service, struct sf_arena scratch)
{
    char *key = sf_arena_raw(&scratch, service.len + sizeof(tenant), 16);
    uint32_t place;
    if (!key || !profile_mem_grow(m))
        return NULL;
    memcpy(key, &tenant, sizeof(tenant));
    if (service.len)
        memcpy(key + sizeof(tenant), service.p, service.len);
    if (!sf_dict_add(&m->keys, (sf_str){key, service.len + sizeof(tenant)}, &place))
        return NULL;
    if (place >= m->n_sets || !m->sets[place]) {
        struct sf_profile_set *fresh = sf_profile_set_new(tenant, service);
        if (place == m->n_sets) { /* also if allocation fails: the key keeps its index */
            m->sets[m->n_sets] = NULL;
            m->is_touched[m->n_sets++] = false;
        }
        if (!fresh)
            return NULL;
        m->sets[place] = fresh;
        profile_mem_reserve(m, place);
    }
    if (!m->is_touched[place]) {
        m->is_touched[place] = true;
        m->marks[place] = sf_profile_set_mark(m->sets[place]);
        m->touched[m->n_touched++] = place;
    }
    return m->sets[place];
}

static bool is_new_service(const struct sf_profile_batch *p, uint32_t series)
{
    for (uint32_t i = 0; i < series; i++) {
        if (sf_str_eq(p->series[i].service, p->series[series].service))
            return false;
    }
    return true;
}

enum sf_err sf_profile_mem_add(struct sf_profile_mem *m, const struct sf_batch *b,
                               const struct sf_profile_index *index, struct sf_why *why)
{
    const struct sf_profile_batch *p = b->profiles;
    struct sf_profile_map map;
    struct sf_arena scratch;
    enum sf_err err = SF_OK;
    sf_str last = SF_STR_NONE;
    sf_arena_reset(&m->scratch);
    scratch = m->scratch;
    if (!sf_profile_set_map_init(&map, p, &scratch))
        return sf_fail(why, SF_ERR_LIMIT, "store: not enough memory for the tables of a profile");
    for (uint32_t i = 0; !err && i < p->n_series; i++) {
        struct sf_profile_set *s;
        /* Usually consecutive series belong to the same service. */
        if (i && sf_str_eq(p->series[i].service, last))
            continue;
        last = p->series[i].service;
        if (i && !is_new_service(p, i))
            continue;
        s = profile_mem_find_set(m, b->log.tenant, last, scratch);
        err = s ? sf_profile_set_add(s, &map, p, index, scratch, why)
                : sf_fail(why, SF_ERR_NOMEM, "store: no memory for profiles");
    }
    return err;
}

void sf_profile_mem_undo(struct sf_profile_mem *m)
{
    for (uint32_t i = 0; i < m->n_touched; i++) {
        uint32_t place = m->touched[i];
        sf_profile_set_undo(m->sets[place], m->marks[place]);
    }
    sf_profile_mem_keep(m);
}

void sf_profile_mem_keep(struct sf_profile_mem *m)
{
    size_t len = 0;
    for (uint32_t i = 0; i < m->n_touched; i++) {
        uint32_t place = m->touched[i];
        const struct sf_profile_set *s = m->sets[place];
        len += sf_profile_set_memory(s);
        len -= s->counted_len;
        m->sets[place]->counted_len = sf_profile_set_memory(s);
        m->is_touched[place] = false;
    }
    m->n_touched = 0;
    m->counted_len += len;
    sf_budget_add(m->budget, SF_LINE_PROFILES, len); /* sets never shrink */
}
