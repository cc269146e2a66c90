/* frame_names.c - names the addresses of a profile. Distinct addresses are sorted and grouped by
 * module; each module's file is read once for all of its addresses, the most frequent modules
 * first, as far as the CPU budget for symbols allows. Names are cached between profiles; one thread
 * at a time uses the cache, others make a temporary one. */
#include "collect/lib/frame_names.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/lib/own_cost.h"
#include "collect/lib/profile_table.h"
#include "collect/sys/clock.h"
#include "symbol/module_symbols.h"

_Static_assert((int)SF_FRAME_LINES_MAX >= (int)SF_SYMBOL_LINES_MAX, "every line has its place");

enum {
    PAGE = 4096,
    NS_PER_INFLATED = 8, /* cost of a byte of a compressed section */
    NS_PER_WORK = 20     /* cost of a step of the debug information reader */
};

/* Kept between profiles. A thread that finds it in use creates a temporary one instead of
 * waiting. */
static struct sf_symbol_cache kept;
static atomic_bool is_taken;
static unsigned long long kept_subs; /* the loader's count of unloaded modules */

void sf_frame_names_open(struct sf_frame_names *f, struct sf_symbol_budget *budget)
{
    *f = (struct sf_frame_names){.m = sf_modules_enter(), .budget = budget};
    f->cache = &f->own;
    if (atomic_exchange(&is_taken, true))
        return;
    f->cache = &kept;
    if (f->m && f->m->subs != kept_subs) { /* a module was unloaded: addresses may belong to another
                                            * module now */
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

/* Does not free it: a thread that does not exist in the child may have been changing it. */
void sf_frame_names_after_fork(void)
{
    if (atomic_load(&is_taken))
        kept = (struct sf_symbol_cache){0};
    atomic_store(&is_taken, false);
}

/* ---- looking up ---- */

static void frame_names_sift(uint64_t *a, size_t root, size_t n)
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

/* A heap sort, because qsort may call the program's malloc. */
static void frame_names_sort(uint64_t *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        frame_names_sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        uint64_t swap = a[0];
        a[0] = a[end];
        a[end] = swap;
        frame_names_sift(a, 0, end);
    }
}

struct asking {
    struct sf_symbol_cache *cache;
    const uint64_t *at; /* addresses relative to the file */
    uint64_t base;
};

static void frame_names_take(void *arg, uint32_t query, const struct sf_symbol_line *lines,
                             unsigned n)
{
    struct asking *a = arg;
    uint32_t lines_at = sf_symbol_cache_n_lines(a->cache);
    const struct sf_symbol_line *last = &lines[n ? n - 1 : 0];
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
        found->n_lines = (uint8_t)n;
        found->state = n > 1 || (n && last->file.len) ? SF_CACHED_WHOLE : SF_CACHED_BY_SYMBOL;
        if (n && last->code_len)
            sf_symbol_cache_add_function(a->cache, last->code_at + a->base, last->code_len);
    } else { /* discard an incomplete list of inlined functions: it would name the wrong one */
        sf_symbol_cache_cut(a->cache, lines_at);
    }
}

struct group { /* addresses in one module, sorted */
    const struct sf_module *m;
    uint64_t *at;
    size_t n;
    uint32_t n_seen; /* how often they occurred */
};

static void set_state(struct sf_frame_names *f, const struct group *g, enum sf_cached_state state)
{
    for (size_t i = 0; i < g->n; i++) {
        bool is_new;
        struct sf_cached_address *found = sf_symbol_cache_address(f->cache, g->at[i], &is_new);
        if (found)
            found->state = (uint8_t)state;
    }
}

/* False: reading would cost more than `more` allows. */
static bool frame_names_read_file(struct sf_frame_names *f, const struct group *g,
                                  const struct sf_debug_more *more)
{
    const struct sf_module *m = g->m;
    struct asking asking = {f->cache, g->at, m->base};
    bool is_cut = false;
    for (size_t i = 0; i < g->n; i++)
        g->at[i] -= m->base;
    if (!strcmp(m->path, "[vdso]")) /* no file, but its image is readable memory */
        sf_module_symbols_find_in((sf_bytes){(const uint8_t *)m->base,
                                             (m->hi - m->base + PAGE - 1) & ~(size_t)(PAGE - 1)},
                                  g->at, (uint32_t)g->n, frame_names_take, &asking);
    else
        sf_module_symbols_find(m->path, (sf_bytes){m->build_id, m->build_id_len}, more, g->at,
                               (uint32_t)g->n, frame_names_take, &asking, &is_cut);
    for (size_t i = 0; i < g->n; i++)
        g->at[i] += m->base;
    return !is_cut;
}

