/* control.c - remote control of collectors. Documents and captures change under a mutex and raise a
 * generation; one thread then answers the parked polls whose instructions changed or whose time is
 * over. A change that cannot be written to its file is undone. */
#include "serve/own/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/thread.h"
#include "serve/caller_key.h"
#include "serve/fleet_text.h"
#include "serve/own/control_calls.h"

enum {
    STEP_MS = 500,              /* how soon the thread sees that a caller disconnected */
    FORGET_MS = 10 * 60 * 1000, /* a collector that has not polled for so long may be replaced by
                                 * another */
    FRESH_MS = 75 * 1000,       /* a collector that polled within this time is expected to receive a
                                 * capture */
    CAPTURE_GRACE_S = 20,       /* additional time for a collector to receive the request and to
                                 * send the profile */
    TRIES = 5                   /* attempts of a change while other nodes change, too */
};
#define TEXT_CAP ((size_t)64 << 20) /* address space to read the fleet's documents */

struct parked {
    struct sf_call *call;
    struct sf_control_target who;
    char version[17];
    int64_t deadline_ns; /* monotonic */
    uint64_t capture;    /* 0: a poll */
};

struct sf_control {
    struct sf_service *service;
    struct sf_dir *dir;
    struct sf_mutex file_mutex; /* one change at a time; held while the file is replaced */
    struct sf_fleet_text fleet; /* guarded by file_mutex, also during requests to the shard */
    char said[240];             /* the last error of sf_control_sync(); empty: none */
    struct sf_mutex mutex;      /* guards all below; held for no system call */
    struct sf_condvar signal;
    struct sf_thread thread;
    bool is_stopping;
    uint64_t generation; /* changes with the settings sent to collectors */
    int64_t next_ms;     /* unix time: when some of these settings expire */
    struct sf_control_set *set;
    struct sf_collector *collectors; /* SF_LIMIT_COLLECTORS */
    size_t n_collectors;
    struct sf_capture captures[SF_LIMIT_CAPTURES];
    size_t n_captures;
    struct parked *parked; /* SF_LIMIT_CONTROL_WAITS */
    size_t n_parked;
};

static int64_t now_ms(void)
{
    return sf_clock_wall_ns() / SF_NS_PER_MS;
}

/* ---- settings for a collector ---- */

static bool is_open(const struct sf_capture *cap, int64_t at_ms)
{
    return at_ms < cap->deadline_ms && cap->n_done < cap->n_collectors;
}

static void control_tell(const struct sf_control *c, const struct sf_control_target *who,
                         int64_t *next_ms, struct sf_buf *out, char version[17])
{
    int64_t at_ms = now_ms();
    struct sf_control_doc d = sf_control_set_effective(c->set, who, at_ms, next_ms);
    size_t begin = out->len;
    sf_control_doc_print(&d, out);
    for (size_t i = 0; i < c->n_captures; i++) {
        const struct sf_capture *cap = &c->captures[i];
        if (!is_open(cap, at_ms) || !sf_control_set_target_holds(&cap->target, who))
            continue;
        sf_buf_print(out, "capture %016" PRIx64 " %s %u %u\n", cap->id, cap->types, cap->rate_hz,
                     cap->seconds);
        break; /* one at a time; the next starts when this one is done */
    }
    snprintf(version, 17, "%016" PRIx64, sf_hash(out->p + begin, out->len - begin));
}

void sf_control_tell(struct sf_control *c, const struct sf_control_target *who, struct sf_buf *out,
                     char version[17])
{
    int64_t next_ms = INT64_MAX;
    sf_mutex_lock(&c->mutex);
    control_tell(c, who, &next_ms, out, version);
    sf_mutex_unlock(&c->mutex);
}

/* ---- parked calls ---- */

/* Passes the call to a query thread, which makes the profile; the handler runs again there. */
static void control_pass_on(struct sf_call *call)
{
    struct sf_call *refused = call;
    struct sf_why why = {0};
    unsigned after_s = 1;
    call->client = sf_caller_key(call);
    if (!sf_lane_give(call->service->query, call, &refused, &after_s, &why))
        return;
    sf_call_fail(refused, SF_ERR_BUSY, &why);
    sf_call_finish(refused);
}

