#!/usr/bin/env python3
"""The memory budget holds: large requests side by side, and a large trace that no flush has seen."""
import json
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import JSON, Server, field, tap  # noqa: E402

BUDGET_MIB, SLACK_MIB = 256, 16
N_SENDERS, BODY_LEN = 8, 31_000_000
PROTOBUF = "application/x-protobuf"

server = Server().start()


def most_mib():
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def attribute(key, value):
    return field(1, key) + field(2, field(1, value))


def large_body():
    """Spans with ten attributes whose values repeat nowhere."""
    noise = os.urandom(1 << 20).hex().encode()
    times = b"\x39" + struct.pack("<Q", time.time_ns()) + b"\x41" + struct.pack("<Q", time.time_ns() + 1000)
    keys = [f"key{k}" for k in range(10)]
    spans, size, at = [], 0, 0
    while size < BODY_LEN:
        attrs = b""
        for key in keys:
            at = (at + 97) % (len(noise) - 32)
            attrs += field(9, attribute(key, noise[at:at + 32]))
        spans.append(field(2, field(1, os.urandom(16)) + field(2, os.urandom(8)) + field(5, "op") + times + attrs))
        size += len(spans[-1])
    return b"".join(spans)


def test_large_requests_side_by_side_stay_within_the_budget():
    spans, statuses = large_body(), []

    def send(i):
        resource = field(1, field(1, attribute("service.name", f"s{i}")))
        body = field(1, resource + field(2, spans))
        for _ in range(60):
            answer = server.post("/v1/traces", body, PROTOBUF, timeout=120)
            statuses.append(answer.status)
            if answer.status == 200:
                return
            time.sleep(0.5)

    threads = [threading.Thread(target=send, args=(i,)) for i in range(N_SENDERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert statuses.count(200) == N_SENDERS and set(statuses) <= {200, 429, 503}, statuses
    assert most_mib() <= BUDGET_MIB + SLACK_MIB, most_mib()


def test_a_large_trace_can_be_read_before_a_flush():
    trace, n, now = "cd" * 16, 12_000, time.time_ns()
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "big"}}] + [
        {"key": f"k8s.label.{i}", "value": {"stringValue": f"{i:04d}" * 25}} for i in range(40)]}
    for at in range(0, n, 3000):
        spans = [{"traceId": trace, "spanId": f"{i + 1:016x}", "name": "op", "kind": 1, "startTimeUnixNano": str(now + i),
                  "endTimeUnixNano": str(now + i + 1)} for i in range(at, at + 3000)]
        body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]})
        for _ in range(300):  # as exporters do, until the flush of the flood before is done
            answer = server.post("/v1/traces", body, JSON)
            if answer.status not in (429, 503):
                break
            time.sleep(0.2)
        assert answer.status == 200, answer.text
    answer = server.get(f"/api/traces/{trace}", timeout=60)
    assert answer.status == 200 and answer.body.count(b'"spanId"') == n, (answer.status, answer.text[:200])
    assert most_mib() <= BUDGET_MIB + SLACK_MIB, most_mib()


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
