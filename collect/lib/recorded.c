/* recorded.c - starts the profilers when the library is loaded into the recorded process, and
 * writes the profile when it ends: by an exit handler, by wrappers of the exits that run no
 * handlers, or by handlers of fatal signals. A signal handler may have interrupted any function, so
 * a thread of the library writes the profile while the interrupted thread waits. */
#include "collect/lib/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"
#include "collect/lib/config_file.h"
#include "collect/lib/governor.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/library.h"
#include "collect/lib/profile_file.h"
#include "collect/lib/profile_upload.h"
#include "collect/lib/profiling_settings.h"
#include "collect/lib/sample.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "spanflame.h"

#define SHEDDING "SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED"
#define BUDGET   "SPANFLAME_PROFILING_ADAPTIVE_BUDGET"

enum { CRASH_STACK = 64 << 10, CRASH_NAP_NS = 1000000, HEAP_MEAN = 512000 };
static const int64_t CRASH_WAIT_NS = INT64_C(5000000000);

static atomic_int recorded_pid; /* 0: none */
static atomic_int fatal_signal;
static atomic_bool is_crashing, is_written; /* is_written: a crash waits until the profile is
                                             * written */
static atomic_bool is_ending, is_ended;     /* the profile is being written, has been written */
static unsigned recorded_kinds;
static struct sf_config_file recorded_config;   /* SPANFLAME_CONFIG */
static char recorded_file[SF_PROFILE_PATH_CAP]; /* "": none */
static char said_file[SF_PROFILE_PATH_CAP];     /* file with a report about uploads; "": nothing is
                                                 * uploaded */

/* Also detects a vforked child, which shares its parent's memory, by the process id. */
static bool is_recorded(void)
{
    return atomic_load(&recorded_pid) && (int)syscall(SYS_getpid) == atomic_load(&recorded_pid);
}

static void recorded_tell_sent(void)
{
    sf_counters c = {.size = sizeof(c)};
    char why[240] = "", of_heap[40] = "", paused[100] = "", said[500];
    uint64_t process_ns = sf_clock_process_cpu_ns();
    int fd = open(said_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), len;
    sf_counters_read(&c);
    sf_problem(why, sizeof(why));
    if (!why[0] && recorded_kinds & SF_HEAP_KINDS && sf_heap_profiler_blind())
        snprintf(why, sizeof(why), "no heap profile: %s", sf_heap_profiler_blind());
    if (c.heap_samples)
        snprintf(of_heap, sizeof(of_heap), " (%llu of the heap)",
                 (unsigned long long)c.heap_samples);
    if (c.profiling_paused) /* otherwise it would seem to show all of the program's time */
        snprintf(paused, sizeof(paused),
                 "; paused for %.1f s (busy host, or over the budget of profiling)",
                 (double)c.profiling_paused_ms / 1e3);
    len = snprintf(said, sizeof(said),
                   "%llu samples taken%s, %llu profiles sent, which took %.1f %% of %.1f s of CPU "
                   "time%s%s%s\n",
                   (unsigned long long)c.samples_taken, of_heap,
                   (unsigned long long)c.profiles_sent,
                   process_ns ? 100 * (double)c.profiling_cpu_ns / (double)process_ns : 0,
                   (double)process_ns / 1e9, paused, why[0] ? "; " : "", why);
    if (fd < 0 || write(fd, said, (size_t)len) != len)
        sf_library_say("record: the report cannot be written");
    if (fd >= 0)
        close(fd);
}

void sf_recorded_at_exit(void)
{
    struct sf_why why = {0};
    if (!is_recorded())
        return;
    atomic_store(&is_ending, true);
    atomic_store(&recorded_pid, 0);
    sf_guest_thread_unwatch();
    sf_profile_upload_will_end();
    if (recorded_file[0] && sf_profile_files_stop(said_file[0] ? SF_FOR_BOTH : SF_FOR_FILE,
                                                  recorded_kinds, recorded_file, &why))
        sf_library_say(why.text);
    if (said_file[0]) {
        sf_stop();
        recorded_tell_sent();
    }
    sf_guest_thread_watch();
    atomic_store(&is_ended, true);
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
    struct timespec nap = {0, CRASH_NAP_NS};
    (void)arg;
    sf_recorded_at_exit();
    /* The program may have reached its end before the signal, and be writing. */
    for (int64_t ns = 0; ns < CRASH_WAIT_NS && atomic_load(&is_ending) && !atomic_load(&is_ended);
         ns += CRASH_NAP_NS)
        syscall(SYS_nanosleep, &nap, NULL);
    if (atomic_load(&is_crashing))
        atomic_store(&is_written, true); /* the crashed thread gets the signal again, so that the
                                          * core dump shows it */
    else
        die(atomic_load(&fatal_signal));
}

