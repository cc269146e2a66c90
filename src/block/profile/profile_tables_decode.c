/* profile_tables_decode.c - decodes and checks the tables of one service in a profile block:
 * symbols (SYM), series and processes (SER), threads (THR), profiles (PTS) and the positions of
 * chunks, granules and index pieces (IDX).
 *
 * Each section is read whole and parsed with a cursor into lists in the caller's arena. Counts are
 * compared with the remaining bytes before memory is allocated, and every index with the length of
 * the list it refers to, so that later code need not check. */
#include "base/time_unit.h"
#include "block/format/cursor.h"
#include "block/profile/profile_reader.h"

static int64_t next_signed(struct sf_cursor *c)
{
    uint64_t v = sf_cursor_varint(c);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* Reads a count of items that take at least `size` bytes each; more than the remaining bytes is
 * damage. */
static uint32_t next_count(struct sf_cursor *c, size_t size)
{
    uint64_t n = sf_cursor_varint(c);
    if (n > sf_cursor_left(c) / size || n >= SF_NONE) {
        c->is_bad = true;
        return 0;
    }
    return (uint32_t)n;
}

static uint32_t next_below(struct sf_cursor *c, uint32_t n)
{
    uint32_t v = sf_cursor_varint32(c);
    if (v >= n) {
        c->is_bad = true;
        return 0;
    }
    return v;
}

/* 0 is none, otherwise index + 1. */
static uint32_t next_or_none(struct sf_cursor *c, uint32_t n)
{
    uint64_t v = sf_cursor_varint(c);
    if (v > n) {
        c->is_bad = true;
        return SF_NONE;
    }
    return v ? (uint32_t)(v - 1) : SF_NONE;
}

/* ---- symbols ---- */

static bool decode_strings(struct sf_cursor *c, struct sf_arena *req,
                           struct sf_profile_symbols *out)
{
    sf_str *list;
    out->n_strings = next_count(c, 1);
    list = sf_arena_new_n(req, (size_t)out->n_strings + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < out->n_strings; i++)
        list[i].len = (size_t)sf_cursor_varint(c);
    for (uint32_t i = 0; i < out->n_strings && !c->is_bad; i++)
        list[i].p = (const char *)sf_cursor_take(c, list[i].len);
    out->strings = list;
    return true;
}

static bool decode_functions(struct sf_cursor *c, struct sf_arena *req,
                             struct sf_profile_symbols *out)
{
    struct sf_profile_function *functions;
    struct sf_profile_module *modules;
    out->n_functions = next_count(c, 4);
    functions = sf_arena_new_n(req, (size_t)out->n_functions + 1, sizeof(*functions));
    if (!functions)
        return false;
    for (uint32_t i = 0; i < out->n_functions; i++) {
        functions[i].name = next_below(c, out->n_strings);
        functions[i].system_name = next_below(c, out->n_strings);
        functions[i].file = next_below(c, out->n_strings);
        functions[i].start_line = sf_cursor_varint32(c);
    }
    out->functions = functions;
    out->n_modules = next_count(c, 2);
    modules = sf_arena_new_n(req, (size_t)out->n_modules + 1, sizeof(*modules));
    if (!modules)
        return false;
    for (uint32_t i = 0; i < out->n_modules; i++) {
        modules[i].file = next_below(c, out->n_strings);
        modules[i].build_id = next_below(c, out->n_strings);
    }
    out->modules = modules;
    return true;
}

static bool decode_locations(struct sf_cursor *c, struct sf_arena *req,
                             struct sf_profile_symbols *out)
{
    struct sf_profile_location *locations;
    struct sf_line *lines;
    uint32_t at = 0;
    out->n_locations = next_count(c, 4);
    out->n_lines = next_count(c, 2);
    locations = sf_arena_new_n(req, (size_t)out->n_locations + 1, sizeof(*locations));
    lines = sf_arena_new_n(req, (size_t)out->n_lines + 1, sizeof(*lines));
    if (!locations || !lines)
        return false;
    for (uint32_t i = 0; i < out->n_locations && !c->is_bad; i++) {
        struct sf_profile_location *l = &locations[i];
        l->module = next_or_none(c, out->n_modules);
        l->addr = sf_cursor_varint(c);
        l->kind = next_below(c, SF_FRAME_KINDS);
        l->n_lines = sf_cursor_varint32(c);
        l->first_line = at;
        if (l->n_lines > out->n_lines - at) {
            c->is_bad = true;
            return true;
        }
        for (uint32_t k = 0; k < l->n_lines; k++, at++) {
            lines[at].function = next_below(c, out->n_functions);
            lines[at].line = sf_cursor_varint32(c);
        }
    }
    c->is_bad = c->is_bad || at != out->n_lines;
    out->locations = locations;
    out->lines = lines;
    return true;
}

static bool profile_tables_decode_nodes(struct sf_cursor *c, struct sf_arena *req,
                                        struct sf_profile_symbols *out)
{
    struct sf_profile_node *nodes;
    out->n_nodes = sf_cursor_varint32(c);
    if (out->n_nodes == 0 || (out->n_nodes - 1) > sf_cursor_left(c) / 2)
        c->is_bad = true;
    if (c->is_bad)
        return true;
    nodes = sf_arena_new_n(req, out->n_nodes, sizeof(*nodes));
    if (!nodes)
        return false;
    nodes[0] = (struct sf_profile_node){0, SF_NONE};
    for (uint32_t i = 1; i < out->n_nodes; i++) {
        uint32_t step = sf_cursor_varint32(c);
        c->is_bad = c->is_bad || step == 0 || step > i;
        nodes[i].parent = c->is_bad ? 0 : i - step;
    }
    for (uint32_t i = 1; i < out->n_nodes; i++)
        nodes[i].location = next_below(c, out->n_locations);
    out->nodes = nodes;
    return true;
}

enum sf_err sf_profile_tables_decode_symbols(const struct sf_profile_block_reader *r,
                                             uint32_t service, struct sf_arena *req,
                                             struct sf_profile_symbols *out, struct sf_why *why)
{
    struct sf_profile_symbols y = {0};
    struct sf_cursor c;
    sf_bytes raw;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_SYM, service, req, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    if (!decode_strings(&c, req, &y) || (!c.is_bad && !decode_functions(&c, req, &y)) ||
        (!c.is_bad && !decode_locations(&c, req, &y)) ||
        (!c.is_bad && !profile_tables_decode_nodes(&c, req, &y)))
        return sf_profile_block_reader_no_room(why);
    if (c.is_bad || sf_cursor_left(&c) || y.n_nodes != r->services[service].n_nodes)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_SYM, why);
    *out = y;
    return SF_OK;
}

