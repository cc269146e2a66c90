#!/usr/bin/env python3
"""Programs that make it hard, under `spanflame record` with every profiler on: exact errno, cancelled
and interrupted calls, locks of every sort, forks in the middle of it all, small stacks, denied system calls. Each
prints what it observes; with and without recording that must be the same."""
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from recording import ALL, HOME, MEMORY, SPANFLAME, SPIN, bare, compiled, profile_of, recorded, same, tap  # noqa: E402


def test_return_values_and_errno_are_the_programs():
    program = compiled("errors", SPIN + """
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#define SAY(call) do { errno = 77; long r_ = (long)(call); printf("%d: %s %ld %d\\n", __LINE__, #call, r_, errno); } while (0)
static void nothing(int sig) { (void)sig; }
static struct timespec in(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}
static pthread_mutex_t shared;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *dies_holding(void *m) { pthread_mutex_lock(m); return NULL; }
static void *tries_timed(void *m)
{
    struct timespec t = in(CLOCK_REALTIME, 20), u = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_mutex_timedlock(m, &t));
    SAY(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &u));
    t = in(CLOCK_REALTIME, 20);
    SAY(pthread_rwlock_timedrdlock(&rw, &t));
    SAY(pthread_rwlock_timedwrlock(&rw, &t));
    return NULL;
}
static void *feeds(void *fd)
{
    usleep(30000);
    if (write(*(int *)fd, "hello", 5) != 5)
        puts("odd");
    return NULL;
}
int main(void)
{
    struct sigaction action = {.sa_handler = nothing}; /* no SA_RESTART: calls are interrupted */
    struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(0x7f000001)};
    struct timespec nap = {0, 20000000}, left = {0}, t;
    struct timeval tv = {0, 20000};
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_t thread;
    sem_t sem;
    int fds[2], s = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), status;
    char text[16] = "";
    void *p = malloc(8);
    pid_t pid;
    timer_t timer;
    struct itimerspec soon = {{0}, {0, 30000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGUSR1, &action, NULL);
    if (pipe(fds) || sem_init(&sem, 0, 0) || timer_create(CLOCK_MONOTONIC, &event, &timer))
        return 1;

    SAY(malloc(SIZE_MAX / 2) == NULL);
    SAY(calloc(SIZE_MAX / 2, 4) == NULL);
    SAY(realloc(p, SIZE_MAX / 2) == NULL);
    SAY(reallocarray(p, SIZE_MAX / 2, 4) == NULL);
    SAY(realloc(p, 0) == NULL);
    SAY(posix_memalign(&p, 3, 8));
    SAY(posix_memalign(&p, 64, SIZE_MAX / 2));
    SAY(malloc(100) != NULL);

    SAY(read(-1, text, 1));
    SAY(write(fds[0], "x", 1));
    SAY(recv(fds[0], text, 1, 0));
    SAY(connect(s, (struct sockaddr *)&nobody, sizeof(nobody)));
    SAY(accept(s, NULL, NULL));
    SAY(poll(NULL, 0, 20));
    SAY(select(0, NULL, NULL, NULL, &tv));
    SAY(epoll_wait(epoll, (struct epoll_event[1]){{0}}, 1, 20));
    SAY(epoll_wait(-1, (struct epoll_event[1]){{0}}, 1, 20));
    SAY(fsync(fds[0]));
    SAY(nanosleep(&nap, NULL));
    SAY(usleep(20000));
    SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL));
    SAY(clock_nanosleep(12345, 0, &nap, NULL));
    SAY(waitpid(-1, &status, 0));
    SAY(pthread_join(pthread_self(), NULL));
    pthread_create(&thread, NULL, feeds, &fds[1]);
    SAY(read(fds[0], text, sizeof(text)));
    puts(text);
    pthread_join(thread, NULL);

    timer_settime(timer, 0, &soon, NULL);
    SAY(read(fds[0], text, 1));
    timer_settime(timer, 0, &soon, NULL);
    SAY(poll(NULL, 0, 2000));
    timer_settime(timer, 0, &soon, NULL);
    SAY(sem_wait(&sem));
    timer_settime(timer, 0, &soon, NULL);
    nap.tv_sec = 2;
    SAY(nanosleep(&nap, &left));
    printf("%d\\n", left.tv_sec == 1 && left.tv_nsec > 0);
    timer_settime(timer, 0, &soon, NULL);
    SAY(sleep(2));
    timer_settime(timer, 0, &soon, NULL);
    SAY(pause());

    t = in(CLOCK_REALTIME, 20);
    SAY(sem_timedwait(&sem, &t));
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &attr);
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_trylock(&m));
    t = in(CLOCK_REALTIME, 20);
    SAY(pthread_cond_timedwait(&c, &m, &t));
    SAY(pthread_mutex_unlock(&m));
    SAY(pthread_mutex_unlock(&m));
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &attr);
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_rwlock_wrlock(&rw));
    SAY(pthread_rwlock_rdlock(&rw));
    SAY(pthread_rwlock_wrlock(&rw));
    pthread_create(&thread, NULL, tries_timed, &m);
    pthread_join(thread, NULL);
    SAY(pthread_rwlock_unlock(&rw));
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared, &attr);
    pthread_create(&thread, NULL, dies_holding, &shared);
    pthread_join(thread, NULL);
    SAY(pthread_mutex_lock(&shared));
    SAY(pthread_mutex_unlock(&shared));
    SAY(pthread_mutex_lock(&shared));
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_STALLED);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&m, &attr);
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_unlock(&m));
    pid = fork();
    if (!pid)
        _exit(23);
    SAY(waitpid(pid, &status, 0) == pid);
    SAY(WEXITSTATUS(status));
    SAY(waitpid(pid, &status, 0));
    return 3;
}""", "-w")
    same(program)


