/* profile_rows.c - profiles as rows: one row of `profiles` for each profile, one of `aggregates`
 * for each of its stacks, one of `details` for each sample that carries an id or a time of its own.
 * Series, frames and stacks are in dictionaries; their ids are hashes of their content, so that all
 * nodes use the same id for the same entry. */
#include "base/hash.h"
#include "base/heap.h"
#include "base/num.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "model/process.h"
#include "store/clickhouse/remote_outbox.h"
#include "store/local/history.h"
#include "wire/row_binary.h"

struct sum { /* of one stack in a profile */
    uint32_t series, stack;
    int64_t value;
    uint64_t n;
};

struct total {                /* of a profile */
    uint64_t series, process; /* ids */
    int64_t value;
    uint64_t n;
    uint16_t day;
};

struct adding {
    struct sf_remote_outbox *o;
    sf_str tenant;
    int64_t recv_ns;
    const struct sf_profile_batch *b;
    uint64_t *frames, *stacks; /* ids by place; 0: not computed yet */
    struct total *totals;
    struct sum *sums;
    uint32_t n_sums;
    struct sf_table at;
    struct sf_buf scratch;
};

/* ---- ids ---- */

static uint64_t profile_rows_id_of(struct sf_buf *b)
{
    uint64_t id = sf_hash(b->p, b->len);
    return id ? id : 1;
}

static void put_type(struct sf_buf *out, const struct sf_profile_type *t)
{
    const sf_str parts[] = {t->name, t->sample_type, t->sample_unit, t->period_type,
                            t->period_unit};
    size_t len = 4;
    for (size_t i = 0; i < 5; i++)
        len += parts[i].len;
    sf_buf_add_varint(out, len);
    for (size_t i = 0; i < 5; i++) {
        if (i)
            sf_buf_add_u8(out, ':');
        sf_buf_add_str(out, parts[i]);
    }
}

static uint64_t series_id(struct adding *a, const struct sf_series *s)
{
    sf_buf_reset(&a->scratch);
    sf_row_add_str(&a->scratch, s->service);
    put_type(&a->scratch, &s->type);
    for (uint32_t i = 0; i < s->n_labels; i++) {
        sf_row_add_str(&a->scratch, s->labels[i].key);
        sf_row_add_str(&a->scratch, s->labels[i].val);
    }
    return profile_rows_id_of(&a->scratch);
}

static void profile_rows_put_frame(const struct sf_profile_batch *b, const struct sf_location *l,
                                   struct sf_buf *out)
{
    const struct sf_mapping none = {0},
                            *m = l->mapping == SF_NONE ? &none : &b->mappings[l->mapping];
    sf_buf_add_varint(out, l->n_lines);
    for (uint32_t i = 0; i < l->n_lines; i++)
        sf_row_add_str(out, b->functions[l->lines[i].function].name);
    sf_buf_add_varint(out, l->n_lines);
    for (uint32_t i = 0; i < l->n_lines; i++)
        sf_row_add_str(out, b->functions[l->lines[i].function].system_name);
    sf_buf_add_varint(out, l->n_lines);
    for (uint32_t i = 0; i < l->n_lines; i++)
        sf_row_add_str(out, b->functions[l->lines[i].function].file);
    sf_buf_add_varint(out, l->n_lines);
    for (uint32_t i = 0; i < l->n_lines; i++)
        sf_buf_add_u32le(out, l->lines[i].line);
    sf_buf_add_varint(out, l->n_lines);
    for (uint32_t i = 0; i < l->n_lines; i++)
        sf_buf_add_u32le(out, b->functions[l->lines[i].function].start_line);
    sf_row_add_str(out, m->file);
    sf_row_add_str(out, m->build_id);
    sf_buf_add_u64le(out, l->addr);
    sf_buf_add_u8(out, l->kind);
}

static uint64_t frame_id(struct adding *a, uint32_t place)
{
    if (!a->frames[place]) {
        sf_buf_reset(&a->scratch);
        profile_rows_put_frame(a->b, &a->b->locations[place], &a->scratch);
        a->frames[place] = profile_rows_id_of(&a->scratch);
    }
    return a->frames[place];
}

