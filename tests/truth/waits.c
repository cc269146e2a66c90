/* A program whose waits are known: waits.
 *
 * Every wait happens in a function of a known name, which measures it by itself: the profile must
 * say the same. Prints "SECTION NAME COUNT NANOSECONDS". Run it under `spanflame record`. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ns(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000}, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += t.tv_sec + (until.tv_nsec + t.tv_nsec) / 1000000000;
    until.tv_nsec = (until.tv_nsec + t.tv_nsec) % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

struct site {
    const char *section, *name;
    atomic_long n;
    atomic_llong ns;
};

static void say(const struct site *s)
{
    printf("%s %s %ld %lld\n", s->section, s->name, atomic_load(&s->n),
           (long long)atomic_load(&s->ns));
}

#define WAITS(section, name, parameters, call)                                 \
    static struct site name##_site = {section, #name, 0, 0};                   \
    __attribute__((noipa)) static long name parameters                         \
    {                                                                          \
        int64_t begin_ns = now_ns(CLOCK_MONOTONIC);                            \
        long result = (call);                                                  \
        atomic_fetch_add(&name##_site.ns, now_ns(CLOCK_MONOTONIC) - begin_ns); \
        atomic_fetch_add(&name##_site.n, 1);                                   \
        return result;                                                         \
    }

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t turn;

WAITS("mutex", wait_long, (void), pthread_mutex_lock(&mutex))
WAITS("mutex", wait_short, (void), pthread_mutex_lock(&mutex))
WAITS("mutex", wait_read, (void), pthread_rwlock_rdlock(&rwlock))
WAITS("mutex", wait_write, (void), pthread_rwlock_wrlock(&rwlock))
WAITS("mutex", wait_timed, (const struct timespec *until), pthread_mutex_timedlock(&mutex, until))

/* One thread holds what the other wants: `hold_ns` from the moment both stand at the barrier. */
struct duel {
    long (*want)(void);
    void (*hold)(void), (*let_go)(void);
    long hold_ns;
    int rounds;
};

static void hold_mutex(void)
{
    pthread_mutex_lock(&mutex);
}
static void free_mutex(void)
{
    pthread_mutex_unlock(&mutex);
}
static void hold_rwlock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}
static void free_rwlock(void)
{
    pthread_rwlock_unlock(&rwlock);
}

static void *holder(void *arg)
{
    struct duel *d = arg;
    for (int i = 0; i < d->rounds; i++) {
        d->hold();
        pthread_barrier_wait(&turn);
        pause_ns(d->hold_ns);
        d->let_go();
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void fight(struct duel d)
{
    pthread_t other;
    pthread_create(&other, NULL, holder, &d);
    for (int i = 0; i < d.rounds; i++) {
        pthread_barrier_wait(&turn);
        if (!d.want())
            d.let_go();
        pthread_barrier_wait(&turn);
    }
    pthread_join(other, NULL);
}

static long want_timed(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 4000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (wait_timed(&until) != ETIMEDOUT)
        puts("odd timedlock");
    return 1; /* not taken */
}

static void locks(int scale)
{
    pthread_barrier_init(&turn, NULL, 2);
    fight((struct duel){wait_long, hold_mutex, free_mutex, 8000000, 40 * scale});
    fight((struct duel){wait_short, hold_mutex, free_mutex, 300000, 1000 * scale});
    fight((struct duel){wait_read, hold_rwlock, free_rwlock, 3000000, 60 * scale});
    fight((struct duel){wait_write, hold_rwlock, free_rwlock, 3000000, 60 * scale});
    fight((struct duel){want_timed, hold_mutex, free_mutex, 9000000, 30 * scale});
    say(&wait_long_site);
    say(&wait_short_site);
    say(&wait_read_site);
    say(&wait_write_site);
    say(&wait_timed_site);
}

int main(int argc, char **argv)
{
    locks(argc > 1 ? atoi(argv[1]) : 1);
    return 0;
}