static bool control_is_due(struct sf_control *c, struct parked *p, bool is_changed,
                           int64_t *next_ms, struct sf_buf *room)
{
    char version[17];
    if (c->is_stopping || atomic_load(sf_exchange_cancel(p->call->ex)) ||
        sf_clock_mono_ns() >= p->deadline_ns)
        return true;
    if (p->capture) {
        for (size_t i = 0; i < c->n_captures; i++) {
            if (c->captures[i].id == p->capture)
                return !is_open(&c->captures[i], now_ms());
        }
        return true;
    }
    if (!is_changed)
        return false;
    sf_buf_reset(room);
    control_tell(c, &p->who, next_ms, room, version);
    return strcmp(version, p->version) != 0;
}

/* Removes one parked call (a poll or a capture) that is due from the list. */
static bool take_due(struct sf_control *c, bool is_changed, size_t *at, int64_t *next_ms,
                     struct sf_buf *room, struct parked *out)
{
    for (; *at < c->n_parked; (*at)++) {
        if (!control_is_due(c, &c->parked[*at], is_changed, next_ms, room))
            continue;
        *out = c->parked[*at];
        c->parked[*at] = c->parked[--c->n_parked];
        return true;
    }
    return false;
}

static void forget_captures(struct sf_control *c)
{
    int64_t at_ms = now_ms();
    for (size_t i = 0; i < c->n_captures;) {
        if (at_ms >= c->captures[i].deadline_ms + FORGET_MS)
            c->captures[i] = c->captures[--c->n_captures];
        else
            i++;
    }
}

static void control_run(void *arg)
{
    struct sf_control *c = arg;
    uint64_t seen = 0;
    struct sf_buf room = {0};
    bool is_over = false;
    while (!is_over) {
        struct parked p;
        size_t at = 0;
        bool is_changed;
        sf_mutex_lock(&c->mutex);
        if (!c->is_stopping && c->generation == seen)
            sf_condvar_wait_until(&c->signal, &c->mutex,
                                  sf_clock_mono_ns() + STEP_MS * SF_NS_PER_MS);
        is_changed = c->generation != seen || now_ms() >= c->next_ms;
        if (is_changed)
            c->next_ms = INT64_MAX;
        seen = c->generation;
        forget_captures(c);
        while (take_due(c, is_changed, &at, &c->next_ms, &room, &p)) {
            bool is_stopping = c->is_stopping;
            sf_mutex_unlock(&c->mutex);
            if (p.capture && !is_stopping) {
                control_pass_on(p.call);
            } else if (p.capture) {
                struct sf_why why;
                sf_fail(&why, SF_ERR_BUSY,
                        "the server is stopping; retry the capture after the restart");
                sf_call_fail(p.call, SF_ERR_BUSY, &why);
                sf_call_finish(p.call);
            } else {
                sf_control_calls_poll_answer(p.call, &p.who, p.version);
                sf_call_finish(p.call);
            }
            sf_mutex_lock(&c->mutex);
        }
        is_over = c->is_stopping && !c->n_parked;
        sf_mutex_unlock(&c->mutex);
    }
    sf_buf_done(&room);
}

static bool park(struct sf_control *c, const struct parked *p)
{
    int64_t next_ms = INT64_MAX;
    struct sf_buf room = {0};
    char version[17];
    bool ok;
    sf_mutex_lock(&c->mutex);
    ok = !c->is_stopping && c->n_parked < SF_LIMIT_CONTROL_WAITS;
    if (ok && !p->capture) { /* the settings may have changed since the caller read them */
        control_tell(c, &p->who, &next_ms, &room, version);
        ok = strcmp(version, p->version) == 0;
    }
    if (ok)
        c->parked[c->n_parked++] = *p;
    if (next_ms < c->next_ms)
        c->next_ms = next_ms;
    sf_mutex_unlock(&c->mutex);
    sf_buf_done(&room);
    return ok;
}

bool sf_control_park(struct sf_control *c, struct sf_call *call,
                     const struct sf_control_target *who, const char *version, int64_t deadline_ns)
{
    struct parked p = {.call = call, .who = *who, .deadline_ns = deadline_ns};
    snprintf(p.version, sizeof(p.version), "%s", version);
    return park(c, &p);
}

/* ---- collectors ---- */

