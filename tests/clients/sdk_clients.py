#!/usr/bin/env python3
"""The OpenTelemetry SDKs as they are, by every protocol they speak: what they send is what is read."""
import json
import os
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import story  # noqa: E402
import toolchain  # noqa: E402
from server import Server, tap  # noqa: E402

server = Server().start()


def send(language, protocol, compression, port):
    """What the client says it sent, its service, its time."""
    service, base_ns = f"shop-{language}", time.time_ns() - 10**9
    done = subprocess.run([*toolchain.client(language), protocol, str(base_ns)], capture_output=True, text=True,
                          timeout=60, check=False,
                          env=story.environment(service, f"http://127.0.0.1:{port}", protocol, compression))
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout), service, base_ns


def make_test(language, protocol, compression):
    def test():
        toolchain.client(language)
        wire = story.Wire(server.port)
        sent, service, base_ns = send(language, protocol, compression, wire.port)
        wire.close()
        assert (b"ask the bank" in wire.seen) == (compression == "none"), "the client did not do as it was told"
        story.check(server.json("/api/v2/traces/" + sent["trace"])["trace"], sent, service, base_ns)
    how = "plain" if compression == "none" else compression
    globals()[f"test_{language}_sends_{protocol.replace('/', '_')}_{how}"] = test


def make_skip(language, why):
    def test():
        raise tap.Skip(why)
    globals()[f"test_{language}_sends_by_every_protocol"] = test


n_run = 0
for language, protocols in (("go", ("grpc", "http/protobuf")), ("python", ("grpc", "http/protobuf")),
                            ("node", ("grpc", "http/protobuf", "http/json"))):
    try:
        toolchain.client(language)
    except tap.Skip as e:
        make_skip(language, str(e))
        continue
    except AssertionError:
        pass  # its tests say it
    n_run += 1
    for protocol in protocols:
        for compression in ("none", "gzip"):
            make_test(language, protocol, compression)


def test_python_takes_the_answer_to_metrics_and_logs_for_a_success():
    python = toolchain.client("python")[0]
    script = os.path.join(os.path.dirname(__file__), "python", "other_signals.py")
    for protocol in ("grpc", "http/protobuf"):
        before = [server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}') for signal in ("metrics", "logs")]
        done = subprocess.run([python, script, protocol], capture_output=True, text=True, timeout=60, check=False,
                              env=story.environment("shop-python", f"http://127.0.0.1:{server.port}", protocol, "gzip"))
        assert done.returncode == 0, done.stderr + done.stdout
        results = json.loads(done.stdout)
        assert set(results["metrics"] + results["logs"]) == {"SUCCESS"} and len(results["logs"]) == 3, results
        after = [server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}') for signal in ("metrics", "logs")]
        assert [a - b for a, b in zip(after, before)] == [len(results["metrics"]), 3], (before, after, results)  # once each


def test_nothing_was_refused_cut_or_redacted():
    if not n_run:
        raise tap.Skip("no client could be run")
    text = server.metrics()
    for line in text.splitlines():
        if line.startswith(("spanflame_requests_rejected_total", "spanflame_spans_discarded_total", "spanflame_cut_total",
                            "spanflame_redactions_total")):
            assert float(line.split()[-1]) == 0, line


tap.run(sys.modules[__name__])
