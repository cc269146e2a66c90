#!/usr/bin/env python3
"""Real programs under `spanflame record`: their output, exit status and signals are as without it, and the profile is
theirs."""
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from recording import ALL, HOME, OUT, SOURCE, SPANFLAME, SPIN, bare, compiled, profile_of, recorded, same, tap  # noqa: E402
from server import fields  # noqa: E402


def test_a_shell_with_pipes_children_and_its_own_status():
    same("sh", "-c", "echo a | tr a b; (exit 3); echo $?; ls /nonexistent; exit 7")
    same("bash", "-c", "for i in 1 2 3; do echo $i | cat; done; trap 'echo bye' EXIT; exit 5")


def test_a_shell_that_leaves_without_exit_handlers_is_recorded():
    held = same("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 4")
    assert held and b"cpu" in held


def test_python_sqlite_and_git():
    same(sys.executable, "-c", "import json,sys; print(len(json.dumps(list(range(10000))))); sys.exit(9)")
    held = same("sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x+1 from c where x<1000000) "
                "select sum(x) from c")
    assert b"sqlite3VdbeExec" in held or b"libsqlite3" in held
    same("git", "-C", SOURCE, "ls-files", "--", "Makefile")


def test_a_wrapper_script_leads_to_the_program_behind_it():
    program = compiled("behind", SPIN + "int main(void) { planted_spin(0.3); return 0; }")
    held = same("sh", "-c", f"exec '{program}'")
    assert b"planted_spin" in held


def test_threads_that_come_and_go_keep_their_errno_and_sleep():
    program = compiled("threads", SPIN + """
static void *run(void *arg)
{
    struct timespec nap = {0, 20000000};
    for (int i = 0; i < 5; i++) {
        errno = 1234;
        planted_spin(0.01);
        if (errno != 1234 || nanosleep(&nap, NULL) || usleep(1000))
            puts("disturbed");
    }
    return arg;
}
int main(void)
{
    for (int round = 0; round < 5; round++) {
        pthread_t t[8];
        for (int i = 0; i < 8; i++)
            pthread_create(&t[i], NULL, run, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(t[i], NULL);
    }
    puts("done");
    return 0;
}""")
    assert b"planted_spin" in same(program)


def test_sampled_blocks_do_not_crowd_the_beginnings_of_pages():
    program = compiled("sizes", """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int n = 0;
    for (int i = 0; i < 1000000; i++) {
        char *volatile p = malloc(64 + (size_t)(i * 37 % 1000));
        free(p);
    }
    for (int len = 64; len < 1064; len += 16) {
        void *volatile p = malloc((size_t)len);
        n += !((uintptr_t)p & 4095 & ~16u);
        free(p);
    }
    puts(n < 10 ? "apart" : "crowded");
    return 0;
}""")
    same(program)


def test_a_forking_server_and_posix_spawn():
    program = compiled("forks", SPIN + """
#include <spawn.h>
extern char **environ;
int main(void)
{
    char *argv[] = {"true", NULL};
    int sum = 0, status;
    pid_t pid;
    for (int i = 0; i < 20; i++) {
        pid = i % 2 ? fork() : vfork();
        if (!pid)
            _exit(i);
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
        planted_spin(0.01);
        if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
            return 2;
        waitpid(pid, &status, 0);
        sum += status;
    }
    printf("%d\\n", sum);
    return 0;
}""")
    assert b"planted_spin" in same(program)


def test_a_program_with_a_profiling_signal_of_its_own():
    program = compiled("sigprof", SPIN + """
#include <sys/time.h>
static volatile int n;
static void tick(int sig) { (void)sig; n++; }
int main(void)
{
    struct itimerval t = {{0, 10000}, {0, 10000}};
    signal(SIGPROF, tick);
    setitimer(ITIMER_PROF, &t, NULL);
    planted_spin(1);
    puts(n > 50 ? "ticked" : "not ticked");
    return 0;
}""")
    # It takes the signal after the profile began: the profile continues with another one.
    assert b"planted_spin" in same(program)


def test_closing_all_descriptors_and_becoming_a_daemon():
    program = compiled("daemon", SPIN + """
int main(void)
{
    close_range(3, ~0u, 0);
    planted_spin(0.2);
    if (fork()) /* the parent leaves at once, as daemons do */
        return 0;
    setsid();
    _exit(0);
}""")
    assert b"planted_spin" in same(program)


