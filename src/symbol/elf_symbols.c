#include "symbol/elf_symbols.h"

#include <elf.h>
#include <string.h>

#include "symbol/dwarf_addresses.h"
#include "symbol/dwarf_cursor.h"

/* Symbols that contain a requested address; the table is read in pieces. */
enum { MAX_SYMBOLS = 1 << 17, PIECE = 2730 * sizeof(Elf64_Sym) };

static void elf_symbols_sift(struct sf_elf_symbol *a, size_t root, size_t n)
{
    for (;;) {
        size_t child = root * 2 + 1;
        struct sf_elf_symbol swap;
        if (child >= n)
            return;
        if (child + 1 < n && a[child].at < a[child + 1].at)
            child++;
        if (a[root].at >= a[child].at)
            return;
        swap = a[root];
        a[root] = a[child];
        a[child] = swap;
        root = child;
    }
}

/* A heap sort, because qsort may call the program's malloc. */
static void elf_symbols_sort(struct sf_elf_symbol *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        elf_symbols_sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        struct sf_elf_symbol swap = a[0];
        a[0] = a[end];
        a[end] = swap;
        elf_symbols_sift(a, 0, end);
    }
}

static bool is_asked_for(const Elf64_Sym *sym, const uint64_t *at, uint32_t n)
{
    uint32_t first = sf_dwarf_first_from(at, n, sym->st_value);
    return !n || (first < n && at[first] - sym->st_value < sym->st_size);
}

static void read_some(struct sf_elf_symbols *s, sf_bytes some, const uint64_t *at, uint32_t n)
{
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= some.len; i += sizeof(Elf64_Sym)) {
        struct sf_elf_symbol one;
        Elf64_Sym sym;
        unsigned type;
        memcpy(&sym, some.p + i, sizeof(sym));
        type = ELF64_ST_TYPE(sym.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
            !sym.st_size || sym.st_size > UINT32_MAX || sym.st_name >= s->names.len ||
            s->list.len / sizeof(one) >= MAX_SYMBOLS || !is_asked_for(&sym, at, n))
            continue;
        one = (struct sf_elf_symbol){sym.st_value, (uint32_t)sym.st_size, sym.st_name};
        sf_buf_add(&s->list, &one, sizeof(one));
    }
}

static bool elf_symbols_read_table(struct sf_elf_symbols *s, const struct sf_elf_section *table,
                                   const struct sf_elf_section *names, const uint64_t *at,
                                   uint32_t n)
{
    sf_bytes left = table->bytes;
    s->names = sf_bytes_str(names->bytes);
    while (left.len >= sizeof(Elf64_Sym)) {
        sf_bytes some = {left.p, left.len < PIECE ? left.len : PIECE};
        if (!sf_file_pages_has(some))
            return false;
        read_some(s, some, at, n);
        left = (sf_bytes){left.p + some.len, left.len - some.len};
        sf_file_pages_trim();
    }
    s->n = sf_buf_ok(&s->list) ? (uint32_t)(s->list.len / sizeof(struct sf_elf_symbol)) : 0;
    elf_symbols_sort((struct sf_elf_symbol *)(void *)s->list.p, s->n);
    return s->n > 0;
}

static bool elf_symbols_find_table(const struct sf_elf_file *f, uint32_t type,
                                   struct sf_elf_section *table, struct sf_elf_section *names)
{
    for (uint32_t i = 0; i < f->n_sections; i++) {
        if (sf_elf_file_section(f, i, table) && table->type == type &&
            sf_elf_file_section(f, table->link, names))
            return true;
    }
    return false;
}

/* Reads the full table if it exists, else that of the loader. */
bool sf_elf_symbols_read(struct sf_elf_symbols *s, const struct sf_elf_file *f, const uint64_t *at,
                         uint32_t n)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    *s = (struct sf_elf_symbols){0};
    for (int i = 0; i < 2; i++) {
        struct sf_elf_section table, names;
        if (elf_symbols_find_table(f, types[i], &table, &names) &&
            elf_symbols_read_table(s, &table, &names, at, n))
            return true;
        sf_elf_symbols_done(s);
    }
    return false;
}

bool sf_elf_symbols_has_all(const struct sf_elf_file *f)
{
    struct sf_elf_section table, names;
    return elf_symbols_find_table(f, SHT_SYMTAB, &table, &names);
}

void sf_elf_symbols_done(struct sf_elf_symbols *s)
{
    sf_buf_done(&s->list);
    *s = (struct sf_elf_symbols){0};
}

static sf_str elf_symbols_name_of(const struct sf_elf_symbols *s, const struct sf_elf_symbol *one)
{
    size_t most = s->names.len - one->name;
    return sf_file_pages_text(s->names.p + one->name,
                              most < SF_DWARF_TEXT_MAX ? most : SF_DWARF_TEXT_MAX);
}

/* Of several names of a function, prefers the one that programs use: "malloc" to "__libc_malloc"
 * and "__GI___libc_malloc". */
static bool is_plainer(sf_str a, sf_str b)
{
    size_t a_lines = 0, b_lines = 0;
    while (a_lines < a.len && a.p[a_lines] == '_')
        a_lines++;
    while (b_lines < b.len && b.p[b_lines] == '_')
        b_lines++;
    if (a_lines != b_lines)
        return a_lines < b_lines;
    return a.len != b.len ? a.len < b.len : sf_str_cmp(a, b) < 0;
}

/* The symbol must contain the address by its size: in a stripped file the nearest lower symbol
 * would be wrong. */
sf_str sf_elf_symbols_find(const struct sf_elf_symbols *s, uint64_t at, struct sf_elf_symbol *out)
{
    enum { MAX_BACK = 16 };
    uint32_t lo = 0, hi = s->n;
    const struct sf_elf_symbol *list = (const void *)s->list.p;
    sf_str best = SF_STR_NONE;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (list[middle].at <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (int back = 0; lo > 0 && back < MAX_BACK; lo--, back++) {
        const struct sf_elf_symbol *one = &list[lo - 1];
        if (best.len > 0 && one->at != out->at)
            break;
        sf_str name = at - one->at < one->len ? elf_symbols_name_of(s, one) : SF_STR_NONE;
        if (name.len > 0 && (best.len == 0 || is_plainer(name, best))) {
            *out = *one;
            best = name;
        }
    }
    return best;
}
