/* Spans and dictionaries as a shard answers them: what is read is whole, its places are in their
 * lists, and lists inside values are well-formed. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "model/value_list.h"
#include "store/clickhouse/span_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sf_span_answer *a)
{
    for (uint32_t i = 0; i < a->n_rows; i++) {
        const struct sf_span *s = &a->rows[i].span;
        SF_ASSERT(s->resource < a->n_resources && s->scope < a->n_scopes);
        SF_ASSERT(s->kind < SF_KINDS && s->status < SF_STATUSES && s->span_id);
        for (uint32_t k = 0; k < s->attrs.n; k++) {
            struct sf_value_list list = sf_value_list_init(s->attrs.list[k].val);
            struct sf_attr item;
            SF_ASSERT(s->attrs.list[k].val.type > SF_VALUE_NONE);
            while (sf_value_list_next(&list, &item))
                SF_ASSERT(item.val.type < SF_VALUE_TYPES);
        }
        for (uint32_t k = 0; k < s->n_events; k++)
            SF_ASSERT(s->events[k].name.len <= a->req->cap);
    }
}

/* The first byte says how much of the rest are rows; what follows are entries. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_arena req;
    size_t n_rows = size ? (size - 1) * data[0] / 255 : 0, n_entries = size ? size - 1 - n_rows : 0;
    uint8_t *rows = malloc(n_rows + 1), *entries = malloc(n_entries + 1);
    if (!rows || !entries || !sf_arena_init(&req, 4 << 20))
        abort();
    struct sf_span_answer a = {.req = &req};
    if (n_rows)
        memcpy(rows, data + 1, n_rows);
    if (n_entries)
        memcpy(entries, data + 1 + n_rows, n_entries);
    rows = realloc(rows, n_rows ? n_rows : 1);
    entries = realloc(entries, n_entries ? n_entries : 1);
    (void)sf_span_answer_add(&a, (sf_bytes){rows, n_rows}, NULL);
    check(&a);
    (void)sf_span_answer_add_entries(&a, (sf_bytes){entries, n_entries}, NULL);
    check(&a);
    sf_span_answer_done(&a);
    sf_arena_done(&req);
    free(rows);
    free(entries);
    return 0;
}
