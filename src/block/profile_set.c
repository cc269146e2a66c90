#include "block/profile_set.h"

#include "base/heap.h"
#include "base/num.h"
#include "block/cursor.h"

/* Keys of the dictionaries are the records themselves; functions and modules are read back from
 * there as lists. */
_Static_assert(sizeof(struct sf_profile_function) == 16, "no padding in a key");
_Static_assert(sizeof(struct sf_profile_module) == 8, "no padding in a key");

static const int64_t AHEAD_NS = INT64_C(3600) * 1000000000;

static enum sf_err no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory for profiles");
}

static sf_str key_of(const void *record, size_t len)
{
    return (sf_str){record, len};
}

static bool more(void **list, uint32_t n, uint32_t *cap, size_t size)
{
    void *grown;
    uint32_t want = *cap ? *cap * 2 : 64;
    if (n < *cap)
        return true;
    if (*cap > UINT32_MAX / 2)
        return false;
    grown = sf_heap_grow(*list, want, size);
    if (!grown)
        return false;
    *list = grown;
    *cap = want;
    return true;
}

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
    if (!sf_stack_tree_init(&s->tree)) {
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
    sf_dict_done(&s->functions);
    sf_dict_done(&s->modules);
    sf_dict_done(&s->location_keys);
    sf_stack_tree_done(&s->tree);
    sf_dict_done(&s->series);
    sf_dict_done(&s->processes);
    sf_heap_free(s->locations);
    sf_heap_free(s->lines);
    sf_heap_free(s->rows);
    sf_heap_free(s->entries);
    sf_heap_free(s->details);
    sf_heap_free(s);
}

size_t sf_profile_set_memory(const struct sf_profile_set *s)
{
    return sizeof(*s) + sf_dict_memory(&s->strings) + sf_dict_memory(&s->functions) +
           sf_dict_memory(&s->modules) + sf_dict_memory(&s->location_keys) +
           sf_stack_tree_memory(&s->tree) + sf_dict_memory(&s->series) +
           sf_dict_memory(&s->processes) + s->cap_locations * sizeof(*s->locations) +
           s->cap_lines * sizeof(*s->lines) + s->cap_rows * sizeof(*s->rows) +
           s->cap_entries * sizeof(*s->entries) + s->cap_details * sizeof(*s->details);
}

/* ---- interning ---- */

enum { FEW_LINES = 2, LOCATION_KEY_LEN = 16 };

struct location_key { /* of one without many inlined calls, which is nearly every one */
    uint64_t addr;
    uint32_t module, kind;
    struct sf_line lines[FEW_LINES];
};
_Static_assert(sizeof(struct location_key) == LOCATION_KEY_LEN + FEW_LINES * 8, "no padding");

/* Room comes first, so that no key is ever without its location. */
static bool add_location(struct sf_profile_set *s, const struct sf_profile_location *l,
                         const struct sf_line *lines, struct sf_buf *key, uint32_t *out)
{
    struct location_key few = {l->addr, l->module, l->kind, {{0, 0}}};
    size_t lines_len = l->n_lines * sizeof(*lines);
    sf_str text = key_of(&few, LOCATION_KEY_LEN + lines_len);
    if (l->n_lines > FEW_LINES) {
        sf_buf_reset(key);
        sf_buf_add(key, &few, LOCATION_KEY_LEN);
        sf_buf_add(key, lines, lines_len);
        if (!sf_buf_ok(key))
            return false;
        text = sf_buf_str(key);
    } else if (l->n_lines) {
        memcpy(few.lines, lines, lines_len);
    }
    for (uint32_t i = 0; i < l->n_lines; i++) {
        if (!more((void **)&s->lines, s->n_lines + i, &s->cap_lines, sizeof(*s->lines)))
            return false;
        s->lines[s->n_lines + i] = lines[i];
    }
    if (!more((void **)&s->locations, s->n_locations, &s->cap_locations, sizeof(*s->locations)) ||
        !sf_dict_add(&s->location_keys, text, out))
        return false;
    if (*out == s->n_locations) {
        s->locations[*out] = *l;
        s->locations[*out].first_line = s->n_lines;
        s->n_lines += l->n_lines;
        s->n_locations++;
    }
    return true;
}

