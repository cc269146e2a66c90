#!/usr/bin/env python3
"""Coverage: what of a service's traces and profiles is joined, what is not, and the lines that would change it, as JSON
and as text, of a service and of one span."""
import gzip
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import Strings, packed, pprof  # noqa: E402
from server import PROGRAM, Server, field, make_span, tap  # noqa: E402

server = Server().start()
MS, S = 1000000, 10**9
NOW = time.time_ns()


def send(service, stacks, span=None, label="", **more):
    tags = (("span_id", span["span_id"].hex()),) if span else ()
    body = stacks if isinstance(stacks, bytes) else pprof({(path, tags): value for path, value in stacks.items()}, **more)
    answer = server.post(f"/api/v1/profile?service={service}{label}", body, "application/octet-stream")
    assert answer.status == 200, answer.text


def op(service, ms=100, language="go", **resource):
    resource = {k.replace("_", "."): v for k, v in resource.items()}
    span = make_span(ms=ms, ago_ms=1000, service=service, name="op", resource={"telemetry.sdk.language": language, **resource})
    server.send([span])
    return span


def seen(service):
    """searches see what is acknowledged a moment later"""
    query = urllib.parse.quote('{ resource.service.name = "%s" }' % service)
    for _ in range(600):
        if server.json(f"/api/search?q={query}").get("traces"):
            return
        time.sleep(0.1)
    raise AssertionError(service)


