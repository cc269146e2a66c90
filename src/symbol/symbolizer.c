/* symbolizer.c - names for addresses. A query reads the cache under the lock; missing offsets are
 * marked, and the threads `symbols` (local files) and `debuginfod` (downloads) are woken. The query
 * waits for the first of these threads, up to its deadline, and uses the names found by then. */
#include "symbol/symbolizer.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/thread.h"
#include "symbol/debuginfod.h"
#include "symbol/file_names.h"
#include "symbol/name_cache.h"

enum { PATH_CAP = 4096, NICE = 5 };

struct sf_symbolizer {
    struct sf_namer namer; /* first member: the store has a pointer to it */
    struct sf_symbol_files files;
    struct sf_debuginfod servers;
    int64_t wait_ns;
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    struct sf_thread reader, fetcher;
    atomic_bool is_over;

    struct sf_mutex lock; /* guards what follows; no other lock is taken while it is held */
    struct sf_condvar asked, found;
    struct sf_name_cache cache;
    struct sf_symbolizer_stats stats;
};

/* ---- finding the file ---- */

static bool symbolizer_has_any(const struct sf_symbol_files *files, uint32_t owner,
                               const struct sf_symbol_id *id)
{
    return sf_symbol_files_has(files, owner, id, SF_SYMBOL_DEBUG) ||
           sf_symbol_files_has(files, owner, id, SF_SYMBOL_PROGRAM);
}

/* A tenant's uploads take precedence over files downloaded for all. If a tenant has uploaded only
 * the .dwp file, names belong to the tenant too, once the program was downloaded. */
static bool find_owner(const struct sf_symbolizer *s, const uint32_t *tenants, size_t n_tenants,
                       const struct sf_symbol_id *id, uint32_t *out)
{
    for (size_t i = 0; i < n_tenants; i++) {
        if (symbolizer_has_any(&s->files, tenants[i], id)) {
            *out = tenants[i];
            return true;
        }
    }
    *out = SF_SYMBOL_FETCHED;
    if (!symbolizer_has_any(&s->files, SF_SYMBOL_FETCHED, id))
        return false;
    for (size_t i = 0; i < n_tenants; i++) {
        if (sf_symbol_files_has(&s->files, tenants[i], id, SF_SYMBOL_SPLIT)) {
            *out = tenants[i];
            break;
        }
    }
    return true;
}

/* ---- reading local files: the thread `symbols` ---- */

struct reading {
    struct sf_symbolizer *s;
    struct sf_name_module *m; /* marked busy, so that it is not evicted */
};

static void take_named(void *arg, uint64_t off, const struct sf_named *named)
{
    struct reading *r = arg;
    sf_mutex_lock(&r->s->lock);
    sf_name_cache_module_put(r->m, off, named);
    r->s->stats.n_looked_up++;
    r->s->stats.n_named += named->n_lines > 0;
    sf_mutex_unlock(&r->s->lock);
}

static void file_path(const struct sf_symbolizer *s, uint32_t owner, const struct sf_symbol_id *id,
                      enum sf_symbol_part part, char out[PATH_CAP])
{
    char name[SF_SYMBOL_NAME_CAP];
    sf_symbol_files_name(owner, id, part, name);
    snprintf(out, PATH_CAP, "%s/%s", sf_dir_path(s->files.dir), name);
    if (owner == SF_SYMBOL_FETCHED)
        sf_dir_touch(s->files.dir, name); /* mark as used, so that it is trimmed last */
}

/* Requests the missing shared file of `m` from the servers. `absent_ns` as in struct asked. Called
 * under the lock. */
static void want_shared(struct sf_symbolizer *s, const struct sf_name_module *m, int64_t absent_ns)
{
    struct sf_symbol_id id = m->shared_id;
    struct sf_name_module *theirs;
    if (!m->has_no_shared || !s->servers.n_urls || !strcmp(id.hex, m->id.hex))
        return;
    theirs = sf_name_cache_module(&s->cache, SF_SYMBOL_FETCHED, &id, true);
    if (!theirs)
        return;
    if (absent_ns && !theirs->retry_ns)
        theirs->retry_ns = sf_clock_mono_ns() + absent_ns;
    if (!theirs->is_busy && sf_clock_mono_ns() >= theirs->retry_ns)
        theirs->is_wanted = true;
}

