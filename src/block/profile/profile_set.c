/* profile_set.c - the profiles of one service in memory.
 *
 * Adding a batch first maps the batch's symbols that samples of this service refer to
 * (functions, mappings, locations, stacks) to numbers in the set, interning new ones, then
 * appends the profiles and samples with these numbers. Maps are kept for the whole batch
 * (sf_profile_map), so that each symbol is looked up once per service. */
#include "block/profile/profile_set.h"

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "block/profile/profile_intern.h"

static const int64_t AHEAD_NS = SF_NS_PER_HOUR;

struct sf_profile_set *sf_profile_set_new(uint32_t tenant, sf_str service)
{
    struct sf_profile_set *s = sf_heap_new(sizeof(*s) + service.len + 1);
    if (!s)
        return NULL;
    s->tenant = tenant;
    if (service.len)
        memcpy(s + 1, service.p, service.len);
    s->service = (sf_str){(const char *)(s + 1), service.len};
    s->ts_min_ns = INT64_MAX;
    s->ts_max_ns = INT64_MIN;
    if (!sf_stack_tree_init(&s->tree) || !sf_dict_add(&s->strings, SF_STR_NONE, &(uint32_t){0})) {
        sf_profile_set_free(s);
        return NULL;
    }
    return s;
}

void sf_profile_set_free(struct sf_profile_set *s)
{
    if (!s)
        return;
    sf_dict_done(&s->strings);
    sf_dict_done(&s->modules);
    sf_table_done(&s->function_at);
    sf_table_done(&s->location_at);
    sf_table_done(&s->thread_at);
    sf_stack_tree_done(&s->tree);
    sf_dict_done(&s->series);
    sf_dict_done(&s->processes);
    sf_heap_free(s->functions);
    sf_heap_free(s->threads);
    sf_heap_free(s->locations);
    sf_heap_free(s->lines);
    sf_heap_free(s->rows);
    sf_heap_free(s->entries);
    sf_heap_free(s->details);
    sf_heap_free(s->times);
    sf_heap_free(s->ids);
    sf_heap_free(s);
}

struct sf_profile_set_sizes sf_profile_set_sizes(const struct sf_profile_set *s)
{
    return (struct sf_profile_set_sizes){s->tree.paths.n, s->strings.n, s->n_functions,
                                         s->n_locations};
}

/* Without memory for it, it grows later. */
void sf_profile_set_reserve(struct sf_profile_set *s, struct sf_profile_set_sizes sizes)
{
    (void)(sf_table_reserve(&s->tree.paths, sizes.n_nodes) &&
           sf_table_reserve(&s->strings.at, sizes.n_strings) &&
           sf_table_reserve(&s->function_at, sizes.n_functions) &&
           sf_table_reserve(&s->location_at, sizes.n_locations));
}

size_t sf_profile_set_memory(const struct sf_profile_set *s)
{
    return sizeof(*s) + sf_dict_memory(&s->strings) + sf_dict_memory(&s->modules) +
           sf_table_memory(&s->function_at) + sf_table_memory(&s->location_at) +
           sf_stack_tree_memory(&s->tree) + sf_dict_memory(&s->series) +
           sf_dict_memory(&s->processes) + s->cap_functions * sizeof(*s->functions) +
           s->cap_locations * sizeof(*s->locations) + s->cap_lines * sizeof(*s->lines) +
           sf_table_memory(&s->thread_at) + s->cap_threads * sizeof(*s->threads) +
           s->cap_rows * sizeof(*s->rows) + s->cap_entries * sizeof(*s->entries) +
           s->cap_details * sizeof(*s->details) + s->cap_ids * sizeof(*s->ids) +
           s->cap_times * sizeof(*s->times);
}

enum { FUNCTIONS, MAPPINGS, LOCATIONS, STACKS };

bool sf_profile_set_map_init(struct sf_profile_map *m, const struct sf_profile_batch *b,
                             struct sf_arena *scratch)
{
    const uint32_t n[4] = {b->n_functions, b->n_mappings, b->n_locations, b->n_stacks};
    *m = (struct sf_profile_map){0};
    for (int i = 0; i < 4; i++) {
        m->places[i] = sf_arena_new_n(scratch, (size_t)n[i] + 1, sizeof(**m->places));
        if (!m->places[i])
            return false;
    }
    return true;
}

/* The tables of a service are not in a near cache when its next profile arrives. Lookups are done
 * STEP at a time: first all are hashed and their slots prefetched, then the records, then they are
 * looked up. */
