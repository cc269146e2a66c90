"""old_data.py - what is asked of the data directories in tests/data, and when an answer is the old one.

A golden answer is a subset: all of its fields must be there with the same values; fields may be added. Golden answers are
of two sorts. `exact` are facts that were sent (spans, counts, sums, samples that carry ids); they never change. `inferred`
are what we conclude (ledgers, coverage, findings, intervals, estimates); a commit that corrects one says why."""
import collections
import gzip
import json
import math
import os
import urllib.parse

from server import JSON, fields

SHIM = os.path.join(os.environ.get("BUILD_ROOT", "build"), "tests", "libfaultfs.so")
A, B = "shop-team", "other-team"
S, MS = 10**9, 10**6
DAY = 1794441600  # 2026-11-12, 00:00 UTC
MADE = DAY + 12 * 3600 + 35 * 60  # what the server's clock said when the directory was made
ERASED = "eeeeeeee000000000000000000000001"
PLACES = {"aged": DAY - 9 * 86400 + 36300, "coarse": DAY - 4 * 86400 + 36300, "day": DAY - 86400 + 36300,
          "hour": DAY + 32700, "fresh": DAY + 43500, "log": DAY + 44460}
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

Block = collections.namedtuple("Block", "kind level path")
USED_UP = '{service_name!~"scratch|forgotten"}'  # all but what is erased


class Place:
    """Where a story of make.py lies: its first moment, and its ids."""

    def __init__(self, name, tenant):
        self.name, self.number, self.is_b = name, list(PLACES).index(name), tenant == B
        self.base = PLACES[name] * S

    def trace(self, n):
        return f"{0xa1 + self.number + 16 * self.is_b:02x}{n:030x}"

    def span(self, n):
        return f"{0xc1 + self.number + 16 * self.is_b:02x}{n:014x}"


def blocks(data):
    """All block files, with the level from their headers."""
    out = []
    for kind in ("spans", "prof"):
        for folder, _, names in os.walk(os.path.join(data, kind)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as f:
                        head = f.read(8)
                except FileNotFoundError:
                    continue  # merged meanwhile
                out.append(Block(kind, head[6], os.path.relpath(path, data)))
    return sorted(out)


# ---- answers in a form that does not depend on the order of tables ----

def stacks_of_profile(profile):
    """Our own JSON of a profile: nodes as [parent, frame, self]."""
    names, out = [], {}
    for parent, frame, own, *_ in profile["nodes"]:
        name = profile["frames"][frame]["function"] if names else ""
        names.append(f"{names[parent]};{name}" if names else "")
        if own:
            out[names[-1][1:]] = out.get(names[-1][1:], 0) + own
    return {"stacks": out, **{k: v for k, v in profile.items() if k not in ("frames", "nodes")}}


def stacks_of_levels(flame, width=4):
    """Pyroscope's flame graph: levels of [offset, total, self, name], of a comparison [.., ..] * 2 and the name."""
    names, above, out = flame["names"], [(0, "")], {}
    for level in flame.get("levels", []):
        values = [int(v) for v in (level["values"] if isinstance(level, dict) else level)]
        here, at = [], 0
        for i in range(0, len(values), width):
            bar = values[i:i + width]
            at += bar[0] if width == 4 else bar[0] + bar[3]
            parent = [path for start, path in above if start <= at][-1]
            path = f"{parent};{names[bar[-1]]}"
            here.append((at, path))
            out[path[1:]] = bar[1:3] if width == 4 else bar[1:3] + bar[4:6]
            at += bar[1] if width == 4 else bar[1] + bar[4]
        above = here
    return out


def stacks_of_pprof(body):
    """(stacks, sample types) of a pprof file."""
    body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    parts = fields(body)
    strings = [v.decode() for n, v in parts if n == 6]
    functions = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for n, v in parts if n == 5}
    locations = {}
    for n, v in parts:
        if n == 4:
            lines = [dict(fields(x))[1] for k, x in fields(v) if k == 4]
            locations[dict(fields(v))[1]] = [functions[x] for x in lines]

    def numbers(message, number):
        out = []
        for n, v in fields(message):
            if n == number and isinstance(v, bytes):
                out += numbers_of_run(v)
            elif n == number:
                out.append(v)
        return out
    stacks = {}
    for n, v in parts:
        if n == 2:
            frames = [name for place in numbers(v, 1) for name in locations[place]]
            path = ";".join(reversed(frames))
            stacks[path] = [a + b for a, b in zip(stacks.get(path, [0] * 9), numbers(v, 2))]
    types = [[strings[dict(fields(v)).get(k, 0)] for k in (1, 2)] for n, v in parts if n == 1]
    return {"stacks": stacks, "types": types}


