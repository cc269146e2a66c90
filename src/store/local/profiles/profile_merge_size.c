/* profile_merge_size.c - estimates the memory of a merge of profiles from the headers of its
 * inputs: a merge that does not fit its share of the budget must not begin. The largest service of
 * each input counts: no service needs more than these together. */
#include "block/profile/profile_block_reader.h"
#include "store/local/engine.h"
#include "store/local/profiles/profile_merge.h"

#define ARENA_CAP ((size_t)1 << 30) /* reserved; only used pages count */

/* Bytes in memory, measured on services whose stacks never repeat: a node and its number in the
 * joined tables; the factor from the stored size of symbols; a profile with its chunks; an id; and
 * a sample, each with the copy made by sorting. */
enum { NODE_LEN = 32, SYMBOL_TIMES = 4, ROW_LEN = 320, ID_LEN = 40, ENTRY_LEN = 32 };

struct held {
    uint64_t tables; /* summed over the inputs */
    uint64_t slot;   /* samples of ten minutes: summed over inputs of the same time */
};

static uint64_t profile_merge_size_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t slots_of(const struct sf_profile_service *me)
{
    uint64_t ns = me->ts_max_ns > me->ts_min_ns ? (uint64_t)me->ts_max_ns - (uint64_t)me->ts_min_ns
                                                : 0;
    return ns / (uint64_t)SF_PROFILE_SLOT_NS + 1;
}

static enum sf_err measure_service(const struct sf_profile_block_reader *r, uint32_t service,
                                   struct sf_arena scratch, struct held *out, struct sf_why *why)
{
    uint32_t n_services;
    const struct sf_profile_service *me = &sf_profile_block_reader_services(r,
                                                                            &n_services)[service];
    uint64_t n_ids = 0, n_rows = profile_merge_size_least(me->n_details, SF_PROFILE_GRANULE_ROWS);
    struct sf_profile_places places;
    enum sf_err err = sf_profile_tables_decode_places(r, service, &scratch, &places, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < places.n_spans; i++)
        n_ids += places.spans[i].n;
    for (uint32_t i = 0; i < places.n_traces; i++)
        n_ids += places.traces[i].n;
    out->tables = (uint64_t)me->n_nodes * NODE_LEN +
                  sf_profile_block_reader_symbols_len(r, service) * SYMBOL_TIMES +
                  (uint64_t)me->n_rows * ROW_LEN + n_ids * ID_LEN +
                  n_rows * sizeof(struct sf_profile_detail);
    out->slot = profile_merge_size_least(me->n_entries, UINT32_MAX) / slots_of(me) * ENTRY_LEN;
    return SF_OK;
}

/* Measures the largest service of a run, once: blocks never change. */
static enum sf_err profile_merge_size_measure(struct sf_run *run, struct sf_arena scratch,
                                              struct held *out)
{
    const struct sf_profile_block_reader *r;
    struct held most = {0};
    uint32_t n_services;
    enum sf_err err;
    out->tables = atomic_load(&run->merge_len);
    out->slot = atomic_load(&run->merge_slot_len);
    if (out->tables)
        return SF_OK;
    err = sf_run_enter_profiles(run, &r, NULL);
    if (err)
        return err;
    (void)sf_profile_block_reader_services(r, &n_services);
    for (uint32_t i = 0; !err && i < n_services; i++) {
        struct held one = {0};
        err = measure_service(r, i, scratch, &one, NULL);
        if (one.tables + one.slot > most.tables + most.slot)
            most = one;
    }
    sf_run_leave(run);
    if (!err) {
        most.tables += !most.tables;
        atomic_store(&run->merge_slot_len, most.slot);
        atomic_store(&run->merge_len, most.tables);
        *out = most;
    }
    return err;
}

size_t sf_profile_merge_size_take(struct sf_local *l, struct sf_run *const *inputs, size_t n,
                                  enum sf_merge_split split)
{
    uint64_t tables = 0, slot = 0, max = l->budget.cap[SF_LINE_MERGE];
    struct sf_arena scratch;
    size_t taken = 0;
    if (!sf_arena_init(&scratch, ARENA_CAP))
        return 1;
    while (taken < n) {
        struct held one;
        if (profile_merge_size_measure(inputs[taken], scratch, &one))
            break; /* the merge will report the error */
        tables += one.tables;
        slot = split == SF_SPLIT_HOUR ? slot + one.slot : one.slot > slot ? one.slot : slot;
        if (taken && tables + slot > max)
            break;
        taken++;
    }
    sf_arena_done(&scratch);
    return taken ? taken : 1;
}
