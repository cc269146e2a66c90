/* profiler.c - the collecting thread and the requests to it. Other threads put a request (start,
 * stop, flush, check) into a slot, wake the thread and wait; the thread handles it between turns. A
 * turn lets every source that is on deliver samples, closes the server's window when it ends, and
 * governs overhead. */
#include "collect/lib/profiler.h"

#include <string.h>

#include "base/heap.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/runnable.h"
#include "collect/lib/sample.h"
#include "collect/lib/turn_pace.h"
#include "collect/lib/waits.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/lock.h"
#include "collect/unwind/modules.h"

#define PATIENCE_NS ((int64_t)3000000000)
enum { WINDOW_MEMORY = 3 << 20 }; /* limit for one kind; a window that reaches it is sent early */

enum wish_kind { NO_WISH, START, STOP, FLUSH, LOOK };

enum wish_state { OPEN, DONE, LEFT };

/* A request. On the heap: a waiting thread may time out and leave it to the collecting thread. */
struct wish {
    enum wish_kind what;
    enum sf_profile_party party;
    unsigned kinds;
    enum sf_err (*look)(const struct sf_profile *profiles, void *arg);
    void *arg;
    struct sf_profile out[SF_SAMPLES_KINDS];
    struct sf_why why;
    enum sf_err err;
    atomic_int state; /* enum wish_state */
};

atomic_uint sf_profiler_kinds;

static struct {
    struct sf_lock lock; /* guards the request and the thread's lifetime; held while it starts */
    struct wish *wish;   /* one at a time */
    bool is_alive;
    struct sf_notifier bell, done;
    void (*between)(void);
    void (*govern)(int64_t now_ns);
    atomic_bool is_called;
    void (*upload)(struct sf_profile *list, unsigned n);
    int64_t window_ns;
    _Atomic(const struct sf_profiler_source *) sources[SF_SAMPLES_KINDS];
    atomic_uint_fast64_t periods[SF_SAMPLES_KINDS];
    /* The fields below are changed by the collecting thread only; others read atomic ones. */
    atomic_uint_fast64_t n_taken, n_dropped;
    atomic_uint on[SF_PARTIES];
    struct sf_profile profiles[SF_PARTIES][SF_SAMPLES_KINDS];
    int64_t window_end_ns;
    int64_t spread_ns;
    atomic_int pause; /* enum sf_pause */
    atomic_int_fast64_t pause_begin_ns;
    atomic_uint_fast64_t n_pauses, paused_ns; /* paused_ns: sum of the pauses that have ended */
    int64_t told_ns;                          /* time up to which the current pause was reported */
} p;

void sf_profiler_set_source(enum sf_sample_kind kind, const struct sf_profiler_source *source)
{
    p.sources[kind] = source;
}

void sf_profiler_set_period(enum sf_sample_kind kind, uint64_t period)
{
    atomic_store(&p.periods[kind], period);
}

uint64_t sf_profiler_period(enum sf_sample_kind kind)
{
    return atomic_load(&p.periods[kind]);
}

unsigned sf_profiler_kinds_there(void)
{
    unsigned kinds = 0;
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++)
        kinds |= p.sources[kind] ? 1u << kind : 0;
    return kinds;
}

void sf_profiler_count(uint64_t *taken, uint64_t *dropped)
{
    *taken = atomic_load(&p.n_taken);
    *dropped = atomic_load(&p.n_dropped);
}

void sf_profiler_set_upload(int64_t window_ns, void (*upload)(struct sf_profile *list, unsigned n))
{
    p.window_ns = window_ns;
    p.upload = upload;
}

void sf_profiler_between(void (*between)(void))
{
    p.between = between;
}

void sf_profiler_wake(void)
{
    sf_notifier_notify(&p.bell);
}

void sf_profiler_call(void)
{
    atomic_store(&p.is_called, true);
    sf_notifier_notify(&p.bell);
}

