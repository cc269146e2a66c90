#!/usr/bin/env python3
"""An hour with as many kept traces, or spans of these, as a verdict holds is judged; one with one more is kept whole, and
reports it. A million spans: suite long."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, field, tap  # noqa: E402

S = 10**9
SOURCE = os.environ["SOURCE_ROOT"]
HOUR = (time.time_ns() // (3600 * S) - 3) * 3600 * S + 600 * S
CONFIG = """tenancy: {enabled: true}
memory: 512MiB
retention: {tail_delay: 0s, spans_by_outcome: 30d}
store: {flush_interval: 1s}
profiling: {conditional: {baseline: 0%}}
"""


def limit(name):
    with open(os.path.join(SOURCE, "src", "base", "limits.h"), encoding="utf-8") as f:
        base, shift = re.search(rf"#define SF_LIMIT_{name}[ \\\n]+\(?(\d+)u?(?: *<< *(\d+)\)?)?", f.read()).groups()
    return int(base) << int(shift or 0)


def send(server, tenant, n_spans, of_each):
    """Failed spans, `of_each` in a trace; the last trace may have fewer."""
    status = field(15, b"\x18\x02")
    times = b"\x39" + HOUR.to_bytes(8, "little") + b"\x41" + (HOUR + S // 100).to_bytes(8, "little")
    for at in range(0, n_spans, 20000):
        spans = b"".join(field(2, b"\x0a\x10" + (i // of_each + 1).to_bytes(16, "big") + b"\x12\x08" + (i + 1).to_bytes(8, "big")
                               + b"\x2a\x02op\x30\x02" + times + status) for i in range(at, min(n_spans, at + 20000)))
        body = field(1, field(1, field(1, field(1, "service.name") + field(2, field(1, "shop")))) + field(2, spans))
        for _ in range(600):
            answer = server.post("/v1/traces", body, headers={"X-Scope-OrgID": tenant})
            if answer.status != 429:
                break
            time.sleep(0.1)
        assert answer.status == 200, (answer.status, answer.text)


def wait_for(server, pattern):
    """A line of the log: hours are judged again while spans still come in."""
    for _ in range(8000):
        if re.search(pattern, server.log()):
            return
        time.sleep(0.1)
    raise AssertionError((pattern, server.log()[-2000:]))


def check(n, of_each):
    with Server(CONFIG) as server:
        send(server, "fits", n, of_each)
        send(server, "over", n + 1, of_each)
        n_traces = -(-n // of_each)
        wait_for(server, rf"keep: tenant=2 hour=\d+ traces={n_traces} kept={n_traces} ")
        wait_for(server, r"keep: tenant=3 hour=\d+ traces=\d+ kept=0 .* kept whole")
        fits, over = (server.json(f"/api/v1/keep/{1:032x}", headers={"X-Scope-OrgID": t})["keep"] for t in ("fits", "over"))
        assert fits["state"] == "kept" and fits["rules"] == ["errors"], fits
        assert over["state"] == "whole", over


def test_traces():
    check(limit("VERDICT_TRACES"), 1)


def test_spans():
    check(limit("VERDICT_SPANS"), 4)


tap.run(sys.modules[__name__])