static uint64_t stack_id(struct adding *a, uint32_t place)
{
    const struct sf_stack *s = &a->b->stacks[place];
    uint64_t id = s->n;
    if (a->stacks[place])
        return a->stacks[place];
    for (uint32_t i = 0; i < s->n; i++)
        id = sf_hash_mix(id, frame_id(a, s->locations[i]));
    a->stacks[place] = id ? id : 1;
    return a->stacks[place];
}

/* ---- dictionaries ---- */

static void profile_rows_add_tenant_day(struct sf_buf *row, sf_str tenant, uint16_t day)
{
    sf_row_add_str(row, tenant);
    sf_buf_add_u16le(row, day);
}

static void add_stack(struct adding *a, uint32_t shard, uint16_t day, uint32_t place)
{
    const struct sf_stack *s = &a->b->stacks[place];
    uint64_t id = stack_id(a, place);
    struct sf_buf *row = sf_remote_outbox_entry(a->o, shard, SF_SHIP_STACKS, a->tenant, day, id);
    if (!row)
        return;
    profile_rows_add_tenant_day(row, a->tenant, day);
    sf_buf_add_u64le(row, id);
    sf_buf_add_varint(row, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        sf_buf_add_u64le(row, a->frames[s->locations[i]]);
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t frame = a->frames[s->locations[i]];
        row = sf_remote_outbox_entry(a->o, shard, SF_SHIP_FRAMES, a->tenant, day, frame);
        if (!row)
            continue;
        profile_rows_add_tenant_day(row, a->tenant, day);
        sf_buf_add_u64le(row, frame);
        profile_rows_put_frame(a->b, &a->b->locations[s->locations[i]], row);
    }
}

static void profile_rows_add_series(struct adding *a, uint32_t shard, uint16_t day, uint32_t place)
{
    const struct sf_series *s = &a->b->series[place];
    struct sf_buf *row = sf_remote_outbox_entry(a->o, shard, SF_SHIP_SERIES, a->tenant, day,
                                                a->totals[place].series);
    if (!row)
        return;
    profile_rows_add_tenant_day(row, a->tenant, day);
    sf_row_add_str(row, s->service);
    put_type(row, &s->type);
    sf_buf_add_u64le(row, a->totals[place].series);
    sf_buf_add_varint(row, s->n_labels);
    for (uint32_t i = 0; i < s->n_labels; i++)
        sf_row_add_str(row, s->labels[i].key);
    sf_buf_add_varint(row, s->n_labels);
    for (uint32_t i = 0; i < s->n_labels; i++)
        sf_row_add_str(row, s->labels[i].val);
}

/* ---- rows ---- */

static uint32_t shard_of_service(const struct adding *a, sf_str service)
{
    return sf_outbox_shard(a->o, sf_hash_str(service));
}

static void add_sum(struct adding *a, const struct sf_sample *p)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    lookup = sf_table_lookup(&a->at, sf_key_mix(sf_key_u64(p->series), p->stack));
    while (sf_table_next(&lookup, &at)) {
        struct sum *s = &a->sums[at];
        if (s->series == p->series && s->stack == p->stack) {
            s->value = sf_add_sat_i64(s->value, p->value);
            s->n += p->count;
            return;
        }
    }
    sf_table_keep(&a->at, &lookup, a->n_sums);
    a->sums[a->n_sums++] = (struct sum){p->series, p->stack, p->value, p->count};
}

static bool profile_rows_is_erased(const struct adding *a, const struct sf_series *s,
                                   sf_trace_id trace, int64_t start_ns)
{
    return sf_outbox_is_erased(a->o, trace, s->service, (uint64_t)start_ns);
}