/* ---- series and processes ---- */

static bool decode_one_series(struct sf_cursor *c, struct sf_arena *req,
                              struct sf_profile_series *s)
{
    struct sf_label *labels;
    s->flags = sf_cursor_u8(c);
    c->is_bad = c->is_bad || s->flags > SF_PROFILE_FLAGS;
    s->type.name = sf_cursor_str(c);
    s->type.sample_type = sf_cursor_str(c);
    s->type.sample_unit = sf_cursor_str(c);
    s->type.period_type = sf_cursor_str(c);
    s->type.period_unit = sf_cursor_str(c);
    s->n_labels = next_count(c, 2);
    labels = sf_arena_new_n(req, (size_t)s->n_labels + 1, sizeof(*labels));
    if (!labels)
        return false;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        labels[i].key = sf_cursor_str(c);
        labels[i].val = sf_cursor_str(c);
        if (i && sf_str_cmp(labels[i - 1].key, labels[i].key) >= 0)
            c->is_bad = true;
    }
    s->labels = labels;
    return true;
}

enum sf_err sf_profile_tables_decode_series(const struct sf_profile_block_reader *r,
                                            uint32_t service, struct sf_arena *req,
                                            const struct sf_profile_series **out,
                                            const struct sf_process **out_processes,
                                            struct sf_why *why)
{
    const struct sf_profile_service *me = &r->services[service];
    struct sf_profile_series *series;
    struct sf_process *processes;
    struct sf_cursor c;
    sf_bytes raw;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_SER, service, req, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    if (me->n_series > raw.len / 7 || me->n_processes > raw.len / 2)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_SER, why);
    series = sf_arena_new_n(req, (size_t)me->n_series + 1, sizeof(*series));
    processes = sf_arena_new_n(req, (size_t)me->n_processes + 1, sizeof(*processes));
    if (!series || !processes)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < me->n_series && !c.is_bad; i++) {
        if (!decode_one_series(&c, req, &series[i]))
            return sf_profile_block_reader_no_room(why);
    }
    for (uint32_t i = 0; i < me->n_processes; i++) {
        processes[i].is_guess = sf_cursor_u8(&c) != 0;
        processes[i].service = me->name;
        processes[i].key = sf_cursor_str(&c);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_SER, why);
    *out = series;
    if (out_processes)
        *out_processes = processes;
    return SF_OK;
}

