#include "exec/services.h"

#include <math.h>
#include <string.h>

static double bucket_end_ns(size_t i)
{
    return 1000 * exp2((double)i / 4);
}

uint64_t sf_services_sketch_quantile(const uint64_t buckets[SF_SKETCH_BUCKETS], double q)
{
    uint64_t total = 0, below = 0;
    for (size_t i = 0; i < SF_SKETCH_BUCKETS; i++)
        total += buckets[i];
    double want = q * (double)total;
    for (size_t i = 0; i < SF_SKETCH_BUCKETS; i++) {
        if (buckets[i] == 0 || (double)(below + buckets[i]) < want) {
            below += buckets[i];
            continue;
        }
        double end = bucket_end_ns(i), start = i ? bucket_end_ns(i - 1) : end / 2;
        double rank = fmax(1, ceil(want - 1e-9) - (double)below);
        return (uint64_t)(start * pow(end / start, (rank - 0.5) / (double)buckets[i]));
    }
    return 0;
}

struct sums {
    uint64_t n_spans, n_errors, sum_ns, buckets[SF_SKETCH_BUCKETS];
};

static void services_add_count(struct sums *s, const struct sf_call_count *c)
{
    s->n_spans += c->n_spans;
    s->n_errors += c->n_errors;
    s->sum_ns += c->sum_ns;
    for (size_t i = 0; i < SF_SKETCH_BUCKETS; i++)
        s->buckets[i] += c->buckets[i];
}

struct calls {
    struct sums all, entries;
};

static void services_add_row(struct calls *c, const struct sf_operation_row *row)
{
    services_add_count(&c->all, &row->all);
    services_add_count(&c->entries, &row->entries);
}

static struct sf_span_stats span_stats(const struct sums *s)
{
    return (struct sf_span_stats){.n = s->n_spans,
                                  .n_errors = s->n_errors,
                                  .mean_ns = s->n_spans ? s->sum_ns / s->n_spans : 0,
                                  .p50_ns = sf_services_sketch_quantile(s->buckets, 0.5),
                                  .p95_ns = sf_services_sketch_quantile(s->buckets, 0.95),
                                  .p99_ns = sf_services_sketch_quantile(s->buckets, 0.99)};
}

static struct sf_call_stats stats_of(const struct calls *c, sf_str name)
{
    return (struct sf_call_stats){
        .name = name, .spans = span_stats(&c->all), .requests = span_stats(&c->entries)};
}

enum sf_err sf_services_sum(const struct sf_operation_rows *rows, sf_str service,
                            struct sf_arena *req, struct sf_services *out, struct sf_why *why)
{
    struct sf_service_stats *list = sf_arena_new_n(req, rows->n + 1u, sizeof(*list));
    struct sf_call_stats *ops = sf_arena_new_n(req, rows->n + 1u, sizeof(*ops));
    uint32_t n = 0, n_ops = 0;
    if (!list || !ops)
        return sf_fail(why, SF_ERR_LIMIT, "services: %u operations do not fit a query's memory",
                       rows->n);
    for (uint32_t i = 0; i < rows->n;) {
        sf_str name = rows->rows[i].service;
        bool is_wanted = service.len == 0 || sf_str_eq(service, name);
        struct calls all = {0};
        struct sf_service_stats *s = &list[n];
        s->operations = &ops[n_ops];
        for (; i < rows->n && sf_str_eq(rows->rows[i].service, name); i++) {
            struct calls one = {0};
            if (!is_wanted)
                continue;
            services_add_row(&one, &rows->rows[i]);
            services_add_row(&all, &rows->rows[i]);
            ops[n_ops++] = stats_of(&one, rows->rows[i].name);
        }
        if (!is_wanted)
            continue;
        s->n_operations = (uint32_t)(&ops[n_ops] - s->operations);
        s->sum = stats_of(&all, name);
        n++;
    }
    out->list = list;
    out->n = n;
    return SF_OK;
}

enum sf_err sf_services_get(struct sf_store *store, int64_t from_ns, int64_t until_ns,
                            sf_str service, struct sf_query_ctx *q, struct sf_services *out,
                            struct sf_why *why)
{
    struct sf_operation_rows rows = {0};
    struct sf_services s = {.from_ns = from_ns, .until_ns = until_ns};
    enum sf_err err = store->ops->operations(store, from_ns, until_ns, q, &rows, why);
    if (!err)
        err = sf_services_sum(&rows, service, q->req, &s, why);
    if (err)
        return err;
    s.is_exact = q->is_exact;
    *out = s;
    return SF_OK;
}