def test_samples_never_end_a_call_that_sleeps_or_waits_with_an_end():
    """A sample that falls into the kernel's part of such a call must not show as EINTR, and the time is still slept."""
    program = compiled("naps", SPIN + """
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
int main(void)
{
    int n_ended[8] = {0}, epoll = epoll_create1(0), n_short = 0;
    sem_t sem;
    sem_init(&sem, 0, 0);
    for (int i = 0; i < 3000; i++) {
        struct timespec nap = {0, 50000}, until;
        struct timeval most = {0, 50};
        struct epoll_event event;
        double begin, end;
        n_ended[0] += nanosleep(&nap, NULL) != 0;
        n_ended[1] += clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) != 0;
        n_ended[2] += usleep(50) != 0;
        n_ended[3] += select(0, NULL, NULL, NULL, &most) != 0;
        n_ended[4] += ppoll(NULL, 0, &nap, NULL) != 0;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = (until.tv_nsec + 50000) % 1000000000;
        n_ended[5] += sem_timedwait(&sem, &until) != -1 || errno != ETIMEDOUT;
        if (i % 4)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &nap);
        begin = nap.tv_sec + nap.tv_nsec * 1e-9;
        n_ended[6] += poll(NULL, 0, 1) != 0;
        n_ended[7] += epoll_wait(epoll, &event, 1, 1) != 0;
        clock_gettime(CLOCK_MONOTONIC, &nap);
        end = nap.tv_sec + nap.tv_nsec * 1e-9;
        n_short += end - begin < 0.0019;
    }
    for (int i = 0; i < 8; i++)
        printf("%d ", n_ended[i]);
    printf("%d\\n", n_short);
    return 0;
}""", "-w")
    want, got = bare([program]), recorded([program], "--rate", "1000")
    assert want.stdout == "0 0 0 0 0 0 0 0 0\n" and got.stdout == want.stdout, (want, got)


def test_blocked_calls_are_cancelled_and_cleaned_up():
    program = compiled("cancel", SPIN + """
#include <semaphore.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int fds[2];
static void cleaned(void *what) { printf("cleaned %s\\n", (char *)what); }
static void unlock(void *what) { cleaned(what); pthread_mutex_unlock(&m); }
static void *reads(void *x) { char b; pthread_cleanup_push(cleaned, "read"); read(fds[0], &b, 1); pthread_cleanup_pop(0); return x; }
static void *sleeps(void *x) { pthread_cleanup_push(cleaned, "sleep"); sleep(100); pthread_cleanup_pop(0); return x; }
static void *waits(void *x) { pthread_cleanup_push(cleaned, "sem"); sem_wait(&sem); pthread_cleanup_pop(0); return x; }
static void *conds(void *x)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, "cond");
    pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
    return x;
}
int main(void)
{
    void *(*const all[])(void *) = {reads, sleeps, waits, conds};
    if (pipe(fds) || sem_init(&sem, 0, 0))
        return 1;
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        void *result = NULL;
        pthread_create(&t, NULL, all[i], NULL);
        usleep(30000);
        pthread_cancel(t);
        pthread_join(t, &result);
        puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
    printf("%d\\n", pthread_mutex_trylock(&m));
    return 0;
}""", "-w")
    same(program)