static struct sf_collector *find_collector(struct sf_control *c, const struct sf_control_target *w)
{
    for (size_t i = 0; i < c->n_collectors; i++) {
        if (sf_control_set_target_eq(&c->collectors[i].who, w))
            return &c->collectors[i];
    }
    return NULL;
}

/* A place for a new collector; NULL: all are used by others that polled recently. */
static struct sf_collector *new_collector(struct sf_control *c, const char *tenant, int64_t at_ms)
{
    struct sf_collector *old = NULL;
    size_t own = 0;
    for (size_t i = 0; i < c->n_collectors; i++) {
        struct sf_collector *one = &c->collectors[i];
        own += !strcmp(one->who.tenant, tenant);
        if (at_ms - one->seen_ms > FORGET_MS && (!old || one->seen_ms < old->seen_ms))
            old = one;
    }
    if (old)
        return old;
    return c->n_collectors < SF_LIMIT_COLLECTORS && own < SF_LIMIT_COLLECTORS / 2
               ? &c->collectors[c->n_collectors++]
               : NULL;
}

static void note_capture(struct sf_control *c, const struct sf_control_target *who, sf_str id,
                         int64_t from_ns, int64_t until_ns)
{
    char text[17];
    for (size_t i = 0; i < c->n_captures; i++) {
        struct sf_capture *cap = &c->captures[i];
        snprintf(text, sizeof(text), "%016" PRIx64, cap->id);
        if (!sf_str_eq(id, sf_str_from(text)) || !sf_control_set_target_holds(&cap->target, who) ||
            !is_open(cap, now_ms()))
            continue;
        cap->from_ns = cap->from_ns && cap->from_ns < from_ns ? cap->from_ns : from_ns;
        cap->until_ns = cap->until_ns > until_ns ? cap->until_ns : until_ns;
        cap->n_done++;
        c->generation++;
        sf_condvar_wake_all(&c->signal);
    }
}

void sf_control_note_collector(struct sf_control *c, const struct sf_collector *seen,
                               sf_str capture_done, int64_t from_ns, int64_t until_ns)
{
    struct sf_collector *one;
    sf_mutex_lock(&c->mutex);
    one = find_collector(c, &seen->who);
    if (one) {
        int64_t first_ms = one->first_ms;
        *one = *seen;
        one->first_ms = first_ms;
    } else {
        one = new_collector(c, seen->who.tenant, seen->seen_ms);
        if (one)
            *one = *seen;
    }
    if (capture_done.len)
        note_capture(c, &seen->who, capture_done, from_ns, until_ns);
    sf_mutex_unlock(&c->mutex);
}

void sf_control_visit(struct sf_control *c,
                      void (*look)(void *arg, const struct sf_control_set *set,
                                   const struct sf_collector *list, size_t n),
                      void *arg)
{
    sf_mutex_lock(&c->mutex);
    for (size_t i = 0; i < c->n_collectors; i++)
        c->collectors[i].is_waiting = false;
    for (size_t i = 0; i < c->n_parked; i++) {
        struct sf_collector *one = find_collector(c, &c->parked[i].who);
        if (one && !c->parked[i].capture)
            one->is_waiting = true;
    }
    look(arg, c->set, c->collectors, c->n_collectors);
    sf_mutex_unlock(&c->mutex);
}

/* ---- documents ---- */

/* The caller of this and of the functions up to sf_control_change() holds file_mutex. */
static enum sf_err control_take_over(struct sf_control *c, sf_str text, struct sf_why *why)
{
    struct sf_control_set *new = NULL, *old;
    struct sf_buf copy = {0};
    enum sf_err err = sf_control_set_read(text, &new, why);
    if (err)
        return err;
    sf_mutex_lock(&c->mutex);
    old = c->set;
    c->set = new;
    c->generation++;
    sf_condvar_wake_all(&c->signal);
    sf_mutex_unlock(&c->mutex);
    sf_control_set_close(old);
    sf_buf_add_str(&copy, text);
    err = sf_control_set_save(c->dir, &copy, why);
    sf_buf_done(&copy);
    return err;
}