def numbers_of_run(run):
    out, n, shift = [], 0, 0
    for b in run:
        n |= (b & 127) << shift
        shift += 7
        if b < 128:
            out.append(n)
            n = shift = 0
    return out


COST = {"metrics"}  # of Tempo's answers: what the query cost, which merges change
PROSE = {"reason", "sentence", "words", "note", "lines", "action", "of"}  # of conclusions: may be said better


def settled(value, left_out):
    """Flame graphs by their stacks."""
    if isinstance(value, dict):
        if "frames" in value and "nodes" in value:
            return settled(stacks_of_profile(value), left_out)
        if "flamebearer" in value and "leftTicks" in value:
            value = {**value, "flamebearer": {**value["flamebearer"], "leftTicks": value["leftTicks"], "rightTicks": value["rightTicks"]}}
        if "names" in value and "levels" in value:
            bars = stacks_of_levels(value, 7 if "leftTicks" in value else 4)
            return settled({**{k: v for k, v in value.items() if k not in ("names", "levels")}, "bars": bars}, left_out)
        return {k: settled(v, left_out) for k, v in value.items() if k not in left_out}
    if isinstance(value, list):
        return [settled(v, left_out) for v in value]
    return value


def difference(want, got, where=""):
    """Why `got` has not all of `want`; None: it has."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{where}: {got!r}, not an object"
        for key in want:
            if key not in got:
                return f"{where}.{key} is missing"
            told = difference(want[key], got[key], f"{where}.{key}")
            if told:
                return told
        if where.endswith(("stacks", "bars")) and len(got) != len(want):
            return f"{where}: {sorted(set(got) - set(want))} came in addition"
        return None
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{where}: {json.dumps(got)[:600]}, not {json.dumps(want)[:600]}"
        return next((t for t in (difference(w, g, f"{where}[{i}]") for i, (w, g) in enumerate(zip(want, got))) if t), None)
    if isinstance(want, float) and isinstance(got, (int, float)) and math.isclose(want, got, rel_tol=1e-6):
        return None  # libraries of mathematics differ in the last digits
    return None if want == got and isinstance(want, bool) == isinstance(got, bool) else f"{where}: {got!r}, not {want!r}"


# ---- queries ----

class Question:
    """`name` is its file; `body` makes it a POST of JSON; `keep` cuts the answer to what its sort of golden may hold; `mend`
    does to the old answer and the new one what the old one was wrong in: the file stays as it is."""

    def __init__(self, sort, name, path, body=None, tenant=A, keep=None, mend=None):
        self.sort, self.name, self.path, self.body, self.tenant, self.keep = sort, name, path, body, tenant, keep
        self.mend = mend or (lambda answer: answer)

    def ask(self, server):
        headers = {"X-Scope-OrgID": self.tenant}
        if self.body is None:
            answer = server.get(self.path, headers=headers)
        else:
            answer = server.post(self.path, json.dumps(self.body), JSON, headers=headers)
        if answer.status != 200:
            return {"status": answer.status}
        kind = answer.getheader("content-type") or ""
        if "json" in kind:
            content = json.loads(answer.body)
        elif answer.body[:2] == b"\x1f\x8b":
            content = stacks_of_pprof(answer.body)
        else:
            content = answer.text.splitlines()
        content = settled(content, COST if self.sort == "exact" else COST | PROSE)
        return {"status": 200, "answer": self.keep(content) if self.keep else content}


def without(*keys):
    def keep(value):
        if isinstance(value, dict):
            return {k: keep(v) for k, v in value.items() if k not in keys}
        return [keep(v) for v in value] if isinstance(value, list) else value
    return keep


def only(*keys):
    return lambda answer: {k: answer[k] for k in keys}


def span_facts(answer):
    """Samples that carry the span's own id, and nothing concluded from them."""
    out = only("traceId", "spanId", "service", "name", "durationNs", "types")(answer)
    return {**out, "grades": {"exact": answer["grades"]["exact"]}, "profile": answer["profile"]}


def range_of(place):
    """What a place has to itself."""
    at = PLACES[place] // 1200 * 1200
    return (at, at + 1200) if place in ("fresh", "log") else hour_of(place)