enum { STEP = 16 };

struct adding {
    struct sf_profile_set *s;
    struct sf_profile_map *m;
    const struct sf_profile_batch *b;
    struct sf_buf key;
    uint32_t *rows;      /* of each series, or SF_NONE */
    uint32_t *stacks;    /* of the batch, in the order of first use by samples */
    uint32_t *locations; /* those that are new in some stacks */
    uint32_t n_stacks, n_locations;
    uint32_t *frames[STEP];
    struct sf_stack_path *paths; /* an array of STEP */
};

static bool is_mapped(struct sf_profile_map *m, int which, uint32_t i, uint32_t *out)
{
    *out = m->places[which][i].place;
    return m->places[which][i].stamp == m->stamp;
}

static void profile_set_map(struct sf_profile_map *m, int which, uint32_t i, uint32_t place)
{
    m->places[which][i] = (struct sf_profile_map_place){m->stamp, place};
}

/* True when it is used for the first time; it is mapped later. */
static bool is_first(struct sf_profile_map *m, int which, uint32_t i)
{
    if (m->places[which][i].stamp == m->stamp)
        return false;
    m->places[which][i].stamp = m->stamp;
    return true;
}

static bool map_functions(struct adding *a, const uint32_t *functions, uint32_t n)
{
    struct sf_dict *strings = &a->s->strings;
    uint64_t hashes[STEP];
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = sf_key_str(a->b->functions[functions[i]].name);
        sf_dict_prefetch(strings, hashes[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        sf_dict_prefetch_entry(strings, hashes[i]);
    for (uint32_t i = 0; i < n; i++)
        sf_dict_prefetch_bytes(strings, hashes[i]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place;
        if (!sf_profile_intern_function(a->s, a->m, &a->b->functions[functions[i]], hashes[i],
                                        &place))
            return false;
        profile_set_map(a->m, FUNCTIONS, functions[i], place);
    }
    return true;
}

/* Maps the functions of the collected locations. */
static bool map_all_functions(struct adding *a)
{
    uint32_t functions[STEP], n = 0;
    for (uint32_t i = 0; i < a->n_locations; i++) {
        const struct sf_location *from = &a->b->locations[a->locations[i]];
        for (uint32_t k = 0; k < from->n_lines; k++) {
            if (!is_first(a->m, FUNCTIONS, from->lines[k].function))
                continue;
            functions[n++] = from->lines[k].function;
            if (n < STEP)
                continue;
            if (!map_functions(a, functions, n))
                return false;
            n = 0;
        }
    }
    return map_functions(a, functions, n);
}

static bool map_mapping(struct adding *a, uint32_t i, uint32_t *out)
{
    struct sf_profile_module key;
    if (i == SF_NONE) {
        *out = SF_NONE;
        return true;
    }
    if (is_mapped(a->m, MAPPINGS, i, out))
        return true;
    if (!sf_dict_add(&a->s->strings, a->b->mappings[i].file, &key.file) ||
        !sf_dict_add(&a->s->strings, a->b->mappings[i].build_id, &key.build_id) ||
        !sf_dict_add(&a->s->modules, sf_profile_key(&key, sizeof(key)), out))
        return false;
    profile_set_map(a->m, MAPPINGS, i, *out);
    return true;
}

/* Maps up to STEP locations; their lines are in `scratch` meanwhile. */
static bool map_locations(struct adding *a, const uint32_t *locations, uint32_t n,
                          struct sf_arena scratch)
{
    struct sf_profile_location to[STEP];
    struct sf_line *lines[STEP];
    uint64_t hashes[STEP];
    uint32_t place;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_location *from = &a->b->locations[locations[i]];
        to[i] = (struct sf_profile_location){
            .addr = from->addr, .n_lines = from->n_lines, .kind = from->kind};
        lines[i] = sf_arena_raw(&scratch, ((size_t)from->n_lines + 1) * sizeof(**lines), 8);
        if (!lines[i] || !map_mapping(a, from->mapping, &to[i].module))
            return false;
        for (uint32_t k = 0; k < from->n_lines; k++)
            lines[i][k] = (struct sf_line){a->m->places[FUNCTIONS][from->lines[k].function].place,
                                           from->lines[k].line};
        hashes[i] = sf_profile_intern_hash(&to[i], lines[i]);
        sf_table_prefetch(&a->s->location_at, hashes[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (sf_table_peek(&a->s->location_at, hashes[i], &place))
            __builtin_prefetch(&a->s->locations[place]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (sf_table_peek(&a->s->location_at, hashes[i], &place))
            __builtin_prefetch(&a->s->lines[a->s->locations[place].first_line]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!sf_profile_intern_location(a->s, &to[i], lines[i], hashes[i], &place))
            return false;
        profile_set_map(a->m, LOCATIONS, locations[i], place);
    }
    return true;
}

static uint32_t profile_set_step_of(uint32_t left)
{
    return left < STEP ? left : STEP;
}

/* Maps the frames of stacks. False: some are not mapped yet. */
static bool map_frames(const struct adding *a, const uint32_t *stacks, uint32_t n)
{
    const struct sf_profile_map_place *places = a->m->places[LOCATIONS];
    uint32_t others = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_stack *from = &a->b->stacks[stacks[i]];
        for (uint32_t k = 0; k < from->n; k++) {
            struct sf_profile_map_place at = places[from->locations[k]];
            others |= at.stamp ^ a->m->stamp;
            a->frames[i][k] = at.place;
        }
    }
    return others == 0;
}

/* Maps the locations of stacks that are not mapped yet, and their functions. */
static bool map_new_locations(struct adding *a, const uint32_t *stacks, uint32_t n,
                              struct sf_arena scratch)
{
    a->n_locations = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_stack *from = &a->b->stacks[stacks[i]];
        for (uint32_t k = 0; k < from->n; k++) {
            if (is_first(a->m, LOCATIONS, from->locations[k]))
                a->locations[a->n_locations++] = from->locations[k];
        }
    }
    if (!map_all_functions(a))
        return false;
    for (uint32_t i = 0; i < a->n_locations; i += STEP) {
        if (!map_locations(a, a->locations + i, profile_set_step_of(a->n_locations - i), scratch))
            return false;
    }
    return true;
}

/* Maps up to STEP stacks. */
static bool map_stacks(struct adding *a, const uint32_t *stacks, uint32_t n,
                       struct sf_arena scratch)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_frames = a->b->stacks[stacks[i]].n;
        a->frames[i] = sf_arena_raw(&scratch, ((size_t)n_frames + 1) * sizeof(uint32_t), 8);
        if (!a->frames[i])
            return false;
    }
    if (!map_frames(a, stacks, n) &&
        (!map_new_locations(a, stacks, n, scratch) || !map_frames(a, stacks, n)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!sf_stack_tree_path(&a->s->tree, a->frames[i], a->b->stacks[stacks[i]].n, &a->paths[i]))
            return false;
    }
    for (uint32_t i = 0; i < n; i++)
        sf_stack_tree_fetch(&a->s->tree, &a->paths[i]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node;
        if (!sf_stack_tree_add_path(&a->s->tree, &a->paths[i], &node))
            return false;
        profile_set_map(a->m, STACKS, stacks[i], node);
    }
    return true;
}