/* Called when the fleet has no documents yet: shares those of this node. */
static enum sf_err share_own_documents(struct sf_control *c, struct sf_why *why)
{
    struct sf_buf text = {0};
    enum sf_err err = SF_OK;
    sf_mutex_lock(&c->mutex);
    sf_control_set_print(c->set, &text);
    sf_mutex_unlock(&c->mutex);
    if (text.len)
        err = sf_buf_ok(&text) ? sf_fleet_text_push(&c->fleet, c->service, sf_buf_str(&text), why)
                               : sf_no_memory(why, "the control documents");
    sf_buf_done(&text);
    return err;
}

static enum sf_err control_pull(struct sf_control *c, struct sf_why *why)
{
    struct sf_arena req = {0};
    sf_str text;
    bool is_new = false;
    enum sf_err err;
    if (!sf_fleet_text_is_on(c->service))
        return SF_OK;
    err = sf_arena_init(&req, TEXT_CAP)
              ? sf_fleet_text_pull(&c->fleet, c->service, &req, &text, &is_new, why)
              : sf_no_memory(why, "the control documents");
    if (!err && is_new)
        err = control_take_over(c, text, why);
    else if (!err && c->fleet.version == 0)
        err = share_own_documents(c, why);
    sf_arena_done(&req);
    return err;
}

void sf_control_sync(struct sf_control *c)
{
    struct sf_why why = {0};
    enum sf_err err;
    if (!c || !sf_fleet_text_is_on(c->service))
        return;
    sf_mutex_lock(&c->file_mutex);
    err = control_pull(c, &why);
    if (err && err != SF_ERR_BUSY && strcmp(c->said, why.text) != 0) /* log a repeated error once */
        sf_service_say(c->service, SF_SAY_WARN,
                       "control: could not read the fleet's documents for collectors: %s",
                       why.text);
    snprintf(c->said, sizeof(c->said), "%s", err ? why.text : "");
    sf_mutex_unlock(&c->file_mutex);
}

static enum sf_err control_change(struct sf_control *c, const struct sf_control_change *change,
                                  const struct sf_control_doc *doc, bool is_whole,
                                  struct sf_why *why)
{
    const struct sf_control_target *target = &change->target;
    const struct sf_control_doc *before;
    struct sf_control_doc old = {0}, new = {0};
    struct sf_buf text = {0};
    enum sf_err err = SF_OK, shared;
    bool is_capture = !doc && !is_whole; /* a capture is only logged */

    sf_mutex_lock(&c->mutex);
    before = sf_control_set_get(c->set, target);
    if (before)
        old = *before;
    if (doc) {
        if (!is_whole)
            new = old;
        sf_control_doc_put_over(&new, doc);
    }
    if (!is_capture)
        err = sf_control_set_put(c->set, target, doc ? &new : NULL, why);
    if (!err) {
        sf_control_set_note(c->set, change);
        sf_control_set_print(c->set, &text);
    }
    sf_mutex_unlock(&c->mutex);
    if (!err && sf_buf_ok(&text)) {
        shared = sf_fleet_text_push(&c->fleet, c->service, sf_buf_str(&text), why);
        err = is_capture ? SF_OK : shared;
    }
    if (!err)
        err = sf_control_set_save(c->dir, &text, why);
    sf_mutex_lock(&c->mutex);
    if (err && text.len && !is_capture) /* the file could not be written: undo the change in
                                         * memory */
        (void)sf_control_set_put(c->set, target, old.has ? &old : NULL, NULL);
    c->generation++;
    sf_condvar_wake_all(&c->signal);
    sf_mutex_unlock(&c->mutex);
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_control_change(struct sf_control *c, const struct sf_control_change *change,
                              const struct sf_control_doc *doc, bool is_whole, struct sf_why *why)
{
    bool is_capture = !doc && !is_whole;
    enum sf_err err = SF_ERR_BUSY;
    sf_mutex_lock(&c->file_mutex);
    for (unsigned i = 0; err == SF_ERR_BUSY && i < TRIES; i++) {
        err = control_pull(c, why); /* apply the change to the fleet's newest documents */
        if (!err || is_capture)
            err = control_change(c, change, doc, is_whole, why);
    }
    sf_mutex_unlock(&c->file_mutex);
    return err;
}

/* ---- captures ---- */

enum sf_err sf_control_capture(struct sf_control *c, struct sf_capture *io, struct sf_why *why)
{
    int64_t at_ms = now_ms();
    size_t own = 0, n_open = 0;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&c->mutex);
    io->n_collectors = 0;
    for (size_t i = 0; i < c->n_collectors; i++)
        io->n_collectors += at_ms - c->collectors[i].seen_ms < FRESH_MS &&
                            sf_control_set_target_holds(&io->target, &c->collectors[i].who);
    for (size_t i = 0; i < c->n_captures;) {
        if (!is_open(&c->captures[i], at_ms) && c->n_captures == SF_LIMIT_CAPTURES) {
            c->captures[i] = c->captures[--c->n_captures];
            continue;
        }
        n_open += is_open(&c->captures[i], at_ms);
        own += is_open(&c->captures[i], at_ms) &&
               !strcmp(c->captures[i].target.tenant, io->target.tenant);
        i++;
    }
    if (!io->n_collectors)
        err = sf_fail(why, SF_ERR_NOT_FOUND,
                      "no collector of service %s polls this server; `spanflame control "
                      "collectors` lists those that do",
                      io->target.service);
    else if (c->n_captures == SF_LIMIT_CAPTURES || own >= SF_LIMIT_CAPTURES / 4)
        err = sf_fail(why, SF_ERR_BUSY, "%zu captures are under way; try again later", n_open);
    if (!err) {
        io->id = sf_random_u64() | 1;
        io->begin_ms = at_ms;
        io->deadline_ms = at_ms + (io->seconds + CAPTURE_GRACE_S) * (int64_t)1000;
        c->captures[c->n_captures++] = *io;
        c->generation++;
        sf_condvar_wake_all(&c->signal);
    }
    sf_mutex_unlock(&c->mutex);
    return err;
}

