#include "collect/unwind/modules.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/num.h"

static _Atomic(struct sf_modules *) current;
static atomic_int visitors;
static bool is_child;              /* see sf_modules_after_fork */
static struct sf_modules *retired; /* the replaced snapshot, if it could not be freed yet; used
                                    * by the refreshing thread */

const struct sf_modules *sf_modules_enter(void)
{
    atomic_fetch_add(&visitors, 1); /* before the pointer is read, or the snapshot could be freed in
                                     * between */
    return atomic_load(&current);
}

void sf_modules_leave(void)
{
    atomic_fetch_sub(&visitors, 1);
}

const struct sf_module *sf_modules_find(const struct sf_modules *m, uintptr_t pc)
{
    uint32_t lo = 0, hi = m->n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (m->list[middle]->lo <= pc)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && pc < m->list[lo - 1]->hi ? m->list[lo - 1] : NULL;
}

/* ---- building; all of it inside the loader's lock, so that nothing is unmapped meanwhile ---- */

struct making {
    struct sf_modules *out;
    const struct sf_modules *before;
    uintptr_t vdso;
    bool is_first, has_failed;
};

static void modules_read_note(struct sf_module *m, const uint8_t *p, size_t len)
{
    while (len >= 12) {
        size_t name_len = sf_load_u32le(p), desc_len = sf_load_u32le(p + 4), name_room, desc_room;
        uint32_t type = sf_load_u32le(p + 8);
        if (name_len > len || desc_len > len)
            return;
        name_room = (name_len + 3) & ~(size_t)3;
        desc_room = (desc_len + 3) & ~(size_t)3;
        if (12 + name_room + desc_len > len)
            return;
        if (type == NT_GNU_BUILD_ID && name_len == 4 && !memcmp(p + 12, "GNU", 4)) {
            m->build_id_len = (uint8_t)(desc_len < SF_BUILD_ID_MAX ? desc_len : SF_BUILD_ID_MAX);
            memcpy(m->build_id, p + 12 + name_room, m->build_id_len);
            return;
        }
        if (12 + name_room + desc_room > len)
            return;
        p += 12 + name_room + desc_room;
        len -= 12 + name_room + desc_room;
    }
}

static void modules_set_path(struct sf_module *m, const struct dl_phdr_info *info, uintptr_t vdso)
{
    if (vdso && info->dlpi_addr == vdso) {
        memcpy(m->path, "[vdso]", 7);
    } else if (info->dlpi_name && info->dlpi_name[0]) {
        strncpy(m->path, info->dlpi_name, sizeof(m->path) - 1);
    } else { /* the program itself has no name in the list */
        ssize_t n = readlink("/proc/self/exe", m->path, sizeof(m->path) - 1);
        m->path[n > 0 ? n : 0] = 0;
    }
}

/* The segments of one module: text, the unwind table, the notes. */
static bool read_module(struct sf_module *m, const struct dl_phdr_info *info)
{
    const uint8_t *hdr = NULL, *lo = NULL, *hi = NULL;
    size_t hdr_len = 0;
    m->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
            uintptr_t end = (uintptr_t)at + p->p_memsz;
            if (!m->lo) {
                m->lo = (uintptr_t)at;
                m->file_off = p->p_offset;
            }
            m->hi = end > m->hi ? end : m->hi;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            hdr = at;
            hdr_len = p->p_memsz;
        } else if (p->p_type == PT_NOTE && p->p_flags & PF_R) {
            modules_read_note(m, at, p->p_memsz);
        }
    }
    if (!m->lo)
        return false;
    for (int i = 0; hdr && i < info->dlpi_phnum; i++) { /* find the segment that contains the
                                                         * table */
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && hdr >= at && hdr < at + p->p_filesz) {
            lo = at;
            hi = at + p->p_filesz;
        }
    }
#if defined(__x86_64__)
    if (lo && hdr_len <= (size_t)(hi - hdr))
        sf_rows_build(&m->rows, m->base, m->hi, hdr, hdr_len, lo, hi);
#else
    (void)hdr_len;
    (void)lo;
    (void)hi;