/* Maps all symbols that samples of this service refer to. */
static bool map_symbols(struct adding *a, struct sf_arena scratch)
{
    for (uint32_t i = 0; i < a->b->n_samples; i++) {
        const struct sf_sample *p = &a->b->samples[i];
        if (a->rows[p->series] != SF_NONE && is_first(a->m, STACKS, p->stack))
            a->stacks[a->n_stacks++] = p->stack;
    }
    for (uint32_t i = 0; i < a->n_stacks; i += STEP) {
        if (!map_stacks(a, a->stacks + i, profile_set_step_of(a->n_stacks - i), scratch))
            return false;
    }
    return true;
}

static int64_t profile_index_ns(const struct sf_profile_index *x, int64_t time_ns)
{
    bool is_ahead = time_ns > sf_add_sat_i64(x->recv_ns, AHEAD_NS);
    bool is_old = x->retention_ns > 0 && time_ns < sf_sub_sat_i64(x->recv_ns, x->retention_ns);
    return is_ahead || is_old ? x->recv_ns : time_ns;
}

/* Space for one more row at the end; NULL: no memory. */
static struct sf_profile_row *profile_set_more_rows(struct sf_profile_set *s)
{
    if (!sf_profile_intern_room((void **)&s->rows, s->n_rows, &s->cap_rows, sizeof(*s->rows)))
        return NULL;
    return &s->rows[s->n_rows++];
}

