/* Profiles, samples and dictionaries as a shard answers them: all places are in their lists. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "store/clickhouse/profile_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sf_profile_answer *a)
{
    struct sf_profile_batch b = sf_profile_answer_batch(a);
    for (uint32_t i = 0; i < b.n_samples; i++)
        SF_ASSERT(b.samples[i].series < b.n_series && b.samples[i].stack < b.n_stacks &&
                  b.samples[i].state < SF_STATES);
    for (uint32_t i = 0; i < b.n_series; i++)
        SF_ASSERT(b.series[i].process == SF_NONE || b.series[i].process < b.n_processes);
    for (uint32_t i = 0; i < b.n_stacks; i++)
        for (uint32_t k = 0; k < b.stacks[i].n; k++)
            SF_ASSERT(b.stacks[i].locations[k] < b.n_locations);
    for (uint32_t i = 0; i < b.n_locations; i++) {
        const struct sf_location *l = &b.locations[i];
        SF_ASSERT((l->mapping == SF_NONE || l->mapping < b.n_mappings) &&
                  l->kind < SF_FRAME_KINDS_SENT);
        for (uint32_t k = 0; k < l->n_lines; k++)
            SF_ASSERT(l->lines[k].function < b.n_functions);
    }
}

/* The first byte says of what sort the rows are, two more how many bytes of entries come before
 * them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_arena req;
    size_t left = size > 3 ? size - 3 : 0, most = left ? data[1] | (size_t)data[2] << 8 : 0,
           n_entries = most < left ? most : left, n_rows = left - n_entries;
    uint8_t *entries = malloc(n_entries + 1), *rows = malloc(n_rows + 1);
    if (!rows || !entries || !sf_arena_init(&req, 4 << 20))
        abort();
    struct sf_profile_answer a = {.req = &req};
    if (n_entries)
        memcpy(entries, data + 3, n_entries);
    if (n_rows)
        memcpy(rows, data + 3 + n_entries, n_rows);
    entries = realloc(entries, n_entries ? n_entries : 1);
    rows = realloc(rows, n_rows ? n_rows : 1);
    (void)sf_profile_answer_add_entries(&a, (sf_bytes){entries, n_entries}, NULL);
    check(&a);
    switch (left ? data[0] & 3 : 0) {
    case 0: (void)sf_profile_answer_add_details(&a, (sf_bytes){rows, n_rows}, NULL); break;
    case 1: (void)sf_profile_answer_add_stacks(&a, (sf_bytes){rows, n_rows}, NULL); break;
    default:
        (void)sf_profile_answer_add_profiles(&a, (sf_bytes){rows, n_rows}, (data[0] & 1) != 0,
                                             NULL);
    }
    check(&a);
    sf_profile_answer_done(&a);
    sf_arena_done(&req);
    free(rows);
    free(entries);
    return 0;
}