/* The sample began at `start_ns`. */
static void add_detail(struct adding *a, const struct sf_sample *p, int64_t start_ns,
                       int64_t length_ns)
{
    const struct sf_series *s = &a->b->series[p->series];
    const struct total *t = &a->totals[p->series];
    const struct sf_process none = {0},
                            *process = s->process == SF_NONE ? &none : &a->b->processes[s->process];
    int64_t at_ns = sf_remote_outbox_time((uint64_t)start_ns, a->recv_ns);
    uint16_t day = sf_remote_outbox_day(at_ns);
    bool has_trace = !sf_trace_id_is_zero(p->trace_id);
    uint64_t place = has_trace    ? sf_trace_id_hash(p->trace_id, 0)
                     : t->process ? t->process
                                  : sf_hash_str(s->service);
    uint32_t shard = sf_outbox_shard(a->o, place);
    struct sf_buf *row;
    if (profile_rows_is_erased(a, s, p->trace_id, start_ns))
        return;
    add_stack(a, shard, day, p->stack);
    profile_rows_add_series(a, shard, day, p->series);
    row = sf_remote_outbox_row(a->o, shard, SF_SHIP_DETAILS, day);
    profile_rows_add_tenant_day(row, a->tenant, day);
    sf_buf_add_u32le(row, (uint32_t)(at_ns / (300 * SF_NS_PER_S) * 300));
    sf_buf_add_u64le(row, p->span_id);
    sf_buf_add_u64le(row, t->process);
    sf_buf_add_u64le(row, p->thread);
    sf_buf_add_u64le(row, (uint64_t)start_ns);
    sf_buf_add_u64le(row, (uint64_t)length_ns);
    sf_row_add_str(row, s->service);
    put_type(row, &s->type);
    sf_buf_add_u64le(row, t->series);
    sf_buf_add(row, p->trace_id.b, sizeof(p->trace_id.b));
    sf_buf_add_u64le(row, stack_id(a, p->stack));
    sf_buf_add_u64le(row, (uint64_t)p->value);
    sf_buf_add_u32le(row, p->count);
    sf_buf_add_u8(row, p->state);
    sf_buf_add_u64le(row, p->runtime_thread);
    sf_row_add_str(row, p->thread_name);
    sf_buf_add_u8(row, p->has_time);
    sf_buf_add_u8(row, p->is_lent);
    sf_buf_add_u8(row, p->is_kernel_thread);
    sf_row_add_str(row, process->key);
    sf_buf_add_u8(row, process->is_guess);
    sf_buf_add_u8(row, s->is_request);
    sf_buf_add_u64le(row, a->o->batch);
}

static void profile_rows_add_sample(struct adding *a, const struct sf_sample *p)
{
    const struct sf_series *s = &a->b->series[p->series];
    struct total *t = &a->totals[p->series];
    t->value = sf_add_sat_i64(t->value, p->value);
    t->n += p->count;
    add_sum(a, p);
    if (p->span_id || p->has_time || !sf_trace_id_is_zero(p->trace_id))
        add_detail(a, p, p->has_time ? p->start_ns : s->time_ns,
                   p->has_time ? p->length_ns : s->duration_ns);
}

static void profile_rows_add_profile(struct adding *a, uint32_t place)
{
    const struct sf_series *s = &a->b->series[place];
    const struct sf_process none = {0},
                            *p = s->process == SF_NONE ? &none : &a->b->processes[s->process];
    const struct total *t = &a->totals[place];
    uint32_t shard = shard_of_service(a, s->service);
    struct sf_buf *row;
    if (profile_rows_is_erased(a, s, (sf_trace_id){0}, s->time_ns))
        return;
    profile_rows_add_series(a, shard, t->day, place);
    row = sf_remote_outbox_row(a->o, shard, SF_SHIP_PROFILES, t->day);
    profile_rows_add_tenant_day(row, a->tenant, t->day);
    sf_row_add_str(row, s->service);
    put_type(row, &s->type);
    sf_buf_add_u64le(row, t->series);
    sf_buf_add_u64le(row, t->process);
    sf_row_add_str(row, p->key);
    sf_buf_add_u64le(row, (uint64_t)s->time_ns);
    sf_buf_add_u64le(row, (uint64_t)s->duration_ns);
    sf_buf_add_u64le(row, (uint64_t)s->period);
    sf_buf_add(row, s->id.b, sizeof(s->id.b));
    sf_buf_add_u64le(row, (uint64_t)t->value);
    sf_buf_add_u64le(row, t->n);
    sf_buf_add_u8(row, p->is_guess);
    sf_buf_add_u8(row, s->is_request);
    sf_buf_add_u8(row, s->is_diff);
    sf_buf_add_u64le(row, a->o->batch);
}

