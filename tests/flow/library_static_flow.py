#!/usr/bin/env python3
"""Programs that contain the library: what the linker makes of its archives, and which profiles come of that."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import Server, tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]
STORIES = os.path.join(SOURCE, "tests", "flow", "library")
HOME = library_home.folder("library-static")
PREFIX = os.path.join(HOME, "prefix")
LIB = os.path.join(PREFIX, "lib")
ENV = library_home.install(PREFIX)
SERVER = Server().start()

ALL, WITHOUT_HOOKS = 63, 1 | 2 | 32  # CPU, wall and threads need no hooks
MISSING = "do not pass through the library: heap, mutex, block"
PLANTED = {"cpu": "planted_hot", "alloc_space": "planted_copies", "inuse_space": "planted_copies",
           "mutex": "planted_wait", "off_cpu": "planted_nap", "wall": "planted_nap", "threads": "main"}


def run(*argv, **more):
    return library_home.run(*argv, **dict({"env": ENV}, **more))


def flags(*which):
    return run("pkg-config", *which, "spanflame").split()


ARCHIVES = [os.path.join(LIB, "libspanflame.a"), os.path.join(LIB, "libspanflame_hooks.a")]


def link(name, *argv, compiler="cc"):
    out = os.path.join(HOME, name)
    run(compiler, "-O1", "-g", *flags("--cflags"), *argv, "-o", out)
    return out


def tell(program, service):
    """What the program said: word -> rest of the line."""
    env = dict(ENV, OTEL_SERVICE_NAME=service, SPANFLAME_PROFILES="all", SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE="4KB",
               SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%",  # on a busy machine samples cost more, and the nap would get none
               OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{SERVER.port}")
    lines = run(program, "everything", env=env).splitlines()
    return {line.split(" ", 1)[0]: (line + " ").split(" ", 1)[1].strip() for line in lines}


def stacks(service, kind):
    for _ in range(100):
        got = SERVER.get(f"/api/v1/profile?app={service}&type={kind}&format=folded")
        if got.status == 200:
            return got.text
        time.sleep(0.05)
    return ""


def has_everything(program, service):
    said = tell(program, service)
    assert (int(said["on"]), said["problem"]) == (ALL, ""), said
    wrong = {kind: stacks(service, kind)[:1000] for kind, name in PLANTED.items() if name not in stacks(service, kind)}
    assert not wrong, wrong


def has_no_hooks(program, service):
    said = tell(program, service)
    assert int(said["on"]) == WITHOUT_HOOKS and said["problem"].endswith(MISSING), said
    assert "planted_hot" in stacks(service, "cpu") and "planted_nap" in stacks(service, "wall")


def test_both_archives_bring_every_profile():
    has_everything(link("both", os.path.join(STORIES, "profiled.c"), *ARCHIVES), "both")


def test_the_first_archive_alone_says_what_is_missing():
    has_no_hooks(link("first", os.path.join(STORIES, "profiled.c"), ARCHIVES[0]), "first")


def test_pkg_config_links_a_static_program_that_says_what_is_missing():
    for kind in ("-static", "-static-pie"):
        program = link("whole" + kind, kind, os.path.join(STORIES, "profiled.c"), *flags("--static", "--libs"))
        assert "not a dynamic" in run("sh", "-c", f"ldd {program} 2>&1 || true") or kind == "-static-pie"
        has_no_hooks(program, "whole" + kind)


def test_pkg_config_with_static_and_the_shared_library_is_the_shared_library():
    program = link("shared", os.path.join(STORIES, "profiled.c"), *flags("--static", "--libs"), "-Wl,-rpath," + LIB)
    assert "libspanflame.so.1" in run("ldd", program)
    has_everything(program, "shared")


def test_pkg_config_where_there_are_only_archives_brings_every_profile():
    only = os.path.join(HOME, "only")
    shutil.copytree(PREFIX, only, ignore=shutil.ignore_patterns("*.so*", "bin", "libexec", "share"), symlinks=True)
    found = run("pkg-config", "--static", "--libs", "spanflame",
                env=dict(ENV, PKG_CONFIG_PATH=os.path.join(only, "lib", "pkgconfig"))).split()
    program = link("archived", os.path.join(STORIES, "profiled.c"), *found)
    assert "libspanflame" not in run("ldd", program)
    has_everything(program, "archived")


def test_cmake_s_static_target_brings_every_profile():
    if not shutil.which("cmake"):
        raise tap.Skip("there is no cmake")
    tree = os.path.join(HOME, "cmake")
    os.makedirs(tree)
    with open(os.path.join(tree, "CMakeLists.txt"), "w", encoding="ascii") as f:
        f.write("cmake_minimum_required(VERSION 3.13)\nproject(x C)\nset(CMAKE_BUILD_TYPE RelWithDebInfo)\n"
                f"find_package(spanflame CONFIG REQUIRED)\nadd_executable(x {STORIES}/profiled.c)\n"
                f"target_link_libraries(x spanflame::static)\nadd_executable(y {STORIES}/profiled.c)\n"
                "target_link_libraries(y spanflame::static -static)\n")
    run("cmake", "-S", tree, "-B", os.path.join(tree, "out"), f"-DCMAKE_PREFIX_PATH={PREFIX}")
    run("cmake", "--build", os.path.join(tree, "out"))
    assert "otel_thread_ctx_v1" in run("nm", "-D", os.path.join(tree, "out", "x"))
    has_everything(os.path.join(tree, "out", "x"), "cmake")
    has_no_hooks(os.path.join(tree, "out", "y"), "cmake-static")


def test_a_program_s_own_malloc_goes_before_ours_without_a_word_from_the_linker():
    own = os.path.join(HOME, "own.c")
    with open(own, "w", encoding="ascii") as f:
        f.write("#include <string.h>\nstatic char heap[1 << 26];\nstatic size_t at;\n"
                "void *malloc(size_t n) { return heap + __atomic_fetch_add(&at, (n + 31) & ~15ul, 5); }\n"
                "void free(void *p) { (void)p; }\nvoid *calloc(size_t n, size_t m) { return malloc(n * m); }\n"
                "void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memmove(q, p, n); return q; }\n")
    program = link("own", "-fno-builtin", os.path.join(STORIES, "profiled.c"), own, *ARCHIVES)
    tell(program, "own")
    assert "planted_wait" in stacks("own", "mutex") and "planted_nap" in stacks("own", "off_cpu")
    assert "planted_copies" not in SERVER.get("/api/v1/profile?app=own&type=alloc_space&format=folded").text


def test_other_linkers_and_compilers_put_ours_first_too():
    tried = [(compiler, linker) for compiler in ("gcc", "clang") if shutil.which(compiler)
             for linker in ("bfd", "gold", "lld") if shutil.which("ld." + linker)]
    for compiler, linker in tried:
        program = link(compiler + linker, os.path.join(STORIES, "profiled.c"), "-fuse-ld=" + linker, *ARCHIVES,
                       compiler=compiler)
        defined = {line.split()[-1] for line in run("nm", "-D", "--defined-only", program).splitlines()}
        assert {"malloc", "pthread_mutex_lock", "nanosleep", "read"} <= defined, (compiler, linker, defined)
    assert len(tried) >= 1


def test_archives_in_an_order_that_cannot_work_are_named_at_once():
    program = link("wrong", "-static", os.path.join(STORIES, "profiled.c"), *ARCHIVES)
    done = subprocess.run([program, "everything"], capture_output=True, text=True, check=False, timeout=60, env=ENV)
    assert done.returncode < 0 and "libspanflame_hooks.a is linked before libc.a" in done.stderr, done


def test_the_archives_add_few_names_to_a_program():
    names = {line.split()[-1] for line in run("nm", "-g", "--defined-only", *ARCHIVES).splitlines() if len(line.split()) == 3}
    with open(os.path.join(SOURCE, "collect", "spanflame.map"), encoding="ascii") as f:
        public = f.read()
    visible = {line.split()[-1] for line in run("readelf", "-sW", *ARCHIVES).splitlines()
               if " DEFAULT " in line and " GLOBAL " in line and " UND " not in line}
    assert visible == {n for n in visible if n + ";" in public} and len(visible) > 30, visible
    assert not [n for n in names if n.startswith(("inflate", "deflate", "adler", "crc32"))]


tap.run(sys.modules[__name__])