def ask(service, span=None):
    """(JSON, text, kinds of what is missing), the text from both the API and the command"""
    if not span:
        seen(service)
    path = f"/api/v1/spans/{span['trace_id'].hex()}/{span['span_id'].hex()}/coverage" if span else f"/api/v1/coverage?service={service}"
    told = server.json(path)
    text = server.get(path + ("?" if span else "&") + "format=text").text
    args = ["--span", span["span_id"].hex(), "--trace", span["trace_id"].hex()] if span else [service]
    done = subprocess.run([PROGRAM, "coverage", *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, done.stderr
    for m in told["missing"]:
        words = " ".join(done.stdout.split())
        assert m["sentence"][:40] in words, (m, done.stdout)
        assert all(line in text or " ".join(line.split()) in words for line in m["lines"]), (m, done.stdout)
    assert ("nothing is missing" in done.stdout) == (told["missing"] == []), done.stdout
    return told, done.stdout, [m["kind"] for m in told["missing"]]


def test_what_is_whole_lacks_nothing():
    span = op("whole", service_instance_id="whole-1")
    send("whole", {"main;work": 90 * MS}, span, "&label=service.instance.id=whole-1")
    told, text, missing = ask("whole")
    assert missing == [], told["missing"]
    cpu, = told["types"]
    assert cpu["rateHz"] == 100 and cpu["profiles"] == 1 and "100 a second" in text, (cpu, text)
    link = told["link"]
    assert (link["expectedSamples"], link["receivedSamples"], link["taggedShare"], link["symbolisedShare"]) == (10, 9, 1, 1), link
    assert "9 samples of about 10 expected a thread" in text and "100 % of the samples name a span" in text, text
    told, text, missing = ask("whole", span)
    assert missing == [] and told["span"] == "op" and told["link"]["receivedSamples"] == 9, told


def family(service, tags, language="go", ms=200, **more):
    """A request with two children, and samples that name what `tags` says: {stack: (span, ms)}, span 0 the root or None"""
    root = make_span(ms=ms, ago_ms=2000, service=service, name="root", resource={"telemetry.sdk.language": language})
    kids = [make_span(trace=root["trace_id"], parent=root["span_id"], ms=ms * 2 // 5, ago_ms=2000 - i * ms // 2, service=service,
                      name=f"kid{i}", resource={"telemetry.sdk.language": language}) for i in (0, 1)]
    spans = [root, *kids]
    server.send(spans)
    stacks = {(path, () if at is None else (("span_id", spans[at]["span_id"].hex()),)): n * MS for path, (at, n) in tags.items()}
    answer = server.post(f"/api/v1/profile?service={service}", pprof(stacks, **more), "application/octet-stream")
    assert answer.status == 200, answer.text
    return spans


def test_the_first_span_s_id_alone_is_not_every_span_s():
    """As Go's SDK tags by default: all samples name a span, and none of them the span it is of."""
    spans = family("roots", {"main;workA": (0, 100), "main;workC": (0, 50)})
    for of in (None, spans[1]):
        told, text, missing = ask("roots", of)
        assert "root_span_ids" in missing and "nothing is missing" not in text, (told, text)
        lines = {m["kind"]: m["lines"] for m in told["missing"]}["root_span_ids"]
        assert "spanflame.NewTracerProvider(tracerProvider)" in "".join(lines), lines
        link = told["link"]
        assert link["knownSamples"] == 0 and abs(link["estimatedSamples"] - link["receivedSamples"]) < 1e-6, link
        assert abs(sum(link["receivedByGrade"].values()) - link["receivedSamples"]) < 1e-6, link
    told, text, _ = ask("roots")
    assert "known       0 of 15 samples" in text and ", 15 shared" in text, text
    # What sends people here is what they find here.
    answer = server.json(f"/api/v1/spans/{spans[1]['trace_id'].hex()}/{spans[1]['span_id'].hex()}/profile")
    assert "spanflame coverage prints the lines that tag every span" in answer["reason"], answer["reason"]
    # With its children, the root is known; each of them is not.
    every = family("every", {"main;own": (0, 40), "main;workA": (1, 60), "main;workC": (2, 50)})
    for of in (None, every[1]):
        _, text, missing = ask("every", of)
        assert "root_span_ids" not in missing and "few_span_ids" not in missing, (missing, text)


def test_a_part_of_the_samples_that_names_spans_is_a_part():
    """As Java's extension: after the first child ends the root's own samples name nothing."""
    family("seventeen", {"main;a": (1, 17), "main;rest": (None, 83)}, language="java")
    told, text, missing = ask("seventeen")
    assert "few_span_ids" in missing and abs(told["link"]["taggedShare"] - 0.17) < 1e-9, told
    assert "17 % of the samples name a span" in text, text


def test_few_of_the_expected_samples():
    family("sparse", {"main;a": (1, 10)}, ms=2000, period=MS)
    told, text, missing = ask("sparse")
    assert "few_samples" in missing and told["link"]["receivedSamples"] == 10, told
    assert told["link"]["expectedSamples"] >= 2000 and "10 samples of about 2" in text, text
    assert ", 1000 a second" in text, text


def test_what_a_profiler_reports_otherwise():
    for spy, period, kinds in (("pyspy", 10 * MS, ["python_cpu"]), ("gospy", 10 * MS, []), ("gospy", 2 * MS, ["above_tick"]),
                               ("ebpfspy", MS, [])):
        service = f"{spy}-{period // MS}"
        op(service)
        path = f"/ingest?name={service}&from={NOW // S - 20}&until={NOW // S - 10}&format=pprof&spyName={spy}"
        answer = server.post(path, pprof({"main;work": 90 * MS}, period=period), "application/octet-stream")
        assert answer.status == 200, answer.text
        told, text, _ = ask(service)
        assert [n["kind"] for n in told["notes"]] == kinds, (spy, told["notes"])
        assert ("as its profiler measures" in text) == (kinds != []), text


def test_threads_that_never_match_are_said_of_a_span_too():
    span = make_span(ms=100, ago_ms=1000, service="numbers", name="op", attributes={"thread.id": 7},
                     resource={"telemetry.sdk.language": "go"})
    server.send([span])
    tags = (("span_id", span["span_id"].hex()), ("thread_id", "1234"))
    assert server.post("/api/v1/profile?service=numbers", pprof({("main;work", tags): 90 * MS})).status == 200
    for of in (None, span):
        _, text, missing = ask("numbers", of)
        assert "no_threads" in missing and "threads are ignored" in " ".join(text.split()), (missing, text)


def test_time_without_profiles_is_a_gap():
    span = op("gappy")
    for ago in (600, 590, 580, 570, 200, 190, 180):
        send("gappy", {"main;work": 10 * MS}, span, when=NOW - ago * S)
    told, text, missing = ask("gappy")
    cpu, = told["types"]
    assert cpu["spacingNs"] == 10 * S and cpu["gapNs"] == 370 * S and len(cpu["gaps"]) == 1, cpu
    gap, = cpu["gaps"]
    assert int(gap["untilUnixNano"]) - int(gap["fromUnixNano"]) == 370 * S, gap
    assert "gaps" in missing and "1 gap of 6 m 10 s" in text, (missing, text)


def addresses(span):
    """Half of the samples have a function, half an address alone."""
    strings = Strings()
    strings[""]
    out = field(1, field(1, strings["cpu"]) + field(2, strings["nanoseconds"]))
    for location in (1, 2):
        out += field(2, packed(1, [location]) + packed(2, [50 * MS])
                     + field(3, field(1, strings["span_id"]) + field(2, strings[span["span_id"].hex()])))
    out += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, strings["/usr/bin/bare"]))
    out += field(4, field(1, 1) + field(4, field(1, 1))) + field(4, field(1, 2) + field(2, 1) + field(3, 0x1234))
    out += field(5, field(1, 1) + field(2, strings["work"])) + field(9, NOW - 10 * S) + field(10, 10 * S)
    out += field(11, field(1, strings["cpu"]) + field(2, strings["nanoseconds"])) + field(12, 10 * MS)
    return gzip.compress(out + b"".join(field(6, text) for text in strings))


