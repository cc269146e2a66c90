"""shop_data.py - a small shop that was just used: requests of two services with errors, slow ones, exceptions and a
database, and the profiles of both. What dashboards and Grafana's apps need to have something to show."""

from pprof_make import pprof
from server import attribute, field, fixed64, make_span, span_message

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
MS = 1000000
SERVER, CLIENT = 2, 3
RESOURCE = {"service.namespace": "eu", "service.version": "1.2", "cluster": "c1", "environment": "test", "namespace": "ns",
            "deployment.environment": "test", "k8s.namespace.name": "ns", "k8s.pod.name": "pod-1",
            "k8s.container.name": "main", "k8s.node.name": "n1"}
EXCEPTION = {"exception.message": 'card "x" refused', "exception.type": "PaymentError", "exception.stacktrace": "at pay()\nat main()"}


def exception_message(span):
    """The span with an exception as its event, and the error's message in its status."""
    event = fixed64(1, span["end"]) + field(2, "exception") + b"".join(attribute(3, k, v) for k, v in EXCEPTION.items())
    return span_message(dict(span, error=False)) + field(11, event) + field(15, field(2, "refused") + field(3, 2))


def request(spans, messages):
    out = b""
    for service in dict.fromkeys(s["service"] for s in spans):
        inner = b"".join(field(2, m) for s, m in zip(spans, messages) if s["service"] == service)
        resource = attribute(1, "service.name", service) + b"".join(attribute(1, k, v) for k, v in RESOURCE.items())
        out += field(1, field(1, resource) + field(2, field(1, field(1, "shop")) + inner))
    return out


def send_requests(server, n=4, ago_ms=0):
    """`n` requests of shop, each of which calls cart, which asks its database; every fourth fails in cart. Gives the ids of
    the traces."""
    traces = []
    for i in range(n):
        has_failed = i % 4 == 3
        root = make_span(ms=200 + i, ago_ms=ago_ms, service="shop", name="GET /cart", kind=SERVER, error=has_failed,
                         attributes={"http.status_code": 500 if has_failed else 200, "http.route": "/cart"})
        call = make_span(root["trace_id"], root["span_id"], ms=150, ago_ms=ago_ms + 20, service="shop", name="POST", kind=CLIENT)
        cart = make_span(root["trace_id"], call["span_id"], ms=140, ago_ms=ago_ms + 25, service="cart", name="POST /items",
                         kind=SERVER, error=has_failed)
        db = make_span(root["trace_id"], cart["span_id"], ms=50, ago_ms=ago_ms + 40, service="cart", name="SELECT", kind=CLIENT,
                       attributes={"db.system.name": "sqlite", "db.system": "sqlite"})
        spans = [root, call, cart, db]
        messages = [exception_message(s) if has_failed and s is cart else span_message(s) for s in spans]
        answer = server.post("/v1/traces", request(spans, messages))
        assert answer.status == 200 and answer.body == b"", answer.text
        traces.append({"trace": root["trace_id"].hex(), "root": root["span_id"].hex(), "cart": cart["span_id"].hex()})
    return traces


def send_profiles(server, traces):
    for service, key in (("shop", "root"), ("cart", "cart")):
        stacks = {("main;handle;render", (("span_id", traces[0][key]), ("trace_id", traces[0]["trace"]))): 80 * MS,
                  "main;handle;parse": 40 * MS, "main;idle": 10 * MS}
        assert server.post(f"/api/v1/profile?service={service}&label=env=test", pprof(stacks)).status == 200
        heap = pprof({"main;handle;render": 4096}, "inuse_space", "bytes")
        assert server.post(f"/api/v1/profile?service={service}", heap).status == 200


def fill(server):
    traces = send_requests(server, 8)
    send_profiles(server, traces)
    return traces