static bool profile_set_add_row(struct adding *a, const struct sf_series *from,
                                const struct sf_profile_index *index, uint32_t *out)
{
    struct sf_profile_set *s = a->s;
    struct sf_profile_series series = {
        .type = from->type,
        .labels = from->labels,
        .n_labels = from->n_labels,
        .flags = (uint8_t)((from->is_request ? SF_PROFILE_REQUEST : 0) |
                           (from->is_diff ? SF_PROFILE_DIFF : 0))};
    struct sf_profile_row row = {.process = SF_NONE,
                                 .time_ns = from->time_ns,
                                 .duration_ns = from->duration_ns < 0 ? 0 : from->duration_ns,
                                 .index_ns = profile_index_ns(index, from->time_ns),
                                 .period = from->period,
                                 .id = from->id};
    struct sf_profile_row *to;
    int64_t end_ns = sf_add_sat_i64(row.index_ns, row.duration_ns),
            latest_ns = sf_add_sat_i64(index->recv_ns, AHEAD_NS);
    if (!sf_profile_intern_series(s, &series, &a->key, &row.series))
        return false;
    if (from->process != SF_NONE &&
        !sf_profile_intern_process(s, &a->b->processes[from->process], &row.process))
        return false;
    to = profile_set_more_rows(s);
    if (!to)
        return false;
    *to = row;
    *out = s->n_rows - 1;
    if (row.index_ns < s->ts_min_ns)
        s->ts_min_ns = row.index_ns;
    if (end_ns > latest_ns)
        end_ns = latest_ns;
    if (end_ns > s->ts_max_ns)
        s->ts_max_ns = end_ns;
    return true;
}

/* The precision with which a block stores a detail row's time, so that answers are the same before
 * and after a flush. */
static int64_t profile_set_us(int64_t ns)
{
    return ns < 0 ? 0 : ns / 1000;
}

static const uint64_t LENGTH_MASK = (UINT64_C(1) << 54) - 1; /* 2^63 ns are less */

/* Finds ids that an earlier sample of the batch had, or adds them. */
static bool profile_set_map_ids(struct adding *a, const struct sf_sample *p, uint32_t *out)
{
    struct sf_profile_set *s = a->s;
    uint64_t hash = sf_key_mix(sf_key_u64(p->span_id ^ p->thread << 32 ^ p->thread >> 32),
                               sf_trace_id_key(p->trace_id, 0));
    size_t at = (hash >> 32) % SF_PROFILE_MAP_IDS;
    if (a->m->ids[at].stamp == a->m->stamp) {
        const struct sf_profile_set_ids *have = &s->ids[a->m->ids[at].place];
        *out = a->m->ids[at].place;
        if (have->span_id == p->span_id && have->thread == p->thread &&
            sf_trace_id_eq(have->trace_id, p->trace_id))
            return true;
    }
    if (!sf_profile_intern_room((void **)&s->ids, s->n_ids, &s->cap_ids, sizeof(*s->ids)))
        return false;
    *out = s->n_ids;
    s->ids[s->n_ids++] = (struct sf_profile_set_ids){p->trace_id, p->span_id, p->thread};
    a->m->ids[at] = (struct sf_profile_map_place){a->m->stamp, *out};
    return true;
}

/* Samples without a time, a state and lent ids have none here. */
static bool profile_set_add_time(struct sf_profile_set *s, const struct sf_sample *p,
                                 const struct sf_profile_row *r, uint32_t *out)
{
    *out = SF_NONE;
    if (!p->has_time && !p->state && !p->is_lent)
        return true;
    if (!sf_profile_intern_room((void **)&s->times, s->n_times, &s->cap_times, sizeof(*s->times)))
        return false;
    *out = s->n_times;
    s->times[s->n_times++] = (struct sf_profile_set_time){
        .start_us = profile_set_us(p->has_time ? p->start_ns : r->time_ns),
        .length_us = (uint64_t)profile_set_us(p->has_time ? p->length_ns : r->duration_ns) &
                     LENGTH_MASK,
        .state = p->state,
        .has_time = p->has_time,
        .is_lent = p->is_lent,
    };
    return true;
}

