#include "symbol/name_cache.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"

/* ---- one file ---- */

static void module_free(struct sf_name_module *m)
{
    if (!m)
        return;
    sf_table_done(&m->place_at);
    sf_table_done(&m->text_at);
    sf_heap_free(m->places);
    sf_heap_free(m->lines);
    sf_heap_free(m->texts);
    sf_buf_done(&m->text);
    sf_heap_free(m);
}

size_t sf_name_cache_module_memory(const struct sf_name_module *m)
{
    return sizeof(*m) + sf_table_memory(&m->place_at) + sf_table_memory(&m->text_at) +
           m->cap_places * sizeof(*m->places) + m->cap_lines * sizeof(*m->lines) +
           m->cap_texts * sizeof(*m->texts) + m->text.cap;
}

static bool name_cache_has_room(const struct sf_name_module *m)
{
    return sf_name_cache_module_memory(m) < SF_LIMIT_SYMBOL_MODULE_LEN;
}

struct sf_name_place *sf_name_cache_module_place(struct sf_name_module *m, uint64_t off,
                                                 bool can_make)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&m->place_at))
        return NULL;
    lookup = sf_table_lookup(&m->place_at, sf_key_u64(off));
    while (sf_table_next(&lookup, &at)) {
        if (m->places[at].off == off)
            return &m->places[at];
    }
    if (!can_make || !name_cache_has_room(m) ||
        !sf_list_room(&m->places, m->n_places, &m->cap_places, 64))
        return NULL;
    sf_table_keep(&m->place_at, &lookup, m->n_places);
    m->places[m->n_places] = (struct sf_name_place){.off = off};
    m->n_unknown++;
    return &m->places[m->n_places++];
}

static sf_str name_cache_text_at(const struct sf_name_module *m, uint32_t place)
{
    return sf_str_part(sf_buf_str(&m->text), m->texts[place].at, m->texts[place].len);
}

static bool name_cache_keep_text(struct sf_name_module *m, sf_str s, uint32_t *out)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&m->text_at))
        return false;
    lookup = sf_table_lookup(&m->text_at, sf_key_str(s));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(name_cache_text_at(m, at), s)) {
            *out = at;
            return true;
        }
    }
    if (!name_cache_has_room(m) || !sf_list_room(&m->texts, m->n_texts, &m->cap_texts, 64) ||
        !sf_buf_reserve(&m->text, s.len))
        return false;
    m->texts[m->n_texts] = (struct sf_name_text){(uint32_t)m->text.len, (uint32_t)s.len};
    sf_buf_add_str(&m->text, s);
    sf_table_keep(&m->text_at, &lookup, m->n_texts);
    *out = m->n_texts++;
    return true;
}

static bool keep_line(struct sf_name_module *m, const struct sf_named_line *l)
{
    struct sf_name_line one = {.line = l->line};
    if (!name_cache_keep_text(m, l->function, &one.function) ||
        !name_cache_keep_text(m, l->file, &one.file) ||
        !sf_list_room(&m->lines, m->n_lines, &m->cap_lines, 64))
        return false;
    m->lines[m->n_lines++] = one;
    return true;
}

void sf_name_cache_module_put(struct sf_name_module *m, uint64_t off, const struct sf_named *named)
{
    struct sf_name_place *p = sf_name_cache_module_place(m, off, false);
    uint32_t first = m->n_lines, n = 0;
    if (!p || p->is_known)
        return;
    p->is_known = true;
    m->n_unknown--;
    p->start_off = named->start_off;
    while (n < named->n_lines && keep_line(m, &named->lines[n]))
        n++;
    if (n < named->n_lines) { /* discard an incomplete list of inlined functions: it would name the
                               * wrong one */
        m->n_lines = first;
        return;
    }
    p->first_line = first;
    p->n_lines = n;
}

bool sf_name_cache_module_get(const struct sf_name_module *m, const struct sf_name_place *p,
                              struct sf_arena *req, struct sf_named *out)
{
    struct sf_named_line *lines = NULL;
    if (p->n_lines) {
        lines = sf_arena_new_n(req, p->n_lines, sizeof(*lines));
        if (!lines)
            return false;
    }
    for (uint32_t i = 0; i < p->n_lines; i++) {
        const struct sf_name_line *from = &m->lines[p->first_line + i];
        lines[i].line = from->line;
        if (!sf_arena_copy(req, name_cache_text_at(m, from->function), &lines[i].function) ||
            !sf_arena_copy(req, name_cache_text_at(m, from->file), &lines[i].file))
            return false;
    }
    *out = (struct sf_named){lines, p->n_lines, p->start_off};
    return true;
}

/* ---- the cache of all files ---- */