/* ---- threads ---- */

static struct sf_profile_thread next_thread(struct sf_cursor *c, uint32_t n_processes)
{
    struct sf_profile_thread t = {.process = next_or_none(c, n_processes)};
    uint8_t is_kernel;
    t.t.thread = sf_cursor_varint(c);
    is_kernel = sf_cursor_u8(c);
    t.t.kernel_id = is_kernel ? t.t.thread : 0;
    t.t.runtime_id = sf_cursor_varint(c);
    t.t.name = sf_cursor_str(c);
    c->is_bad = c->is_bad || is_kernel > 1;
    return t;
}

enum sf_err sf_profile_tables_decode_threads(const struct sf_profile_block_reader *r,
                                             uint32_t service, struct sf_arena *req,
                                             const struct sf_profile_thread **out, uint32_t *out_n,
                                             struct sf_why *why)
{
    struct sf_profile_thread *list;
    struct sf_cursor c;
    sf_bytes raw;
    uint32_t n;
    *out = NULL;
    *out_n = 0;
    if (!sf_profile_block_reader_has_section(r, SF_PROFILE_THR, service))
        return SF_OK;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_THR, service, req, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    n = next_count(&c, 5);
    list = sf_arena_new_n(req, (size_t)n + 1, sizeof(*list));
    if (!list)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < n && !c.is_bad; i++) {
        list[i] = next_thread(&c, r->services[service].n_processes);
        c.is_bad = c.is_bad || (i && sf_profile_threads_cmp(&list[i - 1], &list[i]) >= 0);
    }
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_THR, why);
    *out = list;
    *out_n = n;
    return SF_OK;
}

/* ---- profiles ---- */

enum sf_err sf_profile_tables_decode_rows(const struct sf_profile_block_reader *r, uint32_t service,
                                          struct sf_arena *req, const struct sf_profile_row **out,
                                          struct sf_why *why)
{
    const struct sf_profile_service *me = &r->services[service];
    struct sf_profile_row *rows;
    struct sf_cursor c;
    sf_bytes raw;
    uint64_t series = 0;
    int64_t before = 0;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_PTS, service, req, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    if (me->n_rows > raw.len / 8)
        return sf_profile_block_reader_damaged(r, SF_PROFILE_PTS, why);
    rows = sf_arena_new_n(req, (size_t)me->n_rows + 1, sizeof(*rows));
    if (!rows)
        return sf_profile_block_reader_no_room(why);
    for (uint32_t i = 0; i < me->n_rows && !c.is_bad; i++) {
        uint64_t head = sf_cursor_varint(&c);
        const uint8_t *id;
        c.is_bad = c.is_bad || head >> 1 >= me->n_series - series;
        if (c.is_bad)
            break;
        series += head >> 1;
        rows[i].series = (uint32_t)series;
        rows[i].process = next_or_none(&c, me->n_processes);
        rows[i].index_ns = sf_add_sat_i64(before, next_signed(&c));
        rows[i].time_ns = sf_add_sat_i64(rows[i].index_ns, next_signed(&c));
        rows[i].duration_ns = (int64_t)sf_cursor_varint(&c);
        rows[i].period = next_signed(&c);
        rows[i].total = next_signed(&c);
        rows[i].n_samples = sf_cursor_varint(&c);
        id = head & 1 ? sf_cursor_take(&c, 16) : NULL;
        if (id)
            memcpy(rows[i].id.b, id, 16);
        c.is_bad = c.is_bad || rows[i].duration_ns < 0 ||
                   (i && !(head >> 1) && rows[i].index_ns < before);
        before = rows[i].index_ns;
    }
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_PTS, why);
    *out = rows;
    return SF_OK;
}

/* ---- places ---- */

