/* profile_set_tables.c - the tables of a profile set: returns them as lists, and joins those of
 * another set. */
#include "block/format/cursor.h"
#include "block/profile/profile_intern.h"

/* ---- views ---- */

bool sf_profile_set_tables_symbols(const struct sf_profile_set *s, struct sf_arena *req,
                                   struct sf_profile_symbols *out)
{
    sf_str *strings = sf_arena_new_n(req, (size_t)s->strings.n + 1, sizeof(*strings));
    if (!strings)
        return false;
    for (uint32_t i = 0; i < s->strings.n; i++)
        strings[i] = sf_dict_get(&s->strings, i);
    *out = (struct sf_profile_symbols){
        .strings = strings,
        .functions = s->functions,
        .modules = (const struct sf_profile_module *)(const void *)s->modules.bytes.p,
        .locations = s->locations,
        .lines = s->lines,
        .nodes = s->tree.nodes,
        .n_strings = s->strings.n,
        .n_functions = s->n_functions,
        .n_modules = s->modules.n,
        .n_locations = s->n_locations,
        .n_lines = s->n_lines,
        .n_nodes = s->tree.n,
    };
    return true;
}

static sf_str profile_set_tables_next_text(const struct sf_profile_set *s, struct sf_cursor *c)
{
    return sf_dict_get(&s->strings, sf_cursor_u32(c));
}

bool sf_profile_set_tables_series(const struct sf_profile_set *s, struct sf_arena *req,
                                  const struct sf_profile_series **out, uint32_t *out_n)
{
    struct sf_profile_series *list = sf_arena_new_n(req, (size_t)s->series.n + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s->series.n; i++) {
        struct sf_cursor c = sf_cursor_of(sf_str_bytes(sf_dict_get(&s->series, i)));
        struct sf_label *labels;
        list[i].flags = (uint8_t)sf_cursor_u32(&c);
        list[i].type.name = profile_set_tables_next_text(s, &c);
        list[i].type.sample_type = profile_set_tables_next_text(s, &c);
        list[i].type.sample_unit = profile_set_tables_next_text(s, &c);
        list[i].type.period_type = profile_set_tables_next_text(s, &c);
        list[i].type.period_unit = profile_set_tables_next_text(s, &c);
        list[i].n_labels = (uint32_t)(sf_cursor_left(&c) / 8);
        labels = sf_arena_new_n(req, (size_t)list[i].n_labels + 1, sizeof(*labels));
        if (!labels)
            return false;
        for (uint32_t k = 0; k < list[i].n_labels; k++) {
            labels[k].key = profile_set_tables_next_text(s, &c);
            labels[k].val = profile_set_tables_next_text(s, &c);
        }
        list[i].labels = labels;
    }
    *out = list;
    *out_n = s->series.n;
    return true;
}

bool sf_profile_set_tables_processes(const struct sf_profile_set *s, struct sf_arena *req,
                                     const struct sf_process **out, uint32_t *out_n)
{
    struct sf_process *list = sf_arena_new_n(req, (size_t)s->processes.n + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < s->processes.n; i++) {
        struct sf_cursor c = sf_cursor_of(sf_str_bytes(sf_dict_get(&s->processes, i)));
        list[i] = (struct sf_process){.service = s->service,
                                      .key = profile_set_tables_next_text(s, &c)};
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
    struct sf_function named = {.name = from->strings[f->name],
                                .system_name = from->strings[f->system_name],
                                .file = from->strings[f->file],
                                .start_line = f->start_line};
    return sf_profile_intern_function(s, NULL, &named, sf_key_str(named.name), out);
}

static bool join_locations(struct sf_profile_set *s, const struct sf_profile_symbols *from,
                           const uint32_t *functions, const uint32_t *modules,
                           struct sf_line *lines, uint32_t *out)
{
    for (uint32_t i = 0; i < from->n_locations; i++) {
        struct sf_profile_location l = from->locations[i];
        for (uint32_t k = 0; k < l.n_lines; k++) {
            const struct sf_line *line = &from->lines[l.first_line + k];
            lines[k] = (struct sf_line){functions[line->function], line->line};
        }
        if (l.module != SF_NONE)
            l.module = modules[l.module];
        if (!sf_profile_intern_location(s, &l, lines, sf_profile_intern_hash(&l, lines), &out[i]))
            return false;
    }
    return true;
}

enum sf_err sf_profile_set_tables_join_symbols(struct sf_profile_set *s,
                                               const struct sf_profile_symbols *from,
                                               uint32_t *out_nodes, struct sf_arena scratch,
                                               struct sf_why *why)
{
    uint32_t *functions = sf_arena_new_n(&scratch, (size_t)from->n_functions + 1, 4);
    uint32_t *modules = sf_arena_new_n(&scratch, (size_t)from->n_modules + 1, 4);
    uint32_t *locations = sf_arena_new_n(&scratch, (size_t)from->n_locations + 1, 4);
    struct sf_line *lines = sf_arena_new_n(&scratch, (size_t)from->n_lines + 1, sizeof(*lines));
    bool is_ok = functions && modules && locations && lines;
    for (uint32_t i = 0; is_ok && i < from->n_functions; i++)
        is_ok = join_function(s, from, i, &functions[i]);
    for (uint32_t i = 0; is_ok && i < from->n_modules; i++) {
        struct sf_profile_module m;
        is_ok = sf_dict_add(&s->strings, from->strings[from->modules[i].file], &m.file) &&
                sf_dict_add(&s->strings, from->strings[from->modules[i].build_id], &m.build_id) &&
                sf_dict_add(&s->modules, sf_profile_key(&m, sizeof(m)), &modules[i]);
    }
    is_ok = is_ok && join_locations(s, from, functions, modules, lines, locations) &&
            sf_stack_tree_join(&s->tree, from->nodes, from->n_nodes, locations, out_nodes, scratch);
    return is_ok ? SF_OK : sf_profile_intern_no_memory(why);
}

enum sf_err sf_profile_set_tables_join_series(struct sf_profile_set *s,
                                              const struct sf_profile_series *from, uint32_t n,
                                              uint32_t *out, struct sf_why *why)
{
    struct sf_buf key = {0};
    bool is_ok = true;
    for (uint32_t i = 0; is_ok && i < n; i++)
        is_ok = sf_profile_intern_series(s, &from[i], &key, &out[i]);
    sf_buf_done(&key);
    return is_ok ? SF_OK : sf_profile_intern_no_memory(why);
}

enum sf_err sf_profile_set_tables_join_processes(struct sf_profile_set *s,
                                                 const struct sf_process *from, uint32_t n,
                                                 uint32_t *out, struct sf_why *why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!sf_profile_intern_process(s, &from[i], &out[i]))
            return sf_profile_intern_no_memory(why);
    }
    return SF_OK;
}
