#include "store/local/read/ruled_out.h"

#include "base/num.h"

enum {
    WHOLE_BLOCK = UINT32_MAX, /* granule number in the key of a bitmap of all granules */
    HEAD_LEN = 4
};

bool sf_ruled_out_init(struct sf_ruled_out *r, struct sf_partials *partials,
                       const struct sf_snapshot *snapshot, uint32_t tenant, sf_bytes question,
                       struct sf_arena *memory)
{
    *r = (struct sf_ruled_out){.partials = partials,
                               .snapshot = snapshot,
                               .tenant = tenant,
                               .question = question,
                               .memory = memory,
                               .runs = sf_arena_new_n(memory, snapshot->n + 1, sizeof(*r->runs))};
    return r->runs != NULL;
}

static bool is_remembered(const struct sf_ruled_out *r, const struct sf_run *run)
{
    return !sf_run_is_part(run) &&
           !sf_tombstones_touch(r->snapshot->tombstones, run->row.id, run->row.tenant,
                                run->row.ts_min_ns, run->row.ts_max_ns);
}

static struct sf_partial_key ruled_out_key(const struct sf_ruled_out *r, size_t place)
{
    return (struct sf_partial_key){.tenant = r->tenant,
                                   .block = r->snapshot->runs[place]->row.id,
                                   .granule = (uint32_t)WHOLE_BLOCK,
                                   .question = r->question};
}

static uint32_t count_bits(const uint8_t *bits, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < (n + 7) / 8; i++)
        sum += (uint32_t)__builtin_popcount(bits[i]);
    return sum;
}

/* The stored bytes are the number of granules, then a bit for each. NULL: results of this run are
 * not cached. */
static struct sf_ruled_run *ruled_out_run(struct sf_ruled_out *r, size_t place)
{
    struct sf_ruled_run *run;
    struct sf_partial_key key;
    sf_bytes kept;
    if (!r->partials)
        return NULL;
    run = &r->runs[place];
    if (run->is_read)
        return run->is_remembered ? run : NULL;
    run->is_read = true;
    run->is_remembered = is_remembered(r, r->snapshot->runs[place]);
    if (!run->is_remembered)
        return NULL;
    key = ruled_out_key(r, place);
    if (sf_partials_get(r->partials, &key, r->memory, &kept)) {
        run->n = sf_load_u32le(kept.p);
        run->bits = (uint8_t *)kept.p + HEAD_LEN;
        run->n_out = count_bits(run->bits, run->n);
    }
    return run;
}

uint32_t sf_ruled_out_all(struct sf_ruled_out *r, size_t place)
{
    const struct sf_ruled_run *run = ruled_out_run(r, place);
    return run && run->n_out == run->n ? run->n : 0;
}

bool sf_ruled_out_has(struct sf_ruled_out *r, size_t place, uint32_t granule)
{
    const struct sf_ruled_run *run = ruled_out_run(r, place);
    return run && granule < run->n && run->bits[granule / 8] >> granule % 8 & 1;
}

void sf_ruled_out_add(struct sf_ruled_out *r, size_t place, uint32_t granule, uint32_t n)
{
    struct sf_ruled_run *run = ruled_out_run(r, place);
    if (!run || granule >= n)
        return;
    if (!run->n) {
        run->bits = sf_arena_new(r->memory, (n + 7) / 8);
        run->n = run->bits ? n : 0;
    }
    if (run->n != n || run->bits[granule / 8] >> granule % 8 & 1)
        return;
    run->bits[granule / 8] |= (uint8_t)(1u << granule % 8);
    run->n_out++;
    run->is_changed = true;
}

void sf_ruled_out_keep(struct sf_ruled_out *r)
{
    for (size_t i = 0; r->partials && i < r->snapshot->n; i++) {
        const struct sf_ruled_run *run = &r->runs[i];
        struct sf_buf bytes = {0};
        struct sf_partial_key key;
        if (!run->is_changed)
            continue;
        key = ruled_out_key(r, i);
        sf_buf_add_u32le(&bytes, run->n);
        sf_buf_add(&bytes, run->bits, (run->n + 7) / 8);
        if (sf_buf_ok(&bytes))
            sf_partials_put(r->partials, &key, sf_buf_bytes(&bytes));
        sf_buf_done(&bytes);
    }
}
