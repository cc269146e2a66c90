#!/usr/bin/env python3
"""Code that profiles name by build id and offset gets names from uploaded files and from debuginfod servers."""
import glob
import hashlib
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import otlp_native  # noqa: E402
from server import JSON, PROGRAM, Server, free_port, make_span, tap  # noqa: E402

SOURCE = """
volatile long sink;
static inline __attribute__((always_inline)) void innermost(long n) {
    for (long i = 0; i < n; i++) sink += i;                            /* line 4 */
}
static __attribute__((noinline)) void outer_work(long n) {
    innermost(n * 3);                                                  /* line 7 */
}
__attribute__((noinline)) void exported_work(long n) {
    outer_work(n);                                                     /* line 10 */
    sink++;
}
int main(int argc, char **argv) { (void)argv; exported_work(argc); return 0; }
"""


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=True, **more).stdout


SHARED_SOURCE = """
volatile long sink;
struct order { long first, second, third; struct order *next; const char *name_of_order; };
static inline __attribute__((always_inline)) void innermost(long n, struct order *o) {
    for (long i = 0; i < n; i++) {
        struct order *long_name_of_a_variable = o;
        long another_long_name = i * 2;
        sink += i + another_long_name;
        if (long_name_of_a_variable) sink++;
    }
}
static __attribute__((noinline)) void outer_work(long n) { struct order o = {0}; innermost(n * 3, &o); }
__attribute__((noinline)) void exported_work(long n) { outer_work(n); sink++; }
int main(int argc, char **argv) { (void)argv; exported_work(argc); return 0; }
"""