static uint64_t name_cache_key_of(uint32_t owner, const struct sf_symbol_id *id)
{
    return sf_key_mix(sf_key_str(sf_str_from(id->hex)), owner);
}

static void unlink_module(struct sf_name_cache *c, struct sf_name_module *m)
{
    *(m->newer ? &m->newer->older : &c->newest) = m->older;
    *(m->older ? &m->older->newer : &c->oldest) = m->newer;
    m->newer = m->older = NULL;
}

static void link_newest(struct sf_name_cache *c, struct sf_name_module *m)
{
    m->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = m;
    c->newest = m;
}

/* Indexes change when one is removed, so the table is rebuilt: thousands of entries at most, and
 * rarely. */
static void name_cache_drop(struct sf_name_cache *c, struct sf_name_module *m)
{
    uint32_t n = 0;
    unlink_module(c, m);
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->modules[i] != m)
            c->modules[n++] = c->modules[i];
    }
    c->n = n;
    sf_table_clear(&c->at);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_table_lookup lookup = sf_table_lookup(
            &c->at, name_cache_key_of(c->modules[i]->owner, &c->modules[i]->id));
        uint32_t at;
        while (sf_table_next(&lookup, &at))
            ;
        sf_table_keep(&c->at, &lookup, i);
    }
    if (m->is_busy)
        m->is_gone = true;
    else
        module_free(m);
}

void sf_name_cache_done(struct sf_name_cache *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        module_free(c->modules[i]);
    sf_heap_free(c->modules);
    sf_table_done(&c->at);
    *c = (struct sf_name_cache){0};
}

static struct sf_name_module *oldest_idle(const struct sf_name_cache *c)
{
    struct sf_name_module *m = c->oldest;
    while (m && m->is_busy)
        m = m->newer;
    return m;
}

static struct sf_name_module *name_cache_make(struct sf_name_cache *c, uint32_t owner,
                                              const struct sf_symbol_id *id)
{
    struct sf_name_module *m, *old = c->n < SF_LIMIT_SYMBOL_MODULES ? NULL : oldest_idle(c);
    struct sf_table_lookup lookup;
    uint32_t at;
    if (old)
        name_cache_drop(c, old);
    m = c->n < SF_LIMIT_SYMBOL_MODULES ? sf_heap_new(sizeof(*m)) : NULL;
    if (!m || !sf_table_more(&c->at) || !sf_list_room(&c->modules, c->n, &c->cap, 64)) {
        sf_heap_free(m);
        return NULL;
    }
    m->owner = owner;
    m->id = *id;
    lookup = sf_table_lookup(&c->at, name_cache_key_of(owner, id));
    while (sf_table_next(&lookup, &at))
        ;
    sf_table_keep(&c->at, &lookup, c->n);
    c->modules[c->n++] = m;
    return m;
}

struct sf_name_module *sf_name_cache_module(struct sf_name_cache *c, uint32_t owner,
                                            const struct sf_symbol_id *id, bool can_make)
{
    struct sf_name_module *m = NULL;
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&c->at))
        return NULL;
    lookup = sf_table_lookup(&c->at, name_cache_key_of(owner, id));
    while (!m && sf_table_next(&lookup, &at)) {
        if (c->modules[at]->owner == owner && !strcmp(c->modules[at]->id.hex, id->hex))
            m = c->modules[at];
    }
    if (m)
        unlink_module(c, m);
    else if (can_make)
        m = name_cache_make(c, owner, id);
    if (m)
        link_newest(c, m);
    return m;
}

void sf_name_cache_forget(struct sf_name_cache *c, uint32_t owner, const struct sf_symbol_id *id)
{
    struct sf_name_module *m = sf_name_cache_module(c, owner, id, false);
    if (m)
        name_cache_drop(c, m);
}

void sf_name_cache_forget_sharing(struct sf_name_cache *c, const struct sf_symbol_id *id)
{
    for (uint32_t i = c->n; i-- > 0;) {
        if (!strcmp(c->modules[i]->shared_id.hex, id->hex))
            name_cache_drop(c, c->modules[i]);
    }
}

void sf_name_cache_release(struct sf_name_cache *c, struct sf_name_module *m)
{
    m->is_busy = false;
    if (m->is_gone)
        module_free(m);
    else
        sf_name_cache_trim(c);
}

void sf_name_cache_trim(struct sf_name_cache *c)
{
    size_t max = c->max_len ? c->max_len : SF_LIMIT_SYMBOL_NAMES_LEN, all = 0;
    struct sf_name_module *m;
    for (uint32_t i = 0; i < c->n; i++)
        all += sf_name_cache_module_memory(c->modules[i]);
    while (all > max && (m = oldest_idle(c)) && m != c->newest) {
        all -= sf_name_cache_module_memory(m);
        name_cache_drop(c, m);
    }
}
