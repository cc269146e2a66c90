#include "collect/lib/recorded.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/lib/profiler.h"
#include "collect/sys/thread.h"
#include "spanflame.h"

static atomic_int recorded_pid; /* 0: none */
static atomic_int fatal_signal;

/* In a vforked child, too, which lives in its parent's memory: the id tells. */
static bool is_recorded(void)
{
    return atomic_load(&recorded_pid) && (int)syscall(SYS_getpid) == atomic_load(&recorded_pid);
}

void sf_recorded_at_exit(void)
{
    if (!is_recorded())
        return;
    atomic_store(&recorded_pid, 0);
    sf_cpu_profile_stop();
}

/* ---- signals that end programs ---- */

static void die(int sig)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(sig, &action, NULL);
    kill((pid_t)syscall(SYS_getpid), sig);
}

static void end_now(void *arg)
{
    (void)arg;
    sf_recorded_at_exit();
    die(atomic_load(&fatal_signal));
}

/* The handler may have interrupted anything, so a thread of ours does the writing; the program goes
 * on for those milliseconds. */
static void on_fatal(int sig)
{
    if (!is_recorded() || atomic_exchange(&fatal_signal, sig)) {
        die(sig); /* a child's copy of this handler, or somebody's second Ctrl-C */
        return;
    }
    sf_profiler_wake();
}

static void between(void)
{
    static bool is_begun;
    if (is_begun || !atomic_load(&fatal_signal))
        return;
    is_begun = true; /* the collecting thread cannot wait for itself */
    if (!sf_guest_thread_start("spanflame-end", end_now, NULL))
        die(atomic_load(&fatal_signal));
}

static void catch_fatal(void)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_RESTART}, now;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        if (!sigaction(fatal[i], NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            sigaction(fatal[i], &action, NULL);
    }
}

/* ---- exits that run no destructors ---- */

static _Noreturn void leave(int status)
{
    sf_recorded_at_exit();
    for (;;)
        syscall(SYS_exit_group, status);
}

SF_API void _exit(int status)
{
    leave(status);
}

SF_API void _Exit(int status)
{
    leave(status);
}

__attribute__((constructor)) static void at_load(void)
{
    const char *file = getenv("SPANFLAME_RECORD_FILE"), *pid = getenv("SPANFLAME_RECORD_PID");
    const char *rate = getenv("SPANFLAME_RECORD_RATE");
    uint64_t hz = 0, number;
    if (!file || !pid || getauxval(AT_SECURE) || !sf_str_to_u64(sf_str_from(pid), &number) ||
        number != (uint64_t)getpid())
        return;
    if (rate && !sf_str_to_u64(sf_str_from(rate), &hz))
        hz = 0;
    sf_profiler_between(between);
    if (sf_cpu_profile_start(file, (unsigned)hz))
        return;
    atomic_store(&recorded_pid, getpid());
    catch_fatal();
}
