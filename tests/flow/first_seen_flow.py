#!/usr/bin/env python3
"""Confident wrong answers as they were first seen, asked again through the API: before a flush, after it, and after a restart."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, PROGRAM, Server, field, fixed64, tap, varint  # noqa: E402

MS, US, S = 10**6, 10**3, 10**9
T = (time.time_ns() // S - 60) * S
server = Server().start()


def span(number, service, name, start, ns, parent=None, trace=None, **more):
    return {"trace_id": (trace or number).to_bytes(16, "big"), "span_id": number.to_bytes(8, "big"), "parent": parent and parent.to_bytes(8, "big"), "name": name,
            "service": service, "start": start, "end": start + ns, "kind": 1 if parent else 2, "resource": {"service.instance.id": "i1"}, **more}


def timed(service, samples, kind="cpu", instance="i1", begin=T):
    """An OTLP profile; samples: (at, value, function, thread, (trace, span) or None[, state])."""
    strings, links, attributes = ["", kind, "nanoseconds", "thread.id", "thread.state"], [{}], [{}]
    functions, locations, stacks, out = [{}], [{}], [{}], []
    for at, value, name, thread, ids, *state in samples:
        strings.append(name)
        functions.append({"nameStrindex": len(strings) - 1})
        locations.append({"lines": [{"functionIndex": len(functions) - 1}]})
        stacks.append({"locationIndices": [len(locations) - 1]})
        attributes.append({"keyStrindex": 3, "value": {"intValue": str(thread)}})
        one = {"stackIndex": len(stacks) - 1, "values": [str(value)], "timestampsUnixNano": [str(at)], "attributeIndices": [len(attributes) - 1]}
        if state:
            attributes.append({"keyStrindex": 4, "value": {"stringValue": state[0]}})
            one["attributeIndices"].append(len(attributes) - 1)
        if ids:
            links.append({"traceId": f"{ids[0]:032x}", "spanId": f"{ids[1]:016x}"})
            one["linkIndex"] = len(links) - 1
        out.append(one)
    what = {"typeStrindex": 1, "unitStrindex": 2}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}, {"key": "service.instance.id", "value": {"stringValue": instance}}]}
    body = {"resourceProfiles": [{"resource": resource, "scopeProfiles": [{"profiles": [
        {"sampleType": what, "samples": out, "timeUnixNano": str(begin), "durationNano": str(S), "periodType": what, "period": str(MS)}]}]}],
        "dictionary": {"stringTable": strings, "linkTable": links, "attributeTable": attributes, "functionTable": functions,
                       "locationTable": locations, "stackTable": stacks, "mappingTable": [{}]}}
    answer = server.post("/v1development/profiles", json.dumps(body), JSON)
    assert answer.status == 200 and answer.text in ("", "{}"), answer.text


# Twenty children of 1 ms, 0.3 ms beside whole milliseconds; each has one sample, in the middle, that names the first span.
CHILDREN = [span(100 + i, "short", f"child-{i}", T + 300 * US + 2 * i * MS, MS, parent=99, trace=99, attributes={"thread.id": 7}) for i in range(20)]
# A service that is asked three times, with twelve spans of its own work each.
REQUESTS = [span(1000 + 100 * i, "pricing", "GET /price", T + 1200 * i * MS, (1000 + 50 * i) * MS) for i in range(3)]
INNER = [span(1001 + 100 * i + k, "pricing", "rule", T + (1200 * i + 10 * k) * MS, 5 * MS, parent=1000 + 100 * i, trace=1000 + 100 * i) for i in range(3) for k in range(12)]
LATE = span(5000, "late", "op", T, 100 * MS, attributes={"thread.id": 9})


def wait_for_services():
    """They see spans within a second."""
    end = time.monotonic() + 60
    while not server.json(f"/api/v1/services?service=late&from={T // S - 5}&until={T // S + 55}")["services"]:
        assert time.monotonic() < end
        time.sleep(0.05)


def setup():
    server.send([span(99, "short", "root", T, 50 * MS, attributes={"thread.id": 7})] + CHILDREN)
    timed("short", [(c["start"] + 500 * US, MS, f"of_{c['name']}", 7, (99, 99)) for c in CHILDREN])
    server.send(REQUESTS + INNER)
    server.send([LATE])
    inside, after = [(T + i * 10 * MS, 10 * MS, "inside", 9, (5000, 5000)) for i in range(1, 9)], (T + 500 * MS, 10 * MS, "after", 9, (5000, 5000))
    timed("late", inside + [after])
    answer = server.post("/api/v1/profile?service=walker", pprof({"main;walk;walk;walk": 950 * MS, "main;other": 50 * MS}, when=T), "application/octet-stream")
    assert answer.status == 200, answer.text
    for kind, unit, value in (("samples", "count", 1), ("cpu", "nanoseconds", 10 * MS)):
        body = pprof({("main;work", (("span_id", "9" * 16),)): 9 * value}, sample_type=kind, unit=unit, when=T, period=value)
        assert server.post("/api/v1/profile?service=nine", body, "application/octet-stream").status == 200
    wait_for_services()


setup()


def ask_all():
    for child in CHILDREN:
        answer = server.json(f"/api/v1/spans/{child['trace_id'].hex()}/{child['span_id'].hex()}/profile?self=true&type=cpu")
        names = [f["function"] for f in answer["profile"]["frames"] if f["function"]]
        assert f"of_{child['name']}" in names and len([n for n in names if n.startswith("of_")]) == 1, (child["name"], names)
    late = server.json(f"/api/v1/spans/{LATE['trace_id'].hex()}/{LATE['span_id'].hex()}/profile?type=cpu")
    names = {f["function"] for f in late["profile"]["frames"]}
    assert "inside" in names and "after" not in names and late["samples"] == 8, (names, late["samples"])
    stats = server.json(f"/api/v1/services?service=pricing&from={T // S - 5}&until={T // S + 55}")["services"][0]
    assert stats["spans"] == 39 and stats["requests"]["count"] == 3, stats
    assert abs(stats["requests"]["p99Ns"] - 1100 * MS) < 110 * MS and stats["p50Ns"] < 6 * MS, stats
    assert abs(stats["ratePerSecond"] / stats["requests"]["ratePerSecond"] - 13) < 0.01, stats


def test_milliseconds_requests_and_late_samples_in_memory():
    ask_all()


def test_the_same_of_blocks():
    assert server.post("/api/v1/flush", b"", JSON).status == 200
    ask_all()


def test_the_same_after_a_restart():
    server.stop()
    server.start()
    ask_all()


def test_tempos_metrics_count_all_spans():
    """As Tempo's do: requests are ours."""
    now = time.time_ns()
    server.send([span(8000, "counted", "op", now - MS, MS)] + [span(8001 + i, "counted", "part", now - MS, MS, parent=8000, trace=8000) for i in range(4)])
    calls = sum(float(line.split()[-1]) for line in server.metrics().splitlines()
                if line.startswith("traces_spanmetrics_calls_total") and 'service="counted"' in line)
    assert calls == 5, calls


