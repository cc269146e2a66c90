/* findings_stuck.c - finds threads or goroutines of a service that are stuck on one lock. */
#include "join/findings_stuck.h"

#include <math.h>

#include "flame/batch_tree.h"
#include "link/hot_code.h"

enum {
    PROFILES = 5,  /* newest consecutive profiles of a process that are compared */
    FEWEST = 4,    /* at least this many waiting threads in each of them */
    PROCESSES = 8, /* at most this many processes are examined: each needs five merges */
    TIP = 10,      /* number of innermost frames in which a lock function is searched */
};

/* How runtimes name the wait for a mutex: prefixes of function names. */
static const char *const locks[] = {
    "pthread_mutex_lock",
    "__pthread_mutex_lock",
    "___pthread_mutex_lock",
    "__lll_lock_wait",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "__pthread_rwlock_",
    "___pthread_rwlock_",
    "std::mutex::lock",
    "std::sync::mutex::Mutex",
    "std::sys::sync::mutex",
    "std::sys::sync::rwlock",
    "parking_lot::raw_mutex",
    "sync.(*Mutex).",
    "internal/sync.(*Mutex).",
    "sync.(*RWMutex).",
    "sync.runtime_SemacquireMutex",
    "sync.runtime_SemacquireRWMutex",
    "internal/sync.runtime_SemacquireMutex",
    "ObjectMonitor::enter",
    "java/util/concurrent/locks/ReentrantLock",
    "java.util.concurrent.locks.ReentrantLock",
    "Thread::Mutex#",
    "System.Threading.Monitor.Enter",
};

struct work {
    struct sf_store *store;
    const struct sf_requests_want *want;
    struct sf_query_ctx *q;
    struct sf_prof_query ask;
    sf_str what; /* "goroutines" */
};

struct site { /* the function in which most threads of a process wait */
    struct sf_hot_piece piece;
    double fewest, most; /* smallest and largest number in one of the profiles */
    double all;          /* all threads of the newest profile */
    sf_str beside;       /* what another thread does in that function meanwhile; empty: none */
    double n_beside;
};

/* ---- one profile ---- */

static bool *mark_locks(const struct sf_tree *t, struct sf_arena *req)
{
    bool *is_lock = sf_arena_new_n(req, t->n_frames + 1u, sizeof(*is_lock));
    for (uint32_t i = 0; is_lock && i < t->n_frames; i++)
        for (size_t k = 0; k < sizeof(locks) / sizeof(locks[0]) && !is_lock[i]; k++)
            is_lock[i] = sf_str_starts(t->frames[i].function, sf_str_from(locks[k]));
    return is_lock;
}

static bool findings_stuck_is_waiting(const struct sf_tree *t, const bool *is_lock, uint32_t node)
{
    for (int i = 0; i < TIP && node != 0; i++, node = t->nodes[node].parent) {
        if (is_lock[t->nodes[node].frame])
            return true;
    }
    return false;
}

static bool findings_stuck_is_in(const struct sf_tree *t, uint32_t node, sf_str function)
{
    for (; node != 0; node = t->nodes[node].parent) {
        if (sf_str_eq(t->frames[t->nodes[node].frame].function, function))
            return true;
    }
    return false;
}

/* Counts threads that wait in the function; and what most of the others in it do. */
static enum sf_err findings_stuck_count(const struct sf_tree *t, struct site *s,
                                        struct sf_arena *req, double *out, struct sf_why *why)
{
    const bool *is_lock = mark_locks(t, req);
    int64_t most = 0;
    *out = 0;
    s->beside = SF_STR_NONE;
    if (!is_lock)
        return sf_no_room(why, "the query");
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        int64_t self = t->nodes[i].self;
        if (self <= 0 || !findings_stuck_is_in(t, i, s->piece.function))
            continue;
        if (findings_stuck_is_waiting(t, is_lock, i)) {
            *out += (double)self;
        } else if (self > most) {
            most = self;
            s->n_beside = (double)self;
            s->beside = t->frames[t->nodes[i].frame].function;
        }
    }
    return SF_OK;
}

static enum sf_err findings_stuck_find_site(const struct sf_tree *t, struct sf_arena *req,
                                            struct sf_hot_piece *out, bool *is_found,
                                            struct sf_why *why)
{
    const bool *is_lock = mark_locks(t, req);
    double *values = sf_arena_new_n(req, t->n_nodes + 1u, sizeof(*values));
    struct sf_hot_code hot;
    struct sf_hot_pieces found;
    enum sf_err err = is_lock && values ? sf_hot_code_init(&hot, t, req, why)
                                        : sf_no_room(why, "the query");
    *is_found = false;
    if (err)
        return err;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        values[i] = findings_stuck_is_waiting(t, is_lock, i) ? (double)t->nodes[i].self : 0;
    err = sf_hot_code_find(&hot, values, 1, req, &found, why);
    if (!err && found.n && found.list[0].value >= FEWEST) {
        *out = found.list[0];
        *is_found = true;
    }
    return err;
}

/* ---- a process ---- */

static enum sf_err merge_one(struct work *w, const struct sf_prof_point *p,
                             const struct sf_tree **out, struct sf_why *why)
{
    struct sf_prof_query ask = w->ask;
    ask.process = p->process;
    ask.from_ns = p->time_ns;
    ask.to_ns = p->time_ns + 1;
    return w->store->ops->prof_merge(w->store, &ask, w->q, out, why);
}