static bool add_text(struct sf_profile_set *s, struct sf_buf *key, sf_str text)
{
    uint32_t place;
    if (!sf_dict_add(&s->strings, text, &place))
        return false;
    sf_buf_add_u32le(key, place);
    return true;
}

static bool add_series(struct sf_profile_set *s, const struct sf_profile_series *from,
                       struct sf_buf *key, uint32_t *out)
{
    const sf_str parts[] = {from->type.name, from->type.sample_type, from->type.sample_unit,
                            from->type.period_type, from->type.period_unit};
    sf_buf_reset(key);
    sf_buf_add_u32le(key, from->flags);
    for (size_t i = 0; i < 5; i++) {
        if (!add_text(s, key, parts[i]))
            return false;
    }
    for (uint32_t i = 0; i < from->n_labels; i++) {
        if (!add_text(s, key, from->labels[i].key) || !add_text(s, key, from->labels[i].val))
            return false;
    }
    return sf_buf_ok(key) && sf_dict_add(&s->series, sf_buf_str(key), out);
}

static bool add_process(struct sf_profile_set *s, const struct sf_process *p, uint32_t *out)
{
    uint32_t key[2] = {0, p->is_guess};
    return sf_dict_add(&s->strings, p->key, &key[0]) &&
           sf_dict_add(&s->processes, key_of(key, sizeof(key)), out);
}

/* ---- adding a batch ---- */

enum { FUNCTIONS, MAPPINGS, LOCATIONS, STACKS };

bool sf_profile_map_init(struct sf_profile_map *m, const struct sf_profile_batch *b,
                         struct sf_arena *scratch)
{
    const uint32_t n[4] = {b->n_functions, b->n_mappings, b->n_locations, b->n_stacks};
    *m = (struct sf_profile_map){0};
    for (int i = 0; i < 4; i++) {
        m->stamps[i] = sf_arena_new_n(scratch, (size_t)n[i] + 1, sizeof(uint32_t));
        m->places[i] = sf_arena_new_n(scratch, (size_t)n[i] + 1, sizeof(uint32_t));
        if (!m->stamps[i] || !m->places[i])
            return false;
    }
    return true;
}

struct adding {
    struct sf_profile_set *s;
    struct sf_profile_map *m;
    const struct sf_profile_batch *b;
    struct sf_buf key;
    struct sf_line *lines; /* of one location; grows */
    uint32_t cap_lines;
    uint32_t *stack; /* of one sample; grows */
    uint32_t cap_stack;
};

static bool is_mapped(struct sf_profile_map *m, int which, uint32_t i, uint32_t *out)
{
    *out = m->places[which][i];
    return m->stamps[which][i] == m->stamp;
}

static void map(struct sf_profile_map *m, int which, uint32_t i, uint32_t place)
{
    m->stamps[which][i] = m->stamp;
    m->places[which][i] = place;
}

static bool map_function(struct adding *a, uint32_t i, uint32_t *out)
{
    const struct sf_function *f = &a->b->functions[i];
    struct sf_profile_function key = {.start_line = f->start_line};
    if (is_mapped(a->m, FUNCTIONS, i, out))
        return true;
    if (!sf_dict_add(&a->s->strings, f->name, &key.name) ||
        !sf_dict_add(&a->s->strings, f->system_name, &key.system_name) ||
        !sf_dict_add(&a->s->strings, f->file, &key.file) ||
        !sf_dict_add(&a->s->functions, key_of(&key, sizeof(key)), out))
        return false;
    map(a->m, FUNCTIONS, i, *out);
    return true;
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
        !sf_dict_add(&a->s->modules, key_of(&key, sizeof(key)), out))
        return false;
    map(a->m, MAPPINGS, i, *out);
    return true;
}

static bool map_location(struct adding *a, uint32_t i, uint32_t *out)
{
    const struct sf_location *from = &a->b->locations[i];
    struct sf_profile_location l = {
        .addr = from->addr, .n_lines = from->n_lines, .kind = from->kind};
    if (is_mapped(a->m, LOCATIONS, i, out))
        return true;
    if (!map_mapping(a, from->mapping, &l.module))
        return false;
    for (uint32_t k = 0; k < from->n_lines; k++) {
        if (!more((void **)&a->lines, k, &a->cap_lines, sizeof(*a->lines)) ||
            !map_function(a, from->lines[k].function, &a->lines[k].function))
            return false;
        a->lines[k].line = from->lines[k].line;
    }
    if (!add_location(a->s, &l, a->lines, &a->key, out))
        return false;
    map(a->m, LOCATIONS, i, *out);
    return true;
}

