/* thread.h - threads, locks and waiting.
 *
 * A mutex is declared next to what it guards and has a rank in the lock order of os/lock_order.h.
 * None is held across a system call or a callback, except for those whose comment says so. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/lock_order.h"

struct sf_thread {
    pthread_t handle;
    bool is_running;
};

/* Nice level of threads that answer queries, because writing has priority. On a busy core such a
 * thread gets 1/30 of the time next to one of normal priority; on an idle core it gets all of
 * it. */
enum { SF_NICE_QUERIES = 15 };
/* Nice level of threads that answer queries about one trace, span or name, which have priority over
 * other queries. */
enum { SF_NICE_POINTS = 10 };

/* Starts `run(arg)` with all signals but SIGPROF and SIGURG blocked. `name` (at most 15 characters)
 * shows in ps and top; `nice` 0-19 applies to this thread alone. */
enum sf_err sf_thread_start(struct sf_thread *t, const char *name, int nice_level,
                            void (*run)(void *arg), void *arg, struct sf_why *why);
void sf_thread_join(struct sf_thread *t); /* a thread that never started is fine */
void sf_thread_set_nice(int nice_level);  /* of the calling thread; failure is ignored */
unsigned sf_thread_cores(void);           /* usable cores, at least 1 */
unsigned sf_thread_pid(void);             /* id of the process */

struct sf_mutex {
    pthread_mutex_t m;
    enum sf_lock_rank rank;
};
struct sf_condvar { /* condition variable; always used with the mutex that guards the condition */
    pthread_cond_t c;
};
struct sf_rwlock { /* readers-writer lock; readers do not starve a writer */
    pthread_rwlock_t l;
    enum sf_lock_rank rank;
};

void sf_mutex_init(struct sf_mutex *m, enum sf_lock_rank rank);
void sf_mutex_done(struct sf_mutex *m);
void sf_mutex_lock(struct sf_mutex *m);
bool sf_mutex_try(struct sf_mutex *m); /* false: another thread has it; any lock order is allowed */
void sf_mutex_unlock(struct sf_mutex *m);
void sf_condvar_init(struct sf_condvar *s);
void sf_condvar_done(struct sf_condvar *s);
void sf_condvar_wait(struct sf_condvar *s, struct sf_mutex *m);
/* False when `deadline_ns` (monotonic) passed first. */
bool sf_condvar_wait_until(struct sf_condvar *s, struct sf_mutex *m, int64_t deadline_ns);
void sf_condvar_wake_one(struct sf_condvar *s);
void sf_condvar_wake_all(struct sf_condvar *s);

void sf_rwlock_init(struct sf_rwlock *l, enum sf_lock_rank rank);
void sf_rwlock_done(struct sf_rwlock *l);
void sf_rwlock_share(struct sf_rwlock *l); /* not recursive */
void sf_rwlock_exclude(struct sf_rwlock *l);
void sf_rwlock_release(struct sf_rwlock *l);