static void add_aggregate(struct adding *a, const struct sum *x)
{
    const struct sf_series *s = &a->b->series[x->series];
    const struct total *t = &a->totals[x->series];
    uint32_t shard = shard_of_service(a, s->service);
    struct sf_buf *row;
    if (profile_rows_is_erased(a, s, (sf_trace_id){0}, s->time_ns))
        return;
    add_stack(a, shard, t->day, x->stack);
    row = sf_remote_outbox_row(a->o, shard, SF_SHIP_AGGREGATES, t->day);
    profile_rows_add_tenant_day(row, a->tenant, t->day);
    sf_row_add_str(row, s->service);
    put_type(row, &s->type);
    sf_buf_add_u64le(row, (uint64_t)s->time_ns);
    sf_buf_add_u64le(row, t->series);
    sf_buf_add_u64le(row, t->process);
    sf_buf_add_u64le(row, stack_id(a, x->stack));
    sf_buf_add_u64le(row, (uint64_t)x->value);
    sf_buf_add_u64le(row, x->n);
    sf_buf_add_u8(row, s->is_request);
    sf_buf_add_u64le(row, a->o->batch);
}

/* ---- all ---- */

static bool profile_rows_prepare(struct adding *a)
{
    const struct sf_profile_batch *b = a->b;
    a->frames = sf_heap_new_n((size_t)b->n_locations + 1, sizeof(*a->frames));
    a->stacks = sf_heap_new_n((size_t)b->n_stacks + 1, sizeof(*a->stacks));
    a->totals = sf_heap_new_n((size_t)b->n_series + 1, sizeof(*a->totals));
    a->sums = sf_heap_new_n((size_t)b->n_samples + 1, sizeof(*a->sums));
    if (!a->frames || !a->stacks || !a->totals || !a->sums ||
        !sf_table_reserve(&a->at, b->n_samples + 1))
        return false;
    for (uint32_t i = 0; i < b->n_series; i++) {
        const struct sf_series *s = &b->series[i];
        struct total *t = &a->totals[i];
        t->series = series_id(a, s);
        t->day = sf_remote_outbox_day(sf_remote_outbox_time((uint64_t)s->time_ns, a->recv_ns));
        if (s->process != SF_NONE)
            t->process = sf_process_hash(s->service, b->processes[s->process].key);
    }
    return sf_buf_ok(&a->scratch);
}

static void profile_rows_done(struct adding *a, bool is_ready)
{
    if (!is_ready || a->scratch.err)
        a->o->is_short = true;
    sf_buf_done(&a->scratch);
    sf_table_done(&a->at);
    sf_heap_free(a->sums);
    sf_heap_free(a->totals);
    sf_heap_free(a->stacks);
    sf_heap_free(a->frames);
}

void sf_profile_rows_add(struct sf_remote_outbox *o, sf_str tenant, int64_t recv_ns,
                         const struct sf_profile_batch *b)
{
    struct adding a = {.o = o, .tenant = tenant, .recv_ns = recv_ns, .b = b};
    bool is_ready = profile_rows_prepare(&a);
    for (uint32_t i = 0; is_ready && i < b->n_samples; i++)
        profile_rows_add_sample(&a, &b->samples[i]);
    for (uint32_t i = 0; is_ready && i < b->n_series; i++)
        profile_rows_add_profile(&a, i);
    for (uint32_t i = 0; is_ready && i < a.n_sums; i++)
        add_aggregate(&a, &a.sums[i]);
    profile_rows_done(&a, is_ready);
}

void sf_profile_rows_add_history(struct sf_remote_outbox *o, sf_str tenant, int64_t at_ns,
                                 const struct sf_history_profiles *h)
{
    const struct sf_profile_batch *b = &h->batch;
    struct adding a = {.o = o, .tenant = tenant, .recv_ns = at_ns, .b = b};
    bool is_ready = profile_rows_prepare(&a);
    for (uint32_t i = 0; is_ready && i < h->n_profiles; i++) {
        a.totals[i].value = h->totals[i].value;
        a.totals[i].n = h->totals[i].n_samples;
        a.totals[i].day = sf_remote_outbox_day(h->totals[i].index_ns);
        profile_rows_add_profile(&a, i);
    }
    for (uint32_t i = 0; is_ready && i < b->n_samples; i++) {
        const struct sf_sample *p = &b->samples[i];
        add_aggregate(&a, &(struct sum){p->series, p->stack, p->value, p->count});
    }
    for (uint32_t i = 0; is_ready && i < h->n_details; i++)
        add_detail(&a, &h->details[i], h->details[i].start_ns, h->details[i].length_ns);
    profile_rows_done(&a, is_ready);
}
