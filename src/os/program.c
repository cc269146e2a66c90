#include "os/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADERS = 64, MAX_DYNAMIC = 512, MAX_SCRIPTS = 4, LINE_CAP = 256 };

/* ---- finding the file ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool sf_program_find(const char *name, char out[SF_PROGRAM_PATH_CAP])
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(out, SF_PROGRAM_PATH_CAP, "%s", name) < SF_PROGRAM_PATH_CAP &&
               is_program(out);
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
        size_t len = strcspn(path, ":");
        int need = snprintf(out, SF_PROGRAM_PATH_CAP, "%.*s/%s", (int)len, len ? path : ".", name);
        if (need > 0 && need < SF_PROGRAM_PATH_CAP && is_program(out))
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

/* Like bash: an ELF file, or a zero byte in the first line. */
bool sf_program_is_binary(const char *path)
{
    char head[LINE_CAP];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;
    const char *zero = n > 0 ? memchr(head, 0, (size_t)n) : NULL,
               *end = n > 0 ? memchr(head, '\n', (size_t)n) : NULL;
    if (fd >= 0)
        close(fd);
    if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        return true;
    return zero && (!end || zero < end);
}

/* ---- reading it: untrusted bytes, everything is checked ---- */

static bool read_at(int fd, uint64_t off, void *to, size_t len)
{
    return off <= INT64_MAX - len && pread(fd, to, len, (off_t)off) == (ssize_t)len;
}

/* Reads a zero-terminated text of at most `cap` - 1 bytes. */
static bool program_read_text(int fd, uint64_t off, char *to, size_t cap)
{
    ssize_t n = off <= INT64_MAX - cap ? pread(fd, to, cap, (off_t)off) : -1;
    return n > 0 && memchr(to, 0, (size_t)n) != NULL;
}

struct image {
    int fd;
    Elf64_Phdr headers[MAX_HEADERS];
    size_t n;
};

/* Converts a virtual address to a file offset. */
static bool to_offset(const struct image *i, uint64_t at, uint64_t *out)
{
    for (size_t k = 0; k < i->n; k++) {
        const Elf64_Phdr *h = &i->headers[k];
        if (h->p_type == PT_LOAD && at >= h->p_vaddr && at - h->p_vaddr < h->p_filesz) {
            *out = h->p_offset + (at - h->p_vaddr);
            return true;
        }
    }
    return false;
}

static void inspect_needed(const struct image *i, const Elf64_Phdr *dynamic, struct sf_program *out)
{
    Elf64_Dyn list[MAX_DYNAMIC];
    size_t n = dynamic->p_filesz / sizeof(list[0]);
    uint64_t names = 0;
    char name[SF_PROGRAM_NAME_CAP];

    n = n < MAX_DYNAMIC ? n : MAX_DYNAMIC;
    if (!n || !read_at(i->fd, dynamic->p_offset, list, n * sizeof(list[0])))
        return;
    for (size_t k = 0; k < n && list[k].d_tag != DT_NULL; k++) {
        if (list[k].d_tag == DT_STRTAB && !to_offset(i, list[k].d_un.d_ptr, &names))
            return;
    }
    for (size_t k = 0; names && k < n && list[k].d_tag != DT_NULL; k++) {
        if (list[k].d_tag == DT_NEEDED && list[k].d_un.d_val < UINT32_MAX &&
            program_read_text(i->fd, names + list[k].d_un.d_val, name, sizeof(name)) &&
            !strncmp(name, "libasan.so", 10))
            memcpy(out->first, name, sizeof(name));
    }
}

static void inspect_elf(int fd, const Elf64_Ehdr *head, struct sf_program *out)
{
    struct image i = {.fd = fd};
    char loader[256] = "";
    const char *name;

    out->kind = SF_PROGRAM_FOREIGN;
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
        head->e_phentsize != sizeof(Elf64_Phdr))
        return;
#ifdef __x86_64__
    if (head->e_machine != EM_X86_64)
        return;
#elif defined(__aarch64__)
    if (head->e_machine != EM_AARCH64)
        return;
#endif
    out->kind = SF_PROGRAM_UNKNOWN;
    i.n = head->e_phnum < MAX_HEADERS ? head->e_phnum : MAX_HEADERS;
    if (!i.n || !read_at(fd, head->e_phoff, i.headers, i.n * sizeof(i.headers[0])))
        return;
    out->kind = SF_PROGRAM_STATIC;
    for (size_t k = 0; k < i.n; k++) {
        if (i.headers[k].p_type == PT_INTERP &&
            program_read_text(fd, i.headers[k].p_offset, loader, sizeof(loader))) {
            name = strrchr(loader, '/');
            out->kind = strncmp(name ? name + 1 : loader, "ld-musl", 7) ? SF_PROGRAM_DYNAMIC
                                                                        : SF_PROGRAM_MUSL;
        }
    }
    for (size_t k = 0; k < i.n && out->kind == SF_PROGRAM_DYNAMIC; k++) {
        if (i.headers[k].p_type == PT_DYNAMIC)
            inspect_needed(&i, &i.headers[k], out);
    }
}

/* "#! /bin/sh -e" to "/bin/sh"; false: it is not a script. */
static bool interpreter(int fd, char out[SF_PROGRAM_PATH_CAP])
{
    char line[LINE_CAP] = "";
    ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
    size_t start, len;
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    start = 2 + strspn(line + 2, " \t");
    len = strcspn(line + start, " \t\r\n");
    snprintf(out, SF_PROGRAM_PATH_CAP, "%.*s", (int)len, line + start);
    return len > 0;
}

void sf_program_inspect(const char *name, struct sf_program *out)
{
    char path[SF_PROGRAM_PATH_CAP], next[SF_PROGRAM_PATH_CAP];
    *out = (struct sf_program){.kind = SF_PROGRAM_UNKNOWN};
    if (!sf_program_find(name, path))
        return;
    for (int depth = 0; depth < MAX_SCRIPTS; depth++) {
        Elf64_Ehdr head;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bool is_script = false;
        if (fd < 0)
            return;
        if (read_at(fd, 0, &head, sizeof(head)) && !memcmp(head.e_ident, ELFMAG, SELFMAG))
            inspect_elf(fd, &head, out);
        else
            is_script = interpreter(fd, next);
        close(fd);
        if (!is_script)
            return;
        memcpy(path, next, sizeof(path));
    }
}