static bool is_shared_coming(struct sf_symbolizer *s, const struct sf_name_module *m)
{
    const struct sf_name_module *theirs = m && m->has_no_shared
                                              ? sf_name_cache_module(&s->cache, SF_SYMBOL_FETCHED,
                                                                     &m->shared_id, false)
                                              : NULL;
    return theirs && theirs != m && (theirs->is_wanted || theirs->is_busy);
}

/* The shared file of another one: the tenant's upload takes precedence over a downloaded one. A
 * missing one is requested from the debuginfod servers. */
static bool find_shared(struct sf_symbolizer *s, struct sf_name_module *m,
                        const struct sf_symbol_id *id, char out[PATH_CAP])
{
    uint32_t owner = m->owner;
    bool is_here = sf_symbol_files_has(&s->files, owner, id, SF_SYMBOL_DEBUG);
    int64_t absent_ns = s->servers.n_urls ? sf_symbol_files_absent(&s->files, id) : 0;
    if (!is_here) {
        owner = SF_SYMBOL_FETCHED;
        is_here = sf_symbol_files_has(&s->files, owner, id, SF_SYMBOL_DEBUG);
    }
    if (is_here)
        file_path(s, owner, id, SF_SYMBOL_DEBUG, out);
    sf_mutex_lock(&s->lock);
    m->shared_id = *id;
    m->has_no_shared = !is_here;
    want_shared(s, m, absent_ns);
    sf_condvar_wake_all(&s->asked);
    sf_mutex_unlock(&s->lock);
    return is_here;
}

/* Owner and id of a busy module do not change. */
static void symbolizer_read_files(struct sf_symbolizer *s, struct sf_name_module *m,
                                  const uint64_t *offs, uint32_t n)
{
    struct reading r = {s, m};
    char program[PATH_CAP], debug[PATH_CAP], shared[PATH_CAP], package[PATH_CAP];
    struct sf_file_names_paths paths = {program, debug, NULL, package};
    uint32_t owner = symbolizer_has_any(&s->files, m->owner, &m->id) ? m->owner : SF_SYMBOL_FETCHED;
    struct sf_symbol_id id;
    file_path(s, owner, &m->id, SF_SYMBOL_PROGRAM, program);
    file_path(s, owner, &m->id, SF_SYMBOL_DEBUG, debug);
    file_path(s, m->owner, &m->id, SF_SYMBOL_SPLIT, package);
    if ((sf_symbol_files_shared_id(debug, &id) || sf_symbol_files_shared_id(program, &id)) &&
        find_shared(s, m, &id, shared))
        paths.shared = shared;
    if (sf_file_names_find(&paths, offs, n, take_named, &r))
        return;
    for (uint32_t i = 0; i < n; i++) /* unreadable: no name, until the file is replaced */
        take_named(&r, offs[i], &(struct sf_named){0});
}

static struct sf_name_module *next_unknown(struct sf_symbolizer *s)
{
    struct sf_name_module *m = s->cache.newest;
    while (m && (m->is_busy || !m->n_unknown))
        m = m->older;
    return m;
}

static uint32_t list_unknown(const struct sf_name_module *m, uint64_t *offs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_places && n < SF_LIMIT_SYMBOL_ADDRESSES; i++) {
        if (!m->places[i].is_known)
            offs[n++] = m->places[i].off;
    }
    return n;
}

static void symbolizer_read_on(void *arg)
{
    struct sf_symbolizer *s = arg;
    uint64_t *offs = sf_heap_new_n(SF_LIMIT_SYMBOL_ADDRESSES, sizeof(*offs));
    sf_mutex_lock(&s->lock);
    while (offs && !atomic_load(&s->is_over)) {
        struct sf_name_module *m = next_unknown(s);
        uint32_t n;
        if (!m) {
            sf_condvar_wait(&s->asked, &s->lock);
            continue;
        }
        m->is_busy = true;
        n = list_unknown(m, offs);
        sf_mutex_unlock(&s->lock);
        symbolizer_read_files(s, m, offs, n);
        sf_mutex_lock(&s->lock);
        sf_name_cache_release(&s->cache, m);
        sf_condvar_wake_all(&s->found);
    }
    sf_mutex_unlock(&s->lock);
    sf_heap_free(offs);
}