void sf_profiler_spread(int64_t most_ns)
{
    p.spread_ns = most_ns;
}

unsigned sf_profiler_on_for(enum sf_profile_party party)
{
    return atomic_load(&p.on[party]);
}

void sf_profiler_govern(void (*govern)(int64_t now_ns))
{
    p.govern = govern;
}

enum sf_pause sf_profiler_paused(uint64_t *times, uint64_t *ns)
{
    enum sf_pause pause = (enum sf_pause)atomic_load(&p.pause);
    *times = atomic_load(&p.n_pauses);
    *ns = atomic_load(&p.paused_ns);
    if (pause)
        *ns += (uint64_t)(sf_clock_mono_ns() - atomic_load(&p.pause_begin_ns));
    return pause;
}

/* ---- in the collecting thread ---- */

static void report_pause(int64_t now_ns);

void sf_profiler_add(const struct sf_raw_sample *s)
{
    bool is_rest = SF_WAIT_KINDS >> s->kind & 1 && !s->time_ns; /* of a sample that is counted */
    atomic_fetch_add_explicit(&p.n_taken, !is_rest, memory_order_relaxed);
    for (int party = 0; party < SF_PARTIES; party++) {
        struct sf_profile *profile = &p.profiles[party][s->kind];
        if (!(atomic_load(&p.on[party]) >> s->kind & 1))
            continue;
        sf_profile_table_add(&profile->table, s);
        profile->n_samples += !is_rest;
    }
}

void sf_profiler_count_dropped(enum sf_sample_kind kind, uint64_t n)
{
    atomic_fetch_add_explicit(&p.n_dropped, n, memory_order_relaxed);
    for (int party = 0; n && party < SF_PARTIES; party++) {
        if (atomic_load(&p.on[party]) >> kind & 1)
            p.profiles[party][kind].n_dropped += n;
    }
}

static void take_given(void)
{
    struct sf_raw_sample s;
    uint64_t n_dropped;
    while (sf_sample_next(&s)) {
        if (s.kind < SF_SAMPLES_KINDS)
            sf_profiler_add(&s);
    }
    n_dropped = sf_sample_dropped(); /* the kind of a dropped sample is unknown */
    for (int kind = SF_SAMPLES_ALLOC; kind <= SF_SAMPLES_BLOCK && n_dropped; kind++) {
        if (sf_profiler_is_on((enum sf_sample_kind)kind)) {
            sf_profiler_count_dropped((enum sf_sample_kind)kind, n_dropped);
            n_dropped = 0;
        }
    }
}

static void begin_profile(enum sf_profile_party party, int kind)
{
    bool is_server = party == SF_FOR_SERVER;
    p.profiles[party][kind] = (struct sf_profile){
        .kind = (enum sf_sample_kind)kind,
        .table = {.has_moments = is_server &&
                                 !sf_sample_kind_info((enum sf_sample_kind)kind)->is_snapshot,
                  .max = is_server ? WINDOW_MEMORY : 0},
        .period = sf_profiler_period((enum sf_sample_kind)kind),
        .begin_unix_ns = sf_clock_unix_ns(),
        .begin_mono_ns = sf_clock_mono_ns()};
}

static bool profiler_is_for(const struct wish *w, enum sf_profile_party party)
{
    return w->party == party || w->party == SF_FOR_BOTH;
}

/* The profilers that are on for a consumer of the request. */
static unsigned on_for(const struct wish *w)
{
    unsigned kinds = 0;
    for (int party = 0; party < SF_PARTIES; party++)
        kinds |= profiler_is_for(w, (enum sf_profile_party)party) ? atomic_load(&p.on[party]) : 0;
    return kinds;
}

static enum sf_profile_party other_than(enum sf_profile_party party)
{
    return party == SF_FOR_FILE ? SF_FOR_SERVER : SF_FOR_FILE;
}