/* `newest` are its last profiles, newest first. */
static enum sf_err findings_stuck_look_at(struct work *w,
                                          const struct sf_prof_point *const newest[PROFILES],
                                          struct site *out, bool *is_found, struct sf_why *why)
{
    const struct sf_tree *t = NULL;
    struct site s = {.fewest = INFINITY};
    enum sf_err err = merge_one(w, newest[0], &t, why);
    if (!err)
        err = findings_stuck_find_site(t, w->q->req, &s.piece, is_found, why);
    for (int i = PROFILES - 1; !err && *is_found && i >= 0;
         i--) { /* the newest one last: it is reported */
        double n = 0;
        err = merge_one(w, newest[i], &t, why);
        if (!err)
            err = findings_stuck_count(t, &s, w->q->req, &n, why);
        s.all = err ? 0 : (double)t->total;
        s.fewest = fmin(s.fewest, n);
        s.most = fmax(s.most, n);
    }
    *is_found = *is_found && !err && s.fewest >= FEWEST;
    *out = s;
    return err;
}

static enum sf_err findings_stuck_inspect_all(struct work *w, struct site *best, bool *is_found,
                                              struct sf_why *why)
{
    struct sf_prof_points points;
    enum sf_err err = w->store->ops->prof_points(w->store, &w->ask, NULL, 0, 0, w->q, &points, why);
    uint64_t done[PROCESSES];
    uint32_t n_done = 0;
    *is_found = false;
    for (uint32_t i = err ? 0 : points.n_points; !err && i-- > 0 && n_done < PROCESSES;) {
        const struct sf_prof_point *newest[PROFILES];
        uint32_t n = 0;
        struct site s;
        bool is_known = points.points[i].is_slot, has = false;
        for (uint32_t k = 0; !is_known && k < n_done; k++)
            is_known = done[k] == points.points[i].process;
        if (is_known)
            continue;
        done[n_done++] = points.points[i].process;
        for (uint32_t k = i + 1; k-- > 0 && n < PROFILES;) {
            const struct sf_prof_point *p = &points.points[k];
            if (!p->is_slot && p->process == points.points[i].process)
                newest[n++] = p;
        }
        if (n == PROFILES)
            err = findings_stuck_look_at(w, newest, &s, &has, why);
        if (has && (!*is_found || s.fewest > best->fewest)) {
            *best = s;
            *is_found = true;
        }
    }
    return err;
}

/* ---- the sentence ---- */

static bool findings_stuck_say(struct work *w, const struct site *s, struct sf_finding *f)
{
    sf_str beside = SF_STR_NONE, range;
    bool is_ok = s->most > s->fewest
                     ? sf_arena_print(w->q->req, &range, "%.0f to %.0f", s->fewest, s->most)
                     : sf_arena_print(w->q->req, &range, "%.0f", s->fewest);
    if (is_ok && s->beside.len)
        is_ok = sf_arena_print(w->q->req, &beside,
                               "; %.0f in that function %s not: perhaps held in %.*s", s->n_beside,
                               s->n_beside > 1 ? "do" : "does", SF_STR_ARG(s->beside));
    return is_ok &&
           sf_arena_print(w->q->req, &f->sentence,
                          "%.*s %.*s of a process of %.*s wait for a lock of %.*s in each "
                          "of its last %d profiles%.*s, in %.*s: %s",
                          SF_STR_ARG(range), SF_STR_ARG(w->what), SF_STR_ARG(w->want->service),
                          SF_STR_ARG(f->subject), PROFILES, SF_STR_ARG(beside), SF_STR_ARG(f->path),
                          sf_findings_action(f->kind));
}

enum sf_err sf_findings_stuck(struct sf_store *store, const struct sf_requests_want *want,
                              const struct sf_prof_list *list, struct sf_query_ctx *q,
                              struct sf_stuck_finding *out, struct sf_why *why)
{
    static const char *const types[] = {"goroutine", "goroutines", "threads"};
    struct sf_matcher service = {SF_STR("service_name"), SF_OP_EQ, want->service};
    struct work w = {.store = store, .want = want, .q = q};
    const struct sf_profile_type *type = NULL;
    struct site s = {0};
    enum sf_err err;
    *out = (struct sf_stuck_finding){.is_found = false};
    w.ask = (struct sf_prof_query){
        .match = &service, .n_match = 1, .from_ns = want->from_ns, .to_ns = want->to_ns};
    for (uint32_t i = 0; !type && i < list->n; i++)
        for (int k = 0; k < 3; k++)
            if (sf_str_eq(list->series[i].type.sample_type, sf_str_from(types[k]))) {
                type = &list->series[i].type;
                w.what = k < 2 ? SF_STR("goroutines") : SF_STR("threads");
            }
    if (!type)
        return SF_OK;
    if (!sf_batch_tree_type_print(type, q->req, &w.ask.type))
        return sf_no_room(why, "the query");
    err = findings_stuck_inspect_all(&w, &s, &out->is_found, why);
    if (err || !out->is_found)
        return err;
    out->finding = (struct sf_finding){.kind = SF_FINDING_STUCK,
                                       .share = fmin(1, s.fewest / fmax(1, s.all)),
                                       .value = llround(s.fewest),
                                       .node = SF_NONE,
                                       .span = SF_NOBODY,
                                       .count = (uint32_t)llround(s.fewest),
                                       .subject = s.piece.function,
                                       .path = s.piece.path,
                                       .file = s.piece.file,
                                       .line = s.piece.line};
    return findings_stuck_say(&w, &s, &out->finding) ? SF_OK : sf_no_room(why, "the query");
}