/* ---- downloads: the thread `debuginfod` ---- */

/* Also downloads the program if the debug file has no code offsets, or there is none: the program
 * may not be stripped, or its unwind tables at least separate functions. */
static enum sf_err symbolizer_fetch(struct sf_symbolizer *s, const struct sf_symbol_id *id,
                                    struct sf_why *why)
{
    struct sf_symbol_info info;
    struct sf_why other = {0};
    enum sf_err err = sf_debuginfod_fetch(&s->servers, &s->files, id, SF_SYMBOL_DEBUG, &info, why);
    if (!err && (info.has_layout || info.is_shared))
        return SF_OK;
    if (err && err != SF_ERR_NOT_FOUND)
        return err;
    err = sf_debuginfod_fetch(&s->servers, &s->files, id, SF_SYMBOL_PROGRAM, &info, &other);
    if (err && why)
        *why = other;
    return err;
}

static struct sf_name_module *next_wanted(struct sf_symbolizer *s)
{
    struct sf_name_module *m = s->cache.oldest; /* roughly in the order of request */
    while (m && (m->is_busy || !m->is_wanted))
        m = m->newer;
    return m;
}

static void note_fetch(struct sf_symbolizer *s, struct sf_name_module *m, enum sf_err err)
{
    int64_t wait_s = err == SF_ERR_NOT_FOUND ? SF_LIMIT_SYMBOL_ABSENT_S : SF_LIMIT_SYMBOL_RETRY_S;
    m->is_wanted = false;
    if (!err)
        sf_name_cache_forget_sharing(&s->cache, &m->id);
    m->retry_ns = err ? sf_clock_mono_ns() + wait_s * SF_NS_PER_S : 0;
    s->stats.n_fetched += !err;
    s->stats.n_absent += err == SF_ERR_NOT_FOUND;
    s->stats.n_failed += err && err != SF_ERR_NOT_FOUND;
}

static void fetch_on(void *arg)
{
    struct sf_symbolizer *s = arg;
    sf_mutex_lock(&s->lock);
    while (!atomic_load(&s->is_over)) {
        struct sf_name_module *m = next_wanted(s);
        struct sf_why why = {0};
        enum sf_err err;
        if (!m) {
            sf_condvar_wait(&s->asked, &s->lock);
            continue;
        }
        m->is_busy = true;
        sf_mutex_unlock(&s->lock);
        err = symbolizer_fetch(s, &m->id, &why);
        if (!err)
            sf_symbol_files_trim(&s->files);
        else if (err == SF_ERR_NOT_FOUND)
            sf_symbol_files_note_absent(&s->files, &m->id);
        else if (err != SF_ERR_CANCELLED && s->notice)
            s->notice(s->notice_arg, why.text);
        sf_mutex_lock(&s->lock);
        note_fetch(s, m, err);
        sf_name_cache_release(&s->cache, m);
    }
    sf_mutex_unlock(&s->lock);
}

/* ---- queries ---- */

struct asked { /* one build id of a query, with its items in the list */
    struct sf_symbol_id id;
    uint32_t from, to, owner;
    int64_t absent_ns; /* time for which the servers need not be asked, from a note of an earlier
                        * run */
    bool is_good, has_file;
};

static uint32_t list_runs(const struct sf_symbolizer *s, const uint32_t *tenants, size_t n_tenants,
                          const struct sf_unnamed *list, uint32_t n, struct asked *runs)
{
    uint32_t n_runs = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        struct asked *a = &runs[n_runs++];
        for (to = from + 1; to < n && sf_str_eq(list[to].build_id, list[from].build_id);)
            to++;
        *a = (struct asked){.from = from, .to = to};
        a->is_good = sf_symbol_files_id_parse(list[from].build_id, &a->id);
        a->has_file = a->is_good && find_owner(s, tenants, n_tenants, &a->id, &a->owner);
        a->is_good = a->has_file || (a->is_good && s->servers.n_urls);
        if (a->is_good && !a->has_file)
            a->absent_ns = sf_symbol_files_absent(&s->files, &a->id);
    }
    return n_runs;
}