/* A snapshot is given to the consumer it was made for. */
static void profiler_take_snapshot(enum sf_profile_party party, int kind)
{
    unsigned others = atomic_exchange(&p.on[other_than(party)], 0);
    if (p.sources[kind]->close)
        p.sources[kind]->close();
    atomic_store(&p.on[other_than(party)], others);
}

static struct sf_profile close_profile(enum sf_profile_party party, int kind)
{
    struct sf_profile out = p.profiles[party][kind];
    out.length_ns = sf_clock_mono_ns() - out.begin_mono_ns;
    p.profiles[party][kind] = (struct sf_profile){0};
    return out;
}

static void close_window(unsigned kinds, bool is_last)
{
    struct sf_profile list[SF_SAMPLES_KINDS];
    unsigned n = 0;
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!(atomic_load(&p.on[SF_FOR_SERVER]) & kinds & 1u << kind))
            continue;
        if (!is_last)
            profiler_take_snapshot(SF_FOR_SERVER, kind);
        list[n++] = close_profile(SF_FOR_SERVER, kind);
        begin_profile(SF_FOR_SERVER, kind);
    }
    if (n && p.upload)
        p.upload(list, n);
    for (unsigned i = 0; i < n; i++)
        sf_profile_table_done(&list[i].table);
}

/* Kinds requested by any consumer. While profiling is paused, none of them is on. */
static unsigned wanted_kinds(void)
{
    return atomic_load(&p.on[SF_FOR_FILE]) | atomic_load(&p.on[SF_FOR_SERVER]);
}

static void note_kinds(void)
{
    atomic_store_explicit(&sf_profiler_kinds, atomic_load(&p.pause) ? 0 : wanted_kinds(),
                          memory_order_release);
}

/* Stops the source unless another user of it, to whom the request does not apply, still needs it.
 */
static void end_kind(const struct wish *w, int kind)
{
    for (int party = 0; party < SF_PARTIES; party++) {
        if (!profiler_is_for(w, (enum sf_profile_party)party) &&
            atomic_load(&p.on[party]) >> kind & 1)
            return;
    }
    if (!sf_profiler_is_on((enum sf_sample_kind)kind)) /* paused: its source has already ended */
        return;
    atomic_fetch_and(&sf_profiler_kinds, ~(1u << kind));
    p.sources[kind]->end();
}

static void profiler_begin_profiles(const struct wish *w, int kind)
{
    for (int party = 0; party < SF_PARTIES; party++) {
        if (profiler_is_for(w, (enum sf_profile_party)party))
            begin_profile((enum sf_profile_party)party, kind);
    }
}

static enum sf_err start_kinds(struct wish *w)
{
    enum sf_err err = SF_OK;
    unsigned begun = 0;
    if (on_for(w) & w->kinds)
        return sf_fail(&w->why, SF_ERR_BUSY, "profile: one is already running");
    if (!sf_modules_refresh())
        return sf_fail(&w->why, SF_ERR_NOMEM, "profile: no memory for the unwind tables");
    for (int kind = 0; kind < SF_SAMPLES_KINDS && !err; kind++) {
        if (!(w->kinds >> kind & 1))
            continue;
        if (!p.sources[kind])
            err = sf_fail(&w->why, SF_ERR_UNSUPPORTED, "profile: no %s profiler here",
                          sf_sample_kind_info((enum sf_sample_kind)kind)->word);
        else if (!sf_profiler_is_on((enum sf_sample_kind)kind) && !atomic_load(&p.pause))
            err = p.sources[kind]->begin(sf_profiler_period((enum sf_sample_kind)kind), &w->why);
        if (!err) {
            profiler_begin_profiles(w, kind);
            begun |= 1u << kind;
        }
    }
    for (int kind = 0; kind < SF_SAMPLES_KINDS && err; kind++) {
        if (begun >> kind & 1)
            end_kind(w, kind);
    }
    if (!err && profiler_is_for(w, SF_FOR_SERVER) && !atomic_load(&p.on[SF_FOR_SERVER]))
        p.window_end_ns = sf_clock_mono_ns() + p.window_ns;
    for (int party = 0; party < SF_PARTIES && !err; party++) {
        if (profiler_is_for(w, (enum sf_profile_party)party))
            atomic_fetch_or(&p.on[party], begun);
    }
    return err;
}

