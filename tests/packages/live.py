"""What the tests of installed servers share: a span goes in, and is there."""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def run(*argv, **options):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(port, path, body=None):
    headers = {"Content-Type": "application/json"} if body else {}
    return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers), timeout=30)


def send_span(port, name):
    now = time.time_ns()
    span = {"traceId": os.urandom(16).hex(), "spanId": os.urandom(8).hex(), "name": name, "kind": 2,
            "startTimeUnixNano": str(now - 10**7), "endTimeUnixNano": str(now)}
    body = {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                               "scopeSpans": [{"spans": [span]}]}]}
    assert call(port, "/v1/traces", json.dumps(body).encode()).status == 200
    return span["traceId"]


def names_of(port, trace):
    batches = json.load(call(port, f"/api/traces/{trace}"))["batches"]
    return [s["name"] for b in batches for scope in b["scopeSpans"] for s in scope["spans"]]


def wait_ready(port, alive):
    """`alive` raises when the server has ended."""
    for _ in range(3000):
        try:
            if call(port, "/ready").status == 200:
                return
        except OSError:
            pass
        alive()
        time.sleep(0.1)
    raise AssertionError("not ready after five minutes")