/* True: a thread has work to do. */
static bool symbolizer_ask(struct sf_symbolizer *s, const struct asked *a,
                           const struct sf_unnamed *list)
{
    struct sf_name_module *m = a->is_good ? sf_name_cache_module(&s->cache, a->owner, &a->id, true)
                                          : NULL;
    if (!m)
        return false;
    if (!a->has_file) {
        if (a->absent_ns && !m->retry_ns)
            m->retry_ns = sf_clock_mono_ns() + a->absent_ns;
        if (!m->is_busy && sf_clock_mono_ns() >= m->retry_ns)
            m->is_wanted = true;
        return m->is_wanted;
    }
    m->is_wanted = false; /* it was uploaded or downloaded meanwhile */
    want_shared(s, m, 0); /* retry, if a server failed some time ago */
    for (uint32_t i = a->from; i < a->to; i++)
        (void)sf_name_cache_module_place(m, list[i].file_off, true);
    return m->n_unknown > 0 || is_shared_coming(s, m);
}

static bool symbolizer_is_waiting(struct sf_symbolizer *s, const struct asked *runs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_name_module *m = runs[i].has_file
                                             ? sf_name_cache_module(&s->cache, runs[i].owner,
                                                                    &runs[i].id, false)
                                             : NULL;
        if (m && m->n_unknown)
            return true;
    }
    return false;
}

static void take_answer(struct sf_symbolizer *s, const struct asked *a,
                        const struct sf_unnamed *list, struct sf_arena *req, struct sf_named *out,
                        struct sf_naming *naming)
{
    struct sf_name_module *m = a->is_good ? sf_name_cache_module(&s->cache, a->owner, &a->id, false)
                                          : NULL;
    bool is_coming = is_shared_coming(s, m);
    for (uint32_t i = a->from; i < a->to; i++) {
        const struct sf_name_place *p = m && a->has_file
                                            ? sf_name_cache_module_place(m, list[i].file_off, false)
                                            : NULL;
        bool is_reading, is_fetching;
        out[i] = (struct sf_named){0};
        if (p && p->is_known)
            (void)sf_name_cache_module_get(m, p, req, &out[i]);
        naming->n_named += out[i].n_lines > 0;
        is_reading = a->has_file && p && !p->is_known;
        is_fetching = a->has_file ? p && p->is_known && is_coming : m && m->is_wanted;
        naming->n_pending += is_reading || is_fetching;
        naming->n_fetching += is_fetching;
    }
    naming->n_asked += a->to - a->from;
}

static void symbolizer_find(struct sf_namer *namer, const uint32_t *tenants, size_t n_tenants,
                            const struct sf_unnamed *list, uint32_t n, int64_t deadline_ns,
                            struct sf_arena *req, struct sf_named *out, struct sf_naming *naming)
{
    struct sf_symbolizer *s = (struct sf_symbolizer *)namer;
    struct asked *runs = sf_heap_new_n(n + 1u, sizeof(*runs));
    int64_t wait_until = sf_clock_mono_ns() + s->wait_ns;
    bool has_work = false;
    uint32_t n_runs;
    if (!runs) {
        naming->n_asked += n;
        return;
    }
    if (deadline_ns < wait_until)
        wait_until = deadline_ns;
    n_runs = list_runs(s, tenants, n_tenants, list, n, runs);
    sf_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < n_runs; i++)
        has_work |= symbolizer_ask(s, &runs[i], list);
    if (has_work)
        sf_condvar_wake_all(&s->asked);
    while (deadline_ns && symbolizer_is_waiting(s, runs, n_runs) &&
           sf_condvar_wait_until(&s->found, &s->lock, wait_until))
        ;
    for (uint32_t i = 0; i < n_runs; i++)
        take_answer(s, &runs[i], list, req, out, naming);
    sf_mutex_unlock(&s->lock);
    sf_heap_free(runs);
}

