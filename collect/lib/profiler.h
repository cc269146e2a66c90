/* profiler.h - the profilers of this process: which are on, for which consumer, and the collecting
 * thread.
 *
 * A profile has up to two consumers: a file (from start to stop) and the server (window after
 * window). Each kind of profile has a source: callbacks to begin, to end, and for every turn of the
 * collecting thread. Only that thread uses tables and sources' state; other threads submit a
 * request, wake it and wait until it is done. It runs while any profiler is on. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "collect/lib/profile_table.h"

enum { SF_DEFAULT_HZ = 100 };

/* FOR_BOTH: they start and stop together and get the same samples. */
enum sf_profile_party { SF_FOR_FILE, SF_FOR_SERVER, SF_PARTIES, SF_FOR_BOTH = SF_PARTIES };

struct sf_profile {
    enum sf_sample_kind kind;
    struct sf_profile_table table;
    uint64_t period; /* sampling period of the kind; 0: none */
    int64_t begin_unix_ns, begin_mono_ns, length_ns;
    uint64_t n_samples, n_dropped; /* samples before summing; samples dropped because a ring was
                                    * full */
};

/* The callbacks of a profiler. All but `begin` and `end` may be NULL; all run in the collecting
 * thread. */
struct sf_profiler_source {
    enum sf_err (*begin)(uint64_t period, struct sf_why *why);
    void (*end)(void);
    /* Passes the samples it has collected to sf_profiler_add; returns the time until its next turn,
     * in ns. */
    int64_t (*turn)(int64_t now_ns);
    /* Empties its rings between two turns; NULL: it has none. */
    void (*drain)(void);
    /* Called before a profile of its kind is delivered, and before `end`: adds the rows of a
     * snapshot by sf_profiler_add. */
    void (*close)(void);
    /* Changes the period; NULL: it cannot be changed while running. */
    void (*pace)(uint64_t period);
};

/* To be called once per kind, before it is started. */
void sf_profiler_set_source(enum sf_sample_kind kind, const struct sf_profiler_source *source);
unsigned sf_profiler_kinds_there(void); /* bits of the kinds that have a source */
/* Sampling period: ns between samples, or bytes. Used from the next start on. */
void sf_profiler_set_period(enum sf_sample_kind kind, uint64_t period);
uint64_t sf_profiler_period(enum sf_sample_kind kind);

extern atomic_uint sf_profiler_kinds; /* bits of the kinds that are on for any consumer */
static inline bool sf_profiler_is_on(enum sf_sample_kind kind)
{
    return atomic_load_explicit(&sf_profiler_kinds, memory_order_relaxed) >> kind & 1;
}

/* Starts those kinds (bits) for a consumer, or both; BUSY: one of them is already on for it.
 * Otherwise the source's error; then none of them is on. */
enum sf_err sf_profiler_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why);
/* The same without waiting: they start a moment later, or fail. */
void sf_profiler_start_soon(enum sf_profile_party party, unsigned kinds);
/* Stops them. For a file, *out gets the profile of each kind (the caller frees the tables); the
 * server's last window is passed to the upload function. NOT_FOUND: none of them was on for any
 * consumer. */
enum sf_err sf_profiler_stop(enum sf_profile_party party, unsigned kinds, struct sf_profile *out,
                             struct sf_why *why);
/* Calls `look` in the collecting thread with the profiles of those kinds so far. NOT_FOUND: one of
 * them is not on; else the result of `look`. */
enum sf_err sf_profiler_visit(enum sf_profile_party party, unsigned kinds,
                              enum sf_err (*look)(const struct sf_profile *profiles, void *arg),
                              void *arg, struct sf_why *why);
unsigned sf_profiler_on_for(enum sf_profile_party party);

/* Called in the collecting thread: adds a sample for the consumers of its kind. */
void sf_profiler_add(const struct sf_raw_sample *s);
void sf_profiler_count_dropped(enum sf_sample_kind kind, uint64_t n);

/* Counts of all kinds and consumers, since the process started. */
void sf_profiler_count(uint64_t *taken, uint64_t *dropped);

/* Sets the length of the server's windows and the function that sends them (called in the
 * collecting thread; it does not own the tables). */
void sf_profiler_set_upload(int64_t window_ns, void (*upload)(struct sf_profile *list, unsigned n));
void sf_profiler_flush(void); /* closes the current window and waits for that */

/* ---- pacing, called in the collecting thread ---- */

/* Sets a function that the collecting thread calls on every turn, also while profiling is paused;
 * NULL: none. */
void sf_profiler_govern(void (*govern)(int64_t now_ns));
void sf_profiler_call(void); /* requests a turn with the governor now; any thread */
/* Maximum time between expensive turns; 0: ten turns a second. */
void sf_profiler_spread(int64_t most_ns);
/* Changes the periods, by kind; 0: unchanged. A change ends the current window. */
void sf_profiler_pace(const uint64_t periods[SF_SAMPLES_KINDS]);
/* Why sampling is paused. */
enum sf_pause { SF_PAUSE_NONE, SF_PAUSE_LOAD, SF_PAUSE_CONTROL, SF_PAUSE_BUDGET };
void sf_profiler_pause(enum sf_pause why);
/* Any thread. How often and how long sampling was paused in total until now. */
enum sf_pause sf_profiler_paused(uint64_t *times, uint64_t *ns);

/* Sets a function that the collecting thread calls on every turn; NULL: none. */
void sf_profiler_between(void (*between)(void));
void sf_profiler_wake(void);       /* starts a turn now; safe in handlers */
void sf_profiler_after_fork(void); /* in the child: all profilers are off */