#endif
    return true;
}

static struct sf_module *modules_known(const struct sf_modules *before, uintptr_t base,
                                       const char *name)
{
    for (uint32_t i = 0; before && i < before->n; i++) {
        struct sf_module *m = before->list[i];
        if (m->base == base && (!name[0] || !strcmp(m->path, name)))
            return m;
    }
    return NULL;
}

static int on_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct making *making = arg;
    struct sf_modules *out = making->out;
    struct sf_module *m;

    if (making->is_first && size > offsetof(struct dl_phdr_info, dlpi_subs)) {
        making->is_first = false;
        out->adds = info->dlpi_adds;
        out->subs = info->dlpi_subs;
    }
    if (out->n == SF_MODULES_MAX)
        return 1;
    /* The same address is certainly the same module only if nothing was unloaded. */
    m = making->before && making->before->subs == out->subs
            ? modules_known(making->before, info->dlpi_addr, info->dlpi_name ? info->dlpi_name : "")
            : NULL;
    if (!m) {
        m = sf_heap_new(sizeof(*m));
        if (!m) {
            making->has_failed = true;
            return 1;
        }
        if (!read_module(m, info)) {
            sf_heap_free(m);
            return 0;
        }
        modules_set_path(m, info, making->vdso);
    }
    out->list[out->n++] = m;
    return 0;
}

static void modules_sort(struct sf_modules *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        struct sf_module *one = m->list[i];
        uint32_t at = i;
        for (; at && m->list[at - 1]->lo > one->lo; at--)
            m->list[at] = m->list[at - 1];
        m->list[at] = one;
    }
}

/* Frees a snapshot and its modules, except those shared with `kept`. */
static void free_snapshot(struct sf_modules *m, const struct sf_modules *kept)
{
    for (uint32_t i = 0; m && i < m->n; i++) {
        bool is_shared = false;
        for (uint32_t k = 0; kept && k < kept->n && !is_shared; k++)
            is_shared = kept->list[k] == m->list[i];
        if (!is_shared) {
            sf_rows_done(&m->list[i]->rows);
            sf_heap_free(m->list[i]);
        }
    }
    sf_heap_free(m);
}

/* True once no handler can still use the replaced snapshot. */
static bool is_quiet(void)
{
    struct timespec pause = {0, 1000000};
    for (int i = 0; i < 100; i++) { /* a handler runs only for microseconds */
        if (!atomic_load(&visitors))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void sf_modules_after_fork(void)
{
    is_child = true;
    atomic_store(&visitors, 0); /* threads that were using it exist only in the parent */
}

struct change {
    const struct sf_modules *since;
    bool is_same;
};

static int on_first(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct change *c = arg;
    c->is_same = size > offsetof(struct dl_phdr_info, dlpi_subs) &&
                 c->since->adds == info->dlpi_adds && c->since->subs == info->dlpi_subs;
    return 1;
}

/* Called ten times a second: allocates nothing. */
static bool is_unchanged(const struct sf_modules *since)
{
    struct change c = {since, false};
    if (since)
        dl_iterate_phdr(on_first, &c);
    return c.is_same;
}

bool sf_modules_refresh(void)
{
    struct making making = {.is_first = true, .vdso = getauxval(AT_SYSINFO_EHDR)};
    int saved = errno;

    if (is_child && atomic_load(&current))
        return true;
    if (retired && is_quiet()) {
        free_snapshot(retired, atomic_load(&current));
        retired = NULL;
    }
    making.before = atomic_load(&current);
    if (is_unchanged(making.before)) {
        errno = saved;
        return true;
    }
    making.out = retired ? NULL : sf_heap_new(sizeof(*making.out));
    if (!making.out)
        return making.before != NULL;
    dl_iterate_phdr(on_module, &making);
    errno = saved;
    if (making.has_failed) {
        free_snapshot(making.out, making.before);
        return false;
    }
    modules_sort(making.out);
    retired = atomic_exchange(&current, making.out);
    if (retired && is_quiet()) {
        free_snapshot(retired, making.out);
        retired = NULL;
    }
    return true;
}
