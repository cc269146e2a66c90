#include "collect/lib/symbol_cache.h"

#include "symbol/demangler.h"

struct place {
    uint32_t at, len;
};

void sf_symbol_cache_done(struct sf_symbol_cache *c)
{
    sf_name_table_done(&c->addresses);
    sf_name_table_done(&c->texts);
    sf_name_table_done(&c->names);
    sf_name_table_done(&c->files);
    sf_buf_done(&c->found);
    sf_buf_done(&c->lines);
    sf_buf_done(&c->text);
    sf_buf_done(&c->places);
    sf_buf_done(&c->demangled);
    sf_buf_done(&c->scratch);
    sf_buf_done(&c->prices);
    sf_function_map_done(&c->functions);
    sf_demangler_free(c->demangler);
    *c = (struct sf_symbol_cache){0};
}

static bool has_failed(const struct sf_symbol_cache *c)
{
    return c->addresses.has_failed || c->texts.has_failed || c->names.has_failed ||
           !sf_buf_ok(&c->found) || !sf_buf_ok(&c->lines) || !sf_buf_ok(&c->text) ||
           !sf_buf_ok(&c->places) || !sf_buf_ok(&c->demangled) || !sf_buf_ok(&c->functions.list);
}

bool sf_symbol_cache_is_full(const struct sf_symbol_cache *c)
{
    return has_failed(c) ||
           c->found.len / sizeof(struct sf_cached_address) >= SF_CACHED_ADDRESSES_MAX ||
           c->text.len >= SF_CACHED_TEXT_MAX;
}

struct sf_cached_address *sf_symbol_cache_address(struct sf_symbol_cache *c, uint64_t at,
                                                  bool *is_new)
{
    static const struct sf_cached_address unknown;
    uint32_t id = sf_name_table_id(&c->addresses, at, 0, is_new);
    if (*is_new)
        sf_buf_add(&c->found, &unknown, sizeof(unknown));
    if (c->addresses.has_failed || !sf_buf_ok(&c->found))
        return NULL;
    return (struct sf_cached_address *)(void *)c->found.p + id;
}

struct sf_symbol_price *sf_symbol_cache_price(struct sf_symbol_cache *c, uint64_t lo)
{
    static const struct sf_symbol_price none;
    bool is_new;
    uint32_t id = sf_name_table_id(&c->files, lo, 0, &is_new);
    if (is_new)
        sf_buf_add(&c->prices, &none, sizeof(none));
    if (c->files.has_failed || !sf_buf_ok(&c->prices))
        return NULL;
    return (struct sf_symbol_price *)(void *)c->prices.p + id;
}

static uint32_t text_id(struct sf_symbol_cache *c, sf_str s)
{
    bool is_new;
    uint32_t id = sf_name_table_id(&c->texts, sf_name_table_hash(s.p, s.len), 0, &is_new);
    if (is_new) {
        struct place p = {(uint32_t)c->text.len, (uint32_t)s.len};
        sf_buf_add_str(&c->text, s);
        sf_buf_add(&c->places, &p, sizeof(p));
    }
    return id;
}

/* Demangles each name once. */
static uint32_t demangled_id(struct sf_symbol_cache *c, uint32_t system_name, sf_str s)
{
    bool is_new;
    uint32_t id = sf_name_table_id(&c->names, system_name, 0, &is_new), demangled = system_name;
    if (!is_new)
        return sf_buf_ok(&c->demangled) && !c->names.has_failed
                   ? ((uint32_t *)(void *)c->demangled.p)[id]
                   : system_name;
    if (!c->demangler)
        c->demangler = sf_demangler_new();
    sf_buf_reset(&c->scratch);
    if (c->demangler && sf_demangler_run(c->demangler, s, &c->scratch))
        demangled = text_id(c, sf_buf_str(&c->scratch));
    sf_buf_add(&c->demangled, &demangled, sizeof(demangled));
    return demangled;
}

bool sf_symbol_cache_add(struct sf_symbol_cache *c, sf_str system_name, sf_str file, uint32_t line,
                         uint32_t start_line)
{
    struct sf_cached_line one = {.line = line, .start_line = start_line};
    if (sf_symbol_cache_is_full(c) || system_name.len > SF_CACHED_TEXT_MAX)
        return false;
    one.system_name = text_id(c, system_name);
    one.name = demangled_id(c, one.system_name, system_name);
    one.file = text_id(c, file);
    if (has_failed(c)) /* a text could not be stored */
        return false;
    sf_buf_add(&c->lines, &one, sizeof(one));
    return sf_buf_ok(&c->lines);
}

uint32_t sf_symbol_cache_n_lines(const struct sf_symbol_cache *c)
{
    return (uint32_t)(c->lines.len / sizeof(struct sf_cached_line));
}

void sf_symbol_cache_add_function(struct sf_symbol_cache *c, uint64_t at, uint32_t len)
{
    uint32_t n = sf_symbol_cache_n_lines(c);
    struct sf_cached_line one;
    if (!n || !sf_buf_ok(&c->lines) || sf_function_map_find(&c->functions, at))
        return;
    one = *sf_symbol_cache_line(c, n - 1);
    one.line = 0;
    sf_buf_add(&c->lines, &one, sizeof(one));
    if (sf_buf_ok(&c->lines))
        sf_function_map_add(&c->functions, &(struct sf_function_place){at, at + len, n});
}

void sf_symbol_cache_cut(struct sf_symbol_cache *c, uint32_t n_lines)
{
    c->lines.len = n_lines * sizeof(struct sf_cached_line);
}

const struct sf_cached_line *sf_symbol_cache_line(const struct sf_symbol_cache *c, uint32_t at)
{
    return (const struct sf_cached_line *)(const void *)c->lines.p + at;
}

sf_str sf_symbol_cache_text(const struct sf_symbol_cache *c, uint32_t text)
{
    const struct place *p = (const struct place *)(const void *)c->places.p + text;
    return (sf_str){(const char *)c->text.p + p->at, p->len};
}