def hour_of(place):
    at = PLACES[place] // 3600 * 3600
    return at, at + 3600


NOT_SCRATCH = '{ resource.service.name != "scratch" }'
QUERIES = {
    "by-service": '{ resource.service.name = "shop" && name = "order.calculate_totals" }',
    "errors": '{ status = error && resource.service.name != "tax" }',
    "status-message": '{ statusMessage = "busy" }',
    "event": '{ event:name = "exception" && event.exception.type = "Busy" }',
    "link": '{ link.why = "batch" }',
    "types": '{ span.is.first = true && span.load > 0.5 && span.http.response.status_code = 500 }',
    "structure": '{ resource.service.name = "gateway" } >> { name = "SELECT orders" }',
    "remote-child": '{ kind = client } > { kind = server && resource.service.name = "shop" }',
    "aggregate": '{ resource.service.name = "shop" } | count() > 3',
    "by-and-select": '{ resource.service.name = "shop" && kind = client } | select(span.db.system, resource.service.version)',
    "duration": '{ name = "tax" && duration > 50ms && span.half = false }',
    "redacted": '{ span.user = "anna" }',
    "scope": '{ instrumentation:name = "flow" && name = "job" }',
    "frame": '{ profile.frame = "applyLegacyTax" && profile.cpu > 65ms }',
    "profile-lock": '{ profile.lock > 10ms }',
    "profile-alloc": '{ profile.alloc = nil && name = "pay" }',
    "late": '{ name = "late" || name = "audit" || name = "login" || name = "packed" }',
}
METRICS = {
    "rate": '{ resource.service.name != "scratch" } | rate() by (resource.service.name)',
    "count-errors": '{ status = error } | count_over_time() by (name)',
    "sum": '{ resource.service.name = "shop" } | sum_over_time(span.order.items)',
    "max-duration": '{ name = "tax" } | max_over_time(duration)',
    "histogram": '{ name = "tax" } | histogram_over_time(duration)',
    "profile-cpu": '{ name = "tax" } | sum_over_time(profile.cpu)',
}
TAGS = ("resource.service.name", "resource.service.version", "span.http.route", "span.order.items", "name", "status", "span.load",
        "event.exception.type", "span.db.system")


def quoted(text):
    return urllib.parse.quote(text, safe="")


def querier(method, place, **body):
    at, end = range_of(place)
    return "/querier.v1.QuerierService/" + method, {"start": at * 1000, "end": end * 1000, **body}


def identity(item):
    """What an element of a list is called, whatever else is said of it."""
    names = ("traceID", "ID", "labels", "type", "value", "parent", "child")
    return json.dumps([item.get(n) for n in names] if isinstance(item, dict) else item)


def ordered(key):
    """A list whose order says nothing."""
    return lambda answer: {**answer, key: sorted(answer[key], key=identity)} if key in answer else answer


def of_traces(out):
    for tenant, places in ((A, PLACES), (B, ("day", "hour", "fresh", "log"))):
        for place in places:
            p, key = Place(place, tenant), f"{place}-{tenant}"
            out.append(Question("exact", f"trace-v1-{key}", "/api/traces/" + p.trace(1), tenant=tenant))
    for place in PLACES:
        p = Place(place, A)
        critical = ("isCritical", "criticalNs", "critical", "hot", "hotType", "hotUnit", "clocks", "clockShiftNs")
        out.append(Question("exact", f"trace-own-{place}", "/api/v1/trace/" + p.trace(1), keep=without(*critical)))
        out.append(Question("inferred", f"trace-own-{place}", "/api/v1/trace/" + p.trace(1)))
        out.append(Question("exact", f"trace-worker-{place}", "/api/traces/" + p.trace(3)))
    for place in ("aged", "day", "fresh", "log"):
        p = Place(place, A)
        out.append(Question("exact", f"trace-v2-{place}", "/api/v2/traces/" + p.trace(1)))
        out.append(Question("exact", f"trace-jaeger-{place}", "/jaeger/api/traces/" + p.trace(1)))
    p = Place("log", A)
    for n, name in ((60, "redacted"), (61, "packed")):
        out.append(Question("exact", f"trace-{name}", "/api/traces/" + p.trace(n)))
    out.append(Question("exact", "trace-late", "/api/traces/" + Place("hour", A).trace(51)))
    out.append(Question("exact", "trace-erased-v1", "/api/traces/" + ERASED))
    out.append(Question("exact", "trace-erased-v2", "/api/v2/traces/" + ERASED))
    out.append(Question("exact", "trace-erased-own", "/api/v1/trace/" + ERASED))
    out.append(Question("exact", "trace-erased-search", "/api/search?limit=100&q=" + quoted('{ name = "erased" }')))
    out.append(Question("exact", "trace-erased-profile", f"/api/v1/profile?trace_id={ERASED}&format=folded"))
    out.append(Question("exact", "trace-erased-span", "/api/v1/profile?span_id=e0e0e0e0e0e0e0e0&format=folded"))
    out.append(Question("exact", "trace-of-the-other-tenant", "/api/traces/" + Place("day", B).trace(1)))
    out.append(Question("exact", "trace-of-both-tenants", "/api/traces/" + Place("day", B).trace(1), tenant=f"{A}|{B}"))


