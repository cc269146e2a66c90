#include "symbol/module_symbols.h"

#include <string.h>

#include "base/heap.h"
#include "symbol/debug_file.h"
#include "symbol/elf_symbols.h"

const struct sf_debug_more sf_module_symbols_inside = {.max_inflated = SF_DEBUG_INFLATED_MAX};

struct asking {
    const struct sf_elf_symbols *symbols;
    const uint64_t *at;
    bool *is_told;
    sf_symbol_taker *take;
    void *arg;
};

static bool is_mangled(sf_str s)
{
    return sf_str_starts(s, SF_STR("_Z")) || sf_str_starts(s, SF_STR("_R"));
}

/* The linker's name is preferred if debug information has only the short name, because it contains
 * the scope; and if it is the name that programs use for a function that its library calls
 * "__GI___libc_malloc". Otherwise the name in the debug information is preferred: symbols may be
 * named after compiler copies ("read.part.0"). */
static bool is_better(sf_str symbol, sf_str theirs)
{
    if (!symbol.len || !theirs.len)
        return symbol.len > 0;
    if (is_mangled(symbol) || is_mangled(theirs))
        return !is_mangled(theirs);
    return sf_str_starts(theirs, SF_STR("__")) && symbol.p[0] != '_' &&
           !memchr(symbol.p, '.', symbol.len);
}

static void module_symbols_take_lines(void *arg, uint32_t query, const struct sf_symbol_line *lines,
                                      unsigned n)
{
    struct asking *a = arg;
    struct sf_elf_symbol symbol = {0};
    sf_str name = sf_elf_symbols_find(a->symbols, a->at[query], &symbol);
    struct sf_symbol_line all[SF_SYMBOL_LINES_MAX], *last = &all[n - 1];
    if (a->is_told[query])
        return;
    for (unsigned i = 0; i < n; i++)
        all[i] = lines[i];
    if (is_better(name, last->name))
        last->name = name;
    last->code_at = symbol.at;
    last->code_len = symbol.len;
    a->is_told[query] = true;
    a->take(a->arg, query, all, last->name.len ? n : n - 1);
}

static void take_names(struct asking *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_symbol_line line = {0};
        struct sf_elf_symbol symbol = {0};
        if (a->is_told[i])
            continue;
        line.name = sf_elf_symbols_find(a->symbols, a->at[i], &symbol);
        line.code_at = symbol.at;
        line.code_len = symbol.len;
        a->take(a->arg, i, &line, line.name.len > 0);
        sf_file_pages_trim();
    }
}

/* Debug information, and with it the full symbol table, may be in a separate file: the given one
 * or, with a path, the one found on the system. */
static bool open_info(struct sf_debug_info *info, const struct sf_elf_file *f, const char *path,
                      struct sf_elf_file *apart, const struct sf_debug_more *more)
{
    bool is_cut;
    if (more->is_names_only) {
        if (path && !sf_elf_symbols_has_all(f))
            sf_debug_file_open(apart, f, path, SF_DEBUG_ROOT);
        return false;
    }
    if (sf_debug_info_init(info, f, more))
        return true;
    is_cut = info->is_cut;
    sf_debug_info_done(info);
    *info = (struct sf_debug_info){0};
    if ((!path || sf_debug_file_open(apart, f, path, SF_DEBUG_ROOT)) &&
        sf_debug_info_init(info, apart, more))
        return true;
    info->is_cut |= is_cut;
    return false;
}

static bool module_symbols_find(const struct sf_elf_file *f, const char *path,
                                struct sf_elf_file *apart, const struct sf_debug_more *more,
                                const uint64_t *at, uint32_t n, sf_symbol_taker *take, void *arg,
                                bool *is_cut)
{
    struct sf_elf_symbols symbols;
    struct sf_debug_info *info = sf_heap_new(sizeof(*info));
    bool *is_told = sf_heap_new_n(n ? n : 1, sizeof(*is_told));
    struct asking a = {&symbols, at, is_told, take, arg};
    bool ok = info && is_told, has_info;
    if (ok) {
        has_info = open_info(info, f, path, apart, more);
        if (!sf_elf_symbols_read(&symbols, apart, at, n))
            sf_elf_symbols_read(&symbols, f, at, n);
        if (has_info)
            sf_debug_info_find(info, at, n, module_symbols_take_lines, &a);
        take_names(&a, n);
        if (is_cut)
            *is_cut = info->is_cut;
        sf_debug_info_done(info);
        sf_elf_symbols_done(&symbols);
    }
    sf_heap_free(info);
    sf_heap_free(is_told);
    return ok;
}

/* Of a longer id only the beginning is known. */
static bool open_same(struct sf_elf_file *f, const char *path, sf_bytes id, bool must_tell)
{
    sf_bytes theirs;
    if (!sf_elf_file_open(f, path))
        return false;
    theirs = sf_debug_file_build_id(f);
    if (!id.len || (!theirs.len && !must_tell) ||
        (theirs.len >= id.len && !memcmp(theirs.p, id.p, id.len)))
        return true;
    sf_elf_file_close(f);
    return false;
}

bool sf_module_symbols_find(const char *path, sf_bytes build_id, const struct sf_debug_more *more,
                            const uint64_t *at, uint32_t n, sf_symbol_taker *take, void *arg,
                            bool *is_cut)
{
    struct sf_elf_file f, apart = {0};
    bool ok = (open_same(&f, path, build_id, false) ||
               (build_id.len && open_same(&f, "/proc/self/exe", build_id, true))) &&
              module_symbols_find(&f, path, &apart, more, at, n, take, arg, is_cut);
    sf_elf_file_close(&apart);
    sf_elf_file_close(&f);
    return ok;
}

bool sf_module_symbols_find_in(sf_bytes image, const uint64_t *at, uint32_t n,
                               sf_symbol_taker *take, void *arg)
{
    struct sf_elf_file f, none = {0};
    return sf_elf_file_init(&f, image) &&
           module_symbols_find(&f, NULL, &none, &sf_module_symbols_inside, at, n, take, arg, NULL);
}

bool sf_module_symbols_find_open(const struct sf_elf_file *f, struct sf_elf_file *apart,
                                 const struct sf_debug_more *more, const uint64_t *at, uint32_t n,
                                 sf_symbol_taker *take, void *arg)
{
    return module_symbols_find(f, NULL, apart, more, at, n, take, arg, NULL);
}
