#include "collect/lib/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"

enum { MAX_SYMBOLS = 1 << 20 };

static bool is_inside(const struct sf_elf_symbols *s, uint64_t at, uint64_t len)
{
    return at <= s->file_len && len <= s->file_len - at;
}

static void sift(struct sf_elf_symbol *a, size_t root, size_t n)
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

/* A heap sort: qsort may ask the program's malloc. */
static void sort(struct sf_elf_symbol *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        struct sf_elf_symbol swap = a[0];
        a[0] = a[end];
        a[end] = swap;
        sift(a, 0, end);
    }
}

static bool read_table(struct sf_elf_symbols *s, const Elf64_Shdr *table, const Elf64_Shdr *names)
{
    size_t n = table->sh_size / sizeof(Elf64_Sym);
    if (!is_inside(s, table->sh_offset, table->sh_size) ||
        !is_inside(s, names->sh_offset, names->sh_size) || n > MAX_SYMBOLS)
        return false;
    s->list = sf_heap_new_n(n ? n : 1, sizeof(*s->list));
    if (!s->list)
        return false;
    s->names = (sf_str){(const char *)s->file + names->sh_offset, names->sh_size};
    for (size_t i = 0; i < n; i++) {
        Elf64_Sym sym;
        unsigned type;
        memcpy(&sym, s->file + table->sh_offset + i * sizeof(sym), sizeof(sym));
        type = ELF64_ST_TYPE(sym.st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && sym.st_shndx != SHN_UNDEF &&
            sym.st_size && sym.st_size <= UINT32_MAX && sym.st_name < s->names.len)
            s->list[s->n++] = (struct sf_elf_symbol){sym.st_value, (uint32_t)sym.st_size,
                                                     sym.st_name};
    }
    sort(s->list, s->n);
    return s->n > 0;
}

/* The full table when it is there, else the one the loader uses. */
static bool read_sections(struct sf_elf_symbols *s)
{
    Elf64_Ehdr head;
    Elf64_Shdr found[2] = {{0}}, names[2] = {{0}};
    if (s->file_len < sizeof(head))
        return false;
    memcpy(&head, s->file, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) ||
        !is_inside(s, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)))
        return false;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        int which;
        memcpy(&section, s->file + head.e_shoff + i * sizeof(section), sizeof(section));
        which = section.sh_type == SHT_SYMTAB ? 0 : section.sh_type == SHT_DYNSYM ? 1 : -1;
        if (which < 0 || section.sh_link >= head.e_shnum)
            continue;
        found[which] = section;
        memcpy(&names[which], s->file + head.e_shoff + section.sh_link * sizeof(section),
               sizeof(section));
    }
    for (int i = 0; i < 2; i++) {
        if (found[i].sh_size && read_table(s, &found[i], &names[i]))
            return true;
        sf_heap_free(s->list);
        s->list = NULL;
        s->n = 0;
    }
    return false;
}

bool sf_elf_symbols_open(struct sf_elf_symbols *s, const char *path)
{
    struct stat st;
    void *p = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *s = (struct sf_elf_symbols){0};
    if (fd < 0)
        return false;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return false;
    s->file = p;
    s->file_len = (size_t)st.st_size;
    if (read_sections(s))
        return true;
    sf_elf_symbols_close(s);
    return false;
}

void sf_elf_symbols_close(struct sf_elf_symbols *s)
{
    sf_heap_free(s->list);
    if (s->file)
        munmap((void *)(uintptr_t)s->file, s->file_len);
    *s = (struct sf_elf_symbols){0};
}

/* "Nearest lower" alone would lie in stripped files: the size decides. */
sf_str sf_elf_symbols_find(const struct sf_elf_symbols *s, uint64_t at, uint64_t *out_start)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (s->list[middle].at <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (int back = 0; lo > 0 && back < 8; lo--, back++) { /* aliases share an address */
        const struct sf_elf_symbol *one = &s->list[lo - 1];
        if (at - one->at < one->len) {
            const char *name = s->names.p + one->name;
            *out_start = one->at;
            return (sf_str){name, strnlen(name, s->names.len - one->name)};
        }
    }
    return SF_STR_NONE;
}
