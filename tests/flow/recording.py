"""Running programs bare and under `spanflame record` with every profiler on, and comparing."""
import atexit
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
import tap  # noqa: E402

# A small mean, so that short programs are sampled a lot.
ALL = ("--cpu", "--heap", "--mutex", "--block", "--heap-rate", "32KiB")

SPANFLAME = os.environ["SPANFLAME"]
SOURCE = os.environ["SOURCE_ROOT"]
HOME = tempfile.mkdtemp(prefix="spanflame-record-flow-")
atexit.register(shutil.rmtree, HOME, True)
OUT = os.path.join(HOME, "out.pb.gz")


def bare(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, cwd=HOME, **more)


def raw_of_go(path, *flags):
    """The text of `go tool pprof -raw`. Go builds that tool first, which takes a minute of CPU time: `make check` leaves it out."""
    if not shutil.which("go"):
        raise tap.Skip("there is no go")
    if float(os.environ.get("CHECK_SCALE", "1")) < 1:
        raise tap.Skip("left to `make check-all`: go builds its pprof first, for a minute")
    return subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-raw", *flags, path], capture_output=True, text=True,
                          check=True, timeout=900, cwd=HOME, env=dict(os.environ, PPROF_TMPDIR=HOME)).stdout


def recorded(argv, *flags, **more):
    if os.path.exists(OUT):
        os.remove(OUT)
    return bare([SPANFLAME, "record", "--out", OUT, *(flags or ALL), "--", *argv], **more)


def profile_of(kind):
    """The plain bytes of one of the profiles of the last run."""
    with gzip.open(OUT if kind == "cpu" else OUT.replace(".pb.gz", f"-{kind}.pb.gz")) as f:
        return f.read()


def same(*argv, **more):
    """Runs it both ways; gives what the profile holds as plain bytes."""
    if not shutil.which(argv[0]):
        raise tap.Skip(f"there is no {argv[0]}")
    want, got = bare(argv, **more), recorded(argv, **more)
    code = want.returncode if want.returncode >= 0 else 128 - want.returncode
    assert (got.stdout, got.returncode) == (want.stdout, code), (argv, want, got)
    rest = [line for line in got.stderr.splitlines() if not line.startswith("spanflame record: ")]
    assert rest == want.stderr.splitlines(), (argv, want.stderr, got.stderr)
    if not os.path.exists(OUT):
        return None
    with gzip.open(OUT) as f:
        return f.read()


def compiled(name, code, *flags, compiler="cc"):
    source, program = os.path.join(HOME, name + ".c"), os.path.join(HOME, name)
    with open(source, "w", encoding="ascii") as f:
        f.write(code)
    subprocess.run([compiler, "-O1", source, "-o", program, "-pthread", *flags], check=True)
    return program


SPIN = """#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void planted_spin(double s)
{
    struct timespec t;
    double end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    end = t.tv_sec + t.tv_nsec * 1e-9 + s;
    do {
        for (int i = 0; i < 100000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec + t.tv_nsec * 1e-9 < end);
}
"""

# Every allocation function, from several threads; says what was not as requested.
MEMORY = SPIN + """
#include <malloc.h>
#include <stdint.h>
static int n_wrong;
static void *full(void *p, size_t n, size_t align)
{
    if (n < 16 && align == 16)
        align = 8; /* as some allocators have it: no object of that size needs more */
    if (!p || (uintptr_t)p % align || malloc_usable_size(p) < n)
        n_wrong++;
    if (p)
        memset(p, (int)n, n);
    return p;
}
__attribute__((noipa)) void planted_allocation(size_t n)
{
    void *p = NULL;
    unsigned char *grown, *zeroed;
    free(full(malloc(n), n, 16));
    zeroed = calloc(n, 3);
    for (size_t i = 0; i < 3 * n; i++)
        n_wrong += zeroed[i];
    free(zeroed);
    grown = full(realloc(NULL, n), n, 16);
    grown = realloc(grown, 5 * n);
    for (size_t i = 0; i < n; i++)
        n_wrong += grown[i] != (unsigned char)n;
    grown = reallocarray(full(grown, 5 * n, 16), n, 2);
    free(grown);
    n_wrong += posix_memalign(&p, 512, n | 1) != 0; /* of multiples mimalloc 2.0.9 forgets the alignment */
    free(full(p, n | 1, 512));
    free(full(aligned_alloc(64, n * 64), n * 64, 64));
    free(full(memalign(8192, n), n, 8192));
    free(full(valloc(n), n, 4096));
    free(strdup("text"));
}
static void *run(void *kept)
{
    for (int i = 0; i < 300; i++) {
        planted_allocation(1 + (size_t)i * 7);
        if (i % 10 == 0)
            ((void **)kept)[i / 10] = full(malloc(3000), 3000, 16); /* freed by another thread */
    }
    return NULL;
}
int main(void)
{
    static void *kept[4][30];
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, run, kept[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 120; i++)
        free(kept[i / 30][i % 30]);
    free(NULL);
    for (int i = 0; i < 20; i++) /* larger than any heap keeps */
        free(full(realloc(calloc(1, 3000000), 9000000), 9000000, 16));
    printf("%d wrong\\n", n_wrong);
    return 0;
}"""