def test_addresses_without_names():
    span = op("bare")
    send("bare", addresses(span))
    told, text, missing = ask("bare")
    assert told["link"]["symbolisedShare"] == 0.5 and "no_symbols" in missing, told
    assert "50 % of the samples have a name" in text and "-Wl,--build-id" in text, text


def test_spans_too_short_for_the_rate():
    span = op("brief", ms=1, service_instance_id="brief-1")
    send("brief", {"main;work": 10 * MS}, span, "&label=service.instance.id=brief-1")
    told, text, missing = ask("brief")
    assert missing == ["low_rate"] and told["link"]["expectedSamples"] == 0.1, told
    assert "resource.service.name" in told["missing"][0]["lines"][0], told["missing"]


def test_samples_that_name_no_span_or_instance():
    op("plain")
    send("plain", {"main;work": 90 * MS})
    told, text, missing = ask("plain")
    assert missing == ["no_span_ids", "no_instance"] and told["link"]["taggedShare"] == 0, told
    assert "0 % of the samples name a span" in text, text


def test_the_lines_to_add_are_of_the_service_s_language():
    words = {"go": "otelpyroscope.NewTracerProvider", "java": "pyroscope-otel.jar", "python": "PyroscopeSpanProcessor",
             "nodejs": "wrapWithLabels", "rust": "tag_wrapper", "c": "sf_context_set", "cpp": "sf_context_set"}
    for language, word in words.items():
        service = "in-" + language
        span = op(service, language=language)
        told, _, missing = ask(service)
        assert missing == ["no_profiles"] and told["language"] == language, told
        lines = told["missing"][0]["lines"]
        assert len(lines) == 2 and service in "".join(lines) and str(server.port) in "".join(lines), lines
        assert "SERVICE\"" not in "".join(lines) and "SERVER\"" not in "".join(lines), lines
        send(service, {"main;work": 90 * MS})
        for of in (None, span):
            told, _, missing = ask(service, of)
            lines = {m["kind"]: m["lines"] for m in told["missing"]}["no_span_ids"]
            assert len(lines) == 2 and any(word in line for line in lines), (language, lines)


def test_profiles_without_spans():
    send("spanless", {"main;work": 90 * MS})
    told = server.json("/api/v1/coverage?service=spanless")
    assert "no_spans" in [m["kind"] for m in told["missing"]] and told["types"][0]["profiles"] == 1, told


def test_a_pasted_line_runs_nothing_of_its_service():
    """A service of that name ran a command when the line was pasted."""
    with tempfile.TemporaryDirectory() as home:
        for tool in ("curl", "spanflame", "java", "node", "opentelemetry-instrument", "echo", "PROGRAM"):
            with open(os.path.join(home, tool), "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\nexit 0\n")
            os.chmod(f.name, 0o755)
        for i, name in enumerate(("x'; touch y; echo '", "x$(touch y)`touch y`", "x\ntouch y\n", "x\" ; touch y; \"", "x' & touch y #")):
            for language in ("", "java", "python", "nodejs"):
                service = f"{i}{language}{name}"
                server.send([make_span(service=service, ago_ms=1000, resource={"telemetry.sdk.language": language})])
                query = "/api/v1/coverage?service=" + urllib.parse.quote(service)
                for _ in range(600):
                    if told := [m for m in server.json(query)["missing"] if m["kind"] == "no_profiles"]:
                        break
                    time.sleep(0.1)
                pasted = "\n".join(told[0]["lines"])
                subprocess.run(["/bin/sh", "-c", pasted], cwd=home, env={"PATH": home + ":/bin:/usr/bin"}, capture_output=True,
                               timeout=20, check=False)
                assert not os.path.exists(os.path.join(home, "y")), pasted


tap.run(sys.modules[__name__])