def test_a_program_replaced_while_it_runs_keeps_its_own_names():
    """As a package's upgrade does: the path is another file's by the time names are looked up."""
    other = "".join(f"__attribute__((noinline)) int impostor_{i}(int n) {{ return n * {i} + (n ? impostor_{i - 1}(n - 1) : 0); }}"
                    if i else "int impostor_0(int n) { return n; }" for i in range(300))
    impostor = compiled("impostor", other + "int main(int n, char **v) { (void)v; return impostor_299(n); }")
    program = compiled("replaced", SPIN + f"""
int main(int argc, char **argv)
{{
    (void)argc;
    if (link("{impostor}", "{impostor}.again") || rename("{impostor}.again", argv[0]))
        return 9;
    planted_spin(0.5);
    return 0;
}}""")
    kept = program + ".kept"
    os.link(program, kept)
    want = bare([program])
    os.replace(kept, program)
    got = recorded([program])
    assert (want.returncode, got.returncode) == (0, 0), (want, got)
    with gzip.open(OUT) as f:
        held = f.read()
    assert b"planted_spin" in held and b"impostor" not in held, held


def test_dlopen_and_dlclose_in_a_loop():
    program = compiled("plugins", SPIN + """
#include <dlfcn.h>
int main(void)
{
    for (int i = 0; i < 100; i++) {
        void *lib = dlopen("libsqlite3.so.0", RTLD_NOW);
        planted_spin(0.005);
        if (lib)
            dlclose(lib);
    }
    puts("done");
    return 0;
}""", "-ldl")
    assert b"planted_spin" in same(program)


def test_a_signal_ends_it_as_without_and_the_profile_is_there():
    program = compiled("endless", SPIN + 'int main(void) { puts("up"); fflush(stdout); for (;;) planted_spin(1); }')
    for sig in (signal.SIGINT, signal.SIGTERM):
        if os.path.exists(OUT):
            os.remove(OUT)
        # A group of its own, as a terminal would signal it. Who was started in the background ignores SIGINT.
        with subprocess.Popen([SPANFLAME, "record", "--out", OUT, "--", program], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
            p.stdout.readline()
            time.sleep(0.5)
            if sig == signal.SIGINT:
                os.killpg(p.pid, sig)
            else:
                child = int(subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True,
                                           check=True).stdout.split()[0])
                os.kill(child, sig)
            try:
                assert p.wait(60) == 128 + sig, p.returncode
            finally:
                if p.returncode is None:
                    os.killpg(p.pid, signal.SIGKILL)
        with gzip.open(OUT) as f:
            assert b"planted_spin" in f.read()


def test_as_the_first_process_of_a_container_it_passes_signals_on():
    if not shutil.which("unshare") or subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "true"], capture_output=True).returncode:
        raise tap.Skip("no namespace of processes can be made here")
    program = compiled("contained", SPIN + 'int main(void) { puts("up"); fflush(stdout); for (;;) planted_spin(1); }')
    if os.path.exists(OUT):
        os.remove(OUT)
    with subprocess.Popen(["unshare", "--fork", "--pid", "--mount-proc", "--kill-child", SPANFLAME, "record", "--out", OUT, "--", program],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        assert p.stdout.readline() == "up\n"
        time.sleep(0.5)
        first = int(subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True, check=True).stdout)
        os.kill(first, signal.SIGTERM)
        try:
            assert p.wait(60) == 128 + signal.SIGTERM, p.returncode
        finally:
            p.kill()
    with gzip.open(OUT) as f:
        assert b"planted_spin" in f.read()


def test_a_signal_of_its_own_ends_it_there_and_the_profile_is_there():
    """As programs do that clean up and then let the signal end them, and those that write to a pipe that was closed."""
    ends = {"term": "raise(SIGTERM);", "int": "kill(getpid(), SIGINT);", "quit": "raise(SIGQUIT);", "alarm": "ualarm(100000, 0); for (;;) planted_spin(1);",
            "pipe": "int p[2]; if (pipe(p) || close(p[0])) return 9; while (write(p[1], p, 1) == 1) ;",
            "again": "signal(SIGTERM, clean_up); raise(SIGTERM);"}
    for name, how in ends.items():
        program = compiled("end_" + name, "#include <signal.h>\n#include <unistd.h>\n" + SPIN + f"""
static void clean_up(int sig) {{ signal(sig, SIG_DFL); kill(getpid(), sig); }}
int main(void) {{ (void)clean_up; planted_spin(0.1); puts("before"); fflush(stdout); {how} puts("behind"); return 0; }}""", "-w")
        held = same(program)
        # A handler that the program sets itself to SIG_DFL leaves no time to write.
        assert name == "again" or held and b"planted_spin" in held, name


