#!/usr/bin/env python3
"""What a recorded program must find as it would without: signal masks, the ends of its threads, images that it becomes
while samples are on their way, its allocator's calls, the libraries in its memory."""
import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "truth"))
from pprof_read import Profile  # noqa: E402
from recording import HOME, OUT, SPIN, compiled, profile_of, same, tap  # noqa: E402


def test_signal_masks_are_the_programs_in_threads_and_children():
    program = compiled("masks", SPIN + """
static void say(const char *where)
{
    FILE *f = fopen("/proc/thread-self/status", "r");
    char line[256];
    sigset_t mask, pending;
    unsigned long n = 0;
    while (fgets(line, sizeof(line), f))
        if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigPnd", 6) || !strncmp(line, "ShdPnd", 6))
            printf("%s %s", where, line);
    fclose(f);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    for (int i = 1; i < 65; i++)
        n += (unsigned long)(sigismember(&mask, i) == 1) * i + (unsigned long)(sigismember(&pending, i) == 1) * 1000 * i;
    printf("%s %lu\\n", where, n);
    fflush(stdout);
}
static void *run(void *x)
{
    say("thread");
    planted_spin(0.05);
    say("thread after work");
    usleep(2000);
    say("thread after sleep");
    return x;
}
int main(int argc, char **argv)
{
    sigset_t some;
    pthread_t t;
    if (argc > 1) {
        say("new image");
        return 0;
    }
    say("main");
    planted_spin(0.1);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &some, NULL);
    raise(SIGUSR1);
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, NULL);
    free(malloc(1000000));
    say("main after work");
    if (!fork()) {
        say("child");
        _exit(0);
    }
    wait(NULL);
    execl(argv[0], argv[0], "again", (char *)NULL);
    return 9;
}""", "-w")
    assert b"planted_spin" not in (same(program) or b"")  # the image that ended is the second one


def test_threads_end_by_every_way_and_their_destructors_run():
    program = compiled("ends", SPIN + """
static pthread_key_t keys[3];
static __thread char buffer[20000];
static char said[64];
static void at_end(void *p)
{
    planted_spin(0.002); /* a sample may fall in here, too */
    free(p);
    strcat(said, "d");
    buffer[100] = 1;
}
static void *run(void *how)
{
    for (int i = 0; i < 3; i++)
        pthread_setspecific(keys[i], malloc(5000));
    planted_spin(0.003);
    if (!strcmp(how, "exit"))
        pthread_exit("exited");
    if (!strcmp(how, "cancel"))
        for (;;)
            usleep(1000);
    return "returned";
}
int main(void)
{
    const char *const ways[] = {"return", "exit", "cancel"};
    for (int i = 0; i < 3; i++)
        pthread_key_create(&keys[i], at_end);
    for (int i = 0; i < 60; i++) {
        pthread_t t;
        void *result;
        said[0] = 0;
        pthread_create(&t, NULL, run, (void *)ways[i % 3]);
        if (i % 3 == 2) {
            usleep(4000);
            pthread_cancel(t);
        }
        pthread_join(t, &result);
        printf("%s %s\\n", result == PTHREAD_CANCELED ? "cancelled" : (char *)result, said);
    }
    return 0;
}""", "-w")
    profile = same(program)  # two thirds of the time are in the destructors
    assert b"planted_spin" in profile and b"at_end" in profile


EXECS = SPIN + """
static void ours(int sig) { (void)sig; }
static void *spins(void *x) { for (;;) planted_spin(1); return x; }
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    char next[16];
    pthread_t t;
    sigset_t all;
    if (argc > 2) /* perf's signal is the program's: timers are used, of SIGPROF */
        signal(SIGURG, ours);
    if (n == 6) {
        puts("the end");
        return 7;
    }
    pthread_create(&t, NULL, spins, NULL);
    if (n % 2) { /* what is sent now waits, and is there when the new image begins */
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
    }
    planted_spin(0.03);
    sigfillset(&all);
    if (n % 2)
        sigprocmask(SIG_UNBLOCK, &all, NULL);
    snprintf(next, sizeof(next), "%d", n + 1);
    execl(argv[0], argv[0], next, argv[2], (char *)NULL);
    return 9;
}"""


def test_images_replaced_amid_samples_are_not_killed_by_them():
    program = compiled("execs", EXECS, "-w")
    same(program, "0")
    same(program, "0", "timers")