static void stop_party(struct wish *w, enum sf_profile_party party)
{
    unsigned kinds = atomic_load(&p.on[party]) & w->kinds;
    if (party == SF_FOR_SERVER)
        close_window(kinds, true);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        if (party == SF_FOR_FILE)
            w->out[kind] = close_profile(party, kind);
        else
            sf_profile_table_done(&p.profiles[party][kind].table);
    }
    atomic_fetch_and(&p.on[party], ~kinds);
}

static enum sf_err stop_kinds(struct wish *w)
{
    unsigned kinds = on_for(w) & w->kinds;
    if (!kinds)
        return sf_fail(&w->why, SF_ERR_NOT_FOUND, "profile: none is running");
    if (atomic_load(&p.pause))
        report_pause(sf_clock_mono_ns());
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        for (int party = 0; party < SF_PARTIES; party++) {
            if (profiler_is_for(w, (enum sf_profile_party)party) && !atomic_load(&p.pause))
                profiler_take_snapshot((enum sf_profile_party)party, kind);
        }
        end_kind(w, kind); /* delivers the last samples, which the consumer still needs */
    }
    take_given();
    for (int party = 0; party < SF_PARTIES; party++) {
        if (profiler_is_for(w, (enum sf_profile_party)party))
            stop_party(w, (enum sf_profile_party)party);
    }
    if (atomic_load(&p.pause) && !wanted_kinds()) { /* no requested kind is left that could be
                                                     * paused */
        atomic_fetch_add(&p.paused_ns,
                         (uint64_t)(sf_clock_mono_ns() - atomic_load(&p.pause_begin_ns)));
        atomic_store(&p.pause, SF_PAUSE_NONE);
    }
    return SF_OK;
}

/* A snapshot is made for the visit and discarded after it. */
static enum sf_err inspect_kinds(struct wish *w)
{
    struct sf_profile *profiles = p.profiles[w->party];
    enum sf_err err;
    if ((atomic_load(&p.on[w->party]) & w->kinds) != w->kinds)
        return sf_fail(&w->why, SF_ERR_NOT_FOUND, "profile: none is running");
    take_given();
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!(w->kinds >> kind & 1))
            continue;
        profiles[kind].length_ns = sf_clock_mono_ns() - profiles[kind].begin_mono_ns;
        profiler_take_snapshot(w->party, kind);
    }
    err = w->look(profiles, w->arg);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (w->kinds >> kind & 1 && sf_sample_kind_info((enum sf_sample_kind)kind)->is_snapshot)
            sf_profile_table_done(&profiles[kind].table);
    }
    return err;
}

/* ---- pauses and changes of the period ---- */

/* Reports the time not sampled since the last report as a profile of its own: so the server can
 * distinguish a pause from an idle program. */
static void report_pause(int64_t now_ns)
{
    struct sf_raw_sample s = {.kind = SF_SAMPLES_PAUSED,
                              .end = (uint8_t)(SF_END_PAUSED + atomic_load(&p.pause)),
                              .time_ns = (uint64_t)now_ns,
                              .values = {1, (uint64_t)(now_ns - p.told_ns)}};
    struct sf_profile profile = {
        .kind = SF_SAMPLES_PAUSED, .begin_mono_ns = p.told_ns, .length_ns = now_ns - p.told_ns};
    p.told_ns = now_ns;
    sf_profile_table_add(&profile.table, &s);
    if (p.upload && atomic_load(&p.on[SF_FOR_SERVER]))
        p.upload(&profile, 1);
    sf_profile_table_done(&profile.table);
}

