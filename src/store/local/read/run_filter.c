#include "store/local/read/run_filter.h"

#include "block/span/value_summary.h"

bool sf_run_filter_overlaps(const struct sf_run_filter *l, int64_t min_ns, int64_t max_ns)
{
    return (l->from_ns == 0 && l->to_ns == 0) || (min_ns <= l->to_ns && max_ns >= l->from_ns);
}

/* May the run have data of the query's tenants in its range? */
static bool filter_wants_run(const struct sf_run_filter *l, const struct sf_run *run)
{
    return sf_granules_query_has_tenant(l->q, run->row.tenant) &&
           sf_run_filter_overlaps(l, run->row.ts_min_ns, run->row.ts_max_ns);
}

enum sf_err sf_run_filter_may_match(const struct sf_run_filter *l,
                                    const struct sf_span_block_reader *reader, uint32_t granule,
                                    struct sf_match_memo *memo, struct sf_arena scratch, bool *out,
                                    struct sf_why *why)
{
    uint32_t tenant = sf_span_block_reader_granule(reader, granule)->tenant;
    enum sf_err err = SF_OK;
    if (l->is_all || l->n_conds == 0)
        return sf_granule_match_may_hold(reader, granule, tenant, l->conds, l->n_conds, memo,
                                         scratch, out, why);
    *out = false;
    for (size_t i = 0; !err && !*out && i < l->n_conds; i++)
        err = sf_granule_match_may_hold(reader, granule, tenant, &l->conds[i], 1, memo, scratch,
                                        out, why);
    return err;
}

static enum sf_err summary_may_match(const struct sf_run_filter *l,
                                     const struct sf_value_summary *summary,
                                     const struct sf_span_block_reader *reader, uint32_t tenant,
                                     struct sf_arena scratch, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (l->is_all)
        return sf_value_summary_may_hold(summary, reader, tenant, l->conds, l->n_conds, scratch,
                                         out, why);
    *out = false;
    for (size_t i = 0; !err && !*out && i < l->n_conds; i++)
        err = sf_value_summary_may_hold(summary, reader, tenant, &l->conds[i], 1, scratch, out,
                                        why);
    return err;
}

enum sf_err sf_run_filter_rules_out(const struct sf_run_filter *l, struct sf_run *run,
                                    const uint32_t *tenants, size_t n_tenants,
                                    struct sf_arena scratch, uint32_t *out_n, struct sf_why *why)
{
    const struct sf_value_summary *summary = l->n_conds ? sf_run_summary(run) : NULL;
    const struct sf_span_block_reader *reader;
    bool may = false;
    enum sf_err err;
    *out_n = 0;
    if (!summary)
        return SF_OK;
    err = sf_run_enter(run, SF_TABLES_NONE, &reader, why);
    if (err)
        return err;
    for (size_t i = 0; !err && !may && i < n_tenants; i++) {
        if (run->row.tenant == 0 || run->row.tenant == tenants[i])
            err = summary_may_match(l, summary, reader, tenants[i], scratch, &may, why);
    }
    sf_run_leave(run);
    *out_n = err || may ? 0 : sf_value_summary_granules(summary);
    return err;
}

static enum sf_err inspect_run(const struct sf_run_filter *l, struct sf_run *run, size_t place,
                               sf_run_filter_fn see, void *arg, bool *out_is_done,
                               struct sf_why *why)
{
    enum sf_err err = sf_granules_query_check(l->q, why);
    if (err)
        return err;
    if (atomic_load(&run->is_bad)) {
        sf_granules_query_misses(l->q, run);
        return SF_OK;
    }
    err = see(arg, place, out_is_done, why);
    return err && sf_granules_query_skips(l->q, run, err, why) ? SF_OK : err;
}

enum sf_err sf_run_filter_each(const struct sf_run_filter *l, const struct sf_snapshot *s,
                               bool is_newest_first, sf_run_filter_fn see, void *arg,
                               struct sf_why *why)
{
    struct sf_why own;
    bool is_done = false;
    enum sf_err err = SF_OK;
    why = why ? why : &own;
    for (size_t i = 0; !err && !is_done && i < s->n; i++) {
        size_t place = is_newest_first ? s->n - 1 - i : i;
        if (filter_wants_run(l, s->runs[place]))
            err = inspect_run(l, s->runs[place], place, see, arg, &is_done, why);
    }
    return err;
}