/* A crash of the program. Its thread must not continue, so it waits here while another thread
 * writes the profile, for a limited time, because it may hold a lock that the writer needs. Then
 * the default action is restored and the crash happens again. */
static void on_crash(int sig, siginfo_t *info, void *context)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    struct timespec nap = {0, CRASH_NAP_NS};
    (void)context;
    if (is_recorded() && !atomic_exchange(&fatal_signal, sig)) {
        atomic_store(&is_crashing, true);
        sf_profiler_wake();
        for (int64_t ns = 0; ns < CRASH_WAIT_NS && !atomic_load(&is_written); ns += CRASH_NAP_NS)
            syscall(SYS_nanosleep, &nap, NULL);
        atomic_store(&is_written, true); /* do not wait any longer */
    } else {
        while (atomic_load(&is_crashing) && !atomic_load(&is_written)) /* a second thread */
            syscall(SYS_nanosleep, &nap, NULL);
    }
    sigaction(sig, &action, NULL);
    if (info->si_code <= 0) /* sent by a program, as by abort: returning would not raise it again */
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
}

/* The handler may have interrupted any function, so a thread of the library writes the profile; the
 * program continues for those milliseconds. A signal that the program sent to itself, as by raise()
 * or by writing to a closed pipe, ends it at that place. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
    if (info->si_code <= 0 && info->si_pid == (pid_t)syscall(SYS_getpid)) {
        on_crash(sig, info, context);
        return;
    }
    if (!is_recorded() || atomic_exchange(&fatal_signal, sig)) {
        die(sig); /* in a child, or for a second Ctrl-C */
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
    if (!sf_guest_thread_start((struct sf_guest){"spanflame-end", true, end_now, NULL}))
        die(atomic_load(&fatal_signal));
}

static void catch_unless_caught(int sig, const struct sigaction *action)
{
    struct sigaction now;
    if (!sigaction(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sigaction(sig, action, NULL);
}

static void catch_fatal(void)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU};
    static const int crash[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    struct sigaction end = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction fault = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static char room[CRASH_STACK]; /* alternate stack of the main thread, in case its stack
                                    * overflowed */
    stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)}, used;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        catch_unless_caught(fatal[i], &end);
    for (size_t i = 0; i < sizeof(crash) / sizeof(crash[0]); i++)
        catch_unless_caught(crash[i], &fault);
    if (!sigaltstack(NULL, &used) && used.ss_flags & SS_DISABLE)
        sigaltstack(&stack, NULL);
}

/* ---- exits that run no destructors ---- */

static _Noreturn void recorded_leave(int status)
{
    sf_recorded_at_exit();
    for (;;)
        syscall(SYS_exit_group, status);
}

SF_API void _exit(int status)
{
    recorded_leave(status);
}

SF_API void _Exit(int status)
{
    recorded_leave(status);
}

/* ---- settings of the recording ---- */

/* "cpu,heap" to bits of these kinds; without a known one: cpu. */
static unsigned recorded_kinds_of(sf_str words)
{
    unsigned kinds = 0;
    sf_str word;
    while (sf_str_split_next(&words, ',', &word)) {
        if (sf_str_eq(word, SF_STR("heap")))
            kinds |= SF_HEAP_KINDS;
        for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
            if (sf_str_eq(word, sf_str_from(sf_sample_kind_info((enum sf_sample_kind)kind)->word)))
                kinds |= 1u << kind;
        }
    }
    return kinds ? kinds : 1u << SF_SAMPLES_CPU;
}

static uint64_t recorded_number_of(const char *name, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t n;
    return text && sf_str_to_u64(sf_str_from(text), &n) && n && n <= most ? n : otherwise;
}

static const char *recorded_look_up(const char *name)
{
    const char *val = getenv(name);
    return val && *val ? val : sf_config_file_get(&recorded_config, name);
}

/* A rate of the command line above the default removes the overhead budget, unless a budget was
 * given too. */
