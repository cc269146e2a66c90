#include "os/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/program.h"

static void set_env(const struct sf_child_env *env, size_t n_env)
{
    char own[24];
    snprintf(own, sizeof(own), "%ld", (long)getpid());
    for (size_t i = 0; i < n_env; i++)
        setenv(env[i].name, env[i].val ? env[i].val : own, 1);
}

static enum sf_err child_start(const char *path, const char *const *argv,
                               const struct sf_child_env *env, size_t n_env, const char *log_path,
                               struct sf_child *out, struct sf_why *why)
{
    pid_t parent = getpid(), pid;
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        return sf_fail(why, SF_ERR_IO, "open %s: %s", log_path, strerror(errno));
    pid = fork();
    if (pid == 0) {
        /* Ctrl-C must reach the parent only, which ends its children in order. */
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        set_env(env, n_env);
        execv(path, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(log);
    if (pid < 0)
        return sf_fail(why, SF_ERR_NOMEM, "start %s: %s", argv[0], strerror(errno));
    out->pid = pid;
    return SF_OK;
}

enum sf_err sf_child_start_self(const char *const *argv, const char *log_path, struct sf_child *out,
                                struct sf_why *why)
{
    return child_start("/proc/self/exe", argv, NULL, 0, log_path, out, why);
}

enum sf_err sf_child_start(const char *const *argv, const struct sf_child_env *env, size_t n_env,
                           const char *log_path, struct sf_child *out, struct sf_why *why)
{
    return child_start(argv[0], argv, env, n_env, log_path, out, why);
}

bool sf_child_is_running(struct sf_child *c, int *out_code)
{
    int status;
    if (c->pid == 0)
        return false;
    if (waitpid(c->pid, &status, WNOHANG) != c->pid)
        return true;
    c->pid = 0;
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

void sf_child_stop(struct sf_child *c, unsigned grace_ms)
{
    int code;
    if (c->pid == 0)
        return;
    kill(c->pid, SIGTERM);
    for (unsigned ms = 0; ms < grace_ms; ms += 10) {
        if (!sf_child_is_running(c, &code))
            return;
        sf_clock_sleep_ms(10);
    }
    kill(c->pid, SIGKILL);
    waitpid(c->pid, &code, 0);
    c->pid = 0;
}

static volatile pid_t passed_to;

static void child_pass(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (info->si_code <= 0) /* sent by a process; those of a terminal reach the child, too */
        kill(passed_to, sig);
    errno = saved;
}

/* As the first process of a container this one gets the signals that are for the program, and the
 * kernel would drop them. Otherwise whoever ends both (systemd, a terminal) signals the whole
 * group, and the program would get each signal twice. */
static void child_pass_signals(pid_t pid)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction pass = {.sa_sigaction = child_pass, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (getpid() != 1)
        return;
    passed_to = pid;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        sigaction(passed[i], &pass, NULL);
}

/* In the child: runs the program, or sends the error through the pipe. A file that the kernel
 * cannot execute is a script for execvp, which gives it to sh; a damaged or foreign program is not.
 */
static _Noreturn void become(const char *const *argv, const struct sf_child_env *env, size_t n_env,
                             int tell)
{
    char path[SF_PROGRAM_PATH_CAP];
    int fault = 0;
    set_env(env, n_env);
    if (sf_program_find(argv[0], path)) {
        execv(path, (char *const *)(uintptr_t)argv);
        if (errno == ENOEXEC && sf_program_is_binary(path))
            fault = ENOEXEC;
    }
    if (!fault) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        fault = errno;
    }
    if (write(tell, &fault, sizeof(fault)) < 0)
        _exit(126);
    _exit(127);
}

enum sf_err sf_child_run(const char *const *argv, const struct sf_child_env *env, size_t n_env,
                         int *out_code, struct sf_why *why)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before[2];
    int tell[2], fault = 0, status = 0;
    ssize_t n;
    pid_t pid;

    if (pipe2(tell, O_CLOEXEC))
        return sf_fail(why, SF_ERR_IO, "pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        become(argv, env, n_env, tell[1]);
    close(tell[1]);
    if (pid < 0) {
        close(tell[0]);
        return sf_fail(why, SF_ERR_NOMEM, "start %s: %s", argv[0], strerror(errno));
    }
    sigaction(SIGINT, &ignore, &before[0]);
    sigaction(SIGQUIT, &ignore, &before[1]);
    child_pass_signals(pid);
    n = read(tell[0], &fault, sizeof(fault)); /* returns 0 bytes when exec closes it */
    close(tell[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGQUIT, &before[1], NULL);
    if (n == (ssize_t)sizeof(fault))
        return sf_fail(why,
                       fault == ENOENT   ? SF_ERR_NOT_FOUND
                       : fault == EACCES ? SF_ERR_DENIED
                                         : SF_ERR_IO,
                       "%s: %s", argv[0], strerror(fault));
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return SF_OK;
}

static volatile sig_atomic_t is_interrupted;

static void child_note(int signal)
{
    (void)signal;
    is_interrupted = 1;
}

void sf_child_interrupt_watch(void)
{
    struct sigaction act = {.sa_handler = child_note};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

bool sf_child_interrupt_is_set(void)
{
    return is_interrupted != 0;
}
