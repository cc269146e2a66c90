#include "block/profile/profile_intern.h"

#include "base/heap.h"

/* Modules are stored in their dictionary as bytes and read back as an array. */
_Static_assert(sizeof(struct sf_profile_module) == 8, "no padding in a key");

enum sf_err sf_profile_intern_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory for profiles");
}

bool sf_profile_intern_room(void **list, uint32_t n, uint32_t *cap, size_t size)
{
    void *grown;
    /* Long lists grow by less: unused memory counts in the budget, too. */
    uint32_t want = *cap < 64 ? 64 : *cap + *cap / (*cap < 8192 ? 2 : 4);
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

/* Fast path for empty strings: most functions have no linker name, and many no file. */
static bool profile_intern_add_string(struct sf_profile_set *s, sf_str text, uint32_t *out)
{
    *out = 0;
    return text.len == 0 || sf_dict_add(&s->strings, text, out);
}

/* Functions of one file share its name, mostly even at the same address: then nothing is hashed or
 * compared. */
static bool profile_intern_add_file(struct sf_profile_set *s, struct sf_profile_map *m, sf_str text,
                                    uint32_t *out)
{
    uint64_t at = ((uintptr_t)text.p * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
    struct sf_profile_map_file *known = &m->files[at % SF_PROFILE_MAP_FILES];
    *out = known->code;
    if (known->text.p == text.p && known->text.len == text.len && known->stamp == m->stamp)
        return true;
    if (!profile_intern_add_string(s, text, out))
        return false;
    *known = (struct sf_profile_map_file){text, *out, m->stamp};
    return true;
}

bool sf_profile_intern_function(struct sf_profile_set *s, struct sf_profile_map *m,
                                const struct sf_function *f, uint64_t name_hash, uint32_t *out)
{
    struct sf_profile_function key = {.start_line = f->start_line};
    struct sf_table_lookup lookup;
    uint64_t hash;
    if ((f->name.len && !sf_dict_add_hashed(&s->strings, f->name, name_hash, &key.name)) ||
        !profile_intern_add_string(s, f->system_name, &key.system_name) ||
        !(m ? profile_intern_add_file(s, m, f->file, &key.file)
            : profile_intern_add_string(s, f->file, &key.file)) ||
        !sf_profile_intern_room((void **)&s->functions, s->n_functions, &s->cap_functions,
                                sizeof(key)) ||
        !sf_table_more(&s->function_at))
        return false;
    hash = sf_key_mix(sf_key_u64((uint64_t)key.name << 32 | key.file),
                      (uint64_t)key.system_name << 32 | key.start_line);
    lookup = sf_table_lookup(&s->function_at, hash);
    while (sf_table_next(&lookup, out)) {
        const struct sf_profile_function *have = &s->functions[*out];
        if (have->name == key.name && have->file == key.file &&
            have->system_name == key.system_name && have->start_line == key.start_line)
            return true;
    }
    *out = s->n_functions;
    s->functions[s->n_functions] = key;
    sf_table_keep(&s->function_at, &lookup, s->n_functions++);
    return true;
}

uint64_t sf_profile_intern_hash(const struct sf_profile_location *l, const struct sf_line *lines)
{
    uint64_t hash = sf_key_mix(sf_key_u64((uint64_t)l->module << 32 | l->kind), l->addr);
    for (uint32_t i = 0; i < l->n_lines; i++)
        hash = sf_key_mix(hash, (uint64_t)lines[i].function << 32 | lines[i].line);
    return hash;
}

static bool profile_intern_is_location(const struct sf_profile_set *s, uint32_t place,
                                       const struct sf_profile_location *l,
                                       const struct sf_line *lines)
{
    const struct sf_profile_location *have = &s->locations[place];
    const struct sf_line *have_lines = s->lines + have->first_line;
    if (have->addr != l->addr || have->module != l->module || have->kind != l->kind ||
        have->n_lines != l->n_lines)
        return false;
    for (uint32_t i = 0; i < l->n_lines; i++) {
        if (have_lines[i].function != lines[i].function || have_lines[i].line != lines[i].line)
            return false;
    }
    return true;
}

bool sf_profile_intern_location(struct sf_profile_set *s, const struct sf_profile_location *l,
                                const struct sf_line *lines, uint64_t hash, uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!sf_table_more(&s->location_at))
        return false;
    lookup = sf_table_lookup(&s->location_at, hash);
    while (sf_table_next(&lookup, out)) {
        if (profile_intern_is_location(s, *out, l, lines))
            return true;
    }
    if (!sf_profile_intern_room((void **)&s->locations, s->n_locations, &s->cap_locations,
                                sizeof(*s->locations)))
        return false;
    *out = s->n_locations;
    s->locations[*out] = *l;
    s->locations[*out].first_line = s->n_lines;
    for (uint32_t i = 0; i < l->n_lines; i++) {
        if (!sf_profile_intern_room((void **)&s->lines, s->n_lines + i, &s->cap_lines,
                                    sizeof(*s->lines)))
            return false;
        s->lines[s->n_lines + i] = lines[i];
    }
    s->n_lines += l->n_lines;
    s->n_locations++;
    sf_table_keep(&s->location_at, &lookup, *out);
    return true;
}

static bool profile_intern_add_text(struct sf_profile_set *s, struct sf_buf *key, sf_str text)
{
    uint32_t place;
    if (!sf_dict_add(&s->strings, text, &place))
        return false;
    sf_buf_add_u32le(key, place);
    return true;
}

bool sf_profile_intern_series(struct sf_profile_set *s, const struct sf_profile_series *from,
                              struct sf_buf *key, uint32_t *out)
{
    const sf_str parts[] = {from->type.name, from->type.sample_type, from->type.sample_unit,
                            from->type.period_type, from->type.period_unit};
    sf_buf_reset(key);
    sf_buf_add_u32le(key, from->flags);
    for (size_t i = 0; i < 5; i++) {
        if (!profile_intern_add_text(s, key, parts[i]))
            return false;
    }
    for (uint32_t i = 0; i < from->n_labels; i++) {
        if (!profile_intern_add_text(s, key, from->labels[i].key) ||
            !profile_intern_add_text(s, key, from->labels[i].val))
            return false;
    }
    return sf_buf_ok(key) && sf_dict_add(&s->series, sf_buf_str(key), out);
}

bool sf_profile_intern_process(struct sf_profile_set *s, const struct sf_process *p, uint32_t *out)
{
    uint32_t key[2] = {0, p->is_guess};
    return sf_dict_add(&s->strings, p->key, &key[0]) &&
           sf_dict_add(&s->processes, sf_profile_key(key, sizeof(key)), out);
}