def of_searches(out):
    for name, q in QUERIES.items():
        out.append(Question("exact", "search-" + name, f"/api/search?limit=500&spss=20&q={quoted(q)}", keep=ordered("traces")))
    out.append(Question("exact", "search-other-tenant", f"/api/search?limit=500&spss=20&q={quoted(NOT_SCRATCH)}", tenant=B, keep=ordered("traces")))
    at, end = range_of("hour")
    out.append(Question("exact", "search-range", f"/api/search?limit=500&start={at}&end={end}&q={quoted(QUERIES['by-service'])}"))
    out.append(Question("exact", "search-tags", "/api/search?limit=500&tags=" + quoted("service.name=shop name=late")))
    for place in ("aged", "hour", "fresh"):
        at, end = range_of(place)
        for name, q in METRICS.items():
            out.append(Question("exact", f"metrics-{name}-{place}", f"/api/metrics/query_range?start={at}&end={end}&step=300&exemplars=0&q={quoted(q)}",
                                keep=lambda a: without("exemplars")(ordered("series")(a))))
        out.append(Question("exact", f"metrics-instant-{place}", f"/api/metrics/query?start={at}&end={end}&q={quoted(METRICS['count-errors'])}",
                            keep=ordered("series")))
    at, end = DAY - 10 * 86400, DAY + 86400
    out.append(Question("exact", "tags-v1", f"/api/search/tags?start={at}&end={end}", keep=ordered("tagNames")))
    out.append(Question("exact", "tags-v2", f"/api/v2/search/tags?start={at}&end={end}", keep=lambda a: {
        s["name"]: sorted(s["tags"]) for s in a["scopes"] if s["name"] != "intrinsic"}))  # of these there may be more
    q = quoted(NOT_SCRATCH)
    for tag in TAGS:
        out.append(Question("exact", f"values-{tag}", f"/api/v2/search/tag/{tag}/values?start={at}&end={end}&q={q}", keep=ordered("tagValues")))
    out.append(Question("exact", "values-v1", f"/api/search/tag/http.route/values?start={at}&end={end}"))
    out.append(Question("exact", "values-other-tenant", f"/api/v2/search/tag/resource.service.name/values?start={at}&end={end}&q={q}", tenant=B,
                        keep=ordered("tagValues")))
    for place in list(PLACES)[:-1]:  # the last two share their hour
        at, end = hour_of(place)
        path = f"/api/v1/services?from={at}&until={end}&service="
        for service in ("shop", "tax"):
            quantiles = ("p50Ns", "p95Ns", "p99Ns", "isExact")
            out.append(Question("exact", f"services-{service}-{place}", path + service, keep=without(*quantiles)))
            out.append(Question("inferred", f"services-{service}-{place}", path + service))
    at, end = hour_of("fresh")
    out.append(Question("exact", "jaeger-operations", "/jaeger/api/services/shop/operations", keep=ordered("data")))
    out.append(Question("exact", "jaeger-search", f"/jaeger/api/traces?service=shop&operation=pay&start={at * MS}&end={end * MS}", keep=ordered("data")))
    out.append(Question("exact", "jaeger-dependencies", f"/jaeger/api/dependencies?endTs={end * 1000}&lookback=3600000", keep=ordered("data")))