static uint64_t spent_since(struct sf_frame_names *f, uint64_t begin_ns)
{
    uint64_t ns = sf_clock_thread_cpu_ns() - begin_ns;
    sf_own_cost_add_symbols(ns);
    if (f->budget)
        sf_symbol_budget_spend(f->budget, ns);
    else
        sf_own_cost_add_asked(ns);
    return ns;
}

/* Reads lines as far as the budget allows; without a budget, up to the limit of a file. */
static void read_lines(struct sf_frame_names *f, const struct group *g)
{
    struct sf_symbol_price *price = sf_symbol_cache_price(f->cache, g->m->lo);
    struct sf_debug_more more = sf_module_symbols_inside;
    uint64_t begin_ns = sf_clock_thread_cpu_ns(), ns;
    int64_t credit_ns = f->budget ? f->budget->credit_ns : SF_SYMBOL_CREDIT_MOST_NS;
    bool is_whole;
    if (f->budget) {
        size_t len = (size_t)(credit_ns / NS_PER_INFLATED);
        more.max_work = (uint64_t)(credit_ns / NS_PER_WORK);
        more.max_now = len > 0 ? len : 1;
    }
    is_whole = frame_names_read_file(f, g, &more);
    ns = spent_since(f, begin_ns);
    if (price)
        sf_symbol_budget_price_note(price, credit_ns, ns, !is_whole,
                                    f->budget ? f->budget->process_ns : 0);
    if (is_whole || !price || price->is_given_up)
        set_state(f, g, SF_CACHED_WHOLE); /* nothing more can be found */
}

static void frame_names_read_names(struct sf_frame_names *f, const struct group *g)
{
    static const struct sf_debug_more more = {.is_names_only = true};
    struct sf_symbol_price *price = sf_symbol_cache_price(f->cache, g->m->lo);
    uint64_t begin_ns = sf_clock_thread_cpu_ns(), ns;
    frame_names_read_file(f, g, &more);
    ns = spent_since(f, begin_ns);
    set_state(f, g, SF_CACHED_BY_SYMBOL);
    if (price)
        price->names_ns = (int64_t)ns;
}

/* Names addresses in known functions. Lists those that are in none. */
static size_t name_from_known(struct sf_frame_names *f, const struct group *g, uint64_t *unknown)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct sf_function_place *in = sf_function_map_find(&f->cache->functions, g->at[i]);
        bool is_new;
        struct sf_cached_address *found = sf_symbol_cache_address(f->cache, g->at[i], &is_new);
        if (!found || found->state != SF_CACHED_NOT_READ)
            continue;
        if (!in) {
            unknown[n++] = g->at[i];
            continue;
        }
        found->lines_at = in->line;
        found->n_lines = 1;
        found->state = SF_CACHED_BY_SYMBOL;
    }
    return n;
}

static void look_up_in(struct sf_frame_names *f, struct group *g, uint64_t n_seen_all)
{
    struct sf_symbol_price *price = sf_symbol_cache_price(f->cache, g->m->lo);
    if (!f->budget || !price ||
        sf_symbol_budget_has_for_lines(f->budget, price, g->n_seen >= n_seen_all / 100)) {
        read_lines(f, g);
        return;
    }
    g->n = name_from_known(f, g, g->at);
    if (g->n && sf_symbol_budget_has_for_names(f->budget, price))
        frame_names_read_names(f, g);
}