static bool profile_set_add_sample(struct adding *a, const struct sf_sample *p, uint32_t row)
{
    struct sf_profile_set *s = a->s;
    struct sf_profile_row *r = &s->rows[row];
    bool is_detail = p->span_id || p->has_time || !sf_trace_id_is_zero(p->trace_id);
    uint32_t node = a->m->places[STACKS][p->stack].place, ids, time;
    if (!sf_profile_intern_room((void **)&s->entries, s->n_entries, &s->cap_entries,
                                sizeof(*s->entries)))
        return false;
    s->entries[s->n_entries++] = (struct sf_profile_entry){node, row, p->value};
    r->total = sf_add_sat_i64(r->total, p->value);
    r->n_samples += p->count;
    if (!is_detail)
        return true;
    if (!sf_profile_intern_room((void **)&s->details, s->n_details, &s->cap_details,
                                sizeof(*s->details)) ||
        !profile_set_map_ids(a, p, &ids) || !profile_set_add_time(s, p, r, &time) ||
        !sf_profile_threads_add(s, r->process, p))
        return false;
    s->details[s->n_details++] = (struct sf_profile_set_detail){
        .entry = s->n_entries - 1, .ids = ids, .time = time};
    return true;
}

enum sf_err sf_profile_set_add(struct sf_profile_set *s, struct sf_profile_map *m,
                               const struct sf_profile_batch *b,
                               const struct sf_profile_index *index, struct sf_arena scratch,
                               struct sf_why *why)
{
    struct adding a = {
        .s = s,
        .m = m,
        .b = b,
        .rows = sf_arena_raw(&scratch, ((size_t)b->n_series + 1) * sizeof(uint32_t), 16),
        .stacks = sf_arena_raw(&scratch, ((size_t)b->n_stacks + 1) * sizeof(uint32_t), 16),
        .locations = sf_arena_raw(&scratch, ((size_t)b->n_locations + 1) * sizeof(uint32_t), 16),
        .paths = sf_arena_raw(&scratch, STEP * sizeof(struct sf_stack_path), 16)};
    bool is_ok = true;
    if (!a.rows || !a.stacks || !a.locations || !a.paths)
        return sf_fail(why, SF_ERR_LIMIT, "store: a profile with too many series");
    m->stamp++;
    for (uint32_t i = 0; is_ok && i < b->n_series; i++) {
        a.rows[i] = SF_NONE;
        if (sf_str_eq(b->series[i].service, s->service))
            is_ok = profile_set_add_row(&a, &b->series[i], index, &a.rows[i]);
    }
    is_ok = is_ok && map_symbols(&a, scratch);
    for (uint32_t i = 0; is_ok && i < b->n_samples; i++) {
        if (a.rows[b->samples[i].series] != SF_NONE)
            is_ok = profile_set_add_sample(&a, &b->samples[i], a.rows[b->samples[i].series]);
    }
    sf_buf_done(&a.key);
    return is_ok ? SF_OK : sf_profile_intern_no_memory(why);
}

struct sf_profile_mark sf_profile_set_mark(const struct sf_profile_set *s)
{
    return (struct sf_profile_mark){s->n_rows, s->n_entries, s->n_details, s->n_ids, s->n_times};
}

void sf_profile_set_undo(struct sf_profile_set *s, struct sf_profile_mark mark)
{
    s->n_rows = mark.n_rows;
    s->n_entries = mark.n_entries;
    s->n_details = mark.n_details;
    s->n_ids = mark.n_ids;
    s->n_times = mark.n_times;
}

struct sf_profile_set_time sf_profile_set_time(const struct sf_profile_set *s, uint32_t detail)
{
    const struct sf_profile_set_detail *d = &s->details[detail];
    const struct sf_profile_row *row = &s->rows[s->entries[d->entry].row];
    if (d->time != SF_NONE)
        return s->times[d->time];
    return (struct sf_profile_set_time){.start_us = profile_set_us(row->time_ns),
                                        .length_us = (uint64_t)profile_set_us(row->duration_ns) &
                                                     LENGTH_MASK};
}

struct sf_profile_detail sf_profile_set_detail(const struct sf_profile_set *s, uint32_t i)
{
    const struct sf_profile_set_detail *d = &s->details[i];
    const struct sf_profile_entry *e = &s->entries[d->entry];
    const struct sf_profile_set_ids *ids = &s->ids[d->ids];
    const struct sf_profile_row *row = &s->rows[e->row];
    struct sf_profile_set_time t = sf_profile_set_time(s, i);
    return (struct sf_profile_detail){
        .trace_id = ids->trace_id,
        .span_id = ids->span_id,
        .thread = ids->thread,
        .start_ns = t.start_us * 1000,
        .length_ns = (int64_t)t.length_us * 1000,
        .value = e->value,
        .process = row->process,
        .series = row->series,
        .node = e->node,
        .state = t.state,
        .has_time = t.has_time,
        .is_lent = t.is_lent,
    };
}