static void begin_pause(enum sf_pause why)
{
    unsigned kinds = wanted_kinds(), sent = atomic_load(&p.on[SF_FOR_SERVER]);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (sent >> kind & 1)
            profiler_take_snapshot(SF_FOR_SERVER, kind);
        if (kinds >> kind & 1) {
            atomic_fetch_and(&sf_profiler_kinds, ~(1u << kind));
            p.sources[kind]->end();
        }
    }
    take_given();
    close_window(~0u, true);
    p.told_ns = sf_clock_mono_ns();
    atomic_store(&p.pause_begin_ns, p.told_ns);
    atomic_store(&p.pause, why);
    atomic_fetch_add(&p.n_pauses, 1);
}

/* A source that cannot be started again stays off: no thread waits for an error. */
static void end_pause(void)
{
    int64_t now_ns = sf_clock_mono_ns();
    unsigned kinds = wanted_kinds();
    report_pause(now_ns);
    atomic_fetch_add(&p.paused_ns, (uint64_t)(now_ns - atomic_load(&p.pause_begin_ns)));
    atomic_store(&p.pause, SF_PAUSE_NONE);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        if (p.sources[kind]->begin(sf_profiler_period((enum sf_sample_kind)kind), NULL)) {
            for (int party = 0; party < SF_PARTIES; party++)
                atomic_fetch_and(&p.on[party], ~(1u << kind));
        } else if (atomic_load(&p.on[SF_FOR_SERVER]) >> kind & 1) {
            begin_profile(SF_FOR_SERVER, kind);
        }
    }
    p.window_end_ns = now_ns + p.window_ns;
}

void sf_profiler_pause(enum sf_pause why)
{
    enum sf_pause before = (enum sf_pause)atomic_load(&p.pause);
    if (why && !before) {
        begin_pause(why);
    } else if (!why && before) {
        end_pause();
    } else if (why != before) { /* the rest has another reason */
        report_pause(sf_clock_mono_ns());
        atomic_store(&p.pause, why);
    }
    note_kinds();
}

void sf_profiler_pace(const uint64_t periods[SF_SAMPLES_KINDS])
{
    unsigned changed = 0;
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (!periods[kind] || periods[kind] == sf_profiler_period((enum sf_sample_kind)kind))
            continue;
        changed |= 1u << kind;
        sf_profiler_set_period((enum sf_sample_kind)kind, periods[kind]);
        if (p.sources[kind] && p.sources[kind]->pace)
            p.sources[kind]->pace(periods[kind]);
    }
    if (changed && !atomic_load(&p.pause))
        close_window(changed, false); /* a window must have a single period */
}

static void free_wish(struct wish *w)
{
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++)
        sf_profile_table_done(&w->out[kind].table);
    sf_heap_free(w);
}

static void fulfil(struct wish *w)
{
    uint64_t begin_ns = sf_clock_thread_cpu_ns() - sf_own_cost_symbols_ns();
    int open = OPEN;
    if (w->what == START)
        w->err = start_kinds(w);
    else if (w->what == STOP)
        w->err = stop_kinds(w);
    else if (w->what == LOOK)
        w->err = inspect_kinds(w);
    note_kinds();
    if (w->what == FLUSH) {
        take_given();
        if (atomic_load(&p.pause))
            report_pause(sf_clock_mono_ns());
        else
            close_window(~0u, false);
    }
    if (w->what != START)
        sf_own_cost_add_asked(sf_clock_thread_cpu_ns() - sf_own_cost_symbols_ns() - begin_ns);
    if (!atomic_compare_exchange_strong(&w->state, &open, DONE))
        free_wish(w);
    sf_notifier_notify(&p.done);
}

