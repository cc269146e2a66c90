#!/usr/bin/env python3
"""Completion: names and values of attributes, old form and new, with half-written filters; spans in
memory, in a block, and in both."""
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import JSON, Server, fields, first, tap  # noqa: E402

NOW = time.time_ns()
INTRINSICS = set("""duration kind name rootName rootServiceName status statusMessage traceDuration event:name
    event:timeSinceStart instrumentation:name instrumentation:version link:spanID link:traceID span:duration span:id
    span:kind span:name span:parentID span:status span:statusMessage trace:duration trace:id trace:rootName
    trace:rootService profile.alloc profile.block profile.cpu profile.frame profile.lock profile.off_cpu
    profile.wall""".split())

server = Server().start()


def attr(key, value):
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attr("", v)["value"] for v in value]}}}
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}[type(value)]
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def send(service, name, attrs, age_s=60, trace=None, parent="", resource=(), **more):
    start = NOW - age_s * 10**9
    span = dict({"traceId": trace or os.urandom(16).hex(), "spanId": os.urandom(8).hex(), "parentSpanId": parent,
                 "name": name, "kind": 2, "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 5 * 10**6),
                 "attributes": [attr(*a) for a in attrs.items()]}, **more)
    body = {"resourceSpans": [{"resource": {"attributes": [attr("service.name", service)] + [attr(*a) for a in resource]},
                               "scopeSpans": [{"scope": {"name": "lib", "version": "1.2",
                                                         "attributes": [attr("lib.kind", "http")]}, "spans": [span]}]}]}
    assert server.post("/v1/traces", json.dumps(body), JSON).status == 200
    return span


def settle():
    """Readers seal what is in memory at most every 50 ms."""
    time.sleep(0.1)


def send_all():
    send("old", "yesterday", {"old.key": "old"}, age_s=40 * 3600)
    assert server.post("/api/v1/flush", b"", "application/json").status == 200  # the range is one of whole blocks
    for _ in range(3):
        send("cart", "GET /cart", {"http.status_code": 200, "region": "eu", "slash/name": "s"})
    root = send("cart", "POST /cart", {"http.status_code": 500, "region": "us", "ratio": 0.5, "retry": True,
                                       "tags": ["x", "y"], "a b": "blank"}, status={"code": 2, "message": "boom"},
                events=[{"timeUnixNano": str(NOW), "name": "exception", "attributes": [attr("exception.type", "IOError")]}],
                links=[{"traceId": "1" * 32, "spanId": "2" * 16, "attributes": [attr("reason", "retry")]}])
    send("db", "SELECT", {"db.system": "postgresql", "region": 7}, trace=root["traceId"], parent=root["spanId"],
         resource=[("region", "zone-1")])
    settle()


def get(path, **params):
    return server.get(path + ("?" + urllib.parse.urlencode(params) if params else ""))


def scopes(**params):
    answer = get("/api/v2/search/tags", **params)
    assert answer.status == 200, answer.text
    body = json.loads(answer.body)
    assert set(body) == {"scopes", "metrics"}, body
    return {s["name"]: s["tags"] for s in body["scopes"]}


def values(tag, **params):
    answer = get("/api/v2/search/tag/" + urllib.parse.quote(tag, safe="") + "/values", **params)
    assert answer.status == 200, answer.text
    body = json.loads(answer.body)
    assert set(body) == {"tagValues", "metrics"}, body
    return [(v["type"], v["value"]) for v in body["tagValues"]]


def texts(tag, **params):
    return sorted(v for _, v in values(tag, **params))


def old_values(tag, **params):
    return sorted(json.loads(get(f"/api/search/tag/{tag}/values", **params).body)["tagValues"])


def check_names():
    found = scopes()
    assert list(found) == ["resource", "span", "event", "link", "instrumentation", "intrinsic"], found
    assert found["resource"] == ["region", "service.name"], found
    assert found["span"] == sorted(["http.status_code", "region", "slash/name", "ratio", "retry", "tags", "a b",
                                    "db.system"]), found
    assert (found["event"], found["link"], found["instrumentation"]) == (["exception.type"], ["reason"], ["lib.kind"])
    assert set(found["intrinsic"]) == INTRINSICS and len(found["intrinsic"]) == len(INTRINSICS)
    for scope, names in found.items():
        assert scopes(scope=scope) == {scope: names}
    assert scopes(scope="none") == found
    old = json.loads(get("/api/search/tags").body)
    assert set(old) == {"tagNames", "metrics"}
    assert old["tagNames"] == sorted(set(sum((n for s, n in found.items() if s != "intrinsic"), [])))
    assert set(json.loads(get("/api/search/tags", scope="intrinsic").body)["tagNames"]) == INTRINSICS


