#include "store/clickhouse/row_ids.h"

#include "base/heap.h"
#include "base/list.h"
#include "wire/row_binary.h"

static bool row_ids_add(struct sf_id_set *set, uint64_t id)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (set->n && set->list[set->n - 1] == id)
        return true;
    if (!sf_table_more(&set->at) || !sf_list_room(&set->list, set->n, &set->cap, 64))
        return false;
    lookup = sf_table_lookup(&set->at, sf_key_u64(id));
    while (sf_table_next(&lookup, &at)) {
        if (set->list[at] == id)
            return true;
    }
    set->list[set->n] = id;
    sf_table_keep(&set->at, &lookup, set->n++);
    return true;
}

/* One row, in the order of the columns in profile_answer.c. */
static bool row_ids_take(enum sf_row_ids_kind kind, struct sf_row_reader *r, struct sf_row_ids *out)
{
    uint64_t series = sf_row_binary_u64(r), process = sf_row_binary_u64(r), stack = 0;
    (void)sf_row_binary_u8(r);
    switch (kind) {
    case SF_ROWS_PROFILES: (void)sf_row_binary_fixed(r, 3 * 8 + 16 + 2 * 8 + 1); break;
    case SF_ROWS_STACKS:
        (void)sf_row_binary_u64(r);
        stack = sf_row_binary_u64(r);
        (void)sf_row_binary_fixed(r, 2 * 8);
        break;
    case SF_ROWS_DETAILS:
        (void)sf_row_binary_fixed(r, 8 + 8 + 1 + 8 + 16 + 8);
        stack = sf_row_binary_u64(r);
        (void)sf_row_binary_fixed(r, 8 + 4 + 1 + 8);
        (void)sf_row_binary_str(r);
        (void)sf_row_binary_fixed(r, 2);
        (void)sf_row_binary_str(r);
        (void)sf_row_binary_u8(r);
        break;
    }
    return r->fault ||
           (row_ids_add(&out->series, series) && row_ids_add(&out->processes, process) &&
            (kind == SF_ROWS_PROFILES || row_ids_add(&out->stacks, stack)));
}

enum sf_err sf_row_ids_read(enum sf_row_ids_kind kind, sf_bytes in, struct sf_row_ids *out)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    while (sf_row_more(&r)) {
        if (!row_ids_take(kind, &r, out))
            return SF_ERR_NOMEM;
    }
    return sf_row_binary_check(&r, NULL);
}

static void row_ids_free(struct sf_id_set *set)
{
    sf_heap_free(set->list);
    sf_table_done(&set->at);
}

void sf_row_ids_done(struct sf_row_ids *ids)
{
    row_ids_free(&ids->series);
    row_ids_free(&ids->processes);
    row_ids_free(&ids->stacks);
    *ids = (struct sf_row_ids){0};
}