static int64_t profiler_turn(void)
{
    int64_t now_ns = sf_clock_mono_ns(), wait_ns = SF_TURN_NS;
    bool is_filling = false;
    sf_runnable_turn();
    sf_modules_refresh();
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (sf_profiler_is_on((enum sf_sample_kind)kind) && p.sources[kind]->turn) {
            int64_t want_ns = p.sources[kind]->turn(now_ns);
            wait_ns = want_ns < wait_ns ? want_ns : wait_ns;
        }
        is_filling |= sf_profile_table_is_filling(&p.profiles[SF_FOR_SERVER][kind].table);
    }
    take_given();
    if (atomic_load(&p.on[SF_FOR_SERVER]) && (is_filling || now_ns >= p.window_end_ns)) {
        if (atomic_load(&p.pause))
            report_pause(now_ns);
        else
            close_window(~0u, false);
        p.window_end_ns = sf_clock_mono_ns() + p.window_ns;
    }
    if (p.govern)
        p.govern(now_ns);
    if (p.between)
        p.between();
    return wait_ns;
}

/* Woken early: rings are filling up, or a signal is about to end the program. Searching for new
 * threads and modules can wait. */
static void turn_early(void)
{
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        if (sf_profiler_is_on((enum sf_sample_kind)kind) && p.sources[kind]->drain)
            p.sources[kind]->drain();
    }
    take_given();
    if (p.govern) /* so many samples may be too many */
        p.govern(sf_clock_mono_ns());
    if (p.between)
        p.between();
}

/* Runs a turn; returns the time until the next one. Expensive turns are spread as far as the
 * governor, the window and the sources allow. Symbols have a budget of their own. */
static int64_t profiler_take_turn(struct sf_turn_pace *pace)
{
    int64_t begin_ns = (int64_t)(sf_clock_thread_cpu_ns() - sf_own_cost_symbols_ns());
    int64_t wait_ns = profiler_turn(),
            most_ns = p.window_ns < p.spread_ns ? p.window_ns : p.spread_ns;
    int64_t cost_ns = (int64_t)(sf_clock_thread_cpu_ns() - sf_own_cost_symbols_ns()) - begin_ns;
    int64_t spread_ns = sf_turn_pace(pace, sf_clock_mono_ns(), (int64_t)sf_clock_process_cpu_ns(),
                                     cost_ns > 0 ? cost_ns : 0);
    spread_ns = spread_ns < most_ns ? spread_ns : most_ns;
    return wait_ns < SF_TURN_NS || spread_ns < SF_TURN_NS ? wait_ns : spread_ns;
}

static void profiler_run(void *arg)
{
    struct sf_turn_pace pace = {0};
    int64_t next_ns = 0, now_ns;
    (void)arg;
    for (;;) {
        unsigned heard = sf_notifier_seen(&p.bell);
        struct wish *w;
        sf_lock_take(&p.lock);
        w = p.wish;
        p.wish = NULL;
        if (!w && !wanted_kinds()) {
            p.is_alive = false;
            sf_lock_give(&p.lock);
            return;
        }
        sf_lock_give(&p.lock);
        if (w)
            fulfil(w);
        now_ns = sf_clock_mono_ns();
        if (w || now_ns >= next_ns || atomic_exchange(&p.is_called, false))
            next_ns = now_ns + profiler_take_turn(&pace);
        else
            turn_early();
        sf_notifier_wait(&p.bell, heard, next_ns - sf_clock_mono_ns());
    }
}

/* ---- requests from other threads ---- */

static bool leave_wish(struct wish *w, bool *is_alive)
{
    bool is_left;
    sf_lock_take(&p.lock);
    is_left = !p.wish;
    if (is_left && !p.is_alive && w->what == START) {
        p.wish = w;
        p.is_alive = sf_guest_thread_start(
            (struct sf_guest){"spanflame-prof", true, profiler_run, NULL});
        if (!p.is_alive)
            p.wish = NULL;
    } else if (is_left && p.is_alive) {
        p.wish = w;
    }
    *is_alive = p.is_alive;
    sf_lock_give(&p.lock);
    return is_left;
}

/* Waits until a submitted request is done; false: the thread has ended, or is blocked. A child
 * process created without fork handlers has no such thread. */