def check_values():
    assert texts("resource.service.name") == ["cart", "db"]
    assert sorted(values("span.region")) == [("int", "7"), ("string", "eu"), ("string", "us")]
    assert texts(".region") == ["7", "eu", "us", "zone-1"]
    assert texts("resource.region") == ["zone-1"]
    assert values("span.ratio") == [("float", "0.5")]
    assert values("span.retry") == [("bool", "true")]
    assert texts("span.tags") == ["x", "y"]
    assert texts('span."a b"') == ["blank"]
    assert texts("span.slash/name") == ["s"]
    assert texts("event.exception.type") == ["IOError"] and texts("link.reason") == ["retry"]
    assert texts("instrumentation.lib.kind") == ["http"]
    assert texts("span.nothing") == []
    assert texts("name") == texts("span:name") == ["GET /cart", "POST /cart", "SELECT"]
    assert texts("event:name") == ["exception"] and texts("statusMessage") == ["boom"]
    assert texts("rootServiceName") == texts("trace:rootService") == ["cart"]
    assert texts("rootName") == ["GET /cart", "POST /cart"]
    assert texts("instrumentation:name") == ["lib"] and texts("instrumentation:version") == ["1.2"]
    assert old_values("region") == ["7", "eu", "us", "zone-1"] == old_values(".region")
    assert old_values("service.name") == ["cart", "db"]
    assert old_values("root.name") == ["GET /cart", "POST /cart"]
    assert old_values("status") == ["error", "ok", "unset"] and old_values("slash/name") == ["s"]


def check_filters():
    for query, want in [('{ resource.service.name = "db" }', ["7"]),
                        ('{ resource.service.name = "cart" && span.region = }', ["eu", "us"]),
                        ('{ span.region= && resource.service.name = "db" }', ["7"]),
                        ("{ status = error }", ["us"]),
                        ("{ span.http.status_code >= 500 }", ["us"]),
                        ("{ name =~ `GET.*` }", ["eu"]),
                        ('{ name = "SELECT" || span.http.status_code = 500 }', ["7", "us"]),
                        ('{ rootName = "POST /cart" }', ["7", "us"]),
                        ("{ span.tags = `x` }", ["us"]),
                        ("{ span.tags = `z` }", []),
                        ("{ span:childCount > 0 }", ["us"]),
                        ("{ false }", []),
                        ('{ resource.service.name != "db" }', ["eu", "us"]),
                        ("{ name = ", ["7", "eu", "us"]), ("{{{", ["7", "eu", "us"]), ("nonsense", ["7", "eu", "us"]),
                        ("{}", ["7", "eu", "us"]), ("", ["7", "eu", "us"])]:
        assert texts("span.region", q=query) == want, (query, texts("span.region", q=query))
    assert texts("name", q='{ resource.service.name = "db" }') == ["SELECT"]
    assert texts("resource.service.name", q="{ status = error }") == ["cart"]
    for query in ('{ resource.service.name = "db" }', '{ resource.service.name =~ "db" }'):
        found = scopes(q=query)
        assert (found["resource"], found["span"]) == (["region", "service.name"], ["db.system", "region"]), found
        assert "event" not in found and "intrinsic" in found, found


def check_order():
    assert values("span.region")[0] == ("string", "eu"), values("span.region")
    assert values("name")[0] == ("string", "GET /cart")
    assert values("span.region", q="{ kind = server }")[0] == ("string", "eu")
    assert values("span.region", q="{ kind != client }")[0] == ("string", "eu")
    answer = get("/api/v2/search/tag/span.region/values", limit=1)
    assert len(json.loads(answer.body)["tagValues"]) == 1 and "limit" in answer.headers["x-spanflame-partial"]
    assert "x-spanflame-partial" not in get("/api/v2/search/tag/span.region/values", limit=3).headers
    found = scopes(limit=2)
    assert len(found["span"]) == 2 and "region" in found["span"] and "http.status_code" in found["span"], found


def check_all():
    check_names()
    check_values()
    check_filters()
    check_order()


def test_spans_in_memory_are_completed():
    send_all()
    check_all()


def test_spans_in_a_block_are_completed():
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    check_all()