static bool map_stack(struct adding *a, uint32_t i, uint32_t *out)
{
    const struct sf_stack *from = &a->b->stacks[i];
    if (is_mapped(a->m, STACKS, i, out))
        return true;
    while (a->cap_stack < from->n) {
        if (!more((void **)&a->stack, a->cap_stack, &a->cap_stack, sizeof(*a->stack)))
            return false;
    }
    for (uint32_t k = 0; k < from->n; k++) {
        if (!is_mapped(a->m, LOCATIONS, from->locations[k], &a->stack[k]) &&
            !map_location(a, from->locations[k], &a->stack[k]))
            return false;
    }
    if (!sf_stack_tree_add_stack(&a->s->tree, a->stack, from->n, out))
        return false;
    map(a->m, STACKS, i, *out);
    return true;
}

int64_t sf_profile_index_ns(const struct sf_profile_index *x, int64_t time_ns)
{
    bool is_ahead = time_ns > sf_add_sat_i64(x->recv_ns, AHEAD_NS);
    bool is_old = x->retention_ns > 0 && time_ns < sf_sub_sat_i64(x->recv_ns, x->retention_ns);
    return is_ahead || is_old ? x->recv_ns : time_ns;
}

struct sf_profile_row *sf_profile_set_more_rows(struct sf_profile_set *s)
{
    if (!more((void **)&s->rows, s->n_rows, &s->cap_rows, sizeof(*s->rows)))
        return NULL;
    return &s->rows[s->n_rows++];
}

static bool add_row(struct adding *a, const struct sf_series *from,
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
                                 .index_ns = sf_profile_index_ns(index, from->time_ns),
                                 .period = from->period,
                                 .id = from->id};
    struct sf_profile_row *to;
    int64_t end_ns = sf_add_sat_i64(row.index_ns, row.duration_ns),
            latest_ns = sf_add_sat_i64(index->recv_ns, AHEAD_NS);
    if (!add_series(s, &series, &a->key, &row.series))
        return false;
    if (from->process != SF_NONE && !add_process(s, &a->b->processes[from->process], &row.process))
        return false;
    to = sf_profile_set_more_rows(s);
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

/* What a block keeps of a detail row's time; so answers are the same before and after a flush. */
static int64_t whole_ms(int64_t ns)
{
    return ns < 0 ? 0 : ns - ns % 1000000;
}

static bool add_sample(struct adding *a, const struct sf_sample *p, uint32_t row)
{
    struct sf_profile_set *s = a->s;
    struct sf_profile_row *r = &s->rows[row];
    bool is_detail = p->span_id || p->has_time || !sf_trace_id_is_zero(p->trace_id);
    uint32_t node;
    if (!map_stack(a, p->stack, &node) ||
        !more((void **)&s->entries, s->n_entries, &s->cap_entries, sizeof(*s->entries)))
        return false;
    s->entries[s->n_entries++] = (struct sf_profile_entry){node, row, p->value};
    r->total = sf_add_sat_i64(r->total, p->value);
    r->n_samples += p->count;
    if (!is_detail)
        return true;
    if (!more((void **)&s->details, s->n_details, &s->cap_details, sizeof(*s->details)))
        return false;
    s->details[s->n_details++] = (struct sf_profile_detail){
        .trace_id = p->trace_id,
        .span_id = p->span_id,
        .thread = p->thread,
        .start_ns = whole_ms(p->has_time ? p->start_ns : r->time_ns),
        .length_ns = whole_ms(p->has_time ? p->length_ns : r->duration_ns),
        .value = p->value,
        .process = r->process,
        .series = row,
        .node = node,
        .state = p->state,
        .has_time = p->has_time,
    };
    return true;
}

