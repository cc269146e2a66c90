#!/usr/bin/env python3
"""Profiles by every door: what is acknowledged can be read at once, whole, and after kill -9."""
import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import multipart, otlp, pprof  # noqa: E402
from server import JSON, PB, PROGRAM, Server, field, tap  # noqa: E402

server = Server().start()
PUSH = "/push.v1.PusherService/Push"
OTLP = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
STACKS = {"main;parse;regex": 30000000, "main;parse": 20000000, "main;write": 50000000}


def folded(service, **params):
    query = urllib.parse.urlencode(dict(params, app=service, format="folded"))
    answer = server.get("/api/v1/profile?" + query)
    assert answer.status == 200, (answer.status, answer.text)
    return {k: int(v) for k, v in (line.rsplit(" ", 1) for line in answer.text.splitlines())}


def series(labels, profile):
    pairs = b"".join(field(1, field(1, k) + field(2, v)) for k, v in labels.items())
    return field(1, pairs + field(2, field(1, profile)))


def sdk_pprof(types, period, when, length):
    """One stack with a value for each (type, unit); a field that is None is left out, as by senders that do not know it."""
    strings, out = ["", "main"], b""

    def at(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)
    for name, unit in types:
        out += field(1, field(1, at(name)) + field(2, at(unit)))
    out += field(2, field(1, 1) + b"".join(field(2, 7) for _ in types))
    out += field(4, field(1, 1) + field(4, field(1, 1) + field(2, 7))) + field(5, field(1, 1) + field(2, 1) + field(3, 1))
    out += (field(9, when) if when else b"") + (field(10, length) if length else b"")
    out += field(11, field(1, at(period[0])) + field(2, at(period[1]))) + field(12, 10000000)
    return gzip.compress(out + b"".join(field(6, text) for text in strings))


def jfr(start, length, at):
    """A recording as Java's agents upload it, with one sample of 10 ms."""
    program = os.path.join(os.environ["BUILD_ROOT"], "tests", "calibration", "jfr_write")
    lines = f"{start} {length}\n{at} 40001 1 0 main\n"
    return subprocess.run([program], input=lines.encode(), capture_output=True, check=True).stdout


def ebpf(service, start, length, at):
    """A profile as OpenTelemetry's profiler sends it: samples have times and no values."""
    kinds = {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {"typeStrindex": 3, "unitStrindex": 4}, "period": "10000000"}
    sample = {"stackIndex": 1, "timestampsUnixNano": [str(at)]}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    profile = dict(kinds, samples=[sample], timeUnixNano=str(start), durationNano=str(length))
    tables = {"stringTable": ["", "samples", "count", "cpu", "nanoseconds", "main"], "functionTable": [{}, {"nameStrindex": 5}],
              "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "stackTable": [{}, {"locationIndices": [1]}], "linkTable": [{}],
              "mappingTable": [{}], "attributeTable": [{}]}
    return json.dumps({"resourceProfiles": [{"resource": resource, "scopeProfiles": [{"profiles": [profile]}]}], "dictionary": tables}).encode()


def cpuprofile(at_us, length_us):
    """As node --cpu-prof writes it: 10 ms of main, `at_us` after its start."""
    def node(own, name, *children):
        return {"id": own, "callFrame": {"functionName": name, "scriptId": "0", "url": "", "lineNumber": 0, "columnNumber": 0},
                "hitCount": 1, "children": list(children)}
    began = 7 * 10**9  # microseconds since the machine began
    return json.dumps({"nodes": [node(1, "(root)", 2, 3), node(2, "main"), node(3, "(idle)")], "startTime": began, "endTime": began + length_us,
                       "samples": [3, 2, 3], "timeDeltas": [0, at_us, 10000]}).encode()