def test_a_crash_leaves_the_profile_up_to_then_and_ends_as_without():
    crashes = {"null": "*(volatile int *)0 = 1;", "abort": "abort();", "trap": "__builtin_trap();", "raise": "raise(SIGFPE);",
               "overflow": "return deeper(1);",
               "thread": "pthread_t t; pthread_create(&t, NULL, crash, NULL); pthread_join(t, NULL);"}
    for name, how in crashes.items():
        program = compiled("crash_" + name, "#include <signal.h>\n" + SPIN + f"""
__attribute__((noinline)) static int deeper(int n) {{ volatile char room[4096]; room[0] = (char)n; return deeper(n + 1) + room[0]; }}
static void *crash(void *arg) {{ *(volatile int *)0 = 1; return arg; }}
int main(void) {{ (void)crash; (void)deeper; planted_spin(0.3); puts("before"); fflush(stdout); {how} return 0; }}""", "-O0", "-w")
        held = same(program)
        assert held and b"planted_spin" in held, name


def test_a_program_that_handles_its_own_crash_does_so():
    same(compiled("handles", "#include <signal.h>\n" + SPIN + """
static void on(int sig) { _exit(40 + sig); }
int main(void) { signal(SIGSEGV, on); planted_spin(0.1); *(volatile int *)0 = 1; return 0; }"""))


def test_a_program_with_the_address_sanitizer_runs_as_without():
    code = SPIN + 'int main(void) { char *p = malloc(10); planted_spin(0.3); puts("fine"); free(p); return 5; }'
    bad = SPIN + "int main(int n, char **v) { char *p = malloc(10); planted_spin(0.1); free(p); (void)v; return p[n]; }"
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        try:
            fine, faulty = (compiled(f"asan_{name}_{compiler}", text, "-fsanitize=address", compiler=compiler)
                            for name, text in (("fine", code), ("faulty", bad)))
        except subprocess.CalledProcessError:
            continue
        done = recorded([fine], "--cpu")
        assert (done.returncode, done.stdout) == (5, "fine\n"), (compiler, done)
        with gzip.open(OUT) as f:
            assert b"planted_spin" in f.read(), compiler
        done = recorded([faulty], "--cpu")
        assert done.returncode == bare([faulty]).returncode and "heap-use-after-free" in done.stderr, (compiler, done)


def test_a_program_with_the_thread_sanitizer_runs_as_without():
    """The library's own threads are no races of the program, and the program's are found as without."""
    code = SPIN + """
static int shared;
static void *run(void *arg) { for (int i = 0; i < 1000; i++) free(malloc(200000)); if (arg) shared++; return NULL; }
int main(int n, char **v)
{
    pthread_t t;
    (void)v;
    pthread_create(&t, NULL, run, n > 1 ? &shared : NULL);
    planted_spin(0.1);
    if (n > 1) shared++;
    pthread_join(t, NULL);
    puts("fine");
    return 5;
}"""
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        try:
            program = compiled(f"tsan_{compiler}", code, "-fsanitize=thread", compiler=compiler)
        except subprocess.CalledProcessError:
            continue
        if bare([program]).returncode != 5:
            continue  # the sanitizer does not run on this kernel
        for flags in (("--cpu",), ALL):
            done = recorded([program], *flags)
            assert (done.returncode, done.stdout) == (5, "fine\n") and "ThreadSanitizer" not in done.stderr, (compiler, flags, done)
            assert b"planted_spin" in profile_of("cpu"), compiler
        done = recorded([program, "race"], "--cpu")
        assert done.returncode == bare([program, "race"]).returncode == 66 and done.stderr.count("WARNING: ThreadSanitizer") == 1, (compiler, done)