static bool has_unknown(const struct sf_name_cache *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->modules[i]->n_unknown)
            return true;
    }
    return false;
}

static void symbolizer_settle(struct sf_namer *namer, int64_t deadline_ns)
{
    struct sf_symbolizer *s = (struct sf_symbolizer *)namer;
    int64_t wait_until = sf_clock_mono_ns() + s->wait_ns;
    if (deadline_ns < wait_until)
        wait_until = deadline_ns;
    sf_mutex_lock(&s->lock);
    while (has_unknown(&s->cache) && sf_condvar_wait_until(&s->found, &s->lock, wait_until))
        ;
    sf_mutex_unlock(&s->lock);
}

/* ---- start and end ---- */

enum sf_err sf_symbolizer_open(const struct sf_symbolizer_config *config,
                               struct sf_symbolizer **out, struct sf_why *why)
{
    struct sf_symbolizer *s = sf_heap_new(sizeof(*s));
    enum sf_err err = SF_OK;
    if (!s)
        return sf_no_memory(why, "names of code");
    s->namer.find = symbolizer_find;
    s->namer.settle = symbolizer_settle;
    s->files = (struct sf_symbol_files){.dir = config->dir,
                                        .max_file_len = config->max_file_len,
                                        .max_total_len = config->max_total_len,
                                        .max_cache_len = config->max_cache_len,
                                        .min_free_len = config->min_free_len};
    s->servers = (struct sf_debuginfod){config->urls, config->n_urls, config->fetch_ns,
                                        &s->is_over};
    for (size_t i = 0; i < config->n_urls; i++)
        s->files.servers_key = sf_hash_mix(sf_hash_str(sf_str_from(config->urls[i])),
                                           s->files.servers_key);
    s->wait_ns = config->wait_ns;
    s->notice = config->notice;
    s->notice_arg = config->notice_arg;
    sf_mutex_init(&s->lock, SF_LOCK_SYMBOL);
    sf_condvar_init(&s->asked);
    sf_condvar_init(&s->found);
    for (size_t i = 0; i < config->n_urls && !err; i++)
        err = sf_debuginfod_check(config->urls[i], why);
    if (!err)
        err = sf_symbol_files_prepare(&s->files, why);
    if (!err)
        err = sf_thread_start(&s->reader, "symbols", NICE, symbolizer_read_on, s, why);
    if (!err && config->n_urls)
        err = sf_thread_start(&s->fetcher, "debuginfod", NICE, fetch_on, s, why);
    if (err)
        sf_symbolizer_close(s);
    else
        *out = s;
    return err;
}

void sf_symbolizer_close(struct sf_symbolizer *s)
{
    if (!s)
        return;
    sf_mutex_lock(&s->lock);
    atomic_store(&s->is_over, true);
    sf_condvar_wake_all(&s->asked);
    sf_mutex_unlock(&s->lock);
    sf_thread_join(&s->reader);
    sf_thread_join(&s->fetcher);
    sf_name_cache_done(&s->cache);
    sf_condvar_done(&s->asked);
    sf_condvar_done(&s->found);
    sf_mutex_done(&s->lock);
    sf_heap_free(s);
}

struct sf_namer *sf_symbolizer_namer(struct sf_symbolizer *s)
{
    return &s->namer;
}

struct sf_symbol_files *sf_symbolizer_files(struct sf_symbolizer *s)
{
    return &s->files;
}

void sf_symbolizer_forget(struct sf_symbolizer *s, uint32_t tenant, const struct sf_symbol_id *id)
{
    sf_mutex_lock(&s->lock);
    sf_name_cache_forget(&s->cache, tenant, id);
    sf_name_cache_forget_sharing(&s->cache, id);
    sf_mutex_unlock(&s->lock);
}

void sf_symbolizer_stats(struct sf_symbolizer *s, struct sf_symbolizer_stats *out)
{
    sf_mutex_lock(&s->lock);
    *out = s->stats;
    out->n_modules = s->cache.n;
    for (uint32_t i = 0; i < s->cache.n; i++)
        out->names_len += sf_name_cache_module_memory(s->cache.modules[i]);
    sf_mutex_unlock(&s->lock);
}