def test_each_sdks_profile_lies_where_it_was():
    """Times as each SDK writes them (docs/languages.md): of the same ten seconds, from START on. A profile belongs where it
    starts, and a span of that time has it, one of ten seconds before or after has not."""
    second = 10**9
    start = (time.time_ns() // second - 600) // 10 * 10 * second
    end = start + 10 * second
    cpu, ns = [("samples", "count"), ("cpu", "nanoseconds")], ("cpu", "nanoseconds")
    heap = [("alloc_objects", "count"), ("alloc_space", "bytes")]
    wall, mutex = [("sample", "count"), ("wall", "nanoseconds")], [("contentions", "count"), ("delay", "nanoseconds")]
    seconds = f"from={start // second}&until={end // second}"
    sdks = {  # name: (way, profile, type to ask for, where it starts)
        # The pprof's time is the start; from and until in nanoseconds.
        "go-cpu": (f"/ingest?from={start}&until={end}&format=pprof&sampleRate=100&spyName=gospy", sdk_pprof(cpu, ns, start, 10 * second), "cpu", start),
        # Heap, mutex and block: the moment of the dump and no length; from and until say what lies between two dumps.
        "go-mutex": (f"/ingest?from={start}&until={end}&format=pprof&spyName=gospy", sdk_pprof(mutex, ("contentions", "count"), end, 0), "delay", start),
        "go-heap": (f"/ingest?from={start}&until={end}&format=pprof&spyName=gospy", sdk_pprof(heap, ("space", "bytes"), end, 0), "alloc_space", start),
        # Scraped or pushed by others, nothing says since when: it lies at its dump, which the page of languages says.
        "go-pushed": (PUSH, sdk_pprof(mutex, ("contentions", "count"), end, 0), "delay", end),
        # The pprof's time is its end.
        "node": (f"/ingest?{seconds}&format=pprof&spyName=nodespy", sdk_pprof(wall, ("wall", "nanoseconds"), end + 3000000, 10 * second), "wall", start + 3000000),
        # The live set at the dump, without a length.
        "node-heap": (f"/ingest?{seconds}&format=pprof&spyName=nodespy", sdk_pprof(heap, ("space", "bytes"), end, 0), "alloc_space", start),
        # node --cpu-prof: microseconds of a clock that began with the machine; from and until say when.
        "node-file": (f"/ingest?{seconds}&format=cpuprofile", cpuprofile(5050000, 10 * 10**6), "cpu", start),
        "node-pushed": (PUSH, sdk_pprof(wall, ("wall", "nanoseconds"), end, 10 * second), "wall", start),
        # A recording, whose samples have times of their own; from and until are whole seconds.
        "java": (f"/ingest?{seconds}&format=jfr&sampleRate=100&spyName=javaspy", jfr(start, 10 * second, start + 5 * second + 50000000), "cpu", start),
        # Every sample has its time; the profile's is moved back to the oldest of them.
        "ebpf": ("/v1development/profiles", ebpf("times-ebpf", start, 10 * second, start + 5 * second + 50000000), "cpu", start),
        # Real start and length.
        "python": (PUSH, sdk_pprof([("cpu", "nanoseconds")], ns, start + 200000000, 97 * second // 10), "cpu", start + 200000000),
        # Whole upload intervals of the wall clock, which is what can be known.
        "rust": (PUSH, sdk_pprof([("cpu", "nanoseconds")], ns, start, 10 * second), "cpu", start),
        # Times in microseconds, as old clients of Python and Ruby wrote them.
        "ruby-old": (f"/ingest?{seconds}&format=pprof&spyName=rbspy", sdk_pprof([("cpu", "nanoseconds")], ns, start // 1000, 10 * second // 1000), "cpu", start),
        # No time at all: the upload's.
        "dotnet": (f"/ingest?{seconds}&format=pprof&spyName=dotnetspy", sdk_pprof([("cpu", "nanoseconds")], ns, None, None), "cpu", start)}
    for name, (way, body, kind, begins) in sdks.items():
        service = "times-" + name
        if way == "/v1development/profiles":
            answer = server.post(way, body, JSON)
        elif way == PUSH:
            sent = series({"service_name": service, "__name__": "process_cpu" if kind == "cpu" else kind}, body)
            answer = server.post(PUSH, sent, PB)
        else:
            answer = server.post(f"{way}&name={service}", body, "application/octet-stream")
        assert answer.status == 200, (name, answer.text)

        def total(low, high):
            answer = server.get(f"/api/v1/profile?app={service}&type={kind}&format=folded&from={low}&until={high}")
            return sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines()) if answer.status == 200 else 0
        value = 10000000 if name in ("java", "ebpf", "node-file") else 7
        assert total(begins, begins + 1000000) == value, (name, total(begins - 60 * second, begins + 60 * second))  # the start, to the millisecond
        assert total(begins - 60 * second, begins) == 0 and total(begins + 1000000, begins + 60 * second) == 0, name
        if name == "go-pushed":
            continue  # of no length: of no span
        spans = {at: os.urandom(8) for at in (start - 5 * second, start + 5 * second, start + 15 * second)}
        trace = os.urandom(16)
        server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": service, "start": at, "end": at + second // 10}
                     for at, own in spans.items()])
        given = [server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile?type={kind}")["samples"] for own in spans.values()]
        assert given == [0, 1, 0], (name, given)


def test_our_own_door_takes_pprof_and_gives_it_back():
    answer = server.post("/api/v1/profile?service=own", pprof(STACKS), "application/octet-stream")
    assert answer.status == 200, answer.text
    assert json.loads(answer.body)["samples"] == 3
    assert folded("own") == STACKS


def test_our_own_door_takes_folded_text():
    text = b"main;a 3\nmain;b 5\n"
    for _ in range(2):  # text repeats legitimately
        answer = server.post("/api/v1/profile?service=text&type=alloc_space", text, "text/plain")
        assert answer.status == 200, answer.text
    assert folded("text", type="alloc_space") == {"main;a": 6, "main;b": 10}


def test_files_of_other_tools_are_told_by_content():
    perf = b"app 7/8 [001] 5.000001: 250000 cpu-clock:u: \n\t 7f00 work+0x10 (/bin/app)\n\t 7f10 main (/bin/app)\n\n"
    trace = b'[{"ph":"B","pid":1,"tid":2,"ts":0,"name":"a"},{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"b"}'
    for service, body, kind, want in (("perf", perf, "process_cpu:cpu", {"app;main;work": 250000}),
                                      ("chrome", trace, "wall:wall", {"a": 1000, "a;b": 2000})):
        answer = server.post(f"/api/v1/profile?service={service}", body, "application/octet-stream")
        assert answer.status == 200, answer.text
        assert folded(service, type=kind) == want, service
    tree = b"\0\0\1\1a\0\2\1b\1\0\1c\2\0"  # bare: a;b 1, a;c 2
    answer = server.post("/ingest?name=bare.alloc_space%7B%7D", tree, "application/octet-stream")
    assert answer.status == 200, (answer.status, answer.text)
    assert folded("bare", type="alloc_space") == {"a;b": 1, "a;c": 2}
    for body, look in ((b'{"nodes":[{"id":1}],"samples":[1]}', "JSON with `nodes` and no `timeDeltas`"),
                       (b'{"traceEvents":[', "trace: "), (b"hello", 'text that begins "hello"')):
        answer = server.post("/api/v1/profile?service=none", body, "application/octet-stream")
        assert answer.status == 400 and look in answer.text, answer.text


def test_a_very_deep_stack_is_cut_in_the_middle_and_marked():
    def send(depth):
        text = ";".join(f"f{i}" for i in range(depth)) + " 4\n"
        return server.post("/api/v1/profile?service=deep&type=alloc_space", text.encode(), "text/plain")
    answer = send(10**6)
    assert answer.status == 400 and "line 1 has 7888891 bytes" in answer.text, answer.text
    assert send(10**5).status == 200
    (stack, value), = folded("deep", type="alloc_space").items()
    frames = stack.split(";")
    assert value == 4 and len(frames) == 1024, (value, len(frames))
    assert frames[:17] == [f"f{i}" for i in range(16)] + ["(truncated)"] and frames[-1] == "f99999", frames[:20]


def test_a_repeat_is_acknowledged_and_kept_once():
    body = pprof({"main;once": 70000000})
    for _ in range(3):
        assert server.post("/api/v1/profile?service=repeat", body).status == 200
    assert folded("repeat") == {"main;once": 70000000}


def test_ingest_takes_raw_and_multipart_pprof():
    answer = server.post("/ingest?name=raw.app%7Benv%3Dprod%7D&format=pprof&spyName=gospy", pprof(STACKS))
    assert (answer.status, answer.body) == (200, b""), (answer.status, answer.text)
    assert folded("raw.app") == STACKS
    kind, body = multipart({"profile": pprof(STACKS), "sample_type_config": b'{"cpu":{"units":"samples"}}'})
    answer = server.post("/ingest?name=parts.app&from=1&until=2", body, kind)
    assert (answer.status, answer.body) == (200, b""), (answer.status, answer.text)
    assert folded("parts.app") == STACKS


def test_ingest_takes_text_with_its_type_in_the_name():
    answer = server.post("/ingest?name=txt.cpu&sampleRate=100", b"main;f 4\n", "text/plain")
    assert (answer.status, answer.body) == (200, b""), (answer.status, answer.text)
    assert folded("txt") == {"main;f": 40000000}


def test_ingest_keeps_who_sent_it_as_a_label():
    assert server.post("/ingest?name=spied.cpu&spyName=x", b"main;f 4\n", "text/plain").status == 200
    ask = {"name": "pyroscope_spy", "matchers": ['{service_name="spied"}'], "start": 1, "end": time.time_ns() // 10**6}
    answer = server.post("/querier.v1.QuerierService/LabelValues", json.dumps(ask), JSON)
    assert json.loads(answer.body) == {"names": ["x"]}, answer.text


def test_a_type_of_old_with_six_parts_is_known():
    type_id = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    assert server.post("/ingest?name=six.cpu", b"main;f 4\n", "text/plain").status == 200
    for more, status in ((":delta", 200), (":other", 400), (":delta:x", 400)):
        ask = {"profileTypeID": type_id + more, "labelSelector": '{service_name="six"}', "start": 1,
               "end": time.time_ns() // 10**6}
        answer = server.post("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(ask), JSON)
        assert answer.status == status, (more, answer.status, answer.text)
        assert status != 200 or json.loads(answer.body)["flamegraph"]["total"] == "40000000", answer.text


def test_every_door_says_what_a_wrong_file_looks_like_and_what_is_read():
    for body, look in ((b"\x89PNG" + bytes(range(60)), "binary data that begin 89 50 4e 47"), (b"# notes\nsee issue 15\nand more\nof it\n", 'text that begins "# notes"'),
                       (b'{"nodes": []}', "JSON with `nodes` and no `timeDeltas`"), (b'{"meta": {"x": 12,\n"y": 3', "cut short at byte"),
                       (b"7f2a64ec71c0 270 java\n7f2a64ec7440 18 x\n", "a perf map"), (b"\x44\x54\x69\x4a" + bytes(40), "a jitdump")):
        said = [server.post("/api/v1/profile?service=wrong", body, "application/octet-stream"), server.post("/ingest?name=wrong", body)]
        for answer in said:
            assert answer.status in (400, 422, 501) and look in answer.text.replace("\\", ""), (body, answer.status, answer.text)
            assert "Read: JFR, pprof" in answer.text and "Pyroscope, folded" in answer.text, answer.text
        for command in ("flame", "upload"):
            done = subprocess.run([PROGRAM, command, "-", *(["--server", f"http://127.0.0.1:{server.port}"] if command == "upload" else [])],
                                  input=body, capture_output=True, timeout=60, check=False)
            assert done.returncode == 1 and look.encode() in done.stderr and done.stderr.rstrip().endswith(b"Pyroscope, folded"), done
    # What a client calls folded is taken for it, as far as its lines go.
    assert server.post("/ingest?name=called&format=folded", b"# notes\na;b 3\nno\nnor this\n").status == 200
    assert server.post("/ingest?name=nothing", b"\n").status == 200


def test_ingest_says_what_is_wrong_as_pyroscope_does():
    for path, body, status, code in (
            ("/ingest", b"", 400, "invalid_argument"), ("/ingest?name=a%20b", b"x 1\n", 400, "invalid_argument"),
            ("/ingest?name=my.app", b"x 1\n", 400, "invalid_argument"),
            ("/ingest?name=a&format=pprof", b"\x0a\xff\xff\xff", 422, "unknown"),
            ("/ingest?name=a&format=pprof", gzip.compress(b"\0" * (80 << 20)), 422, "unknown")):
        answer = server.post(path, body, "application/octet-stream")
        assert answer.status == status, (path, answer.status, answer.text)
        assert json.loads(answer.body)["code"] == code, answer.text


def test_push_speaks_connect_in_protobuf_and_json_and_grpc():
    labels = {"__name__": "process_cpu", "service_name": "pushed", "__session_id__": "1"}
    answer = server.post(PUSH, series(labels, pprof({"main;pb": 10000000})), "application/proto")
    assert (answer.status, answer.body) == (200, b""), (answer.status, answer.text)
    assert answer.getheader("content-type") == "application/proto"
    body = {"series": [{"labels": [{"name": k, "value": v} for k, v in labels.items()],
                        "samples": [{"rawProfile": base64.b64encode(pprof({"main;json": 20000000})).decode()}]}]}
    answer = server.post(PUSH, json.dumps(body), JSON)
    assert (answer.status, answer.text) == (200, "{}"), (answer.status, answer.text)
    message = series(labels, pprof({"main;grpc": 30000000}, zipped=False))
    assert server.grpc(PUSH, message)[0] == 0
    answer = server.post(PUSH, gzip.compress(series(labels, pprof({"main;gz": 40000000}))), "application/proto",
                         {"Content-Encoding": "gzip"})
    assert answer.status == 200, answer.text
    assert folded("pushed") == {"main;pb": 10000000, "main;json": 20000000, "main;grpc": 30000000,
                                "main;gz": 40000000}


def test_push_keeps_all_or_nothing_and_says_why():
    good = series({"__name__": "process_cpu", "service_name": "half"}, pprof(STACKS))
    bad = series({"__name__": "process_cpu", "service_name": "half"}, b"\x0a\xff")
    answer = server.post(PUSH, good + bad, "application/proto")
    assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", answer.text
    assert server.get("/api/v1/profile?app=half").status == 404
    answer = server.post(PUSH, series({"service_name": "x"}, pprof(STACKS)), "application/proto")
    assert answer.status == 400 and "__name__" in answer.text
    pairs = (("__name__", "process_cpu"), ("service_name", "a"), ("service_name", "b"))
    twice = field(1, b"".join(field(1, field(1, k) + field(2, v)) for k, v in pairs) + field(2, field(1, pprof(STACKS))))
    answer = server.post(PUSH, twice, "application/proto")
    assert answer.status == 400 and "two labels service_name" in answer.text, answer.text
    answer = server.post(PUSH, series({"__name__": "process_cpu", "service_name": "half"},
                                      gzip.compress(b"\0" * (80 << 20))), "application/proto")
    assert answer.status == 400 and "inflates" in answer.text, (answer.status, answer.text)
    assert server.post(PUSH, b"", "text/plain").status == 415
    assert server.grpc(PUSH, bad)[0] == 3


def test_otlp_profiles_come_in_by_http_and_grpc():
    for n, path in enumerate(("/v1development/profiles", "/v1/profiles")):
        answer = server.post(path, otlp("otel", {f"main;http{n}": 10000000}), PB)
        assert (answer.status, answer.body) == (200, b""), (answer.status, answer.text)
    status, text, _, message = server.grpc(OTLP, otlp("otel", {"main;grpc": 10000000}))
    assert (status, message) == (0, b""), (status, text)
    got = folded("otel")
    assert set(got) == {"main;http0", "main;http1", "main;grpc"} and set(got.values()) == {10000000}, got


def test_spans_are_found_by_id_by_prefix_and_with_reasons():
    span, trace = "00f1a2b3c4d5e6f7", "0af7651916cd43dd8448eb211c80319c"
    tags = (("span_id", span), ("trace_id", trace))
    body = pprof({("main;slow", tags): 90000000, "main;other": 10000000})
    assert server.post("/api/v1/profile?service=tagged", body).status == 200
    assert folded("tagged", span_id=span) == {"main;slow": 90000000}
    assert folded("tagged", span_id=span.upper().lstrip("0")) == {"main;slow": 90000000}
    assert folded("tagged", span_id=span[:7]) == {"main;slow": 90000000}
    assert folded("tagged", trace_id=trace) == {"main;slow": 90000000}
    assert folded("tagged") == {"main;slow": 90000000, "main;other": 10000000}
    for query, status, word in (("span_id=xyz", 400, "hexadecimal"), ("span_id=" + "1" * 17, 400, "16"),
                                ("span_id=dead", 404, "no samples"),
                                (f"span_id={span}&app=raw.app", 404, "belongs to tagged")):
        answer = server.get("/api/v1/profile?" + query)
        assert answer.status == status and word in answer.text, (query, answer.status, answer.text)
    other = pprof({("main;slow", (("span_id", "00f1a2b3ffffffff"),)): 1000000})
    assert server.post("/api/v1/profile?service=tagged", other).status == 200
    answer = server.get("/api/v1/profile?span_id=00f1a2")
    assert answer.status == 400 and span in answer.text and "00f1a2b3ffffffff" in answer.text, answer.text


def test_ids_of_an_upload_are_never_labels_and_not_in_the_aggregate():
    trace, span = "1af7651916cd43dd8448eb211c80319c", "11f1a2b3c4d5e6f7"
    answer = server.post(f"/api/v1/profile?service=single&trace_id={trace}&span_id={span}", pprof({"main;one": 10**7}))
    assert answer.status == 200, answer.text
    assert folded("single", span_id=span) == {"main;one": 10**7}
    assert server.post("/api/v1/profile?service=single", pprof({"main;all": 3 * 10**7})).status == 200
    assert folded("single") == {"main;all": 3 * 10**7}


def test_a_span_whose_samples_are_of_another_type_is_found():
    span = "22f1a2b3c4d5e6f7"
    assert server.post(f"/api/v1/profile?service=single&span_id={span}&type=wall", b"main;wait 8\n").status == 200
    assert folded("single", span_id=span) == {"main;wait": 8}
    answer = server.get(f"/api/v1/profile?app=single&span_id={span}&type=process_cpu:cpu")
    assert answer.status == 404 and "it has some of wall" in answer.text, (answer.status, answer.text)


def test_every_form_of_a_flame_graph():
    for name, start, kind in (("flamegraph", b"main", "text/plain"), ("json", b"{", "application/json"),
                              ("pprof", b"\x1f\x8b", "application/octet-stream"), ("folded", b"main", "text/plain"),
                              ("speedscope", b"{", "application/json"), ("svg", b"<", "image/svg+xml"),
                              ("otlp", b"\x0a", "application/x-protobuf")):
        answer = server.get("/api/v1/profile?app=own&format=" + name)
        assert answer.status == 200 and answer.body.startswith(start), (name, answer.status, answer.body[:60])
        assert answer.getheader("content-type").startswith(kind), name
    page = server.get("/api/v1/profile?app=own", {"Accept": "text/html"})
    assert page.getheader("content-type") == "image/svg+xml"
    assert server.get("/api/v1/profile?app=own&format=nope").status == 400
    again = server.get("/api/v1/profile?app=own&format=pprof")
    assert server.post("/api/v1/profile?service=copy", again.body).status == 200
    # It is as long as the range was, and belongs where it starts.
    assert folded("copy", **{"from": int(time.time()) - 7200}) == STACKS


def test_what_a_limit_of_nodes_cut_is_had_by_its_call_site():
    stacks = {f"main;work;f{n};g{n}": (n + 1) * 10**7 for n in range(20)} | {"main;idle;nap": 10**9}
    assert server.post("/api/v1/profile?service=deep", pprof(stacks), "application/octet-stream").status == 200
    cut = folded("deep", max_nodes=4)
    assert "main;work;f0;g0" not in cut and sum(cut.values()) == sum(stacks.values()), cut
    below = server.get("/api/v1/profile?app=deep&format=folded&call_site=main&call_site=work")
    assert {k: int(v) for k, v in (line.rsplit(" ", 1) for line in below.text.splitlines())} == {
        k: v for k, v in stacks.items() if k.startswith("main;work;")}, below.text
    one = server.get("/api/v1/profile?app=deep&format=folded&call_site=main&call_site=work&call_site=f7")
    assert one.text == "main;work;f7;g7 80000000\n", one.text
    many = server.get("/api/v1/profile?app=deep" + "&call_site=x" * 1025)
    assert many.status == 400 and "call_site" in many.text, (many.status, many.text)


def test_a_flood_of_labels_is_folded_and_counted():
    with Server("limits: {series: 5}\n") as small:
        for n in range(12):
            body = series({"__name__": "process_cpu", "service_name": "flood", "request": f"r{n}"},
                          pprof({"main;f": 10000000}, when=time.time_ns() - n * 10**9))
            assert small.post(PUSH, body, "application/proto").status == 200
        answer = small.get("/api/v1/profile?app=flood&format=folded")
        assert answer.text == "main;f 120000000\n", answer.text
        assert small.metric("spanflame_series_folded_total") == 7, small.metrics()


def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9():
    with Server() as s:
        total = 0
        for cycle in range(4):
            for n in range(15):
                value = (cycle * 100 + n + 1) * 10**6
                body = pprof({f"main;f{n}": value}, when=time.time_ns() - 10**9 * n)
                assert s.post("/api/v1/profile?service=kill", body).status == 200
                total += value
            if cycle == 2:
                assert s.post("/api/v1/flush", b"", "application/json").status == 200
            s.stop(signal.SIGKILL)
            s.start()
            answer = s.get("/api/v1/profile?app=kill&format=folded")
            assert answer.status == 200, answer.text
            assert sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines()) == total, cycle


tap.run(sys.modules[__name__])
