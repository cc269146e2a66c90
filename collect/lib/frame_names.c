#include "collect/lib/frame_names.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/lib/profile_table.h"
#include "symbol/module_symbols.h"

_Static_assert((int)SF_FRAME_LINES_MAX >= (int)SF_SYMBOL_LINES_MAX, "every line has its place");

enum { PAGE = 4096 };

/* Kept between profiles. Who finds it taken has one of its own for once: nobody waits. */
static struct sf_symbol_cache kept;
static atomic_bool is_taken;
static unsigned long long kept_subs; /* the loader's count of what was unloaded */

void sf_frame_names_open(struct sf_frame_names *f)
{
    *f = (struct sf_frame_names){.m = sf_modules_enter()};
    f->cache = &f->own;
    if (atomic_exchange(&is_taken, true))
        return;
    f->cache = &kept;
    if (f->m && f->m->subs != kept_subs) { /* an address may be another module's now */
        sf_symbol_cache_done(&kept);
        kept_subs = f->m->subs;
    }
}

void sf_frame_names_close(struct sf_frame_names *f)
{
    if (f->cache == &kept) {
        if (sf_symbol_cache_is_full(&kept))
            sf_symbol_cache_done(&kept);
        atomic_store(&is_taken, false);
    }
    sf_symbol_cache_done(&f->own);
    sf_modules_leave();
}

/* Its memory may be half changed by a thread that is not here: it is left where it is. */
void sf_frame_names_after_fork(void)
{
    if (atomic_load(&is_taken))
        kept = (struct sf_symbol_cache){0};
    atomic_store(&is_taken, false);
}

/* ---- looking up ---- */

static void sift(uint64_t *a, size_t root, size_t n)
{
    for (size_t child; (child = root * 2 + 1) < n; root = child) {
        uint64_t swap = a[root];
        if (child + 1 < n && a[child] < a[child + 1])
            child++;
        if (swap >= a[child])
            return;
        a[root] = a[child];
        a[child] = swap;
    }
}

/* A heap sort: qsort may ask the program's malloc. */
static void sort(uint64_t *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        uint64_t swap = a[0];
        a[0] = a[end];
        a[end] = swap;
        sift(a, 0, end);
    }
}

struct asking {
    struct sf_symbol_cache *cache;
    const uint64_t *at; /* as the file counts */
    uint64_t base;
};

static void take(void *arg, uint32_t query, const struct sf_symbol_line *lines, unsigned n)
{
    struct asking *a = arg;
    uint32_t lines_at = sf_symbol_cache_n_lines(a->cache);
    struct sf_cached_address *found;
    unsigned added = 0;
    bool is_new;
    while (added < n &&
           sf_symbol_cache_add(a->cache,
                               lines[added].name.len ? lines[added].name : SF_STR("[inlined]"),
                               lines[added].file, lines[added].line, lines[added].decl_line))
        added++;
    found = sf_symbol_cache_address(a->cache, a->at[query] + a->base, &is_new);
    if (found && added == n) {
        found->lines_at = lines_at;
        found->n_lines = n;
    } else { /* half of what was inlined would be another function */
        sf_symbol_cache_cut(a->cache, lines_at);
    }
}

/* `at` lie all in module `m`. */
static void look_up_in(struct sf_frame_names *f, const struct sf_module *m, uint64_t *at, size_t n)
{
    struct asking asking = {f->cache, at, m->base};
    for (size_t i = 0; i < n; i++)
        at[i] -= m->base;
    if (!strcmp(m->path, "[vdso]")) /* no file, but its image is whole pages of memory */
        sf_module_symbols_find_in((sf_bytes){(const uint8_t *)m->base,
                                             (m->hi - m->base + PAGE - 1) & ~(size_t)(PAGE - 1)},
                                  at, (uint32_t)n, take, &asking);
    else
        sf_module_symbols_find(m->path, (sf_bytes){m->build_id, m->build_id_len}, at, (uint32_t)n,
                               take, &asking);
}

/* Addresses that were never asked for. */
static void find_fresh(struct sf_frame_names *f, const struct sf_profile_table *t,
                       struct sf_buf *fresh)
{
    for (uint32_t i = 0; i < sf_profile_table_n(t); i++) {
        const struct sf_profile_row *row = sf_profile_table_row(t, i);
        const uint64_t *at = sf_profile_table_frames(t, row);
        for (uint32_t k = 0; k < row->n_frames && !sf_symbol_cache_is_full(f->cache); k++) {
            bool is_new;
            if (sf_symbol_cache_address(f->cache, at[k], &is_new) && is_new)
                sf_buf_add(fresh, &at[k], sizeof(at[k]));
        }
    }
}

void sf_frame_names_look_up(struct sf_frame_names *f, const struct sf_profile_table *const *tables,
                            unsigned n)
{
    struct sf_buf fresh = {0};
    uint64_t *list;
    size_t n_fresh, from = 0;
    for (unsigned i = 0; i < n; i++)
        find_fresh(f, tables[i], &fresh);
    list = (uint64_t *)(void *)fresh.p;
    n_fresh = sf_buf_ok(&fresh) ? fresh.len / sizeof(*list) : 0;
    sort(list, n_fresh);
    while (from < n_fresh) {
        const struct sf_module *m = f->m ? sf_modules_find(f->m, list[from]) : NULL;
        size_t to = from + 1;
        while (m && to < n_fresh && list[to] < m->hi)
            to++;
        if (m)
            look_up_in(f, m, list + from, to - from);
        from = to;
    }
    sf_buf_done(&fresh);
}

/* ---- what was found ---- */

static uint32_t place_of(const struct sf_modules *m, const struct sf_module *one)
{
    uint32_t at = 0;
    while (m->list[at] != one)
        at++;
    return at;
}

void sf_frame_names_find(struct sf_frame_names *f, uint64_t at, struct sf_frame *out)
{
    const struct sf_module *m = f->m ? sf_modules_find(f->m, at) : NULL;
    const struct sf_cached_address *found;
    bool is_new;
    out->module = 0;
    out->n_lines = 0;
    if (!m)
        return;
    out->module = place_of(f->m, m) + 1;
    found = sf_symbol_cache_address(f->cache, at, &is_new);
    for (uint32_t i = 0; found && i < found->n_lines && i < SF_FRAME_LINES_MAX; i++) {
        const struct sf_cached_line *l = sf_symbol_cache_line(f->cache, found->lines_at + i);
        out->lines[out->n_lines++] = (struct sf_frame_line){
            sf_symbol_cache_text(f->cache, l->name), sf_symbol_cache_text(f->cache, l->system_name),
            sf_symbol_cache_text(f->cache, l->file), l->line, l->start_line};
    }
}