static bool is_rate_said(void)
{
    bool is_raised = recorded_number_of("SPANFLAME_RECORD_RATE", 1000, 0) > SF_DEFAULT_HZ ||
                     recorded_number_of("SPANFLAME_RECORD_HEAP_RATE", UINT32_MAX, UINT32_MAX) <
                         HEAP_MEAN;
    return is_raised && !recorded_look_up(BUDGET);
}

static void start_sending(const char *server, const char *words)
{
    const char *service = getenv("OTEL_SERVICE_NAME"), *rate = getenv("SPANFLAME_RECORD_RATE");
    const char *heap_rate = getenv("SPANFLAME_RECORD_HEAP_RATE");
    sf_set("OTEL_EXPORTER_OTLP_ENDPOINT", server);
    sf_set("SPANFLAME_PROFILES", words);
    if (!recorded_look_up(SHEDDING))
        sf_set(SHEDDING, "false");
    if (rate && *rate)
        sf_set("SPANFLAME_PROFILING_CPU_SAMPLE_RATE", rate);
    if (is_rate_said())
        sf_set(BUDGET, "100%");
    if (heap_rate && *heap_rate)
        sf_set("SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE", heap_rate);
    sf_start(service && *service ? NULL : program_invocation_short_name);
}

static void pass_over(void *arg, const char *name, const char *val)
{
    (void)arg, (void)name, (void)val;
}

/* The profiling block, of variables and of SPANFLAME_CONFIG, also applies to a recording to a file;
 * rates of the command line take precedence. When a program is recorded, profiling pauses only if
 * that was configured explicitly. */
static void read_block(struct sf_profiling *block)
{
    struct sf_profiling_settings s;
    sf_profiling_settings_read(&s, recorded_look_up, pass_over, NULL);
    *block = s.block;
    block->has_shedding = block->has_shedding && recorded_look_up(SHEDDING);
    block->cpu_rate = recorded_number_of("SPANFLAME_RECORD_RATE", 1000, block->cpu_rate);
    block->memory_rate = recorded_number_of("SPANFLAME_RECORD_HEAP_RATE", UINT32_MAX,
                                            block->memory_rate);
    if (is_rate_said())
        block->adaptive_budget_per_10000 = 10000;
}

static void set_limits(const struct sf_profiling *block)
{
    sf_sample_max_frames = (uint16_t)block->max_stack_depth;
    sf_governor_init(block, true);
}

static void set_periods(const struct sf_profiling *block)
{
    sf_profiler_set_period(SF_SAMPLES_CPU, 1000000000 / block->cpu_rate);
    sf_profiler_set_period(SF_SAMPLES_WALL, 1000000000 / block->wall_rate);
    sf_profiler_set_period(SF_SAMPLES_ALLOC, block->memory_rate);
    sf_profiler_set_period(SF_SAMPLES_INUSE, block->memory_rate);
}

/* Starts the recording to a file, to a server, or to both, which then get the same samples. */
__attribute__((constructor)) static void recorded_at_load(void)
{
    const char *server = getenv("SPANFLAME_RECORD_SERVER"), *said = getenv("SPANFLAME_RECORD_SAID");
    const char *file = getenv("SPANFLAME_RECORD_FILE"), *kinds = getenv("SPANFLAME_RECORD_KINDS");
    bool has_file = file && *file, has_server = server && *server && said && *said;
    const char *config = getenv("SPANFLAME_CONFIG");
    struct sf_profiling block;
    struct sf_why why = {0};
    if ((!has_file && !has_server) || getauxval(AT_SECURE) ||
        recorded_number_of("SPANFLAME_RECORD_PID", INT32_MAX, 0) != (uint64_t)getpid())
        return;
    recorded_kinds = recorded_kinds_of(sf_str_from(kinds ? kinds : ""));
    sf_profiler_between(between);
    if (config && *config && sf_config_file_read(&recorded_config, config, &why) && !has_server)
        sf_library_say(why.text); /* sf_start() reads it, too, and says what is wrong */
    if (has_server) {
        sf_profile_file_path(said_file, said);
        start_sending(server, has_file ? "none" : kinds ? kinds : "cpu");
    }
    if (has_file) {
        sf_profile_file_path(recorded_file, file);
        read_block(&block);
        set_periods(&block);
        if (!has_server)
            set_limits(&block);
        if (sf_profile_files_start(has_server ? SF_FOR_BOTH : SF_FOR_FILE, recorded_kinds, &why)) {
            sf_library_say(why.text);
            return;
        }
    }
    atomic_store(&recorded_pid, getpid());
    catch_fatal();
}
