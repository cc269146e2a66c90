#!/usr/bin/env python3
"""Programs compiled against the installed library, as its users do, and a real server to send to."""
import os
import re
import shutil
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from library_home import run  # noqa: E402
from server import Server, free_port, tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]
STORIES = os.path.join(SOURCE, "tests", "flow", "library")
HOME = library_home.folder("library")
PREFIX = os.path.join(HOME, "a prefix")
ENV = library_home.install(PREFIX)
SERVER = Server().start()


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def flags(*which):
    # The prefix has a blank in its name, which pkg-config escapes: only a shell reads that back.
    return run("sh", "-c", "eval printf '%s\\\\n' $(pkg-config " + " ".join(which) + " spanflame)", env=ENV).splitlines()


def build():
    program = os.path.join(HOME, "program")
    run("cc", "-O2", "-Wall", "-Wextra", "-Werror", *flags("--cflags"), os.path.join(STORIES, "program.c"), "-o", program,
        *flags("--libs"), "-Wl,-rpath," + os.path.join(PREFIX, "lib"))
    return program


PROGRAM = build()


def tell(story, service, url=None, program=PROGRAM, **env):
    env = dict(ENV, OTEL_SERVICE_NAME=service,
               OTEL_EXPORTER_OTLP_ENDPOINT=url or f"http://127.0.0.1:{SERVER.port}", **env)
    argv = [program, story] if story else [program]
    return run(*argv, env=env)


def spans_now(service):
    """name -> [span] of all traces of a service, with the resource beside."""
    found = {}
    traces = SERVER.json(f"/api/search?q=%7Bresource.service.name%3D%22{service}%22%7D&limit=100").get("traces", [])
    for trace in traces:
        for batch in SERVER.json(f"/api/traces/{trace['traceID']}")["batches"]:
            for scope in batch["scopeSpans"]:
                for span in scope["spans"]:
                    # The server's word, on spans in which a sample fell by chance.
                    span["attributes"] = [a for a in span.get("attributes", []) if a["key"] != "pyroscope.profile.id"]
                    span["resource"] = {a["key"]: a["value"] for a in batch["resource"]["attributes"]}
                    found.setdefault(span["name"], []).append(span)
    return found


def spans_of(service, n):
    """The same, once there are n: a search sees what was acknowledged a moment later."""
    for _ in range(200):
        found = spans_now(service)
        if sum(map(len, found.values())) >= n:
            break
        time.sleep(0.05)
    return found


def thread_of(span):
    return next(int(a["value"]["intValue"]) for a in span["attributes"] if a["key"] == "thread.id")


def test_nested_spans_arrive_with_what_they_carry():
    said = tell("nest", "nested", OTEL_RESOURCE_ATTRIBUTES="team=shop")
    assert said.startswith("queued 2 sent 2 dropped 0 lost 0"), said
    spans = spans_of("nested", 2)
    outer, inner = spans["outer"][0], spans["inner"][0]
    assert inner["parentSpanId"] == outer["spanId"] and inner["traceId"] == outer["traceId"]
    own = {a["key"]: a["value"] for a in outer["attributes"]}
    assert set(own) == {"http.route", "thread.id"} and own["http.route"] == {"stringValue": "/cart"}, outer
    assert thread_of(outer) == thread_of(inner) > 0, spans
    assert inner["events"][0]["name"] == "cache miss" and inner["status"]["message"] == "no such item", inner
    assert outer["resource"]["team"] == {"stringValue": "shop"}, outer["resource"]
    assert outer["resource"]["service.instance.id"]["stringValue"], outer["resource"]


def test_spans_move_between_threads_and_end_there():
    tell("hand-over", "handed")
    spans = spans_of("handed", 17)
    root = spans["root"][0]["spanId"]
    assert len(spans["job"]) == 8 and {s["parentSpanId"] for s in spans["job"]} == {root}
    assert {s["parentSpanId"] for s in spans["in the worker"]} == {s["spanId"] for s in spans["job"]}
    # Jobs start on the root's thread and end on a worker's: their thread is the one that started them.
    assert {thread_of(s) for s in spans["job"]} == {thread_of(spans["root"][0])}, spans
    assert thread_of(spans["root"][0]) not in {thread_of(s) for s in spans["in the worker"]}, spans


def test_forked_children_send_their_own_and_no_others():
    tell("fork", "forked")
    spans = spans_of("forked", 4)
    assert len(spans["parent"]) == 1 and len(spans["child"]) == 3, {k: len(v) for k, v in spans.items()}
    assert {s["parentSpanId"] for s in spans["child"]} == {spans["parent"][0]["spanId"]}
    everybody = spans["child"] + spans["parent"]
    assert len({s["resource"]["service.instance.id"]["stringValue"] for s in everybody}) == 4
    assert len({s["resource"]["process.pid"]["intValue"] for s in everybody}) == 4


def test_a_program_that_closes_all_descriptors_still_sends():
    tell("close-all", "closing")
    assert set(spans_of("closing", 2)) == {"before", "after"}