class Program:
    """A program with debug information, the same stripped, the debug file, and addresses in it."""

    def __init__(self, name="worker", flags=("-pie", "-fPIE"), text=SOURCE):
        for tool in ("gcc", "objcopy", "readelf", "nm"):
            if not shutil.which(tool):
                raise tap.Skip(f"no {tool} here")
        self.folder = tempfile.mkdtemp(prefix="spanflame-symbols-")
        self.name, self.path = name, os.path.join(self.folder, name)
        source = os.path.join(self.folder, "work.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(text)
        run("gcc", "-O2", "-g", "-Wl,--build-id=sha1", *flags, f'-DNAME="{name}"', source, "-o", self.path)
        self.debug, self.stripped = self.path + ".debug", self.path + ".stripped"
        run("objcopy", "--only-keep-debug", self.path, self.debug)
        run("objcopy", "--strip-all", self.path, self.stripped)
        found = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", self.path))
        self.build_id = found.group(1) if found else ""
        code = [line.split() for line in run("readelf", "-lW", self.path).splitlines() if re.search(r"LOAD.* R E ", line)]
        self.offset, self.start, self.limit = (int(code[0][i], 16) for i in (1, 2, 5))
        self.limit += self.start
        self.symbols = {}
        for line in run("nm", "-S", self.path).splitlines():
            parts = line.split()
            if len(parts) == 4:
                self.symbols[parts[3]] = (int(parts[0], 16), int(parts[1], 16))

    def at(self, symbol, part=0.5):
        at, size = self.symbols[symbol]
        return at + int(size * part)

    def file(self):
        return {self.name: (self.build_id, self.start, self.limit, self.offset)}

    def stacks(self):
        """main called exported_work, which called outer_work; both places in it are in an inlined function."""
        low = (self.name, self.at("main", 0.3)), (self.name, self.at("exported_work", 0.2))
        at, size = self.symbols["outer_work"]
        return {low + ((self.name, at + size - 8),): 3, low + ((self.name, at + size // 2),): 2}

    def close(self):
        shutil.rmtree(self.folder)


def send(server, service, program, **more):
    answer = server.post("/v1development/profiles", otlp_native(service, program.file(), program.stacks()), **more)
    assert answer.status == 200, (answer.status, answer.text)


def folded(server, service, **more):
    query = urllib.parse.urlencode({"app": service, "format": "folded"})
    answer = server.get("/api/v1/profile?" + query, **more)
    assert answer.status == 200, (answer.status, answer.text)
    return {k: int(v) for k, v in (line.rsplit(" ", 1) for line in answer.text.splitlines())}, answer


def functions(server, service, **more):
    return {name for stack in folded(server, service, **more)[0] for name in stack.split(";")}


def frames(server, service):
    answer = server.json("/api/v1/profile?" + urllib.parse.urlencode({"app": service, "format": "json"}))
    return answer["frames"]


def put(server, build_id, path, **more):
    with open(path, "rb") as f:
        return server.request("PUT", f"/api/v1/symbols/{build_id}", f.read(), **more)


def eventually(what, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def cli(server, *argv):
    return subprocess.run([PROGRAM, *argv, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          check=False)


program = None


def the_program():
    global program
    program = program or Program()
    return program


NAMED = {"main", "exported_work", "outer_work", "innermost"}


def test_a_profile_without_names_gets_them_from_a_file_that_comes_later():
    p = the_program()
    with Server() as s:
        send(s, "ebpf", p)
        assert functions(s, "ebpf") == {"worker (no symbols)"}, functions(s, "ebpf")
        # what would name it is stated where it is shown
        place = f"spanflame symbols upload /usr/lib/debug/.build-id/{p.build_id[:2]}/{p.build_id[2:]}.debug"
        one = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="ebpf"}'
        for argv in (("flame", one), ("top", one), ("diff", one, one)):
            done = cli(s, *argv)
            assert "worker has no names (" in done.stdout and place in done.stdout, (argv, done)
        assert place in s.get("/api/v1/profile?app=ebpf").text
        done = cli(s, "symbols", "upload", p.debug)
        assert done.returncode == 0 and p.build_id in done.stdout and "names, lines" in done.stdout, done
        assert eventually(lambda: NAMED <= functions(s, "ebpf")), functions(s, "ebpf")
        assert "has no names" not in cli(s, "top", one).stdout
        stacks, _ = folded(s, "ebpf")
        assert all(stack.startswith("main;exported_work;outer_work;innermost") for stack in stacks), stacks
        assert sum(stacks.values()) == 5 * 50000000, stacks
        inner = [f for f in frames(s, "ebpf") if f["function"] == "innermost"]
        assert inner and all(f["file"].endswith("work.c") and f["line"] in (3, 4, 5) for f in inner), inner
        listed = cli(s, "symbols", "list")
        assert p.build_id in listed.stdout and "debug" in listed.stdout, listed
        # the names are looked up again after a restart, and fsck knows the file
        assert s.stop() == 0
        checked = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked
        s.start()
        assert eventually(lambda: NAMED <= functions(s, "ebpf")), functions(s, "ebpf")
        done = cli(s, "symbols", "delete", p.build_id)
        assert done.returncode == 0, done
        assert functions(s, "ebpf") == {"worker (no symbols)"}
        again = cli(s, "symbols", "delete", p.build_id)
        assert again.returncode == 1 and "no symbol file" in again.stderr, again


def test_a_time_series_chooses_stacks_by_names_from_files_too():
    """As the flame graph of the same question does, also in the first query after a start."""
    p = the_program()

    def sums(s, *names):
        ms = int(time.time() * 1000)
        body = {"start": ms - 3600000, "end": ms + 60000, "labelSelector": '{service_name="ebpf"}',
                "stackTraceSelector": {"frameFilter": {"includeFunctionNames": names}}}
        types = s.post("/querier.v1.QuerierService/ProfileTypes", json.dumps(body), JSON)
        body["profileTypeID"] = next(t["ID"] for t in json.loads(types.body)["profileTypes"] if t["sampleUnit"] == "nanoseconds")
        series = json.loads(s.post("/querier.v1.QuerierService/SelectSeries", json.dumps(dict(body, step=15)), JSON).body)
        flame = json.loads(s.post("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(body), JSON).body)["flamegraph"]
        points = [p["value"] for one in series.get("series", []) for p in one["points"]]
        assert sum(points) == int(flame.get("total", 0)), (names, series, flame)
        return sum(points)

    with Server() as s:
        send(s, "ebpf", p)
        assert cli(s, "symbols", "upload", p.debug).returncode == 0
        assert eventually(lambda: NAMED <= functions(s, "ebpf")), functions(s, "ebpf")
        for _ in range(2):
            assert sums(s, "outer_work", "innermost") == 5 * 50000000 and sums(s, "no such function") == 0
            assert s.stop() == 0
            s.start()


def test_offsets_and_addresses_of_every_kind_of_program_are_told_apart():
    kinds = {"fixed": ("-no-pie",), "wide": ("-pie", "-fPIE", "-Wl,-z,max-page-size=65536")}
    if shutil.which("ld.lld"):
        kinds["lld"] = ("-pie", "-fPIE", "-fuse-ld=lld")
    with Server() as s:
        for kind, flags in kinds.items():
            p = Program(kind, flags)
            try:
                send(s, kind, p)
                assert put(s, p.build_id, p.path).status == 201
                assert eventually(lambda k=kind: NAMED <= functions(s, k)), (kind, functions(s, kind))
                # the debug file alone: the same names, or none when it does not say where its code lies
                assert s.request("DELETE", f"/api/v1/symbols/{p.build_id}").status == 200
                answer = put(s, p.build_id, p.debug)
                assert answer.status == 201, answer.text
                want = NAMED if "note" not in json.loads(answer.body) else {f"{kind} (no symbols)"}
                assert eventually(lambda k=kind, w=want: w <= functions(s, k)), (kind, functions(s, kind), answer.text)
                assert functions(s, kind) <= NAMED | {f"{kind} (no symbols)"}
            finally:
                p.close()


def test_a_stripped_program_has_one_frame_a_function():
    p = the_program()
    with Server() as s:
        send(s, "bare", p)
        assert put(s, p.build_id, p.stripped).status == 201
        start = f"worker!0x{p.symbols['outer_work'][0] - p.start + p.offset:x}"
        assert eventually(lambda: start in functions(s, "bare")), (start, functions(s, "bare"))
        assert len(functions(s, "bare")) == 3, functions(s, "bare")


def test_debug_information_that_was_compressed_is_read():
    p = the_program()
    with Server() as s:
        for how in ("zlib", "zstd"):
            path = f"{p.path}.{how}"
            done = subprocess.run(["objcopy", f"--compress-debug-sections={how}", p.path, path], capture_output=True, check=False)
            if done.returncode:
                raise tap.Skip(f"no objcopy that compresses with {how} here")
            send(s, how, p)
            answer = put(s, p.build_id, path)
            assert answer.status in (200, 201) and json.loads(answer.body)["hasLines"], (how, answer.text)
            assert eventually(lambda h=how: NAMED <= functions(s, h)), (how, functions(s, how))


def shared_program():
    """Two programs whose common debug information dwz moved to a third file."""
    if not shutil.which("dwz"):
        raise tap.Skip("no dwz here")
    p, twin = Program("sharing", text=SHARED_SOURCE), Program("twin", text=SHARED_SOURCE)
    shared = p.path + ".shared"
    run("dwz", "-m", shared, p.path, twin.path)
    twin.close()
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", shared)).group(1)
    return p, shared, build_id


def test_names_that_dwz_moved_to_another_file_are_found_there():
    p, shared, shared_id = shared_program()
    with Server() as s:
        send(s, "dwz", p)
        answer = put(s, p.build_id, p.path)
        assert answer.status == 201 and shared_id in json.loads(answer.body)["note"], answer.text
        # what is here gives the functions; the inlined one's name is in the other file
        assert eventually(lambda: "outer_work" in functions(s, "dwz")), functions(s, "dwz")
        assert "innermost" not in functions(s, "dwz"), functions(s, "dwz")
        done = cli(s, "symbols", "upload", shared)
        assert done.returncode == 0 and "debug files that share it" in done.stdout, done
        assert eventually(lambda: NAMED <= functions(s, "dwz")), functions(s, "dwz")
        assert s.request("DELETE", f"/api/v1/symbols/{shared_id}").status == 200
        assert eventually(lambda: "innermost" not in functions(s, "dwz"))
    listening, url = peer({f"/buildid/{p.build_id}/debuginfo": (200, {}, open(p.path, "rb").read()),
                           f"/buildid/{shared_id}/debuginfo": (200, {}, open(shared, "rb").read())})
    with Server(config(url)) as s:
        send(s, "dwz", p)
        assert eventually(lambda: NAMED <= functions(s, "dwz")), (functions(s, "dwz"), s.log(), Peer.asked)
        assert sorted(Peer.asked) == sorted(Peer.answers), Peer.asked
        assert folded(s, "dwz")[1].headers.get("x-spanflame-symbols") is None
    listening.shutdown()
    # a server without that file is queried for it once, and nothing stays pending
    listening, url = peer({f"/buildid/{p.build_id}/debuginfo": (200, {}, open(p.path, "rb").read())})
    with Server(config(url)) as s:
        send(s, "dwz", p)
        assert eventually(lambda: "outer_work" in functions(s, "dwz")), (functions(s, "dwz"), s.log())
        assert eventually(lambda: folded(s, "dwz")[1].headers.get("x-spanflame-symbols") is None), Peer.asked
        assert sum(shared_id in path for path in Peer.asked) == 2, Peer.asked  # as debug file and as program
        functions(s, "dwz")
        assert sum(shared_id in path for path in Peer.asked) == 2, Peer.asked
    listening.shutdown()
    p.close()


def test_a_program_of_split_dwarf_has_names_and_lines_and_says_what_is_missing():
    for version in ("-gdwarf-5", "-gdwarf-4"):
        p = Program("split", ("-pie", "-fPIE", "-gsplit-dwarf", version))
        with Server() as s:
            send(s, "split", p)
            done = cli(s, "symbols", "upload", p.path)
            assert done.returncode == 0 and "inlined calls are in .dwo files" in done.stdout, (version, done)
            want = {"main", "exported_work", "outer_work"}
            assert eventually(lambda: want <= functions(s, "split")), (version, functions(s, "split"))
            lines = {f["line"] for f in frames(s, "split") if f["function"] == "outer_work"}
            assert lines and lines <= set(range(3, 8)), (version, lines)
        p.close()


def test_inlined_calls_of_split_dwarf_come_from_its_package():
    """Of DWARF 4: llvm-dwp of LLVM 14 does not end with some files of GCC's DWARF 5."""
    if not shutil.which("llvm-dwp"):
        raise tap.Skip("no llvm-dwp here")
    p = Program("package", ("-pie", "-fPIE", "-gsplit-dwarf", "-gdwarf-4"))
    run("llvm-dwp", "-e", p.path, "-o", p.path + ".dwp")
    with Server() as s:
        send(s, "package", p)
        assert cli(s, "symbols", "upload", p.path).returncode == 0
        assert eventually(lambda: "outer_work" in functions(s, "package")) and "innermost" not in functions(s, "package")
        done = cli(s, "symbols", "upload", p.path + ".dwp")
        assert done.returncode == 0 and f"{p.build_id}  split" in done.stdout, done
        assert eventually(lambda: NAMED <= functions(s, "package")), functions(s, "package")
        half = next(f for f in glob.glob(os.path.join(os.path.dirname(p.path), "*.dwo")))
        for wrong, words in ((half, "pack them"), (shutil.copy(p.path + ".dwp", p.path + ".other"), "call it PROGRAM.dwp")):
            done = cli(s, "symbols", "upload", wrong)
            assert done.returncode != 0 and words in done.stderr, done
        assert cli(s, "symbols", "delete", p.build_id).returncode == 0
        assert "split" not in cli(s, "symbols", "list").stdout
    # The program comes from a debuginfod server: the package is of the tenant that sent it.
    listening, url = peer({f"/buildid/{p.build_id}/debuginfo": (200, {}, open(p.path, "rb").read())})
    a, b = {"X-Scope-OrgID": "a"}, {"X-Scope-OrgID": "b"}
    with Server(config(url, more="tenancy:\n  enabled: true\n")) as s:
        for tenant in (a, b):
            send(s, "package", p, headers=tenant)
        assert put(s, p.build_id, p.path + ".dwp", headers=a).status == 201
        assert eventually(lambda: NAMED <= functions(s, "package", headers=a)), (functions(s, "package", headers=a), s.log())
        assert eventually(lambda: "outer_work" in functions(s, "package", headers=b)), functions(s, "package", headers=b)
        assert "innermost" not in functions(s, "package", headers=b)
        assert s.request("DELETE", f"/api/v1/symbols/{p.build_id}", headers=a).status == 200
        assert eventually(lambda: "innermost" not in functions(s, "package", headers=a))
    listening.shutdown()
    p.close()


def test_a_program_without_a_build_id_is_found_by_its_hash():
    p = Program("bare", ("-pie", "-fPIE", "-Wl,--build-id=none"))
    whole = open(p.path, "rb").read()
    htlhash = hashlib.sha256(whole[:4096] + whole[-4096:] + len(whole).to_bytes(8, "big")).hexdigest()[:32]
    with Server() as s:
        for service, go_id in (("hashed", ""), ("of-go", "aaaa/bbbb")):
            body = otlp_native(service, p.file(), p.stacks(), htlhash=htlhash, go_id=go_id)
            assert s.post("/v1development/profiles", body).status == 200
        done = cli(s, "symbols", "upload", p.path)
        assert done.returncode == 0 and htlhash in done.stdout, done
        assert eventually(lambda: NAMED <= functions(s, "hashed")), functions(s, "hashed")
        assert eventually(lambda: NAMED <= functions(s, "of-go")), functions(s, "of-go")
        refused = cli(s, "symbols", "upload", p.debug)
        assert refused.returncode == 1 and "no build id" in refused.stderr, refused
    p.close()


def test_a_search_for_a_function_finds_names_from_files():
    p = the_program()
    span = make_span(ms=900, service="ebpf", name="checkout")
    ids = span["trace_id"], span["span_id"]
    with Server() as s:
        s.send([span])
        assert s.post("/v1development/profiles", otlp_native("ebpf", p.file(), p.stacks(), span=ids)).status == 200
        assert put(s, p.build_id, p.debug).status == 201
        # right after a start no name is in memory: each of these is the first question
        found = cli(s, "spans-with", "outer_work")
        assert found.returncode == 0 and "checkout" in found.stdout, found
        assert s.stop() == 0
        s.start()
        query = urllib.parse.quote('{ profile.frame = "outer_work" }')
        traces = s.json(f"/api/search?q={query}")["traces"]
        assert [t["traceID"].zfill(32) for t in traces] == [ids[0].hex()], traces
        query = urllib.parse.quote('{ profile.frame =~ "inner.*" }')
        assert len(s.json(f"/api/search?q={query}")["traces"]) == 1
        query = urllib.parse.quote('{ profile.frame = "absent" }')
        assert s.json(f"/api/search?q={query}")["traces"] == []


def test_every_answer_says_that_names_are_pending():
    p = the_program()
    silent = socket.socket()  # a server that never answers
    silent.bind(("127.0.0.1", 0))
    silent.listen(8)
    span = make_span(ms=900, service="late", name="checkout")
    ids = span["trace_id"], span["span_id"]
    trace, own = ids[0].hex(), ids[1].hex()
    with Server(config(f"http://127.0.0.1:{silent.getsockname()[1]}")) as s:
        s.send([span])
        assert s.post("/v1development/profiles", otlp_native("late", p.file(), p.stacks(), span=ids)).status == 200
        frame = urllib.parse.quote('{ profile.frame = "outer_work" }')
        for path in ("/api/v1/profile?app=late", f"/api/v1/profile?span_id={own}&format=pprof",
                     "/api/v1/profile?app=late&format=otlp", "/api/v1/frames/spans?function=outer_work",
                     f"/api/search?q={frame}", "/api/v1/findings?service=late", f"/api/v1/spans/{trace}/{own}/profile",
                     "/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds"
                     "%7Bservice_name%3D%22late%22%7D&from=now-1h&until=now"):
            answer = s.get(path)
            assert answer.status == 200, (path, answer.status, answer.text)
            assert "no names yet" in answer.headers.get("x-spanflame-symbols", ""), (path, answer.headers, answer.text[:500])
        for argv in (("flame", "--span", own), ("top", 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="late"}'), ("spans-with", "outer_work"), ("findings", "late")):
            done = cli(s, *argv)
            assert done.stderr.count("no names yet") == 1, (argv, done)
    silent.close()


PODS = {"k8s.pod.name": ("shop-1", "shop-2"), "service.instance.id": ("i-1", "i-2")}


def test_samples_without_a_span_go_to_spans_of_their_pod_and_instance():
    p = the_program()
    for key, names in PODS.items():
        with Server() as s:
            spans = [make_span(ms=1000, service="shop", name=f"checkout {name}", resource={key: name}) for name in names]
            for span in spans:
                s.send([span])
            # only the first of them worked
            body = otlp_native("shop", p.file(), p.stacks(), {key: names[0]}, at_ns=spans[0]["start"] + 10**8)
            assert s.post("/v1development/profiles", body).status == 200
            assert put(s, p.build_id, p.debug).status == 201
            paths = [f"/api/v1/profile?span_id={x['span_id'].hex()}&trace_id={x['trace_id'].hex()}&format=json" for x in spans]
            first = s.json(paths[0])
            assert {f["function"] for f in first["frames"]} >= NAMED, first
            view = s.json(f"/api/v1/spans/{spans[0]['trace_id'].hex()}/{spans[0]['span_id'].hex()}/profile")
            assert view["grades"]["window"]["samples"] == 5, view
            other = s.get(paths[1])
            assert other.status == 404 or json.loads(other.body)["total"] == 0, (key, other.status, other.text)


def test_what_is_not_the_file_is_refused_with_its_reason():
    p = the_program()
    other = "ab" * 20
    with Server("symbols:\n  max_file: 64KiB\n  max_total: 64KiB\n") as s:
        for build_id, body, status, words in (
                (other, open(p.stripped, "rb").read(), 400, f"the file's build id is {p.build_id}"),
                (other, b"no ELF at all", 400, "not a little-endian ELF file"),
                (other, b"", 400, "not a little-endian ELF file"),
                ("xyz", b"abc", 400, "is not a build id"),
                (other, b"\x7fELF" + b"\0" * 70000, 413, "")):
            answer = s.request("PUT", f"/api/v1/symbols/{build_id}", body)
            assert answer.status == status and words in answer.text, (build_id, answer.status, answer.text)
        cut = open(p.stripped, "rb").read()[:900]
        assert s.request("PUT", f"/api/v1/symbols/{p.build_id}", cut).status == 400
        answer = s.request("PUT", f"/api/v1/symbols/{p.build_id}", cut, {"Content-Encoding": "gzip"})
        assert answer.status == 400 and "content-encoding" in answer.text, (answer.status, answer.text)
        assert s.json("/api/v1/symbols") == {"files": [], "size": 0}
        assert not glob.glob(os.path.join(s.data, "tmp", "symbol-*")), "nothing unfinished stays"
        # a second one is over what a tenant may have
        size = os.path.getsize(p.stripped)
        assert put(s, p.build_id, p.stripped).status == 201
        more = [s.request("PUT", f"/api/v1/symbols/{p.build_id}", open(p.stripped, "rb").read()).status
                for _ in range(64 * 1024 // size + 1)]
        assert more[-1] in (200, 503), more
        assert put(s, p.build_id, p.debug).status in (201, 503)


def test_a_tenant_sees_its_own_files_only():
    p = the_program()
    a, b = {"X-Scope-OrgID": "a"}, {"X-Scope-OrgID": "b"}
    with Server("tenancy:\n  enabled: true\n") as s:
        send(s, "mine", p, headers=a)
        send(s, "mine", p, headers=b)
        assert put(s, p.build_id, p.path, headers=a).status == 201
        assert eventually(lambda: NAMED <= functions(s, "mine", headers=a))
        assert functions(s, "mine", headers=b) == {"worker (no symbols)"}
        assert len(s.json("/api/v1/symbols", headers=a)["files"]) == 1
        assert s.json("/api/v1/symbols", headers=b)["files"] == []
        assert s.request("DELETE", f"/api/v1/symbols/{p.build_id}", headers=b).status == 404
        assert s.request("DELETE", f"/api/v1/symbols/{p.build_id}", headers=a).status == 200


def test_a_damaged_file_is_found_by_fsck_and_costs_only_the_names():
    p = the_program()
    with Server() as s:
        send(s, "torn", p)
        assert put(s, p.build_id, p.path).status == 201
        stored = glob.glob(os.path.join(s.data, "symbols", "*", p.build_id + "*"))
        assert len(stored) == 1, stored
        with open(stored[0], "r+b") as f:
            f.truncate(3000)
        answer = folded(s, "torn")[0]
        assert sum(answer.values()) == 5 * 50000000, answer
        assert s.stop() == 0
        checked = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, check=False)
        assert checked.returncode == 1 and p.build_id in checked.stdout, checked
        s.start()
        assert sum(folded(s, "torn")[0].values()) == 5 * 50000000


# ---- debuginfod ----

class Peer(http.server.BaseHTTPRequestHandler):
    """Answers as the test says: {path: (status, headers, body)}; what it was asked is kept."""
    answers, asked = {}, []

    def do_GET(self):
        Peer.asked.append(self.path)
        status, headers, body = Peer.answers.get(self.path, (404, {}, b"not found"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def peer(answers):
    Peer.answers, Peer.asked = answers, []
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.server_port}"


def config(*urls, more=""):
    return "symbols:\n  debuginfod: [" + ", ".join(f'"{u}"' for u in urls) + "]\n" + more


def test_nothing_is_asked_unless_a_server_is_configured():
    p = the_program()
    listening, url = peer({})
    with Server(env={"DEBUGINFOD_URLS": url}) as s:
        send(s, "quiet", p)
        assert functions(s, "quiet") == {"worker (no symbols)"}
        time.sleep(0.3)
        assert Peer.asked == []
    listening.shutdown()


def test_a_servers_file_is_fetched_once_and_names_the_next_query():
    p = the_program()
    path = f"/buildid/{p.build_id}/debuginfo"
    listening, url = peer({path: (200, {}, open(p.debug, "rb").read())})
    with Server(config(url + "/")) as s:
        send(s, "far", p)
        _, answer = folded(s, "far")
        assert "no names yet" in answer.headers.get("x-spanflame-symbols", ""), answer.headers
        assert eventually(lambda: NAMED <= functions(s, "far")), (functions(s, "far"), s.log())
        assert folded(s, "far")[1].headers.get("x-spanflame-symbols") is None
        assert Peer.asked == [path], Peer.asked
        assert s.stop() == 0
        s.start()  # the file is kept
        assert eventually(lambda: NAMED <= functions(s, "far"))
        assert Peer.asked == [path], Peer.asked
        assert s.json("/api/v1/symbols")["files"] == [], "what was fetched is nobody's upload"
    listening.shutdown()


def test_a_file_that_no_server_has_is_asked_for_once():
    p = the_program()
    listening, url = peer({})
    with Server(config(url, url)) as s:
        send(s, "absent", p)
        for _ in range(5):
            assert functions(s, "absent") == {"worker (no symbols)"}
            time.sleep(0.1)
        assert eventually(lambda: len(Peer.asked) == 4), Peer.asked  # both kinds, of both servers
        assert folded(s, "absent")[1].headers.get("x-spanflame-symbols") is None
        for _ in range(5):
            functions(s, "absent")
        assert len(Peer.asked) == 4, Peer.asked
        assert s.stop() == 0
        s.start()  # a restart forgets nothing of that
        assert functions(s, "absent") == {"worker (no symbols)"}
        assert folded(s, "absent")[1].headers.get("x-spanflame-symbols") is None
        assert len(Peer.asked) == 4, Peer.asked
        # until its hour is over
        notes = glob.glob(os.path.join(s.data, "symbols", "fetched", "*.absent-*"))
        assert s.stop() == 0 and len(notes) == 1, notes
        os.utime(notes[0], (time.time(), time.time() - 3601))
        s.start()
        functions(s, "absent")
        assert eventually(lambda: len(Peer.asked) == 8), Peer.asked
    listening.shutdown()


def test_slow_and_hostile_servers_cost_no_query_its_answer():
    p = the_program()
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(8)
    debug = open(p.debug, "rb").read()
    path = f"/buildid/{p.build_id}/debuginfo"
    other, other_url = peer({})
    cases = {
        "moved elsewhere": {path: (302, {"Location": f"http://localhost:{other.server_port}/x"}, b"")},
        "another's file": {path: (200, {}, debug.replace(bytes.fromhex(p.build_id), b"\x11" * 20))},
        "endless": {path: (200, {"Content-Length": str(1 << 40)}, b"\x7fELF" * 100000)},
        "a page": {path: (200, {}, b"<html>sign in</html>")},
    }
    for what, answers in cases.items():
        listening, url = peer(answers)
        with Server(config(url, more="  timeout: 2s\n  max_file: 256KiB\n")) as s:
            send(s, "hostile", p)
            assert functions(s, "hostile") == {"worker (no symbols)"}, what
            assert eventually(lambda: "symbols: " in s.log()), (what, s.log())
            assert functions(s, "hostile") == {"worker (no symbols)"}, what
            assert not glob.glob(os.path.join(s.data, "tmp", "symbol-*")), what
            assert os.listdir(os.path.join(s.data, "symbols", "fetched")) == [], what
        assert "/x" not in Peer.asked, what
        listening.shutdown()
    other.shutdown()
    with Server(config(f"http://127.0.0.1:{silent.getsockname()[1]}")) as s:
        send(s, "silent", p)
        for _ in range(3):
            assert functions(s, "silent") == {"worker (no symbols)"}
        assert put(s, p.build_id, p.debug).status == 201  # while the fetch hangs
        assert eventually(lambda: NAMED <= functions(s, "silent"))
        assert s.stop() == 0, "a fetch that hangs does not hold the server"
    silent.close()


def test_an_address_that_is_none_ends_the_start():
    s = Server(config("ftp://files.example"), wait=False).start()
    assert s.process.wait(30) != 0
    assert "is not the address of a server" in s.log(), s.log()


def test_debians_debuginfod_names_code():
    if not shutil.which("debuginfod"):
        raise tap.Skip("no debuginfod here")
    p = the_program()
    home = tempfile.mkdtemp(prefix="spanflame-debuginfod-")
    files = os.path.join(home, "files")
    os.mkdir(files)
    shutil.copy(p.debug, files)
    port = free_port()
    peer_process = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", os.path.join(home, "db"), "-t", "1", files],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env=dict(os.environ, HOME=home, DEBUGINFOD_URLS=""))
    try:
        def has_file():
            try:
                from urllib.request import urlopen
                return urlopen(f"http://127.0.0.1:{port}/buildid/{p.build_id}/debuginfo", timeout=5).status == 200
            except OSError:
                return False
        assert eventually(has_file), "debuginfod does not find the file"
        with Server(config(f"http://127.0.0.1:{port}")) as s:
            send(s, "debian", p)
            assert eventually(lambda: NAMED <= functions(s, "debian")), (functions(s, "debian"), s.log())
    finally:
        peer_process.terminate()
        peer_process.wait(30)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
