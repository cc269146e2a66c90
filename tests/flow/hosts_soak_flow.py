#!/usr/bin/env python3
"""A program whose threads, libraries and children come and go for a while under every profiler, with spans, sending to
a real server: it ends by itself, holds no more memory, descriptors or mappings than before, and everything it did is
printed. SOAK_SECONDS chooses how long (`make soak`: five minutes); else CHECK_SCALE multiplies eight seconds."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server, tap  # noqa: E402

SOURCE, BUILD = os.environ["SOURCE_ROOT"], os.environ["BUILD_ROOT"]
SANITIZER = os.environ.get("SANITIZER", "none")
SECONDS = os.environ.get("SOAK_SECONDS") or str(8 * max(1, int(float(os.environ.get("CHECK_SCALE", "1")))))
WORDS = ("resident KB", "descriptors", "mappings", "threads", "libraries", "children", "spans")


def test_threads_libraries_and_children_churn_under_every_profiler():
    server = Server().start()
    program = os.path.join(server.home, "soak")
    checked = [] if SANITIZER == "none" else [f"-fsanitize={SANITIZER}"]
    compiler = "cc" if SANITIZER == "none" else "clang"  # as the library is built
    subprocess.run([compiler, "-O1", "-g", *checked, "-I" + os.path.join(SOURCE, "include"),
                    os.path.join(SOURCE, "tests", "flow", "library", "soak.c"), "-o", program,
                    "-L" + os.path.join(BUILD, "collect"), "-lspanflame", "-pthread", "-ldl",
                    "-Wl,-rpath," + os.path.join(BUILD, "collect")], check=True)
    env = dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.port}",
               SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED="false")
    done = subprocess.run([program, os.path.join(server.home, "soak.pb.gz"), SECONDS], capture_output=True, text=True,
                          check=False, env=env, timeout=float(SECONDS) * 5 + 300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-4000:])
    early, late = (dict(zip(WORDS, map(int, line.split()))) for line in done.stdout.splitlines())
    for when, all_of_it in (("after two fifths", early), ("at the end", late)):
        print(f"# {when}: " + ", ".join(f"{n} {word}" for word, n in all_of_it.items()))
    assert late["threads"] > early["threads"] and late["libraries"] > early["libraries"], (early, late)
    assert late["children"] > early["children"] and late["spans"] > early["spans"], (early, late)
    # Some descriptors and mappings are under way at any moment: threads' stacks, a connection, a file being read.
    assert late["descriptors"] <= early["descriptors"] + 16 and late["mappings"] <= early["mappings"] + 64, (early, late)
    if SANITIZER == "none":  # their memory is their own affair
        assert late["resident KB"] < early["resident KB"] + 8192, (early, late)
    for kind in ("cpu", "wall", "alloc_space", "mutex", "off_cpu"):
        if kind != "alloc_space" or SANITIZER == "none":  # malloc is theirs
            got = server.get(f"/api/v1/profile?app=soak&type={kind}&format=folded")
            assert got.status == 200 and b"short_life" in got.body, (kind, got.status, got.body[:400])


tap.run(sys.modules[__name__])