def test_forks_amid_threads_that_allocate_lock_and_wait():
    program = compiled("churn", SPIN + """
#include <spawn.h>
extern char **environ;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over;
static pthread_key_t key;
static void at_fork(void) { free(malloc(100000)); } /* in every fork, before and after */
static void at_thread_end(void *p) { free(p); free(malloc(100000)); }
static void *churns(void *x)
{
    pthread_setspecific(key, malloc(70000));
    while (!is_over) {
        void *p[50];
        for (int i = 0; i < 50; i++)
            p[i] = malloc(1000 + i * 100);
        pthread_mutex_lock(&m);
        usleep(100);
        pthread_mutex_unlock(&m);
        for (int i = 0; i < 50; i++)
            free(p[i]);
    }
    return x;
}
int main(void)
{
    pthread_t t[3];
    int sum = 0, status;
    pthread_atfork(at_fork, at_fork, at_fork);
    pthread_key_create(&key, at_thread_end);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, churns, NULL);
    for (int i = 0; i < 60; i++) {
        char *argv[] = {"true", NULL};
        pid_t pid = i % 3 == 2 ? vfork() : fork();
        if (!pid) {
            if (i % 3 != 2) {
                for (int k = 0; k < 100; k++)
                    free(malloc(5000 + k));
                usleep(100);
            }
            _exit(i);
        }
        if (waitpid(pid, &status, 0) != pid)
            puts("odd");
        sum += WEXITSTATUS(status);
        if (i % 10 == 0 && !posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
            waitpid(pid, &status, 0);
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    printf("%d\\n", sum);
    return 0;
}""")
    for _ in range(3):
        same(program)
    assert b"churns" in profile_of("heap") and b"churns" in profile_of("mutex") and b"churns" in profile_of("block")


def test_small_stacks_and_coroutines():
    program = compiled("stacks", SPIN + """
#include <limits.h>
#include <ucontext.h>
static ucontext_t home, other;
__attribute__((noipa)) void planted_allocation(void)
{
    for (int i = 0; i < 500; i++) {
        void *volatile p = malloc(3000);
        free(p);
    }
    usleep(2000);
}
static void *small(void *x) { planted_allocation(); return x; }
static void coroutine(void) { planted_allocation(); swapcontext(&other, &home); planted_allocation(); }
int main(void)
{
    pthread_attr_t attr;
    pthread_t t;
    char *stack = malloc(16384);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
    for (int i = 0; i < 20; i++) {
        pthread_create(&t, &attr, small, NULL);
        pthread_join(t, NULL);
    }
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = 16384;
    other.uc_link = &home;
    makecontext(&other, coroutine, 0);
    swapcontext(&home, &other);
    swapcontext(&home, &other);
    puts("done");
    return 0;
}""")
    same(program)
    assert b"planted_allocation" in profile_of("heap") and b"planted_allocation" in profile_of("block")


def test_cpp_with_new_exceptions_and_standard_locks():
    if not shutil.which("g++"):
        raise tap.Skip("there is no g++")
    source, program = os.path.join(HOME, "cpp.cpp"), os.path.join(HOME, "cpp")
    with open(source, "w", encoding="ascii") as f:
        f.write("""#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Loud { ~Loud() { std::string s(1000, 'x'); if (s.size() != 1000) std::puts("odd"); } };
static thread_local Loud loud;
static std::mutex m;
static std::condition_variable c;
static int turn;
struct alignas(256) Wide { char bytes[1024]; };
__attribute__((noipa)) void planted_allocation(int n) {
    std::map<int, std::string> all;
    for (int i = 0; i < n; i++) all[i] = std::string(200, 'y');
    delete new Wide;
    delete[] new char[100000];
}
static void work(int self) {
    (void)&loud;
    for (int i = 0; i < 50; i++) {
        planted_allocation(100);
        try { throw std::runtime_error("thrown"); } catch (const std::exception &) {}
        std::unique_lock<std::mutex> lock(m);
        c.wait(lock, [&] { return turn % 4 == self; });
        turn++;
        c.notify_all();
    }
}
int main() {
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++) all.emplace_back(work, i);
    for (auto &t : all) t.join();
    try { volatile size_t n = (size_t)-1 / 2; delete[] new char[n]; } catch (const std::bad_alloc &) { std::puts("refused"); }
    std::printf("%d\\n", turn);
}
""")
    subprocess.run(["g++", "-O1", "-std=c++17", source, "-o", program, "-pthread"], check=True)
    same(program)
    assert b"planted_allocation" in profile_of("heap") and b"work" in profile_of("block")