def of_profiles(out):
    for tenant, places in ((A, PLACES), (B, ("day", "hour", "fresh", "log"))):
        for place in places:
            key = f"{place}-{tenant}"
            for name, what in (("cpu", CPU), ("heap", "memory:inuse_space:bytes"), ("cycles", "gpu_cycles:gpu_cycles:cycles"), ("objects", "memory:alloc_objects:count")):
                path, body = querier("SelectMergeStacktraces", place, profileTypeID=what, labelSelector='{service_name="shop"}')
                body["end"] -= 1  # it is part of the range, and the next sum of ten minutes begins there
                out.append(Question("exact", f"merge-{name}-{key}", path, body, tenant=tenant))
            path = "/api/v1/profile?app=shop&type=cpu&from={}&until={}&format=".format(*range_of(place))
            out.append(Question("exact", f"profile-folded-{key}", path + "folded", tenant=tenant))
    for place in PLACES:
        p = Place(place, A)
        at, end = range_of(place)
        out.append(Question("exact", f"profile-pprof-{place}", f"/api/v1/profile?app=shop&type=cpu&from={at}&until={end}&format=pprof"))
        out.append(Question("exact", f"profile-legacy-{place}", f"/api/v1/profile?selector={quoted('legacy{region=eu}')}&from={at}&until={end}&format=folded"))
        if place in ("aged", "coarse", "day"):
            out.append(Question("exact", f"profile-second-hour-{place}", f"/api/v1/profile?app=shop&type=cpu&from={at + 3600}&until={end + 3600}&format=folded"))
        for service, what in (("worker", "cpu"), ("worker", "off_cpu"), ("worker", "wall"), ("goapp", "cpu"), ("plain", "cpu"), ("named", "cpu"), ("tax", "cpu")):
            out.append(Question("exact", f"profile-{service}-{what}-{place}", f"/api/v1/profile?app={service}&type={what}&from={at}&until={end}&format=folded"))
        out.append(Question("exact", f"types-{place}", *querier("ProfileTypes", place), keep=ordered("profileTypes")))
        out.append(Question("exact", f"series-{place}", *querier("Series", place, matchers=[USED_UP],
                            labelNames=["service_name", "env", "region", "tier", "service.instance.id", "__profile_type__"]), keep=ordered("labelsSet")))
        out.append(Question("exact", f"labels-{place}", *querier("LabelValues", place, name="service_name", matchers=[USED_UP])))
        # Steps end half a minute away from any profile; the slots of ten minutes that older ones become are in one step.
        path, body = querier("SelectSeries", place, profileTypeID=CPU, labelSelector='{service_name="shop"}', groupBy=["env"], step=60)
        body.update({"start": body["start"] + 30000, "end": body["end"] - 30000})
        if place in ("aged", "coarse"):
            body.update({"start": (at - 1800) * 1000, "end": (end + 1800) * 1000, "step": 3600})
        out.append(Question("exact", f"points-{place}", path, body, keep=ordered("series")))
        if place == "aged":
            continue  # samples of single spans are gone
        for n in (3, 4, 5):
            path = f"/api/v1/spans/{p.trace(1)}/{p.span(n)}/profile?type=cpu"
            out.append(Question("exact", f"span-{n}-{place}", path + "&self=true", keep=span_facts))
            out.append(Question("inferred", f"span-{n}-{place}", path))
        for what in ("mutex", "alloc_objects"):
            out.append(Question("exact", f"span-{what}-{place}", f"/api/v1/spans/{p.trace(1)}/{p.span(3)}/profile?type={what}&self=true", keep=span_facts))
        out.append(Question("exact", f"span-merge-{place}", *querier("SelectMergeStacktraces", place, profileTypeID=CPU, labelSelector="{}", spanSelector=[p.span(3), p.span(5)])))
        out.append(Question("exact", f"span-folded-{place}", f"/api/v1/profile?span_id={p.span(4)}&type=cpu&format=folded"))
        out.append(Question("exact", f"trace-folded-{place}", f"/api/v1/profile?trace_id={p.trace(1)}&type=cpu&format=folded"))
        out.append(Question("inferred", f"upload-folded-{place}", f"/api/v1/profile?trace_id={p.trace(6)}&type=cpu&format=folded"))
        facts = lambda a: {**only("function", "type", "unit", "found", "value")(a), "spans": [without("share")(s) for s in a["spans"]]}  # noqa: E731
        out.append(Question("exact", f"frames-{place}", f"/api/v1/frames/spans?function=applyLegacyTax&from={at}&until={end}", keep=facts))
        out.append(Question("exact", f"frames-pattern-{place}", f"/api/v1/frames/spans?pattern={quoted('regex.*|fsync')}&type=cpu&from={at}&until={end}", keep=facts))
    at, end = range_of("fresh")
    q = quoted('process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop"}')
    out.append(Question("exact", "render", f"/pyroscope/render?query={q}&from={at}&until={end}", keep=only("flamebearer")))
    early, late = range_of("hour")
    out.append(Question("exact", "render-diff", f"/pyroscope/render-diff?leftQuery={q}&leftFrom={early}&leftUntil={late}&rightQuery={q}&rightFrom={at}&rightUntil={end}",
                        keep=only("flamebearer")))
    out.append(Question("exact", "label-values", f"/pyroscope/label-values?label=env&from={at}&until={end}"))
    out.append(Question("exact", "label-names", *querier("LabelNames", "fresh"), keep=ordered("names")))
    out.append(Question("exact", "merge-by-label", *querier("SelectMergeStacktraces", "fresh", profileTypeID=CPU, labelSelector='{env="test"}')))
    out.append(Question("exact", "merge-call-site", f"/api/v1/profile?app=shop&type=cpu&call_site=main&call_site=serve&from={at}&until={end}&format=folded"))
    out.append(Question("exact", "merge-both-tenants", *querier("SelectMergeStacktraces", "day", profileTypeID=CPU, labelSelector='{service_name="shop"}'), tenant=f"{A}|{B}"))
    for tenant in (A, B):
        out.append(Question("exact", f"settings-{tenant}", "/settings.v1.SettingsService/Get", {}, tenant=tenant, keep=without("modifiedAt")))


