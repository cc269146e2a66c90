"""seed.py - what the page's tests examine: three services, slow and fast requests, profiles that name their spans.

Everything is computed from a counter, so that two runs show the same numbers but for the time of day."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from pprof_make import pprof  # noqa: E402

MS = 1000000
HOSTILE = "<script>window.hacked=1</script>\u202egnp.\u0007<img src=x onerror=window.hacked=2>"


def ident(kind, number, length):
    return bytes([kind]) + number.to_bytes(length - 1, "big")


def cart_request(number, start_ns, slow):
    """gateway > order-service (totals > tax, pay) > postgres; the slow ones burn in applyLegacyTax."""
    trace = ident(0xa1, number, 16)
    total = 900 if slow else 180 + number % 40
    ids = iter(range(number * 16, number * 16 + 16))

    def span(name, service, begin, end, parent=None, kind=2, **more):
        return dict({"trace_id": trace, "span_id": ident(0xb2, next(ids), 8), "parent": parent and parent["span_id"],
                     "name": name, "service": service, "kind": kind, "start": start_ns + begin * MS,
                     "end": start_ns + end * MS}, **more)
    root = span("GET /checkout", "gateway", 0, total, attributes={
        "http.route": "/checkout", "http.request.method": "GET", "http.response.status_code": 200, "user.tier": "gold"})
    call = span("POST order", "gateway", 5, total - 5, root, kind=3)
    order = span("order.calculate_totals", "order-service", 10, total - 10, call,
                 attributes={"order.items": 3 + number % 5, "service.version": "1.4.2"})
    rules = span("order.check_price_rules", "order-service", 20, int(total * 0.5), order, kind=1)
    query = span("SELECT prices", "order-service", 24, 50, rules, kind=3,
                 attributes={"db.system": "postgresql", "db.statement": "SELECT * FROM prices WHERE id = $1"})
    pay = span("pay.charge", "payments", int(total * 0.6), total - 20, order, error=number % 9 == 4)
    spans = [root, call, order, rules, query, pay]
    work = total * 0.4
    own = order["span_id"].hex()
    below = rules["span_id"].hex()
    stacks = {}

    def burn(path, ms, span_id):
        if ms >= 10:
            stacks[(path, (("span_id", span_id),))] = int(ms / 10) * 10 * MS
    base = "main;http.serve;handleOrder;"
    if slow:
        burn(base + "calculateTotals;applyLegacyTax;lookupRate", 420, own)
        burn(base + "calculateTotals;applyLegacyTax;BigDecimal.pow", 60, own)
    burn(base + "calculateTotals;sumItems", max(work * 0.2, 20), own)
    burn(base + "calculateTotals;json.Marshal;encodeState.reflectValue", max(work * 0.15, 10), own)
    burn(base + "checkPriceRules;regex.match;regex.backtrack", max(work * 0.4, 40), below)
    burn(base + "checkPriceRules;loadRules", 10, below)
    return spans, stacks


def hostile_request(start_ns):
    trace = ident(0xa3, 1, 16)
    span = {"trace_id": trace, "span_id": ident(0xb4, 1, 8), "name": HOSTILE, "service": HOSTILE + " service", "kind": 2,
            "start": start_ns, "end": start_ns + 50 * MS, "attributes": {HOSTILE: HOSTILE}}
    stacks = {(f"main;{HOSTILE};{HOSTILE}2", (("span_id", span["span_id"].hex()),)): 40 * MS}
    return [span], stacks


def fill(server, n=120, minutes=30):
    """Returns ids of a slow, a fast and a hostile trace and of the span whose profile is looked at."""
    now = time.time_ns()
    step = minutes * 60 * 10**9 // n
    spans, stacks = [], {}
    for i in range(n):
        more, burnt = cart_request(i, now - 5 * 10**9 - (n - 1 - i) * step, slow=i % 10 == 7)
        spans += more
        stacks.update(burnt)
    for at in range(0, len(spans), 200):
        server.send(spans[at:at + 200])
    send_profile(server, "order-service", stacks, when=now - minutes * 60 * 10**9, seconds=minutes * 60)
    send_profile(server, "order-service", {"main;alloc;make": 300 * 2**20, "main;cache;grow": 120 * 2**20},
                 sample_type="inuse_space", unit="bytes", when=now - minutes * 60 * 10**9, seconds=minutes * 60)
    send_profile(server, "payments", {"main;charge;tls.handshake": 900 * MS, "main;charge;sign": 400 * MS}, label="env=prod")
    odd, burnt = hostile_request(now - 4 * 10**9)
    server.send(odd)
    send_profile(server, odd[0]["service"], burnt)
    return {"slow": ident(0xa1, 117, 16).hex(), "fast": ident(0xa1, 116, 16).hex(), "hostile": odd[0]["trace_id"].hex(),
            "slowSpan": ident(0xb2, 117 * 16 + 2, 8).hex(), "fastSpan": ident(0xb2, 116 * 16 + 2, 8).hex(),
            "hostileSpan": odd[0]["span_id"].hex()}


def deploys(server):
    """A service whose second version began eight minutes ago, told by whoever deployed it; and one that was only told."""
    import json
    now = time.time_ns()
    for number, (version, minutes) in enumerate((("v1", 20), ("v1", 12), ("v2", 8), ("v2", 4))):
        start = now - minutes * 60 * 10**9
        server.send([{"trace_id": ident(0xa9, number * 64 + i, 16), "span_id": ident(0xba, number * 64 + i, 8), "name": "GET /told",
                      "service": "told", "kind": 2, "start": start + i * MS, "end": start + (i + 20 + i % 5) * MS,
                      "error": version == "v2" and i % 3 == 0, "resource": {"service.version": version}} for i in range(1, 30)])
    for deploy, status in (({"service": "told", "version": "v2", "environment": "prod", "comment": HOSTILE, "url": "https://ci.example/7"}, 200),
                           ({"service": "nowhere", "version": "9", "url": "javascript:window.hacked=3"}, 400),
                           ({"service": "nowhere", "version": "9"}, 200)):
        assert server.post("/api/v1/deploys", json.dumps(deploy).encode(), "application/json").status == status, deploy


def big_trace(server, n=10000):
    """One trace of many spans, for scrolling."""
    trace, start = ident(0xa5, 1, 16), time.time_ns() - 60 * 10**9
    spans, stack = [], []
    for i in range(n):
        depth = 0 if i == 0 else 1 + i % 7
        stack = stack[:depth]
        begin = start + i * MS
        end = start + n * MS if i == 0 else begin + (8 - depth) * MS
        spans.append({"trace_id": trace, "span_id": ident(0xb6, i, 8), "parent": stack[-1] if stack else None,
                      "name": f"step {i}", "service": f"svc-{depth}", "kind": 1, "start": begin, "end": end})
        stack.append(spans[-1]["span_id"])
    for at in range(0, n, 1000):
        server.send(spans[at:at + 1000])
    return trace.hex()


def thinned_trace(server):
    """An ordinary request of hours ago, whose samples its hour's verdict removes."""
    start = (time.time_ns() // (3600 * 10**9) - 5) * 3600 * 10**9 + 600 * 10**9
    span = {"trace_id": ident(0xa7, 1, 16), "span_id": ident(0xb8, 1, 8), "name": "GET /old", "service": "archive", "kind": 2,
            "start": start, "end": start + 80 * MS}
    server.send([span])
    send_profile(server, "archive", {("main;read", (("span_id", span["span_id"].hex()),)): 40 * MS}, when=start, seconds=10)
    return span["trace_id"].hex(), span["span_id"].hex()


def big_profile(server, nodes=100000):
    """A graph of that many bars: every stack shares a part of the one before it."""
    state, stack, lines, made = 1, [], [], 0
    while made < nodes:
        state = state * 1103515245 + 12345 & 0x7fffffff
        stack = stack[:state % (len(stack) + 1)]
        state = state * 1103515245 + 12345 & 0x7fffffff
        for _ in range(1 + state % 12):
            if len(stack) < 60:
                stack.append(f"pkg{made % 37}.work{made}")
                made += 1
        lines.append(f"{';'.join(['main', *stack])} {1 + state % 1000}")
    answer = server.post("/api/v1/profile?service=large&type=cpu&format=folded", "\n".join(lines).encode(), "text/plain")
    assert answer.status == 200, answer.text


def send_profile(server, service, stacks, label="", **more):
    import urllib.parse
    query = {"service": service, **({"label": label} if label else {})}
    answer = server.post("/api/v1/profile?" + urllib.parse.urlencode(query), pprof(stacks, **more),
                         "application/octet-stream")
    assert answer.status == 200, answer.text