def test_spans_in_both_are_completed():
    send("cart", "GET /cart", {"http.status_code": 200, "region": "eu"})
    settle()
    check_all()


def test_what_has_no_list_of_values_gives_fixed_answers():
    assert sorted(values("status")) == [("keyword", w) for w in ("error", "ok", "unset")] == sorted(values("span:status"))
    assert sorted(values("kind")) == [("keyword", w) for w in
                                      ("client", "consumer", "internal", "producer", "server", "unspecified")]
    for tag in ("duration", "span:duration", "traceDuration", "trace:duration", "trace:id", "span:id", "event:timeSinceStart"):
        assert values(tag) == [], tag


def test_the_last_day_is_looked_at_unless_a_range_is_given():
    assert "old.key" not in scopes()["span"]
    now = NOW // 10**9
    wide = {"start": now - 7 * 86400, "end": now + 60}
    assert "old.key" in scopes(**wide)["span"]
    assert texts("span.old.key", **wide) == ["old"] and texts("span.old.key") == []
    assert texts("name", q='{ resource.service.name = "old" }', **wide) == ["yesterday"]


def test_protobuf_is_given_when_asked_for():
    def ask(path):
        answer = server.get(path, {"Accept": "application/protobuf"})
        assert answer.headers["Content-Type"] == "application/protobuf"
        return answer.body
    scope = first(ask("/api/v2/search/tags?scope=link"), 1)
    assert fields(scope) == [(1, b"link"), (2, b"reason")]
    assert fields(first(ask("/api/v2/search/tag/span.ratio/values"), 1)) == [(1, b"float"), (2, b"0.5")]
    assert first(ask("/api/search/tag/reason-none/values"), 1) is None
    assert first(ask("/api/search/tags?scope=link"), 1) == b"reason"
    metrics = first(ask("/api/search/tags"), 2)
    assert first(metrics, 2) == first(metrics, 3) == 1


def test_bad_requests_are_refused_in_words_and_extra_parameters_are_not():
    for path, words in [("/api/v2/search/tags?scope=x", "invalid scope: x"),
                        ("/api/search/tags?scope=spans", "invalid scope: spans"),
                        ("/api/v2/search/tags?start=5", "both"),
                        ("/api/v2/search/tags?limit=many", "invalid limit"),
                        ("/api/v2/search/tag/foo/values", "please provide a valid tagName"),
                        ("/api/v2/search/tag/.a%2C.b/values", "please provide a valid tagName"),
                        ("/api/v2/search/tag/span.a%29%20%7C%20select%28.b/values", "please provide a valid tagName")]:
        answer = server.get(path)
        assert answer.status == 400 and words in answer.text, (path, answer.status, answer.text)
    answer = get("/api/v2/search/tag/span.ratio/values", tag="span.x", maxStaleValues=5, limit=5000)
    assert json.loads(answer.body)["tagValues"] == [{"type": "float", "value": "0.5"}], answer.text
    assert texts("span.ratio", q="{" + "(" * 2000) == ["0.5"]
    assert texts("span.ratio", q="{" + " && ".join(["span.x="] * 300)) == ["0.5"]


def test_many_values_are_cut_to_a_million_bytes_and_it_is_said():
    trace = os.urandom(16).hex()
    for part in range(2):
        spans = [{"traceId": trace, "spanId": os.urandom(8).hex(), "name": "many", "kind": 1,
                  "startTimeUnixNano": str(NOW), "endTimeUnixNano": str(NOW + 1),
                  "attributes": [attr("many", f"{part}-{i}-" + "v" * 200), attr("common", "yes")]} for i in range(3000)]
        spans += [dict(s, spanId=os.urandom(8).hex(), attributes=[attr("many", "often")]) for s in spans[:50]]
        body = {"resourceSpans": [{"resource": {"attributes": [attr("service.name", "many")]},
                                   "scopeSpans": [{"spans": spans}]}]}
        assert server.post("/v1/traces", json.dumps(body), JSON).status == 200
    settle()
    for _ in range(2):
        answer = get("/api/v2/search/tag/span.many/values")
        found = json.loads(answer.body)["tagValues"]
        assert found[0]["value"] == "often" and 4000 < len(found) < 5001, (found[0], len(found))
        assert sum(len(v["value"]) for v in found) <= 1000000 and "x-spanflame-partial" in answer.headers
        assert server.post("/api/v1/flush", b"", "application/json").status == 200


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