enum sf_err sf_profile_set_add(struct sf_profile_set *s, struct sf_profile_map *m,
                               const struct sf_profile_batch *b,
                               const struct sf_profile_index *index, struct sf_arena scratch,
                               struct sf_why *why)
{
    struct adding a = {.s = s, .m = m, .b = b};
    uint32_t *rows = sf_arena_raw(&scratch, ((size_t)b->n_series + 1) * sizeof(*rows), 16);
    bool is_ok = rows != NULL;
    if (!rows)
        return sf_fail(why, SF_ERR_LIMIT, "store: a profile with too many series");
    m->stamp++;
    for (uint32_t i = 0; is_ok && i < b->n_series; i++) {
        rows[i] = SF_NONE;
        if (sf_str_eq(b->series[i].service, s->service))
            is_ok = add_row(&a, &b->series[i], index, &rows[i]);
    }
    for (uint32_t i = 0; is_ok && i < b->n_samples; i++) {
        if (rows[b->samples[i].series] != SF_NONE)
            is_ok = add_sample(&a, &b->samples[i], rows[b->samples[i].series]);
    }
    sf_buf_done(&a.key);
    sf_heap_free(a.lines);
    sf_heap_free(a.stack);
    return is_ok ? SF_OK : no_memory(why);
}

struct sf_profile_mark sf_profile_set_mark(const struct sf_profile_set *s)
{
    return (struct sf_profile_mark){s->n_rows, s->n_entries, s->n_details};
}

void sf_profile_set_undo(struct sf_profile_set *s, struct sf_profile_mark mark)
{
    s->n_rows = mark.n_rows;
    s->n_entries = mark.n_entries;
    s->n_details = mark.n_details;
}

/* ---- views ---- */

bool sf_profile_set_symbols(const struct sf_profile_set *s, struct sf_arena *req,
                            struct sf_profile_symbols *out)
{
    sf_str *strings = sf_arena_new_n(req, (size_t)s->strings.n + 1, sizeof(*strings));
    if (!strings)
        return false;
    for (uint32_t i = 0; i < s->strings.n; i++)
        strings[i] = sf_dict_get(&s->strings, i);
    *out = (struct sf_profile_symbols){
        .strings = strings,
        .functions = (const struct sf_profile_function *)(const void *)s->functions.bytes.p,
        .modules = (const struct sf_profile_module *)(const void *)s->modules.bytes.p,
        .locations = s->locations,
        .lines = s->lines,
        .nodes = s->tree.nodes,
        .n_strings = s->strings.n,
        .n_functions = s->functions.n,
        .n_modules = s->modules.n,
        .n_locations = s->n_locations,
        .n_lines = s->n_lines,
        .n_nodes = s->tree.n,
    };
    return true;
}

static sf_str next_text(const struct sf_profile_set *s, struct sf_cursor *c)
{
    return sf_dict_get(&s->strings, sf_cursor_u32(c));
}

bool sf_profile_set_series(const struct sf_profile_set *s, struct sf_arena *req,
                           const struct sf_profile_series **out, uint32_t *out_n)
{
    struct sf_profile_series *list = sf_arena_new_n(req, (size_t)s->series.n + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s->series.n; i++) {
        struct sf_cursor c = sf_cursor_of(sf_str_bytes(sf_dict_get(&s->series, i)));
        struct sf_label *labels;
        list[i].flags = (uint8_t)sf_cursor_u32(&c);
        list[i].type.name = next_text(s, &c);
        list[i].type.sample_type = next_text(s, &c);
        list[i].type.sample_unit = next_text(s, &c);
        list[i].type.period_type = next_text(s, &c);
        list[i].type.period_unit = next_text(s, &c);
        list[i].n_labels = (uint32_t)(sf_cursor_left(&c) / 8);
        labels = sf_arena_new_n(req, (size_t)list[i].n_labels + 1, sizeof(*labels));
        if (!labels)
            return false;
        for (uint32_t k = 0; k < list[i].n_labels; k++) {
            labels[k].key = next_text(s, &c);
            labels[k].val = next_text(s, &c);
        }
        list[i].labels = labels;
    }
    *out = list;
    *out_n = s->series.n;
    return true;
}

bool sf_profile_set_processes(const struct sf_profile_set *s, struct sf_arena *req,
                              const struct sf_process **out, uint32_t *out_n)
{
    struct sf_process *list = sf_arena_new_n(req, (size_t)s->processes.n + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s->processes.n; i++) {
        struct sf_cursor c = sf_cursor_of(sf_str_bytes(sf_dict_get(&s->processes, i)));
        list[i] = (struct sf_process){.service = s->service, .key = next_text(s, &c)};
        list[i].is_guess = sf_cursor_u32(&c) != 0;
    }
    *out = list;
    *out_n = s->processes.n;
    return true;
}