def test_hooks_never_call_the_programs_malloc():
    compiled("libcounts.so", """#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
static _Alignas(4096) char all[512 << 20];
static size_t used;
__thread long my_calls __attribute__((tls_model("initial-exec")));
void *memalign(size_t align, size_t n)
{
    size_t at = __atomic_fetch_add(&used, (n + align + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    my_calls++;
    if (at + n + align > sizeof(all))
        return NULL;
    at = (at + 16 + align - 1) & ~(align - 1);
    *(size_t *)(all + at - 16) = n;
    return all + at;
}
void *malloc(size_t n) { return memalign(16, n); }
void free(void *p) { (void)p; my_calls++; }
void *calloc(size_t n, size_t m) { return memalign(16, n * m); }
void *realloc(void *p, size_t n)
{
    void *q = memalign(16, n);
    size_t before = p ? *(size_t *)((char *)p - 16) : 0;
    return q && p ? memcpy(q, p, before < n ? before : n) : q;
}
""", "-shared", "-fPIC", "-fno-builtin")
    program = compiled("counted", SPIN + """
extern __thread long my_calls;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *holds(void *x) { for (int i = 0; i < 20; i++) { pthread_mutex_lock(&m); usleep(2000); pthread_mutex_unlock(&m); usleep(100); } return x; }
static volatile int n_ended;
static void *short_one(void *x) { long before = my_calls; planted_spin(0.02); if (my_calls != before) puts("called"); return x; }
int main(void)
{
    pthread_t t;
    long before;
    for (int round = 0; round < 3; round++) {
        before = my_calls;
        for (int i = 0; i < 3000; i++)
            free(malloc(1000 + i));
        printf("%ld\\n", my_calls - before);
        pthread_create(&t, NULL, holds, NULL);
        before = my_calls;
        for (int i = 0; i < 20; i++) {
            pthread_mutex_lock(&m);
            pthread_mutex_unlock(&m);
            usleep(1500);
        }
        planted_spin(0.1);
        printf("%ld\\n", my_calls - before);
        pthread_join(t, NULL);
        pthread_create(&t, NULL, short_one, NULL);
        pthread_join(t, NULL);
    }
    return 0;
}""", "-w", "-fno-builtin", os.path.join(HOME, "libcounts.so"), "-Wl,-rpath," + HOME)
    same(program)
    assert b"main" in profile_of("heap") and b"main" in profile_of("block")


def test_no_library_but_ours_comes_with_it():
    program = compiled("maps", SPIN + """
int main(void)
{
    char line[512], last[512] = "";
    FILE *f;
    free(malloc(1000000));
    planted_spin(0.2);
    f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), f)) {
        char *name = strstr(line, ".so");
        while (name && name > line && name[-1] != '/')
            name--;
        if (name && strncmp(name, "libspanflame", 12) && strcmp(name, last)) {
            strcpy(last, name);
            fputs(name, stdout);
        }
    }
    return 0;
}""", "-w")
    assert b"planted_spin" in same(program)


STACKS = """#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <thread>
static volatile unsigned long sink;
static double now(clockid_t c) { timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void spin(double s)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + s;
    do
        for (int i = 0; i < 50000; i++)
            sink += i;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end);
}
extern "C" {
__attribute__((noipa)) void planted_vdso(void)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.2;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 2000; i++) {
            timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            sink += t.tv_nsec;
        }
}
__attribute__((noipa)) int planted_compare(const void *a, const void *b) { spin(0.02); return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) void planted_handler(int) { spin(0.2); sink++; }
__attribute__((noipa)) void planted_thread(void) { spin(0.2); sink++; }
}
int main()
{
    int list[16] = {9, 3, 7, 1, 5, 2, 8, 4};
    planted_vdso();
    qsort(list, 8, sizeof(int), planted_compare);
    signal(SIGUSR1, planted_handler);
    raise(SIGUSR1);
    std::thread(planted_thread).join();
    return 0;
}
"""


def test_stacks_are_whole_through_libc_libstdcpp_vdso_and_signals():
    source, program = os.path.join(HOME, "stacks.cpp"), os.path.join(HOME, "stacks")
    with open(source, "w", encoding="ascii") as f:
        f.write(STACKS)
    subprocess.run(["g++", "-O2", "-fomit-frame-pointer", source, "-o", program, "-pthread"], check=True)
    same(program)
    seen = {}
    for frames, (n, _), _ in Profile(OUT).samples:
        planted = next((f for f in frames if f.startswith("planted_")), None)
        # A thread's stack begins in libc, everybody else's in main.
        is_whole = "[unknown caller]" not in frames and ("main" in frames or planted == "planted_thread")
        seen.setdefault(planted, [0, 0])[not is_whole] += n
    for name in ("planted_vdso", "planted_compare", "planted_handler", "planted_thread"):
        whole, cut = seen.get(name, (0, 0))
        # Timers count the thread's own CPU time, whatever else runs: about 20 samples. A stack is cut where a sample meets
        # code that its tables describe wrongly. If that is one sample in 500, three of 20 are once in 100,000 runs.
        assert whole >= 5 and cut <= 0.1 * whole, seen


def test_code_that_nobody_knows_is_marked():
    if platform.machine() != "x86_64":
        raise tap.Skip("the code is x86-64's")
    program = compiled("made", SPIN + """
#include <sys/mman.h>
/* mov rcx, 131565568 / or rbp, -1 / dec rcx / jnz: it keeps no frame, and what it leaves in rbp is no chain */
static const unsigned char code[] = {0x55, 0x48, 0xc7, 0xc1, 0x00, 0x84, 0xd7, 0x07, 0x48, 0x83, 0xcd, 0xff,
                                     0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
int main(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*made)(void);
    memcpy(p, code, sizeof(code));
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    memcpy(&made, &p, sizeof(made));
    for (int i = 0; i < 3; i++)
        made();
    puts("done");
    return 0;
}""", "-w")
    same(program)
    ends = [frames for frames, _, _ in Profile(OUT).samples if "[unknown caller]" in frames]
    assert ends and all(len(frames) <= 3 for frames in ends), Profile(OUT).samples


tap.run(sys.modules[__name__])