def test_a_span_whose_parent_is_remote_is_a_request():
    """Of kind internal, with a parent, and the flag: bit 8 says that bit 9 is meant."""
    for number, flags in ((7000, 0x300), (7100, 0x100)):
        message = field(1, number.to_bytes(16, "big")) + field(2, number.to_bytes(8, "big")) + field(4, (1).to_bytes(8, "big")) + field(5, "op") + field(6, 1)
        message += fixed64(7, T) + fixed64(8, T + MS) + varint(16 << 3 | 5) + flags.to_bytes(4, "little")
        body = field(1, field(1, field(1, field(1, "service.name") + field(2, field(1, f"flag-{flags:x}")))) + field(2, field(2, message)))
        assert server.post("/v1/traces", body).status == 200
        assert server.post("/api/v1/flush", b"", JSON).status == 200  # services see spans within a second
        stats = server.json(f"/api/v1/services?service=flag-{flags:x}&from={T // S - 5}&until={T // S + 55}")["services"][0]
        assert (stats["spans"], stats["requests"]["count"]) == (1, int(flags == 0x300)), (hex(flags), stats)


def test_wall_samples_fill_what_block_profiles_leave_unknown():
    """A busy machine: a request runs for 40 ms of its 300, waits 20 for a lock, and for a processor the rest of the time."""
    early = T - 20 * S
    spans = [span(9000, "queued", "op", T, 300 * MS, attributes={"thread.id": 7}),
             span(9001, "queued", "op", early, 300 * MS, attributes={"thread.id": 7}),
             span(9002, "queued", "op", T, 300 * MS, attributes={"thread.id": 7})]
    spans[2]["resource"] = {"service.instance.id": "i2"}
    server.send(spans[:2])
    server.send(spans[2:])  # a request has one resource of a service
    for number, begin, instance in ((9000, T, "i1"), (9001, early, "i1"), (9002, T, "i2")):
        timed("queued", [(begin + i * 10 * MS, 10 * MS, "work", 7, (number, number)) for i in range(4)], "cpu", instance, begin)
    idle = [(T + 290 * MS, 290 * MS, "park", thread, None, "lock") for thread in range(20, 60)]  # pool threads that wait for work
    timed("queued", idle + [(T + 70 * MS, 20 * MS, "take", 7, (9000, 9000), "lock")], "off_cpu")  # stamped when they end
    wall = [(T + i * 10 * MS, 10 * MS, "work", 7, (9000, 9000), "running") for i in range(4)]
    wall += [(T + i * 10 * MS, 10 * MS, "work", 7, (9000, 9000), "run_queue") for i in range(7, 29)]
    timed("queued", wall, "wall")

    def parts(number):
        told = server.json(f"/api/v1/spans/{number:032x}/{number:016x}/ledger")
        assert sum(p["ns"] for p in told["parts"]) == told["durationNs"] == 300 * MS, told
        return {p["part"]: p["ns"] // MS for p in told["parts"] if p["ns"]}, told["reason"]
    for is_flushed in (False, True):
        if is_flushed:
            assert server.post("/api/v1/flush", b"", JSON).status == 200
        known, reason = parts(9000)
        assert known["cpu"] == 40 and known["lock"] == 20 and known["run_queue"] == 220, (known, reason)
        assert known["unknown"] == 20 and "to see waits" not in reason, (known, reason)
        # Of another process, and of a time before they were switched on, those profiles are missing.
        for number in (9001, 9002):
            known, reason = parts(number)
            assert known == {"cpu": 40, "unknown": 260} and "send wall clock or off-CPU profiles to see waits" in reason, (number, known, reason)


def text_of(*args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_no_request_enters_has_no_quantiles():
    server.send([span(8100, "outer", "op", T, 100 * MS)])
    server.send([span(8101, "inner", "part", T, 50 * MS, parent=8100, trace=8100)])
    assert server.post("/api/v1/flush", b"", JSON).status == 200  # services see spans within a second
    rows = {line.split()[0]: line.split()[1:] for line in text_of("services").splitlines() if line}
    assert rows["inner"] == ["0/s", "-", "-", "-", "-"] and rows["outer"][3].startswith("~"), rows
    # A quantile is read off buckets, and a step without spans has none.
    said = text_of("metrics", '{ resource.service.name = "outer" } | quantile_over_time(duration, .5)').splitlines()[-1]
    least, most, last = (word.split(" ", 1)[1] for word in said.split(": ", 1)[1].split(", "))
    assert least == most == last and least.startswith("~") and "0 ns" not in least, said


def test_recursion_does_not_hide_the_hot_path():
    lines = text_of("flame", "walker").splitlines()
    hot = [x for x in lines if "HOT PATH" in x]
    assert len(hot) == 1 and "walk" in hot[0], lines


def test_the_default_is_time_and_not_a_number_of_samples():
    answer = server.json("/api/v1/profile?service=nine&format=json")
    assert answer["unit"] == "nanoseconds" and answer["total"] == 90 * MS, answer
    assert "9 in 9" not in text_of("flame", "nine") and "90 ms" in text_of("flame", "nine")


tap.run(sys.modules[__name__])
