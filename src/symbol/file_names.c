#include "symbol/file_names.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/text.h"
#include "symbol/demangler.h"
#include "symbol/elf_layout.h"
#include "symbol/elf_starts.h"
#include "symbol/elf_unzstd.h"
#include "symbol/module_symbols.h"

struct pair {
    uint64_t at, off;
};

struct asking {
    const struct pair *pairs;
    struct sf_elf_layout layout;
    struct sf_elf_starts starts;
    struct sf_demangler *demangler;
    struct sf_buf text; /* texts of one result */
    sf_file_names_taker *take;
    void *arg;
};

/* Names are not trusted: control characters and invalid UTF-8 become '?'. */
static void add_clean(struct sf_buf *out, sf_str s)
{
    s.len = sf_utf8_cut(s, SF_LIMIT_NAME_LEN);
    while (s.len) {
        uint32_t code = 0;
        size_t n = sf_utf8_char_len(s, &code);
        if (!n || code < 0x20 || (code >= 0x7f && code < 0xa0))
            sf_buf_add_u8(out, '?');
        else
            sf_buf_add(out, s.p, n);
        s = sf_str_from_at(s, n ? n : 1);
    }
}

static void file_names_add_name(struct asking *a, sf_str name)
{
    struct sf_buf demangled = {0};
    if (!name.len)
        name = SF_STR("[inlined]");
    if (a->demangler && sf_demangler_run(a->demangler, name, &demangled))
        name = sf_buf_str(&demangled);
    add_clean(&a->text, name);
    sf_buf_done(&demangled);
}

static void take_start(struct asking *a, const struct pair *p)
{
    struct sf_named named = {0};
    uint64_t start;
    if (sf_elf_starts_find(&a->starts, p->at, &start))
        (void)sf_elf_layout_offset(&a->layout, start, &named.start_off);
    a->take(a->arg, p->off, &named);
}

static void file_names_take_lines(void *arg, uint32_t query, const struct sf_symbol_line *lines,
                                  unsigned n)
{
    struct asking *a = arg;
    struct sf_named_line out[SF_SYMBOL_LINES_MAX];
    size_t ends[2 * SF_SYMBOL_LINES_MAX], from = 0;
    if (!n) {
        take_start(a, &a->pairs[query]);
        return;
    }
    sf_buf_reset(&a->text);
    for (unsigned i = 0; i < n; i++) {
        file_names_add_name(a, lines[i].name);
        ends[2 * i] = a->text.len;
        add_clean(&a->text, lines[i].file);
        ends[2 * i + 1] = a->text.len;
        out[i].line = lines[i].line;
    }
    if (!sf_buf_ok(&a->text)) {
        take_start(a, &a->pairs[query]);
        return;
    }
    for (unsigned i = 0; i < n; i++) { /* from here on the text is not reallocated */
        out[i].function = sf_str_part(sf_buf_str(&a->text), from, ends[2 * i] - from);
        out[i].file = sf_str_part(sf_buf_str(&a->text), ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
        from = ends[2 * i + 1];
    }
    a->take(a->arg, a->pairs[query].off, &(struct sf_named){out, n, 0});
}

static int by_address(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Offsets outside of code have no name; the others are converted to addresses and sorted. */
static uint32_t place_all(struct asking *a, const uint64_t *offs, uint32_t n, struct pair *pairs,
                          uint64_t *at)
{
    uint32_t n_in = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (sf_elf_layout_address(&a->layout, offs[i], &pairs[n_in].at))
            pairs[n_in++].off = offs[i];
        else
            a->take(a->arg, offs[i], &(struct sf_named){0});
    }
    qsort(pairs, n_in, sizeof(*pairs), by_address);
    for (uint32_t i = 0; i < n_in; i++)
        at[i] = pairs[i].at;
    return n_in;
}

static bool find_in(struct sf_elf_file *f, struct sf_elf_file *apart,
                    const struct sf_debug_more *more, const uint64_t *offs, uint32_t n,
                    struct asking *a)
{
    struct pair *pairs = sf_heap_new_n(n + 1u, sizeof(*pairs));
    uint64_t *at = sf_heap_new_n(n + 1u, sizeof(*at));
    bool ok = false;
    a->demangler = sf_demangler_new();
    a->pairs = pairs;
    if (pairs && at) {
        uint32_t n_in;
        (void)(sf_elf_layout_read(&a->layout, f) || sf_elf_layout_read(&a->layout, apart));
        (void)sf_elf_starts_read(&a->starts, f);
        n_in = place_all(a, offs, n, pairs, at);
        ok = sf_module_symbols_find_open(f, apart, more, at, n_in, file_names_take_lines, a);
    }
    sf_demangler_free(a->demangler);
    sf_buf_done(&a->text);
    sf_heap_free(pairs);
    sf_heap_free(at);
    return ok;
}

bool sf_file_names_find(const struct sf_file_names_paths *paths, const uint64_t *offs, uint32_t n,
                        sf_file_names_taker *take, void *arg)
{
    struct asking a = {.take = take, .arg = arg};
    struct sf_elf_file f = {0}, apart = {0}, shared = {0}, package = {0};
    struct sf_debug_more more = {.max_inflated = SF_LIMIT_SYMBOL_INFLATED_LEN,
                                 .unzstd = sf_elf_unzstd_all,
                                 .shared = &shared,
                                 .package = &package};
    bool has_program = paths->program && sf_elf_file_open(&f, paths->program);
    bool has_debug = paths->debug && sf_elf_file_open(has_program ? &apart : &f, paths->debug), ok;
    if (!paths->shared || !sf_elf_file_open(&shared, paths->shared))
        shared = (struct sf_elf_file){0};
    if (!paths->package || !sf_elf_file_open(&package, paths->package))
        package = (struct sf_elf_file){0};
    ok = (has_program || has_debug) && find_in(&f, &apart, &more, offs, n, &a);
    sf_elf_file_close(&package);
    sf_elf_file_close(&shared);
    sf_elf_file_close(&apart);
    sf_elf_file_close(&f);
    return ok;
}
