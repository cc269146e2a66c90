/* profiler.h - the profilers of this process: which are on, for which consumer, and the collecting
 * thread.
 *
 * A profile has up to two consumers: a file (from start to stop) and the server (window after
 * window). Each kind of profile has a source: what it needs to begin, to end, and to do on every
 * turn of the collecting thread. That thread alone touches tables and sources' state; other threads
 * submit a request, wake the thread and wait until it is done. It runs while anything is on. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "collect/lib/profile_table.h"

enum { SF_DEFAULT_HZ = 100 };

/* For both: they begin and end at the same moment and get the same samples. */
enum sf_profile_party { SF_FOR_FILE, SF_FOR_SERVER, SF_PARTIES, SF_FOR_BOTH = SF_PARTIES };

struct sf_profile {
    enum sf_sample_kind kind;
    struct sf_profile_table table;
    uint64_t period; /* as the kind's period says; 0: none */
    int64_t begin_unix_ns, begin_mono_ns, length_ns;
    uint64_t n_samples, n_dropped; /* as taken, before summing; rings that were full */
};

/* The callbacks of a profiler. All but `begin` and `end` may be NULL; all run in the collecting
 * thread. */
struct sf_profiler_source {
    enum sf_err (*begin)(uint64_t period, struct sf_why *why);
    void (*end)(void);
    /* Gives what it has gathered by itself to sf_profiler_add; returns the time until its next
     * turn, in ns. */
    int64_t (*turn)(int64_t now_ns);
    /* Gives what fills its rings, between two turns; NULL: it has none. */
    void (*drain)(void);
    /* Before a profile of its kind is handed out, and before `end`: a snapshot's rows, by
     * sf_profiler_add. */
    void (*close)(void);
    /* Another period from now on; NULL: it has none that can change while it runs. */
    void (*pace)(uint64_t period);
};

/* Once per kind, before it is started. */
void sf_profiler_set_source(enum sf_sample_kind kind, const struct sf_profiler_source *source);
unsigned sf_profiler_kinds_there(void); /* bits of those that have one */
/* How often: ns between samples, or bytes. Taken by the next start. */
void sf_profiler_set_period(enum sf_sample_kind kind, uint64_t period);
uint64_t sf_profiler_period(enum sf_sample_kind kind);

extern atomic_uint sf_profiler_kinds; /* bits of those that are on, for anybody */
static inline bool sf_profiler_is_on(enum sf_sample_kind kind)
{
    return atomic_load_explicit(&sf_profiler_kinds, memory_order_relaxed) >> kind & 1;
}

/* Starts those kinds (bits) for a party, or both; BUSY: one of them is on for it. Otherwise what
 * the source says, and then none of them is on. */
enum sf_err sf_profiler_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why);
/* The same, but waits for nothing: they begin a moment later, or do not. */
void sf_profiler_start_soon(enum sf_profile_party party, unsigned kinds);
/* Ends them. For a file, *out takes what each kind gathered (the caller ends the tables);
 * the server's last window is given away. NOT_FOUND: none of them was on, for either. */
enum sf_err sf_profiler_stop(enum sf_profile_party party, unsigned kinds, struct sf_profile *out,
                             struct sf_why *why);
/* Lets `look` see what those kinds have gathered so far, by kind, in the collecting thread.
 * NOT_FOUND: one of them is not on; else what `look` says. */
enum sf_err sf_profiler_visit(enum sf_profile_party party, unsigned kinds,
                              enum sf_err (*look)(const struct sf_profile *profiles, void *arg),
                              void *arg, struct sf_why *why);
unsigned sf_profiler_on_for(enum sf_profile_party party);

/* In the collecting thread: a sample to for readers that need its kind. */
void sf_profiler_add(const struct sf_raw_sample *s);
void sf_profiler_count_dropped(enum sf_sample_kind kind, uint64_t n);

/* Of all kinds and parties, since the process began. */
void sf_profiler_count(uint64_t *taken, uint64_t *dropped);

/* The server's windows: their length, and the function that takes them (in the collecting thread;
 * it does not own the tables). */
void sf_profiler_set_upload(int64_t window_ns, void (*upload)(struct sf_profile *list, unsigned n));
void sf_profiler_flush(void); /* closes the window at hand and waits for that */

/* ---- how often, while they run: in the collecting thread ---- */

/* Called by it on every turn, also while profiling pauses; NULL: nothing. */
void sf_profiler_govern(void (*govern)(int64_t now_ns));
void sf_profiler_call(void); /* for a turn, and the governor's, now; any thread */
/* Turns that cost much may be that long apart; 0: ten a second. */
void sf_profiler_spread(int64_t most_ns);
/* Other periods from now on, by kind; 0: as it is. A window ends where one changes. */
void sf_profiler_pace(const uint64_t periods[SF_SAMPLES_KINDS]);
/* Why nothing is sampled though it is wanted. */
enum sf_pause { SF_PAUSE_NONE, SF_PAUSE_LOAD, SF_PAUSE_CONTROL };
void sf_profiler_pause(enum sf_pause why);
/* From any thread. How often it began to pause, and for how long altogether, until now. */
enum sf_pause sf_profiler_paused(uint64_t *times, uint64_t *ns);

/* Called by the collecting thread on every turn; NULL: nothing. */
void sf_profiler_between(void (*between)(void));
void sf_profiler_wake(void);       /* makes it turn now; safe in handlers */
void sf_profiler_after_fork(void); /* in the child: nothing is on */
