#include "decode/perf/perf_maps.h"

#include "base/key.h"

enum {
    MAX_FORKS = 16,       /* generations of parents that are searched */
    MAX_WORK = 1000000000 /* limit for all lookups of a file: maps times samples may be huge */
};

struct process_key {
    const struct sf_perf_maps *m;
    uint32_t pid;
};

static bool perf_maps_is_process(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct process_key *k = key;
    (void)b;
    return sf_perf_maps_at(k->m, place)->pid == k->pid;
}

uint32_t sf_perf_maps_process(struct sf_perf_maps *m, uint32_t pid)
{
    struct process_key key = {m, pid};
    struct sf_perf_process item = {.pid = pid, .parent = SF_NONE};
    struct sf_profile_spot spot;
    if (!sf_profile_table_is_new(m->b, &m->process_at, sf_key_u64(pid), perf_maps_is_process, &key,
                                 &spot))
        return spot.place;
    return sf_profile_table_keep(m->b, &spot, &m->processes, &item, sizeof(item));
}

void sf_perf_maps_add(struct sf_perf_maps *m, uint32_t pid, const struct sf_perf_map *map)
{
    uint32_t place = sf_perf_maps_process(m, pid);
    struct sf_profile_list *maps;
    struct sf_perf_map *to;
    if (place == SF_NONE)
        return;
    maps = &sf_perf_maps_at(m, place)->maps;
    to = sf_profile_list_more(m->b, maps, sizeof(*to));
    if (!to)
        return;
    *to = *map;
    maps->n++;
}

void sf_perf_maps_fork(struct sf_perf_maps *m, uint32_t pid, uint32_t parent)
{
    uint32_t child = sf_perf_maps_process(m, pid), from = sf_perf_maps_process(m, parent);
    struct sf_perf_process *p;
    if (child == SF_NONE || from == SF_NONE || child == from)
        return;
    p = sf_perf_maps_at(m, child);
    p->maps = (struct sf_profile_list){0}; /* a reused process id */
    p->parent = from;
    p->n_parent = sf_perf_maps_at(m, from)->maps.n;
    p->comm = sf_perf_maps_at(m, from)->comm;
}

void sf_perf_maps_exec(struct sf_perf_maps *m, uint32_t pid)
{
    uint32_t place = sf_perf_maps_process(m, pid);
    if (place == SF_NONE)
        return;
    sf_perf_maps_at(m, place)->maps = (struct sf_profile_list){0};
    sf_perf_maps_at(m, place)->parent = SF_NONE;
}

const struct sf_perf_map *sf_perf_maps_find(struct sf_perf_maps *m, uint32_t pid, uint64_t addr)
{
    uint32_t place = sf_perf_maps_process(m, pid), n;
    if (place == SF_NONE)
        return NULL;
    n = sf_perf_maps_at(m, place)->maps.n;
    for (unsigned level = 0; level < MAX_FORKS && place != SF_NONE; level++) {
        const struct sf_perf_process *p = sf_perf_maps_at(m, place);
        const struct sf_perf_map *maps = p->maps.items;
        if (n > p->maps.n)
            n = p->maps.n;
        for (uint32_t i = n; i-- > 0 && m->work < MAX_WORK; m->work++) {
            if (addr >= maps[i].start && addr < maps[i].limit)
                return &maps[i];
        }
        place = p->parent;
        n = p->n_parent;
    }
    return NULL;
}