def test_denied_system_calls_are_done_without():
    wrapper = compiled("denies", """#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define DENY(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENY(SYS_timer_create), DENY(SYS_perf_event_open), DENY(SYS_process_vm_readv), DENY(SYS_getrandom),
        DENY(SYS_memfd_create), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {sizeof(rules) / sizeof(rules[0]), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        return 99;
    execv(argv[1], argv + 1);
    return argc + 100;
}""")
    program = compiled("memory", MEMORY)
    want, got = bare([wrapper, program]), recorded([wrapper, program])
    assert (want.returncode, want.stdout) == (0, "0 wrong\n"), want
    assert (got.returncode, got.stdout) == (want.returncode, want.stdout), (want, got)
    assert b"planted_allocation" in profile_of("heap"), got
    assert b"by timers: the program runs under a seccomp filter" in profile_of("cpu"), profile_of("cpu")


def test_a_filter_that_kills_for_unknown_calls_is_not_provoked():
    """As service managers set them: perf_event_open is not on the list, and asking is fatal."""
    wrapper = compiled("kills", """#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {sizeof(rules) / sizeof(rules[0]), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        return 99;
    execv(argv[1], argv + 1);
    return argc + 100;
}""")
    program = compiled("spins", SPIN + "int main(void) { planted_spin(0.5); return 3; }")
    assert b"planted_spin" in same(wrapper, program)


PERF_OR_NOT = SPIN + """
#include <dirent.h>
static volatile int n;
static void ours(int sig) { (void)sig; n++; }
static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}
int main(int argc, char **argv)
{
    (void)argc;
    planted_spin(0.4);
    printf("%d descriptors\\n", descriptors());
    signal(SIGURG, ours); /* from here on it is the program's; the sampler leaves within a turn */
    planted_spin(0.4);
    n = 0;
    planted_spin(0.2);
    raise(SIGURG);
    printf("%d urgent\\n", n);
    fflush(stdout);
    signal(SIGURG, SIG_DFL);
    planted_spin(0.4);
    for (int i = 0; argv[1] && i < 200; i++) { /* what is on its way must not kill the new image */
        if (!fork()) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        int status;
        wait(&status);
        if (status)
            printf("ended with %d\\n", status);
    }
    execl("/bin/echo", "echo", "the end", (char *)NULL);
    return 9;
}"""


def test_the_samplers_signal_and_descriptors_are_not_in_the_way():
    program = compiled("urgent", PERF_OR_NOT)
    same(program, "often")


def test_a_setuid_program_is_refused_and_runs():
    if os.getuid() != 0:
        raise tap.Skip("only root can make one for somebody else")
    program = compiled("raised", SPIN + 'int main(void) { printf("%d %d\\n", getuid() != 0, geteuid()); return 4; }')
    os.chmod(HOME, 0o755)
    os.chmod(program, 0o755 | stat.S_ISUID)
    folder = os.path.join(HOME, "theirs")
    os.makedirs(folder, exist_ok=True)
    os.chown(folder, 65534, 65534)
    out = os.path.join(folder, "out.pb.gz")
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        want = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60, **nobody)
    except PermissionError as e:
        raise tap.Skip("somebody else may not run programs here") from e
    if want.stdout != "1 0\n":
        raise tap.Skip("this file system has no setuid")
    try:
        got = subprocess.run([SPANFLAME, "record", "--out", out, *ALL, "--", program], capture_output=True, text=True,
                             check=False, timeout=60, **nobody)
    except PermissionError as e:
        raise tap.Skip("somebody else may not run spanflame here") from e
    assert (got.stdout, got.returncode) == (want.stdout, want.returncode), (want, got)
    assert "no profile was written" in got.stderr and not os.path.exists(out), got


def test_node():
    same("node", "-e", """
const { Worker, isMainThread } = require('worker_threads');
const zlib = require('zlib'), fs = require('fs');
let all = [];
for (let i = 0; i < 2000; i++) all.push(Buffer.alloc(5000, i));
const packed = zlib.gzipSync(Buffer.concat(all));
console.log(zlib.gunzipSync(packed).length, require('child_process').execSync('echo child').toString().trim());
fs.promises.readFile('/proc/self/comm').then(() => setTimeout(() => { console.log('late'); process.exit(6); }, 50));
""")
    assert profile_of("heap") and profile_of("block")


def test_a_daemon_that_closes_everything_leaves_its_profiles():
    program = compiled("daemon", SPIN + """
int main(void)
{
    int up[2];
    char b;
    if (pipe(up))
        return 1;
    if (fork()) { /* the parent ends as soon as its child stands */
        close(up[1]);
        read(up[0], &b, 1);
        puts("started");
        return 0;
    }
    setsid();
    chdir("/");
    dup2(up[1], 3);
    close_range(4, ~0u, 0);
    free(malloc(1000000));
    usleep(10000);
    _exit(0);
}""", "-w")
    same(program)
    assert profile_of("heap") is not None


tap.run(sys.modules[__name__])