/* The distinct addresses for which more may be found than is stored. */
static uint64_t frame_names_find_fresh(struct sf_frame_names *f, const struct sf_profile_table *t,
                                       struct sf_buf *fresh)
{
    uint64_t n_seen = 0;
    for (uint32_t i = 0; i < sf_profile_table_n(t); i++) {
        const struct sf_profile_stack_row *row = sf_profile_table_row(t, i);
        const uint64_t *at = sf_profile_table_frames(t, row);
        n_seen += row->n_frames;
        for (uint32_t k = 0; k < row->n_frames && !sf_symbol_cache_is_full(f->cache); k++) {
            bool is_new;
            struct sf_cached_address *found = sf_symbol_cache_address(f->cache, at[k], &is_new);
            if (!found || found->state == SF_CACHED_WHOLE)
                continue;
            if (found->window != f->cache->window) {
                found->window = f->cache->window;
                found->n_seen = 0;
                sf_buf_add(fresh, &at[k], sizeof(at[k]));
            }
            found->n_seen++;
        }
    }
    return n_seen;
}

/* The addresses of the next module, from `list` on. */
static struct group next_group(struct sf_frame_names *f, uint64_t *list, size_t n)
{
    struct group g = {.m = f->m ? sf_modules_find(f->m, list[0]) : NULL, .at = list, .n = 1};
    while (g.m && g.n < n && list[g.n] < g.m->hi)
        g.n++;
    for (size_t i = 0; i < g.n; i++) {
        bool is_new;
        const struct sf_cached_address *found = sf_symbol_cache_address(f->cache, list[i], &is_new);
        g.n_seen += found ? found->n_seen : 0;
    }
    return g;
}

/* The most frequent ones first: the budget may not suffice for all. */
static void look_up_groups(struct sf_frame_names *f, struct group *groups, size_t n,
                           uint64_t n_seen)
{
    for (size_t done = 0; done < n; done++) {
        struct group *most = &groups[0];
        for (size_t i = 1; i < n; i++)
            most = groups[i].n && (!most->n || groups[i].n_seen > most->n_seen) ? &groups[i] : most;
        if (!most->n)
            return;
        look_up_in(f, most, n_seen);
        most->n = 0;
    }
}

void sf_frame_names_look_up(struct sf_frame_names *f, const struct sf_profile_table *const *tables,
                            unsigned n)
{
    struct sf_buf fresh = {0}, groups = {0};
    uint64_t *list, n_seen = 0;
    size_t n_fresh, n_groups;
    f->cache->window++;
    for (unsigned i = 0; i < n; i++)
        n_seen += frame_names_find_fresh(f, tables[i], &fresh);
    list = (uint64_t *)(void *)fresh.p;
    n_fresh = sf_buf_ok(&fresh) ? fresh.len / sizeof(*list) : 0;
    frame_names_sort(list, n_fresh);
    for (size_t from = 0; from < n_fresh;) {
        struct group g = next_group(f, list + from, n_fresh - from);
        if (g.m)
            sf_buf_add(&groups, &g, sizeof(g));
        else
            set_state(f, &g, SF_CACHED_WHOLE); /* in no module */
        from += g.n;
    }
    n_groups = sf_buf_ok(&groups) ? groups.len / sizeof(struct group) : 0;
    look_up_groups(f, (struct group *)(void *)groups.p, n_groups, n_seen);
    sf_buf_done(&groups);
    sf_buf_done(&fresh);
}

/* ---- results ---- */

static uint32_t frame_names_place_of(const struct sf_modules *m, const struct sf_module *one)
{
    uint32_t at = 0;
    while (m->list[at] != one)
        at++;
    return at;
}

void sf_frame_names_find(struct sf_frame_names *f, uint64_t at, struct sf_named_frame *out)
{
    const struct sf_module *m = f->m ? sf_modules_find(f->m, at) : NULL;
    const struct sf_cached_address *found;
    bool is_new;
    out->module = 0;
    out->n_lines = 0;
    if (!m)
        return;
    out->module = frame_names_place_of(f->m, m) + 1;
    found = sf_symbol_cache_address(f->cache, at, &is_new);
    for (uint32_t i = 0; found && i < found->n_lines && i < SF_FRAME_LINES_MAX; i++) {
        const struct sf_cached_line *l = sf_symbol_cache_line(f->cache, found->lines_at + i);
        out->lines[out->n_lines++] = (struct sf_frame_line){
            sf_symbol_cache_text(f->cache, l->name), sf_symbol_cache_text(f->cache, l->system_name),
            sf_symbol_cache_text(f->cache, l->file), l->line, l->start_line};
    }
}
