#!/usr/bin/env python3
"""Spans of Zipkin v2 come in at /api/v2/spans, as JSON and protobuf, and are found like all others."""
import gzip
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, tap  # noqa: E402

ROOT = os.environ["SOURCE_ROOT"]
JSON = "application/json"
TRACE = "463ac35c9f6413ad48485a3953bb6124"


def spans(now_us):
    return [{"traceId": TRACE, "id": "a2fb4a1d1a96d312", "kind": "SERVER", "name": "post /buy", "timestamp": now_us,
             "duration": 80000, "localEndpoint": {"serviceName": "zipkin-shop"}, "tags": {"http.path": "/buy"}},
            {"traceId": TRACE, "id": "b2fb4a1d1a96d312", "parentId": "a2fb4a1d1a96d312", "kind": "CLIENT", "name": "select",
             "timestamp": now_us + 1000, "duration": 50000, "localEndpoint": {"serviceName": "zipkin-shop"},
             "remoteEndpoint": {"serviceName": "mysql"}, "annotations": [{"timestamp": now_us + 2000, "value": "retry"}],
             "tags": {"error": "lost connection"}}]


def test_json_plain_and_gzip_is_found_by_traceql():
    with Server() as s:
        body = json.dumps(spans(int(time.time() * 1e6))).encode()
        for sent, headers in ((body, {}), (gzip.compress(body), {"Content-Encoding": "gzip"})):
            answer = s.post("/api/v2/spans", sent, JSON, headers)
            assert answer.status == 202 and answer.body == b"", (answer.status, answer.body)
        found = s.json("/api/search?q=" + urllib.parse.quote('{ resource.service.name = "zipkin-shop" && status = error }'))
        assert [t["traceID"] for t in found["traces"]] == [TRACE], found
        batches = s.json(f"/api/traces/{TRACE}", headers={"Accept": "application/json"})["batches"]
        names = {sp["name"]: sp for b in batches for sc in b["scopeSpans"] for sp in sc["spans"]}
        assert names["select"]["status"]["message"] == "lost connection", names
        assert names["select"]["events"][0]["name"] == "retry", names


def test_protobuf():
    with Server() as s:
        with open(os.path.join(ROOT, "tests", "corpus", "zipkin", "list.pb"), "rb") as f:
            answer = s.post("/api/v2/spans", f.read())
        assert answer.status == 202, (answer.status, answer.body)
        batches = s.json("/api/traces/000102030405060708090a0b0c0d0e0f", headers={"Accept": "application/json"})["batches"]
        assert batches[0]["scopeSpans"][0]["spans"][0]["name"] == "post /buy", batches


def test_what_is_wrong_is_refused_and_named():
    with Server() as s:
        now = int(time.time() * 1e6)
        bad = spans(now)
        bad[1]["traceId"] = "xyz"
        cases = [(json.dumps(bad).encode(), JSON, 400, "[1].traceId"), (b"[", JSON, 400, "Zipkin"),
                 (b"\x0c\x00\x00", "application/x-thrift", 415, "application/x-thrift"),
                 (b"\x0a\xff", "application/x-protobuf", 400, "byte")]
        for body, kind, status, words in cases:
            answer = s.post("/api/v2/spans", body, kind)
            assert answer.status == status and words in answer.text, (body, answer.status, answer.text)
        assert s.get(f"/api/traces/{TRACE}").status == 404  # nothing of a body that is refused


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
