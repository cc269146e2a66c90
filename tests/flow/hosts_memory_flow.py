#!/usr/bin/env python3
"""Programs with allocators of their own under `spanflame record`: preloaded beside it, linked, or defined by the program
itself. What they print and how they end is as without recording; the heap profile is right, or says why it is off."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from recording import HOME, MEMORY, SPIN, compiled, profile_of, same, tap  # noqa: E402


def allocator(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"):
        for found in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if found.startswith(f"lib{name}.so"):
                return os.path.join(folder, found)
    raise tap.Skip(f"there is no {name}")


def preloaded(library):
    return {"env": {**os.environ, "LD_PRELOAD": library}}


def test_memory_is_what_was_asked_for_and_its_site_is_seen():
    program = compiled("memory", MEMORY)
    same(program)
    assert b"planted_allocation" in profile_of("heap")


def the_memory_is_right_with(name):
    """Preloaded by the user and linked into the program."""
    library = allocator(name)
    program = compiled("memory", MEMORY)
    same(program, **preloaded(library))
    assert b"planted_allocation" in profile_of("heap") and name.encode() in profile_of("heap")
    same("python3", "-c", "print(sum(len(str(i)) for i in range(100000)))", **preloaded(library))
    linked = compiled("memory-" + name, MEMORY, "-fno-builtin", library)
    same(linked)
    assert b"planted_allocation" in profile_of("heap") and name.encode() in profile_of("heap")


def test_jemalloc():
    the_memory_is_right_with("jemalloc")


def test_mimalloc():
    the_memory_is_right_with("mimalloc")


def test_tcmalloc():
    the_memory_is_right_with("tcmalloc_minimal")


def test_an_allocator_of_four_functions_never_sees_a_strangers_block():
    compiled("libfour.so", """#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static _Alignas(64) char all[256 << 20];
static size_t used;
static void fail(void) { write(2, "not mine\\n", 9); _exit(99); }
void *malloc(size_t n)
{
    size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + n + 32 > sizeof(all))
        return NULL;
    *(size_t *)(all + at) = n;
    return all + at + 16;
}
void free(void *p)
{
    if (p && ((char *)p < all || (char *)p >= all + sizeof(all)))
        fail();
}
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    size_t before = p ? *(size_t *)((char *)p - 16) : 0;
    free(p);
    return q ? memcpy(q, p ? p : q, before < n ? before : n) : NULL;
}
""", "-shared", "-fPIC", "-fno-builtin")
    program = compiled("plain", SPIN + """
__attribute__((noipa)) void planted_allocation(int n)
{
    char *p = malloc(n), *q = calloc(n, 2);
    p = realloc(p, 2 * n);
    memset(p, 1, 2 * n);
    memset(q, 2, 2 * n);
    free(p);
    free(q);
}
int main(void)
{
    for (int i = 0; i < 2000; i++)
        planted_allocation(1 + i);
    puts("done");
    return 0;
}""")
    same(program, **preloaded(os.path.join(HOME, "libfour.so")))
    assert b"planted_allocation" in profile_of("heap")

# A whole allocator inside the program: nothing of libc's may meet its blocks, which have a word of their own in front.
OWN = """
#include <stdint.h>
static _Alignas(4096) char all[64 << 20];
static size_t used;
static void fail(void) { write(2, "not mine\\n", 9); _exit(99); }
static size_t *head(void *p)
{
    if ((char *)p < all || (char *)p >= all + sizeof(all) || ((size_t *)p)[-1] != 0x5ca1ab1e)
        fail();
    return (size_t *)p - 2;
}
void *memalign(size_t align, size_t n)
{
    size_t room = n + align + 32, at = __atomic_fetch_add(&used, (room + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    uintptr_t p;
    if (room < n || at + room > sizeof(all)) {
        errno = ENOMEM;
        return NULL;
    }
    p = ((uintptr_t)all + at + 16 + align - 1) & ~(uintptr_t)(align - 1);
    ((size_t *)p)[-1] = 0x5ca1ab1e;
    ((size_t *)p)[-2] = n;
    return (void *)p;
}
void *malloc(size_t n) { return memalign(16, n); }
void free(void *p) { if (p) head(p)[1] = 0x5ca1ab1e; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    if (p && q)
        memcpy(q, p, *head(p) < n ? *head(p) : n);
    return q;
}
"""
OWN_REST = """
int posix_memalign(void **out, size_t align, size_t n) { *out = memalign(align, n); return *out ? 0 : ENOMEM; }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
void *valloc(size_t n) { return memalign(4096, n); }
"""
OWN_USE = """
__attribute__((noipa)) void planted_allocation(size_t n)
{
    char *p = malloc(n), *q = calloc(n, 2), *r = strdup("a text that libc copies"), *line = NULL;
    size_t cap = 0;
    FILE *f = fopen("/proc/self/status", "r"); /* its buffer, and the line that getline grows, are the program's, too */
    p = reallocarray(p, n, 3);
    if (!p || !q || !f || getline(&line, &cap, f) < 0)
        _exit(98);
    memset(p, 1, 3 * n);
    fclose(f);
    free(p);
    free(q);
    free(r);
    free(line);
}
static void *run(void *x)
{
    for (size_t i = 0; i < 500; i++)
        planted_allocation(1 + i);
    return x;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    run(NULL);
    pthread_join(t, NULL);
    puts("done");
    return 5;
}"""


def test_an_allocator_inside_the_program_keeps_its_blocks_and_the_profile_says_it_is_blind():
    for rest, flags in (("", ()), (OWN_REST, ()), (OWN_REST, ("-rdynamic",))):
        same(compiled("own", SPIN + OWN + rest + OWN_USE, "-fno-builtin", "-w", *flags))
        assert b"the program has its own malloc" in profile_of("heap"), profile_of("heap")
        assert b"planted_allocation" not in profile_of("heap")


tap.run(sys.modules[__name__])