def test_a_program_linked_with_musl_runs_as_without():
    if not shutil.which("musl-gcc"):
        raise tap.Skip("there is no musl-gcc")
    program = compiled("musl", '#include <stdio.h>\nint main(void) { puts("mine"); return 9; }', compiler="musl-gcc")
    script = os.path.join(os.path.dirname(program), "musl.script")
    with open(script, "w", encoding="ascii") as f:
        f.write(f"#!{program}\n")
    os.chmod(script, 0o755)
    for name in (program, script):
        done = recorded([name])
        assert (done.returncode, done.stdout) == (9, "mine\n") and "musl" in done.stderr, done
    # As children, of a shell and of a program that spawns; the parent is recorded all the same.
    spawns = compiled("spawns", "#include <spawn.h>\n#include <sys/wait.h>\n" + SPIN + """
int main(int n, char **v) {
    pid_t child;
    int status = 0;
    planted_spin(0.3);
    if (posix_spawn(&child, v[n - 1], NULL, NULL, v + n - 1, __environ) || waitpid(child, &status, 0) != child)
        return 1;
    return WEXITSTATUS(status);
}""")
    assert b"planted_spin" in same(spawns, program)
    done = recorded(["/bin/sh", "-c", f"{program}; {program}"])
    assert (done.returncode, done.stdout) == (9, "mine\nmine\n") and "rror" not in done.stderr, done


def test_without_a_file_the_flame_graph_is_drawn_beside_the_output():
    program = compiled("drawn", SPIN + 'int main(void) { planted_spin(0.5); puts("mine"); return 6; }')
    done = bare([SPANFLAME, "record", "--rate", "200", "--", program])
    assert done.stdout == "mine\n" and done.returncode == 6, done
    assert "planted_spin" in done.stderr and "HOT PATH" in done.stderr, done.stderr


def period_of(*flags, **env):
    recorded([compiled("periods", SPIN + "int main(void) { planted_spin(0.1); return 0; }")], *flags,
             env=dict(os.environ, SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%", **env))
    with gzip.open(OUT) as f:
        return dict(fields(f.read()))[12]


def test_rates_are_those_of_the_profiling_block_unless_a_flag_says_otherwise():
    assert period_of("--cpu") == 10**7
    assert period_of("--cpu", SPANFLAME_PROFILING_CPU_SAMPLE_RATE="250") == 4 * 10**6
    assert period_of("--cpu", "--rate", "500", SPANFLAME_PROFILING_CPU_SAMPLE_RATE="250") == 2 * 10**6
    assert period_of("--heap") == 512000
    assert period_of("--heap", SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE="64KB") == 64000
    assert period_of("--heap", "--heap-rate", "32KiB", SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE="64KB") == 32768
    path = os.path.join(os.path.dirname(OUT), "block.yaml")
    with open(path, "w", encoding="ascii") as f:
        f.write("profiling: {cpu: {sample_rate: 200}, memory: {sample_rate: 128KB}}\n")
    assert period_of("--cpu", SPANFLAME_CONFIG=path) == 5 * 10**6
    assert period_of("--heap", SPANFLAME_CONFIG=path) == 128000


def test_what_cannot_be_recorded_is_told():
    done = bare([SPANFLAME, "record", "--", "/nonexistent/program"])
    assert done.returncode == 127 and "No such file" in done.stderr, done
    assert bare([SPANFLAME, "record", "--", "no-such-program-anywhere"]).returncode == 127
    for name in ("/etc/passwd", "/etc"):  # no permission to run it, a folder
        done = bare([SPANFLAME, "record", "--", name])
        assert done.returncode == 126 and "denied" in done.stderr, done
    garbage = os.path.join(HOME, "garbage")
    with open(garbage, "wb") as f:
        f.write(b"\x7fELFgarbage")
    os.chmod(garbage, 0o755)
    done = bare([SPANFLAME, "record", "--", garbage])
    assert done.returncode == 126 and "Exec format error" in done.stderr, done
    assert bare([SPANFLAME, "record"]).returncode == 2
    assert bare([SPANFLAME, "record", "--rate", "5000", "--", "true"]).returncode == 2
    folder = os.path.join(HOME, "folder")
    pipe = os.path.join(HOME, "pipe")
    os.mkdir(folder)
    os.mkfifo(pipe)
    for out, why in ((folder, "is not a regular file"), (pipe, "is not a regular file"), ("/nonexistent/out.pb.gz", "cannot be created")):
        done = bare([SPANFLAME, "record", "--out", out, "--", "touch", os.path.join(HOME, "was_run")])
        assert done.returncode == 1 and why in done.stderr and not os.path.exists(os.path.join(HOME, "was_run")), done
    assert os.path.exists(pipe) and os.path.isdir(folder)
    program = compiled("static", SPIN + "int main(void) { return 8; }", "-static")
    done = recorded([program])
    assert done.returncode == 8 and "no profile was written" in done.stderr and "is linked statically" in done.stderr, done


tap.run(sys.modules[__name__])