def of_conclusions(out):
    for place in PLACES:
        p = Place(place, A)
        at, end = range_of(place)
        spans = {"worker": (3, 21), "load": (3, 22), "store": (3, 23), "root": (4, 31), "one": (4, 32), "two": (4, 33), "plain": (4, 34),
                 "by-id": (5, 35), "by-file": (5, 36), "uploaded": (6, 37)}
        for name, (trace, own) in spans.items():
            path = f"/api/v1/spans/{p.trace(trace)}/{p.span(own)}/"
            out.append(Question("inferred", f"span-{name}-{place}", path + "profile?type=cpu&timeline=true"))
            out.append(Question("inferred", f"ledger-{name}-{place}", path + "ledger"))
        out.append(Question("inferred", f"ledger-shop-{place}", f"/api/v1/spans/{p.trace(1)}/{p.span(3)}/ledger"))
        for part in ("cpu", "lock", "disk"):
            out.append(Question("inferred", f"ledger-{part}-{place}", f"/api/v1/spans/{p.trace(3)}/{p.span(23)}/profile?part={part}"))
        for by in ("samples", "wall", "critical-path"):
            out.append(Question("inferred", f"flame-{by}-{place}", f"/api/v1/traces/{p.trace(1)}/flame?type=cpu&by={by}"))
        for service in ("shop", "worker", "goapp"):
            out.append(Question("inferred", f"coverage-{service}-{place}", f"/api/v1/coverage?service={service}&type=cpu&from={at}&until={end}"))
        out.append(Question("inferred", f"coverage-span-{place}", f"/api/v1/spans/{p.trace(3)}/{p.span(23)}/coverage"))
        if place in ("aged", "day", "hour"):
            continue  # these take longest, and three places are enough for them
        tax = quoted('{ name = "tax" }')
        out.append(Question("inferred", f"cohort-{place}", f"/api/v1/cohort?q={tax}&type=cpu&from={at}&until={end}"))
        out.append(Question("inferred", f"compare-slow-{place}", f"/api/v1/compare?q={tax}&split=p75&type=cpu&from={at}&until={end}"))
        out.append(Question("inferred", f"compare-errors-{place}", f"/api/v1/compare?q={tax}&split=errors&type=cpu&from={at}&until={end}"))
        out.append(Question("inferred", f"findings-service-{place}", f"/api/v1/findings?service=shop&type=cpu&from={at}&until={end}"))
        out.append(Question("inferred", f"findings-trace-{place}", f"/api/v1/findings?trace={p.trace(1)}&type=cpu"))
        out.append(Question("inferred", f"findings-query-{place}", f"/api/v1/findings?q={tax}&type=cpu&from={at}&until={end}"))


def questions():
    out = []
    for more in (of_traces, of_searches, of_profiles, of_conclusions):
        more(out)
    names = [(q.sort, q.name) for q in out]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    return out