def test_grpc_brings_the_same():
    tell("nest", "grpc", OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert set(spans_of("grpc", 2)) == {"outer", "inner"}
    before = SERVER.metric("spanflame_spans_acknowledged_total")
    said = tell("pour", "grpc-many", OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_EXPORTER_OTLP_COMPRESSION="none")
    # Megabytes, far more than the windows of HTTP/2 take at once; what waits is flushed at exit.
    assert SERVER.metric("spanflame_spans_acknowledged_total") == before + int(said.split()[1]), said


def test_without_a_server_nothing_waits_and_losses_are_counted():
    begin = time.monotonic()
    said = tell("pour", "gone", url=f"http://127.0.0.1:{free_port()}")
    assert time.monotonic() - begin < 60
    words = said.split()
    assert int(words[1]) + int(words[5]) == 10000 and int(words[5]) > 5000, said


def test_a_server_that_never_answers_holds_nobody_up():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(8)
        said = tell("pour", "slow", url=f"http://127.0.0.1:{s.getsockname()[1]}")
        words = said.split()
        assert int(words[1]) + int(words[5]) == 10000 and int(words[3]) == 0, said


def test_the_static_library_does_the_same():
    program = os.path.join(HOME, "static")
    run("cc", *flags("--cflags"), os.path.join(STORIES, "program.c"), "-o", program,
        os.path.join(PREFIX, "lib", "libspanflame.a"), "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1")
    tell("nest", "static", program=program)
    assert set(spans_of("static", 2)) == {"outer", "inner"}
    assert "otel_thread_ctx_v1" in run("nm", "-D", program)


def test_the_cpp_wrapper_ends_spans_with_their_scopes():
    if not shutil.which("g++"):
        raise tap.Skip("there is no g++")
    for standard in ("c++11", "c++17"):
        program = os.path.join(HOME, standard)
        run("g++", f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags("--cflags"),
            os.path.join(STORIES, "scoped.cpp"), "-o", program, *flags("--libs"), "-pthread",
            "-Wl,-rpath," + os.path.join(PREFIX, "lib"))
        service = standard.replace("+", "p")
        tell(None, service, program=program)
        spans = spans_of(service, 3)
        outer = spans["outer"][0]
        assert outer["kind"] == "SPAN_KIND_SERVER" and len(outer["attributes"]) == 5, outer
        assert spans["throws"][0]["status"]["code"] == "STATUS_CODE_ERROR"
        assert spans["on a thread"][0]["parentSpanId"] == outer["spanId"]


def test_cmake_finds_the_package():
    if not shutil.which("cmake"):
        raise tap.Skip("there is no cmake")
    tree = os.path.join(HOME, "cmake")
    os.makedirs(tree)
    with open(os.path.join(tree, "CMakeLists.txt"), "w", encoding="ascii") as f:
        f.write("cmake_minimum_required(VERSION 3.13)\nproject(x C)\nfind_package(spanflame 1.0 CONFIG REQUIRED)\n"
                f"foreach(kind spanflame static)\nadd_executable(${{kind}} {STORIES}/program.c)\n"
                "target_link_libraries(${kind} spanflame::${kind})\nendforeach()\n")
    run("cmake", "-S", tree, "-B", os.path.join(tree, "out"), f"-DCMAKE_PREFIX_PATH={PREFIX}", env=ENV)
    run("cmake", "--build", os.path.join(tree, "out"))
    for kind in ("spanflame", "static"):
        tell("nest", "cmake-" + kind, program=os.path.join(tree, "out", kind))
        assert set(spans_of("cmake-" + kind, 2)) == {"outer", "inner"}


def test_the_library_brings_only_libc_and_shows_only_its_names():
    library = os.path.join(PREFIX, "lib", "libspanflame.so.1")
    needed = [line for line in run("readelf", "-d", library).splitlines() if "NEEDED" in line]
    assert len(needed) <= 2 and all("libc.so" in n or "ld-linux" in n for n in needed), needed
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    # What stands before libc's functions has no version, to match every version of theirs.
    with open("/proc/self/maps", encoding="utf-8") as f:
        libc = next(line.split()[-1] for line in f if re.search(r"/libc[.-]", line))
    hooks = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", libc).splitlines()}
    strange = [n for n in names if not n.startswith("sf_") and "otel_thread_ctx_v1" not in n and n != "SPANFLAME_1.0" and
               n not in hooks]
    assert not strange and all("@@SPANFLAME_1.0" in n for n in names if n.startswith("sf_")), names
    with open(os.path.join(SOURCE, "include", "spanflame.h"), encoding="ascii") as f:
        header = f.read()
    assert not [n for n in names if n.startswith("sf_") and n.split("@")[0] + "(" not in header]


def code_between(path, begin, end):
    return read(os.path.join(SOURCE, path)).split(begin)[1].split(end)[0]


def test_examples_of_the_readme_and_the_manual_compile_and_send():
    literal = ".Sh EXAMPLES\n.Bd -literal -offset indent\n"
    examples = {"readme.c": code_between("README.md", "```c\n", "```"),
                "readme.cpp": code_between("README.md", "```cpp\n", "```"),
                "manual.c": code_between("docs/man/spanflame.3", literal, "\n.Ed"),
                "manual.cpp": code_between("docs/man/spanflame.hpp.3", literal, "\n.Ed")}
    if not shutil.which("g++"):
        examples = {name: code for name, code in examples.items() if name.endswith(".c")}
    for name, code in examples.items():
        path = os.path.join(HOME, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(code)
        run("g++" if name.endswith("cpp") else "cc", "-Wall", "-Werror", *flags("--cflags"), path, "-o", path + ".out",
            *flags("--libs"), "-pthread", "-Wl,-rpath," + os.path.join(PREFIX, "lib"))
        tell(None, "ignored", program=path + ".out", OTEL_RESOURCE_ATTRIBUTES="example=" + name)
    found = spans_of("checkout", len(examples) + len(examples) // 4)["GET /cart"]
    assert {s["resource"]["example"]["stringValue"] for s in found} == set(examples), found


tap.run(sys.modules[__name__])