/* ---- joining ---- */

static bool join_function(struct sf_profile_set *s, const struct sf_profile_symbols *from,
                          uint32_t i, uint32_t *out)
{
    const struct sf_profile_function *f = &from->functions[i];
    struct sf_profile_function key = {.start_line = f->start_line};
    return sf_dict_add(&s->strings, from->strings[f->name], &key.name) &&
           sf_dict_add(&s->strings, from->strings[f->system_name], &key.system_name) &&
           sf_dict_add(&s->strings, from->strings[f->file], &key.file) &&
           sf_dict_add(&s->functions, key_of(&key, sizeof(key)), out);
}

static bool join_locations(struct sf_profile_set *s, const struct sf_profile_symbols *from,
                           const uint32_t *functions, const uint32_t *modules,
                           struct sf_line *lines, struct sf_buf *key, uint32_t *out)
{
    for (uint32_t i = 0; i < from->n_locations; i++) {
        struct sf_profile_location l = from->locations[i];
        for (uint32_t k = 0; k < l.n_lines; k++) {
            const struct sf_line *line = &from->lines[l.first_line + k];
            lines[k] = (struct sf_line){functions[line->function], line->line};
        }
        if (l.module != SF_NONE)
            l.module = modules[l.module];
        if (!add_location(s, &l, lines, key, &out[i]))
            return false;
    }
    return true;
}

static bool join_nodes(struct sf_profile_set *s, const struct sf_profile_symbols *from,
                       const uint32_t *locations, uint32_t *out)
{
    if (from->n_nodes)
        out[0] = 0;
    for (uint32_t i = 1; i < from->n_nodes; i++) {
        if (!sf_stack_tree_add(&s->tree, out[from->nodes[i].parent],
                               locations[from->nodes[i].location], &out[i]))
            return false;
    }
    return true;
}

enum sf_err sf_profile_set_join_symbols(struct sf_profile_set *s,
                                        const struct sf_profile_symbols *from, uint32_t *out_nodes,
                                        struct sf_arena scratch, struct sf_why *why)
{
    uint32_t *functions = sf_arena_new_n(&scratch, (size_t)from->n_functions + 1, 4);
    uint32_t *modules = sf_arena_new_n(&scratch, (size_t)from->n_modules + 1, 4);
    uint32_t *locations = sf_arena_new_n(&scratch, (size_t)from->n_locations + 1, 4);
    struct sf_line *lines = sf_arena_new_n(&scratch, (size_t)from->n_lines + 1, sizeof(*lines));
    struct sf_buf key = {0};
    bool is_ok = functions && modules && locations && lines;
    for (uint32_t i = 0; is_ok && i < from->n_functions; i++)
        is_ok = join_function(s, from, i, &functions[i]);
    for (uint32_t i = 0; is_ok && i < from->n_modules; i++) {
        struct sf_profile_module m;
        is_ok = sf_dict_add(&s->strings, from->strings[from->modules[i].file], &m.file) &&
                sf_dict_add(&s->strings, from->strings[from->modules[i].build_id], &m.build_id) &&
                sf_dict_add(&s->modules, key_of(&m, sizeof(m)), &modules[i]);
    }
    is_ok = is_ok && join_locations(s, from, functions, modules, lines, &key, locations) &&
            join_nodes(s, from, locations, out_nodes);
    sf_buf_done(&key);
    return is_ok ? SF_OK : no_memory(why);
}

enum sf_err sf_profile_set_join_series(struct sf_profile_set *s,
                                       const struct sf_profile_series *from, uint32_t n,
                                       uint32_t *out, struct sf_why *why)
{
    struct sf_buf key = {0};
    bool is_ok = true;
    for (uint32_t i = 0; is_ok && i < n; i++)
        is_ok = add_series(s, &from[i], &key, &out[i]);
    sf_buf_done(&key);
    return is_ok ? SF_OK : no_memory(why);
}

enum sf_err sf_profile_set_join_processes(struct sf_profile_set *s, const struct sf_process *from,
                                          uint32_t n, uint32_t *out, struct sf_why *why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!add_process(s, &from[i], &out[i]))
            return no_memory(why);
    }
    return SF_OK;
}
