#include "store/local/write/batch_rows.h"

#include "base/heap.h"
#include "base/invariant.h"
#include "base/num.h"
#include "base/time_unit.h"

int64_t sf_batch_rows_index(uint64_t start_ns, int64_t recv_ns, int64_t retention_ns)
{
    int64_t earliest = retention_ns > 0 && retention_ns < recv_ns ? recv_ns - retention_ns : 0;
    int64_t latest = sf_add_sat_i64(recv_ns, SF_NS_PER_HOUR);
    if (start_ns > (uint64_t)INT64_MAX || (int64_t)start_ns < earliest ||
        (int64_t)start_ns > latest || start_ns == 0)
        return recv_ns;
    return (int64_t)start_ns;
}

int64_t sf_batch_rows_end(uint64_t end_ns, int64_t index_ns, int64_t recv_ns)
{
    int64_t latest = sf_add_sat_i64(recv_ns, SF_NS_PER_HOUR);
    int64_t end = end_ns > (uint64_t)latest ? latest : (int64_t)end_ns;
    return end > index_ns ? end : index_ns;
}

enum sf_err sf_batch_rows_add(struct sf_rowset *r, uint32_t tenant, int64_t recv_ns,
                              int64_t retention_ns, const struct sf_span_batch *batch,
                              struct sf_why *why)
{
    struct sf_rowset_mark before = sf_rowset_mark(r);
    enum sf_err err = SF_OK;
    uint32_t n_places = batch->n_resources + batch->n_scopes;
    uint32_t *places = sf_heap_new_n(n_places ? n_places : 1, sizeof(*places));

    if (!places)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a batch's tables");
    for (uint32_t i = 0; !err && i < batch->n_resources; i++)
        err = sf_rowset_resource(r, tenant, &batch->resources[i], &places[i], why);
    for (uint32_t i = 0; !err && i < batch->n_scopes; i++)
        err = sf_rowset_scope(r, tenant, &batch->scopes[i], &places[batch->n_resources + i], why);
    for (uint32_t i = 0; !err && i < batch->n_spans; i++) {
        struct sf_span s = batch->spans[i];
        int64_t index_ns = sf_batch_rows_index(s.start_ns, recv_ns, retention_ns);
        SF_ASSERT(s.resource < batch->n_resources && s.scope < batch->n_scopes);
        s.resource = places[s.resource];
        s.scope = places[batch->n_resources + s.scope];
        err = sf_rowset_add(r, tenant, &s, index_ns, sf_batch_rows_end(s.end_ns, index_ns, recv_ns),
                            why);
    }
    if (err)
        sf_rowset_undo(r, before);
    sf_heap_free(places);
    return err;
}
