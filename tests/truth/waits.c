/* A program whose waits are known: waits.
 *
 * Every wait happens in a function of a known name, which measures it by itself: the profile must
 * say the same. Prints "SECTION NAME COUNT NANOSECONDS". Run it under `spanflame record`. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own_frame.h"

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
    OWN_FRAME static long name parameters                                      \
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
    return wait_timed(&until); /* on a busy machine it may get it after all */
}

static void locks(int scale)
{
    pthread_barrier_init(&turn, NULL, 2);
    fight((struct duel){wait_long, hold_mutex, free_mutex, 8000000, 40 * scale});
    fight((struct duel){wait_short, hold_mutex, free_mutex, 300000, 1000 * scale});
    fight((struct duel){wait_read, hold_rwlock, free_rwlock, 3000000, 60 * scale});
    fight((struct duel){wait_write, hold_rwlock, free_rwlock, 3000000, 60 * scale});
    fight((struct duel){want_timed, hold_mutex, free_mutex, 8000000, 30 * scale});
    say(&wait_long_site);
    say(&wait_short_site);
    say(&wait_read_site);
    say(&wait_write_site);
    say(&wait_timed_site);
}

/* ---- blocking calls ---- */

static int pipe_fds[2], sockets[2];
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int n_told; /* a late waiter finds several */
static char byte;

WAITS("block", wait_sleep, (const struct timespec *t), nanosleep(t, NULL))
WAITS("block", wait_usleep, (unsigned us), usleep(us))
WAITS("block", wait_pipe, (void), read(pipe_fds[0], &byte, 1))
WAITS("block", wait_tiny, (void), read(pipe_fds[0], &byte, 1))
WAITS("block", wait_socket, (void), recv(sockets[0], &byte, 1, 0))
WAITS("block", wait_socket_read, (void), read(sockets[0], &byte, 1))
WAITS("block", wait_poll, (struct pollfd * fds), poll(fds, 1, 1000))
WAITS("block", wait_epoll, (int fd, struct epoll_event *out), epoll_wait(fd, out, 1, 1000))
WAITS("block", wait_condition, (void), pthread_cond_wait(&cond, &cond_mutex))
WAITS("block", wait_semaphore, (void), sem_wait(&semaphore))
WAITS("block", wait_child, (pid_t pid), waitpid(pid, NULL, 0))
WAITS("block", wait_thread, (pthread_t t), pthread_join(t, NULL))

static void *napper(void *arg)
{
    pause_ns(4000000);
    return arg;
}

struct feeder {
    void (*feed)(void);
    long every_ns;
    int rounds;
};

static void *feeds(void *arg)
{
    struct feeder *f = arg;
    for (int i = 0; i < f->rounds; i++) {
        pause_ns(f->every_ns);
        f->feed();
    }
    return NULL;
}

static void feed_pipe(void)
{
    if (write(pipe_fds[1], "x", 1) != 1)
        puts("odd write");
}
static void feed_socket(void)
{
    if (send(sockets[1], "x", 1, 0) != 1)
        puts("odd send");
}
static void feed_condition(void)
{
    pthread_mutex_lock(&cond_mutex);
    n_told++;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&cond_mutex);
}
static void feed_semaphore(void)
{
    sem_post(&semaphore);
}

static long want_poll(void)
{
    struct pollfd fds = {.fd = sockets[0], .events = POLLIN};
    return wait_poll(&fds) != 1 || recv(sockets[0], &byte, 1, 0) != 1;
}
static long want_epoll(void)
{
    static int fd = -1;
    struct epoll_event event = {.events = EPOLLIN};
    if (fd < 0) {
        fd = epoll_create1(0);
        epoll_ctl(fd, EPOLL_CTL_ADD, sockets[0], &event);
    }
    return wait_epoll(fd, &event) != 1 || recv(sockets[0], &byte, 1, 0) != 1;
}
static long want_pipe(void)
{
    return wait_pipe() != 1;
}
static long want_tiny(void)
{
    return wait_tiny() != 1;
}
static long want_socket(void)
{
    return wait_socket() != 1;
}
static long want_socket_read(void)
{
    return wait_socket_read() != 1;
}
static long want_condition(void)
{
    pthread_mutex_lock(&cond_mutex);
    while (n_told == 0)
        wait_condition();
    n_told--;
    pthread_mutex_unlock(&cond_mutex);
    return 0;
}
static long want_semaphore(void)
{
    return wait_semaphore();
}

static void eat(long (*want)(void), struct feeder f)
{
    pthread_t other;
    pthread_create(&other, NULL, feeds, &f);
    for (int i = 0; i < f.rounds; i++) {
        if (want())
            puts("odd wait");
    }
    pthread_join(other, NULL);
}

static void calls(int scale)
{
    const struct timespec nap = {0, 3000000};
    if (pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
        sem_init(&semaphore, 0, 0))
        exit(1);
    for (int i = 0; i < 50 * scale; i++) {
        wait_sleep(&nap);
        wait_usleep(2000);
    }
    eat(want_pipe, (struct feeder){feed_pipe, 3000000, 50 * scale});
    eat(want_tiny, (struct feeder){feed_pipe, 150000, 2000 * scale});
    eat(want_socket, (struct feeder){feed_socket, 3000000, 50 * scale});
    eat(want_socket_read, (struct feeder){feed_socket, 3000000, 50 * scale});
    eat(want_poll, (struct feeder){feed_socket, 3000000, 50 * scale});
    eat(want_epoll, (struct feeder){feed_socket, 3000000, 50 * scale});
    eat(want_condition, (struct feeder){feed_condition, 3000000, 50 * scale});
    eat(want_semaphore, (struct feeder){feed_semaphore, 3000000, 50 * scale});
    for (int i = 0; i < 20 * scale; i++) {
        pthread_t t;
        pid_t pid = fork();
        if (!pid) {
            usleep(4000);
            _exit(0);
        }
        wait_child(pid);
        pthread_create(&t, NULL, napper, NULL);
        wait_thread(t);
    }
    say(&wait_sleep_site);
    say(&wait_usleep_site);
    say(&wait_pipe_site);
    say(&wait_tiny_site);
    say(&wait_socket_site);
    say(&wait_socket_read_site);
    say(&wait_poll_site);
    say(&wait_epoll_site);
    say(&wait_condition_site);
    say(&wait_semaphore_site);
    say(&wait_child_site);
    say(&wait_thread_site);
}

int main(int argc, char **argv)
{
    int scale = argc > 1 ? atoi(argv[1]) : 1;
    locks(scale);
    calls(scale);
    return 0;
}