static bool decode_chunks(struct sf_cursor *c, const struct sf_profile_service *me,
                          struct sf_arena *req, struct sf_profile_places *out)
{
    struct sf_profile_chunk *list;
    out->n_chunks = next_count(c, 8);
    list = sf_arena_new_n(req, (size_t)out->n_chunks + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < out->n_chunks && !c->is_bad; i++) {
        uint8_t kind;
        list[i].series = next_below(c, me->n_series);
        kind = sf_cursor_u8(c);
        list[i].is_rollup = kind == 1;
        list[i].first_row = next_below(c, me->n_rows);
        list[i].n_rows = sf_cursor_varint32(c);
        list[i].n_entries = sf_cursor_varint(c);
        list[i].section = sf_cursor_varint32(c);
        list[i].off = sf_cursor_varint(c);
        list[i].len = sf_cursor_varint(c);
        c->is_bad = c->is_bad || kind > 1 || list[i].n_rows == 0 ||
                    list[i].n_rows > me->n_rows - list[i].first_row;
    }
    out->chunks = list;
    return true;
}

static int64_t profile_tables_decode_ns_of(int64_t ms)
{
    int64_t ns;
    if (__builtin_mul_overflow(ms, SF_NS_PER_MS, &ns))
        return ms < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static bool decode_granules(struct sf_cursor *c, const struct sf_profile_service *me,
                            bool is_coarse, struct sf_arena *req, struct sf_profile_places *out)
{
    /* Times in the index are truncated; in format 1 also start and length of the rows. */
    int64_t cut_ns = is_coarse ? 1999999 : 999999;
    struct sf_profile_granule *list;
    out->n_granules = next_count(c, 5);
    out->first_granule = sf_cursor_varint32(c);
    list = sf_arena_new_n(req, (size_t)out->n_granules + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < out->n_granules; i++) {
        list[i].n_rows = sf_cursor_varint32(c);
        list[i].first_process = sf_cursor_varint32(c);
        list[i].last_process = sf_cursor_varint32(c);
        list[i].from_ns = profile_tables_decode_ns_of(next_signed(c));
        list[i].to_ns = sf_add_sat_i64(profile_tables_decode_ns_of(next_signed(c)), cut_ns);
        c->is_bad = c->is_bad || list[i].n_rows == 0 || list[i].n_rows > SF_PROFILE_GRANULE_ROWS ||
                    list[i].last_process > me->n_processes;
    }
    out->granules = list;
    return true;
}

static bool decode_pieces(struct sf_cursor *c, size_t id_len, struct sf_arena *req,
                          const struct sf_profile_piece **out, uint32_t *out_n, uint32_t *out_first)
{
    uint32_t n = next_count(c, id_len + 1);
    struct sf_profile_piece *list = sf_arena_new_n(req, (size_t)n + 1, sizeof(*list));
    *out_first = sf_cursor_varint32(c);
    if (!list)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *id;
        list[i].n = sf_cursor_varint32(c);
        id = sf_cursor_take(c, id_len);
        if (id)
            memcpy(list[i].first.b, id, id_len);
        c->is_bad = c->is_bad || list[i].n == 0 || list[i].n > SF_PROFILE_INDEX_MAX;
    }
    *out = list;
    *out_n = n;
    return true;
}

enum sf_err sf_profile_tables_decode_places(const struct sf_profile_block_reader *r,
                                            uint32_t service, struct sf_arena *req,
                                            struct sf_profile_places *out, struct sf_why *why)
{
    const struct sf_profile_service *me = &r->services[service];
    struct sf_profile_places p = {0};
    struct sf_cursor c;
    sf_bytes raw;
    enum sf_err err = sf_profile_block_reader_section(r, SF_PROFILE_IDX, service, req, &raw, why);
    if (err)
        return err;
    c = sf_cursor_of(raw);
    if (!decode_chunks(&c, me, req, &p) ||
        (!c.is_bad && !decode_granules(&c, me, r->info.format == 1, req, &p)) ||
        (!c.is_bad && !decode_pieces(&c, 8, req, &p.spans, &p.n_spans, &p.first_span)) ||
        (!c.is_bad && !decode_pieces(&c, 16, req, &p.traces, &p.n_traces, &p.first_trace)))
        return sf_profile_block_reader_no_room(why);
    if (c.is_bad || sf_cursor_left(&c))
        return sf_profile_block_reader_damaged(r, SF_PROFILE_IDX, why);
    *out = p;
    return SF_OK;
}
