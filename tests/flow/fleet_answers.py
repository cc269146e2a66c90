"""fleet_answers.py - queries whose answers must not depend on where the data is: the same requests are sent to a server with
a data directory and to nodes of a fleet, and every question is asked of both."""
import ast
import json
import os
import re
import time
import urllib.parse

from pprof_make import pprof
from server import JSON, attribute, export_request, field, fixed64, span_message

S, MS = 10**9, 10**6
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


class Story:
    """What happened: requests as bytes, so that every server gets the same ones, and the questions about it."""

    def __init__(self, n=40):
        self.t = (time.time_ns() // S - 300) * S
        self.n = n
        self.bodies = []  # (path, body)
        self.roots, self.kids = [], []
        for i in range(n):
            self.roots.append(self.span(16 * i + 1, "shop", "GET /cart", at=4000 * i, ms=1000 + 100 * i,
                                        version=str(1 + i // (n // 2)), error=i % 7 == 3, attributes={
                                            "http.route": "/cart", "http.response.status_code": 500 if i % 7 == 3 else 200,
                                            "ratio": i / 8, "is_cached": i % 3 == 0, "user.id": f"u{i % 5}"}))
            self.kids.append(self.span(16 * i + 2, "shop", "price", parent=self.roots[i], at=4000 * i + 100, ms=400,
                                       version=str(1 + i // (n // 2))))
        calls = [self.span(16 * i + 3, "cart", "POST /items", parent=r, at=4000 * i + 200, ms=300, kind=2,
                           attributes={"db.system": "sqlite", "rows": i}) for i, r in enumerate(self.roots)]
        groups = [self.roots[i:i + 7] + self.kids[i:i + 7] for i in range(0, n, 7)] + [calls[:n // 2], calls[n // 2:]]
        self.pay = self.span(50000, "bank", "pay", error=True)
        for group in groups + [[self.pay]]:
            self.bodies.append(("/v1/traces", export_request(group)))
        self.bodies.append(("/v1/traces", self.with_events(60000)))
        for kind, unit, value in (("cpu", "nanoseconds", 10 * MS), ("alloc_space", "bytes", 4096)):
            stacks = {"main;idle": value}
            for i, (root, child) in enumerate(zip(self.roots, self.kids)):
                stacks[("main;serve;render", (("span_id", root["span_id"].hex()),))] = (40 if kind == "cpu" else 10) * value
                stacks[("main;serve;price;regex_match", (("span_id", child["span_id"].hex()),
                                                         ("trace_id", child["trace_id"].hex())))] = (20 + i) * value
            self.upload("shop", pprof(stacks, sample_type=kind, unit=unit, when=self.t, seconds=170, period=value), "&label=env=prod")
        for i in range(3):
            when = self.t + 20 * i * S
            self.upload("bank", pprof({"main;pay": 7 * MS * (i + 1), "main;wait;poll": MS}, when=when, seconds=20))
        at = self.t // S
        self.upload("shop", b"main;other 7\n", f"&type=cpu&label=env=test&from={at}&until={at + 10}")

    def span(self, number, service, name, parent=None, at=0, ms=1000, version="1", kind=None, **more):
        trace = parent["trace_id"] if parent else (number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128).to_bytes(16, "big")
        return {"trace_id": trace, "span_id": (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big"),
                "parent": parent and parent["span_id"], "name": name, "service": service, "start": self.t + at * MS,
                "end": self.t + (at + ms) * MS, "kind": kind or (1 if parent else 2),
                "resource": {"service.version": version, "service.instance.id": service + version, "host.name": "h1"}, **more}

    def with_events(self, number):
        """A span with an exception, a message and a link, which no column holds."""
        s = self.span(number, "bank", "refund", at=500, ms=50)
        event = fixed64(1, s["start"] + MS) + field(2, "exception") + attribute(3, "exception.type", "PaymentError")
        link = field(1, self.roots[0]["trace_id"]) + field(2, self.roots[0]["span_id"])
        message = span_message(s) + field(11, event) + field(13, link) + field(15, field(2, "refused") + field(3, 2))
        resource = attribute(1, "service.name", "bank")
        return field(1, field(1, resource) + field(2, field(1, field(1, "lib") + field(2, "1.2")) + field(2, message)))

    def upload(self, service, body, more=""):
        self.bodies.append((f"/api/v1/profile?service={service}{more}", body))

    def send(self, server, part=slice(None)):
        for path, body in self.bodies[part]:
            answer = server.post(path, body, "application/octet-stream" if "profile" in path else "application/x-protobuf")
            assert answer.status == 200, (path, answer.status, answer.text)

    # ---- queries ----

    def span_questions(self):
        at = self.t // S
        times = f"start={at - 10}&end={at + 300}"
        out = [f"/api/search?{times}&limit={limit}&q={urllib.parse.quote(q)}" for q, limit in (
            ("{}", 20), ("{}", 100), ("{}", 7), ('{ resource.service.name = "shop" }', 20), ('{ name = "GET /cart" && duration > 2s }', 20),
            ("{ status = error }", 50), ("{ .http.response.status_code >= 500 }", 50), ('{ span.user.id = "u3" }', 50),
            ('{ span.user.id = "none" }', 50), ('{ .db.system = "sqlite" }', 50), ('{ .user.id =~ "u[12]" }', 50),
            ("{ span.is_cached = true }", 50), ("{ span.ratio < 1.5 }", 50), ("{ kind = server }", 60),
            ('{ resource.host.name = "h1" && span.rows > 30 }', 50), ('{ .host.name = "h1" } | count() > 2', 50),
            ('{ name = "GET /cart" } >> { name = "POST /items" && span.rows > 35 }', 50),
            ('{ name = "price" } ~ { name = "POST /items" }', 9), ('{ name = "pay" } || { name = "refund" }', 50),
            ('{ event.exception.type = "PaymentError" }', 50), ('{ statusMessage = "refused" }', 50),
            ("{} | avg(duration) > 3s", 50), ('{ resource.service.version = "2" } | select(span.user.id)', 50),
            ('{ rootServiceName = "shop" && nestedSetParent < 0 }', 50), ('{ span.user.id != "u1" }', 60), ("{ duration = 400ms }", 60))]
        out.append(f"/api/search?{times}&limit=5&q={urllib.parse.quote('{}')}&spss=1")
        out.append(f"/api/search?start={at + 40}&end={at + 60}&limit=50&q={urllib.parse.quote('{}')}")
        out += [f"/api/metrics/query_range?{times}&step=30s&q={urllib.parse.quote(q)}" for q in (
            "{} | rate()", "{} | count_over_time() by (resource.service.name)", "{ status = error } | rate() by (name)",
            "{} | quantile_over_time(duration, .5, .9)", '{ name = "GET /cart" } | avg_over_time(duration)',
            "{} | max_over_time(span.rows)", "{} | histogram_over_time(duration)", "{ name = `price` } >> {} | rate()",
            '{ name = "GET /cart" } | compare({ status = error })')]
        out += [f"/api/v2/traces/{self.roots[3]['trace_id'].hex()}", f"/api/v1/trace/{self.roots[4]['trace_id'].hex()}"]
        return out

    def late(self, server):
        """One more request and profile."""
        server.send([self.span(70000, "late", "late operation", at=1000)])
        answer = server.post(f"/api/v1/profile?service=late&type=cpu&from={self.t // S}&until={self.t // S + 10}",
                             b"main;late_function 7\n", "application/octet-stream")
        assert answer.status == 200, answer.text

    def late_question(self):
        at = self.t // S
        return f"/api/search?start={at - 10}&end={at + 300}&q={urllib.parse.quote('{ name = `late operation` }')}"

    def late_profile(self):
        return f"/api/v1/profile?service=late&type=cpu&format=folded&from={self.t // S - 10}&until={self.t // S + 300}"

    def operation_questions(self):
        at = self.t // S
        return [f"/api/v1/services?from={at - 10}&until={at + 300}", f"/api/v1/services?from={at + 20}&until={at + 60}",
                "/jaeger/api/services/shop/operations", "/jaeger/api/services/nobody/operations", "/jaeger/api/operations?service=shop",
                "/jaeger/api/operations?service=cart&spanKind=server"]

    def tag_questions(self):
        at = self.t // S
        times = f"start={at - 10}&end={at + 300}"
        return [f"/api/v2/search/tags?{times}", f"/api/search/tags?{times}", f"/api/v2/search/tag/span.user.id/values?{times}",
                f"/api/v2/search/tag/resource.service.name/values?{times}", f"/api/v2/search/tag/name/values?{times}",
                *(f"/api/v2/search/tag/name/values?{times}&q={urllib.parse.quote(q)}" for q in (
                    '{ resource.service.name = "shop" }', "{}", "{ status = error }", '{ name = "price" && kind = internal }',
                    '{ resource.service.name = "shop" && span.is_cached = true }')),
                f"/api/v2/search/tag/.http.response.status_code/values?{times}",
                f"/api/v2/search/tag/span.ratio/values?{times}", f"/api/v2/search/tag/span.is_cached/values?{times}",
                f"/api/v2/search/tag/event.exception.type/values?{times}", f"/api/v2/search/tag/span.user.id/values?{times}&limit=2",
                f"/api/v2/search/tags?scope=span&{times}&q={urllib.parse.quote('{ status = error }')}",
                f"/api/v2/search/tag/span.rows/values?{times}&q={urllib.parse.quote('{ resource.service.name = `cart` }')}"]

    def profile_questions(self):
        at = self.t // S
        own = f"from={at - 10}&until={at + 300}"
        all_ = urllib.parse.quote('{ resource.service.name = "shop" && name = "GET /cart" }')
        price = urllib.parse.quote('{ name = "price" }')
        trace, span, kid = (x.hex() for x in (self.roots[0]["trace_id"], self.roots[0]["span_id"], self.kids[0]["span_id"]))
        out = [f"/api/v1/profile?service=shop&type=cpu&{own}", f"/api/v1/profile?service=shop&type=cpu&format=folded&{own}",
               f"/api/v1/profile?service=shop&type=alloc_space&{own}", f"/api/v1/profile?service=bank&type=cpu&{own}",
               f"/api/v1/profile?service=bank&type=cpu&from={at + 15}&until={at + 300}",
               f"/api/v1/profile?selector=shop%7Benv=test%7D&{own}", f"/api/v1/profile?service=shop&frame=regex_match&{own}",
               f"/api/v1/profile?service=shop&type=cpu&span_id={span}&{own}", f"/api/v1/profile?service=shop&type=cpu&span_id={kid}&{own}",
               f"/api/v1/profile?service=shop&type=cpu&trace_id={trace}&{own}",
               f"/api/v1/traces/{trace}/flame", f"/api/v1/traces/{trace}/flame?type=alloc_space", f"/api/v1/traces/{trace}/flame?by=wall",
               f"/api/v1/trace/{trace}"]
        for s in (span, kid):
            out += [f"/api/v1/spans/{trace}/{s}/{what}" for what in ("profile", "profile?self=true", "coverage", "ledger")]
        out += [f"/api/v1/cohort?q={all_}&{own}", f"/api/v1/cohort?q={all_}&per=all&{own}", f"/api/v1/cohort?q={price}&format=folded&{own}",
                f"/api/v1/compare?q={all_}&{own}", f"/api/v1/compare?left={all_}&right={price}&{own}",
                f"/api/v1/compare?q={all_}&by=resource.service.version&left=1&right=2&{own}",
                f"/api/v1/explain?q={all_}&{own}", f"/api/v1/explain?trace={trace}", f"/api/v1/explain?span={span}",
                f"/api/v1/findings?service=shop&{own}", f"/api/v1/findings?each=service&{own}", f"/api/v1/findings?trace={trace}",
                # The balance requests spans one by one, for a while only.
                f"/api/v1/coverage?service=shop&{own}", f"/api/v1/balance?service=shop&limit=8&{own}",
                f"/api/v1/frames/spans?function=main&{own}", f"/api/v1/frames/spans?function=regex_match&limit=3&{own}",
                f"/api/v1/frames/spans?pattern=reg.*&{own}",
                f"/pyroscope/render?query={urllib.parse.quote(CPU + '{service_name=`shop`}'.replace('`', chr(34)))}&from={at - 10}&until={at + 300}&format=json",
                f"/pyroscope/render?query={urllib.parse.quote(CPU + '{}')}&from={at - 10}&until={at + 300}&groupBy=service_name&format=json"]
        return out

    def corpus_questions(self):
        """Every TraceQL query that the golden corpus accepts, over this story."""
        at = self.t // S
        times = f"start={at - 10}&end={at + 300}"
        out = []
        with open(os.path.join(os.environ["SOURCE_ROOT"], "tests", "golden", "traceql_accept.tsv"), encoding="utf-8") as f:
            for line in f:
                if line.startswith("OK\t"):
                    query = ast.literal_eval(line.split("\t")[1])
                    path = f"metrics/query_range?step=30s&{times}" if METRIC.search(query) else f"search?limit=50&{times}"
                    out.append(f"/api/{path}&q={urllib.parse.quote(query)}")
        return out

    def door_questions(self):
        """What the other lists leave out: the rest of Tempo's, Jaeger's, Pyroscope's and our own endpoints."""
        at = self.t // S
        own, times, micros = (f"{a}={(at - 10) * n}&{b}={(at + 300) * n}" for a, b, n in (
            ("from", "until", 1), ("start", "end", 1), ("start", "end", 10**6)))
        quote = urllib.parse.quote
        trace, other = (self.roots[i]["trace_id"].hex() for i in (2, 5))
        cpu, shop = quote(CPU + '{service_name="shop"}'), "{service_name=\"shop\"}"
        tags = quote('{"user.id":"u3"}')
        third = "query.serviceName=shop&query.startTimeMin={}Z&query.startTimeMax={}Z&query.searchDepth=50".format(
            *(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(x)) for x in (at - 10, at + 300)))
        return [
            # Tempo's
            f"/api/traces/{trace}", f"/api/traces/{other}?{times}", f"/api/search?{times}&limit=50&tags=user.id%3Du3",
            f"/api/search?{times}&limit=50&minDuration=2s&maxDuration=4s", f"/api/search/tag/user.id/values?{times}",
            f"/api/search/tag/service.name/values?{times}", f"/api/metrics/query?{times}&q={quote('{ status = error } | rate() by (name)')}",
            f"/api/metrics/query?{times}&q={quote('{} | sum_over_time(span.rows)')}",
            f"/api/metrics/query_range?{times}&step=60s&q={quote('({ status = error } | rate()) / ({} | rate())')}",
            # Jaeger's
            "/jaeger/api/services", "/jaeger/api/services/shop/operations", "/jaeger/api/operations?service=cart&spanKind=server",
            f"/jaeger/api/traces/{trace}", f"/jaeger/api/traces?service=shop&{micros}&limit=30", f"/jaeger/api/traces?traceID={trace}&traceID={other}",
            f"/jaeger/api/traces?service=shop&operation=GET%20%2Fcart&minDuration=1500ms&tags={tags}&{micros}",
            f"/jaeger/api/dependencies?endTs={(at + 300) * 1000}&lookback=400000", "/jaeger/api/v3/services",
            "/jaeger/api/v3/operations?service=shop", f"/jaeger/api/v3/traces/{trace}", f"/jaeger/api/v3/traces?{third}",
            # Pyroscope's
            "/pyroscope/label-values?label=service_name", f"/pyroscope/render?query={cpu}&from={at - 10}&until={at + 300}&format=dot",
            f"/pyroscope/render-diff?leftQuery={cpu}&leftFrom={at - 10}&leftUntil={at + 300}&rightQuery={quote(CPU + '{service_name=`bank`}'.replace('`', chr(34)))}"
            f"&rightFrom={at - 10}&rightUntil={at + 300}",
            *self.rest_of_querier(shop),
            # ours
            f"/api/v1/keep/{trace}", f"/api/v1/keep?{own}", f"/api/v1/deploys?{own}", f"/api/v1/traces/{trace}/ledgers",
            f"/api/v1/traces/{trace}/flame?by=critical-path&waits=true", f"/api/v1/profile?selector=shop%7Benv%3Dprod%7D&type=cpu&format=pprof&ids=true&{own}",
            f"/api/v1/profile?service=shop&type=cpu&format=otlp&{own}", f"/api/v1/explain?service=shop&version=2&{own}"]

    def rest_of_querier(self, shop):
        at = self.t // MS
        times = {"start": at - 10000, "end": at + 300000}
        one = {**times, "labelSelector": shop, "profileTypeID": CPU}
        spans = {"spanSelector": [self.kids[i]["span_id"].hex() for i in range(4)]}
        return [("SelectMergeProfile", one), ("SelectMergeStacktraces", {**one, **spans}), ("SelectMergeStacktraces", {**one, "format": "PROFILE_FORMAT_FUNCTIONS"}),
                ("SelectMergeStacktraces", {**one, "stackTraceSelector": {"callSite": [{"name": "main"}, {"name": "serve"}]}}),
                ("SelectSeries", {**one, "step": 30, "groupBy": ["env"], "aggregation": "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"}),
                ("SelectHeatmap", {**one, "step": 60, "queryType": "HEATMAP_QUERY_TYPE_INDIVIDUAL"}),
                ("SelectHeatmap", {**one, "step": 60, "queryType": "HEATMAP_QUERY_TYPE_SPAN"}),
                ("Diff", {"left": one, "right": {**one, "labelSelector": '{service_name="bank"}'}}),
                ("AnalyzeQuery", {**times, "query": CPU + shop}), ("GetProfileStats", {})]

    def querier_questions(self):
        """Pyroscope's querier: POST with JSON."""
        at = self.t // MS
        times = {"start": at - 10000, "end": at + 300000}
        shop = {**times, "labelSelector": '{service_name="shop"}', "profileTypeID": CPU}
        return [("ProfileTypes", times), ("LabelNames", {**times, "matchers": []}), ("LabelValues", {**times, "name": "service_name"}),
                ("Series", {**times, "matchers": [], "labelNames": ["service_name", "env"]}), ("SelectMergeStacktraces", shop),
                ("SelectSeries", {**shop, "labelSelector": "{}", "step": 20, "groupBy": ["service_name"]}),
                ("SelectMergeSpanProfile", {**shop, "spanSelector": [self.kids[2]["span_id"].hex()]})]


METRIC = re.compile(r"\| *(rate|\w+_over_time|compare)\(")
UNTOLD = re.compile("inspected|totalBlocks|blockCount|totalBytesInTimeRange|completedJobs|elapsed|took")


def stacks_of(frames, nodes):
    """A profile's stacks with what each holds itself: frames are numbered in the order in which they came."""
    out = []
    for parent, frame, *own in nodes:
        path = () if frame < 0 else out[parent][0] + (json.dumps(frames[frame], sort_keys=True),)
        out.append((path, own))
    return sorted(out, key=str)


def settle(x):
    """Without what differs from one answer to the next anyway: how much was read for it, in which order sums of fractions were
    made, which of several spans represents a point, and in which order Jaeger's spans come."""
    if isinstance(x, dict):
        if "frames" in x and "nodes" in x:
            x = {**{k: v for k, v in x.items() if k != "nodes"}, "frames": stacks_of(x["frames"], x["nodes"])}
        if "processes" in x and "spans" in x:  # Jaeger's, which numbers resources in the order of spans
            x = {**x, "processes": None, "spans": sorted(json.dumps({**s, "processID": x["processes"][s["processID"]]}, sort_keys=True)
                                                         for s in x["spans"])}
        return {k: settle(v) for k, v in x.items() if not UNTOLD.match(k) and k != "exemplars"}
    if isinstance(x, list):
        return [settle(v) for v in x]
    return float(f"{x:.12g}") if isinstance(x, float) else x


def ask(server, question, statuses=(200,)):
    if isinstance(question, tuple):
        answer = server.post(f"/querier.v1.QuerierService/{question[0]}", json.dumps(question[1]), JSON)
    else:
        answer = server.get(question, {"Accept": "application/json"}, timeout=600)
    assert answer.status in statuses, (question, answer.status, answer.text[:400], answer.getheader("x-spanflame-partial"))
    try:
        return settle(json.loads(answer.text)), answer
    except ValueError:
        return answer.text, answer


def differences(one, other, questions, statuses=(200,)):
    """Questions whose answers differ, with both."""
    out = []
    for question in questions:
        a, b = (json.dumps(ask(x, question, statuses)[0], sort_keys=True) for x in (one, other))
        if a != b:
            out.append((question, a, b))
    return out


def told(found):
    """Differences, short enough to read: the place where the first begins."""
    out = []
    for question, a, b in found[:5]:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        out.append(f"{question}: ...{a[max(0, at - 60):at + 100]} | ...{b[max(0, at - 60):at + 100]}")
    return f"{len(found)} differ\n" + "\n".join(out)


def families(story):
    """A few questions of each kind."""
    at, quote = story.t // S, urllib.parse.quote
    own, times = f"from={at - 10}&until={at + 300}", f"start={at - 10}&end={at + 300}"
    carts, price = quote('{ resource.service.name = "shop" && name = "GET /cart" }'), quote('{ name = "price" }')
    trace, root, kid, pay = (x.hex() for x in (story.roots[0]["trace_id"], story.roots[0]["span_id"], story.kids[0]["span_id"],
                                               story.pay["trace_id"]))
    querier = {q[0]: q for q in story.querier_questions()}
    cpu = quote(CPU + "{}")
    return {
        "tempo": [f"/api/traces/{trace}", f"/api/search?{times}&limit=60&q={quote('{ .lib = nil }')}",
                  f"/api/metrics/query_range?{times}&step=30s&q={quote('{} | rate() by (name)')}",
                  f"/api/search?{times}&limit=60&q={quote('{ instrumentation:name = `lib` }')}"],
        "traceql": story.corpus_questions()[::40],
        "jaeger": [f"/jaeger/api/traces/{trace}", "/jaeger/api/operations?service=shop"],
        "link": [f"/api/v1/spans/{trace}/{s}/profile" for s in (root, kid)] + [f"/api/v1/traces/{trace}/flame"],
        "cohort": [f"/api/v1/cohort?q={q}&{own}" for q in (carts, price)],
        "ledger": [f"/api/v1/spans/{trace}/{root}/ledger", f"/api/v1/traces/{trace}/ledgers"],
        "why": [f"/api/v1/explain?q={carts}&{own}", f"/api/v1/explain?trace={trace}", f"/api/v1/explain?span={kid}"],
        "findings": [f"/api/v1/findings?service=shop&{own}", f"/api/v1/findings?service=bank&{own}"],
        "pyroscope": [f"/pyroscope/render?query={cpu}&from={at - 10}&until={at + 300}&groupBy=service_name&format=json",
                      querier["SelectSeries"], querier["Series"],
                      (querier["SelectMergeStacktraces"][0], {**querier["SelectMergeStacktraces"][1], "labelSelector": '{service_name="bank"}'})],
        "api": [f"/api/v1/trace/{pay}", f"/api/v1/services?{own}", f"/api/v1/profile?service=bank&type=cpu&{own}",
                f"/api/v1/frames/spans?function=regex_match&{own}"]}