bool sf_control_capture_find(struct sf_control *c, uint64_t id, struct sf_capture *out)
{
    bool is_found = false;
    sf_mutex_lock(&c->mutex);
    for (size_t i = 0; i < c->n_captures; i++) {
        if (c->captures[i].id == id) {
            *out = c->captures[i];
            is_found = true;
        }
    }
    sf_mutex_unlock(&c->mutex);
    return is_found;
}

bool sf_control_capture_wait(struct sf_control *c, uint64_t id, struct sf_call *call)
{
    struct parked p = {.call = call, .deadline_ns = INT64_MAX, .capture = id};
    return park(c, &p);
}

/* ---- open and close ---- */

enum sf_err sf_control_open(struct sf_dir *dir, struct sf_service *service, struct sf_control **out,
                            char notice[240], struct sf_why *why)
{
    struct sf_control *c = sf_heap_new(sizeof(*c));
    enum sf_err err;
    notice[0] = 0;
    if (!c)
        return sf_no_memory(why, "the control of collectors");
    c->service = service;
    c->dir = dir;
    c->next_ms = INT64_MAX;
    c->fleet.kind = "control";
    sf_mutex_init(&c->file_mutex, SF_LOCK_SERVE_CONTROL_FILE);
    sf_mutex_init(&c->mutex, SF_LOCK_SERVE_CONTROL);
    sf_condvar_init(&c->signal);
    c->collectors = sf_heap_new(SF_LIMIT_COLLECTORS * sizeof(*c->collectors));
    c->parked = sf_heap_new(SF_LIMIT_CONTROL_WAITS * sizeof(*c->parked));
    err = c->collectors && c->parked ? sf_control_set_open(dir, &c->set, notice, why)
                                     : sf_no_memory(why, "the control of collectors");
    if (!err)
        err = sf_thread_start(&c->thread, "control-wait", 0, control_run, c, why);
    if (err)
        sf_control_close(c);
    else
        *out = c;
    return err;
}

void sf_control_stop(struct sf_control *c)
{
    if (!c)
        return;
    sf_mutex_lock(&c->mutex);
    c->is_stopping = true;
    sf_condvar_wake_all(&c->signal);
    sf_mutex_unlock(&c->mutex);
    sf_thread_join(&c->thread);
    c->thread = (struct sf_thread){0};
}

void sf_control_close(struct sf_control *c)
{
    if (!c)
        return;
    sf_control_stop(c);
    sf_control_set_close(c->set);
    sf_heap_free(c->collectors);
    sf_heap_free(c->parked);
    sf_condvar_done(&c->signal);
    sf_mutex_done(&c->mutex);
    sf_mutex_done(&c->file_mutex);
    sf_heap_free(c);
}