static bool is_done_in(struct wish *w, int64_t end_ns)
{
    while (atomic_load(&w->state) != DONE) {
        unsigned heard = sf_notifier_seen(&p.done);
        int open = OPEN;
        if (sf_clock_mono_ns() >= end_ns && atomic_compare_exchange_strong(&w->state, &open, LEFT))
            return false;
        if (atomic_load(&w->state) != DONE)
            sf_notifier_wait(&p.done, heard, SF_TURN_NS);
    }
    return true;
}

static enum sf_err profiler_ask(const struct wish *what, int64_t patience_ns,
                                struct sf_profile *out, struct sf_why *why)
{
    struct wish *w = sf_heap_new(sizeof(*w));
    int64_t end_ns = sf_clock_mono_ns() + patience_ns;
    bool is_alive, is_left;
    enum sf_err err;
    if (!w)
        return sf_fail(why, SF_ERR_NOMEM, "profile: no memory");
    memcpy(w, what, sizeof(*w));
    while (!(is_left = leave_wish(w, &is_alive)) && sf_clock_mono_ns() < end_ns) {
        unsigned heard = sf_notifier_seen(&p.done); /* another request is being processed */
        sf_notifier_wait(&p.done, heard, 10000000);
    }
    if (!is_left || !is_alive) {
        sf_heap_free(w);
        return what->what == START ? sf_fail(why, SF_ERR_IO, "profile: no thread could be started")
                                   : sf_fail(why, SF_ERR_NOT_FOUND, "profile: none is running");
    }
    sf_notifier_notify(&p.bell);
    if (!is_done_in(w, end_ns))
        return sf_fail(why, SF_ERR_DEADLINE,
                       "profile: the collecting thread did not respond in time");
    err = w->err;
    if (why && w->why.text[0])
        *why = w->why;
    if (out && !err) {
        memcpy(out, w->out, sizeof(w->out));
        memset(w->out, 0, sizeof(w->out));
    }
    free_wish(w);
    return err;
}

enum sf_err sf_profiler_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why)
{
    struct wish w = {.what = START, .party = party, .kinds = kinds};
    return profiler_ask(&w, PATIENCE_NS, NULL, why);
}

void sf_profiler_start_soon(enum sf_profile_party party, unsigned kinds)
{
    struct wish w = {.what = START, .party = party, .kinds = kinds};
    profiler_ask(&w, 0, NULL, NULL);
}

enum sf_err sf_profiler_stop(enum sf_profile_party party, unsigned kinds, struct sf_profile *out,
                             struct sf_why *why)
{
    struct wish w = {.what = STOP, .party = party, .kinds = kinds};
    return profiler_ask(&w, PATIENCE_NS, out, why);
}

/* Waits without a time limit, because `arg` belongs to the caller. */
enum sf_err sf_profiler_visit(enum sf_profile_party party, unsigned kinds,
                              enum sf_err (*look)(const struct sf_profile *profiles, void *arg),
                              void *arg, struct sf_why *why)
{
    struct wish w = {.what = LOOK, .party = party, .kinds = kinds, .look = look, .arg = arg};
    return profiler_ask(&w, INT64_MAX / 2, NULL, why);
}

void sf_profiler_flush(void)
{
    struct wish w = {.what = FLUSH, .party = SF_FOR_SERVER};
    if (sf_profiler_on_for(SF_FOR_SERVER))
        profiler_ask(&w, PATIENCE_NS, NULL, NULL);
}

void sf_profiler_after_fork(void)
{
    sf_lock_reset(&p.lock);
    p.wish = NULL;
    p.is_alive = false;
    atomic_store(&sf_profiler_kinds, 0);
    atomic_store(&p.pause, SF_PAUSE_NONE);
    for (int party = 0; party < SF_PARTIES; party++)
        atomic_store(&p.on[party], 0);
    memset(p.profiles, 0, sizeof(p.profiles));
    sf_sample_after_fork();
}
