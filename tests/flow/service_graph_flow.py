#!/usr/bin/env python3
"""Who calls whom: edges on /metrics from spans as they come in, by every door, bounded and redacted."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from exposition import OPEN, check, labels  # noqa: E402
from server import (JSON, TRACE_METHOD, Server, attribute, export_request, field, json_request, make_span,  # noqa: E402
                    span_message, tap)

CLIENT, SERVER, PRODUCER, CONSUMER = 3, 2, 4, 5
REQUEST = "traces_service_graph_request_total"
server = Server(config="metrics:\n  service_graph:\n    wait: 1s\n").start()


def call(caller, callee, trace=None, kinds=(CLIENT, SERVER), **more):
    """Both halves of a request."""
    trace = trace or os.urandom(16)
    client = make_span(trace, os.urandom(8), service=caller, kind=kinds[0], ms=300)
    return client, make_span(trace, client["span_id"], service=callee, kind=kinds[1], ms=200, **more)


def edge(client, server_name, kind=""):
    return labels(client=client, server=server_name, connection_type=kind)


def now():
    return check(server.metrics(), False)


def wait_for(sample, at_least=1, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = now()
        if found.get(sample, 0) >= at_least:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{sample} never came to {at_least}:\n" + "\n".join(map(str, now())))


def test_both_halves_in_one_request():
    server.send([s for _ in range(5) for s in call("shop", "cart")] + list(call("shop", "cart", error=True)))
    found = now()
    assert found[(REQUEST, edge("shop", "cart"))] == 6
    assert found[("traces_service_graph_request_failed_total", edge("shop", "cart"))] == 1
    assert found[("traces_service_graph_request_server_seconds_bucket", edge("shop", "cart") + ',le="0.1"')] == 0
    assert found[("traces_service_graph_request_server_seconds_bucket", edge("shop", "cart") + ',le="0.2"')] == 6
    assert found[("traces_service_graph_request_client_seconds_bucket", edge("shop", "cart") + ',le="0.2"')] == 0
    assert abs(found[("traces_service_graph_request_client_seconds_sum", edge("shop", "cart"))] - 1.8) < 1e-6


def test_halves_that_come_by_different_doors():
    client, callee = call("doors", "json")
    server.send([callee])
    assert server.post("/v1/traces", json_request([client]), JSON).status == 200
    client2, callee2 = call("doors", "grpc")
    assert server.grpc(TRACE_METHOD, export_request([client2]))[0] == 0
    server.send([callee2])
    found = now()
    assert found[(REQUEST, edge("doors", "json"))] == found[(REQUEST, edge("doors", "grpc"))] == 1


def test_queues_databases_users_and_services_that_send_nothing():
    trace = os.urandom(16)
    server.send([*call("orders", "billing", kinds=(PRODUCER, CONSUMER)),
                 make_span(trace, os.urandom(8), service="orders", kind=CLIENT, attributes={"db.system": "postgresql"}),
                 make_span(trace, os.urandom(8), service="orders", kind=CLIENT, attributes={"peer.service": "mail"}),
                 make_span(service="edge", kind=SERVER), make_span(service="edge", kind=1)])
    found = wait_for((REQUEST, edge("orders", "mail", "virtual_node")))
    assert found[(REQUEST, edge("orders", "billing", "messaging_system"))] == 1
    assert found[(REQUEST, edge("orders", "postgresql", "database"))] == 1
    assert found[(REQUEST, edge("user", "edge", "virtual_node"))] == 1


def test_a_half_alone_is_counted_as_unpaired():
    server.send([make_span(parent=os.urandom(8), service="lonely", kind=SERVER)])
    found = wait_for(("traces_service_graph_unpaired_spans_total", edge("", "lonely")))
    assert found[("tempo_metrics_generator_processor_service_graphs_expired_edges", None)] >= 1
    assert (REQUEST, edge("", "lonely")) not in found


def test_exemplars_lead_to_the_trace():
    client, callee = call("exemplary", "callee")
    server.send([client, callee])
    text = server.metrics(OPEN)
    check(text, True)
    line = next(t for t in text.splitlines() if "request_server_seconds_bucket" in t and 'client="exemplary"' in t
                and 'le="0.2"' in t)
    assert f'# {{traceID="{callee["trace_id"].hex()}"}} 0.2 ' in line, line


def test_old_spans_make_no_edges():
    trace = os.urandom(16)
    client = make_span(trace, os.urandom(8), service="past", kind=CLIENT, ago_ms=3600000)
    before = server.metric('spanflame_service_graph_ignored_spans_total{reason="outside_metrics_ingestion_slack"}')
    server.send([client, make_span(trace, client["span_id"], service="past2", kind=SERVER, ago_ms=3600000)])
    assert 'client="past"' not in server.metrics()
    after = server.metric('spanflame_service_graph_ignored_spans_total{reason="outside_metrics_ingestion_slack"}')
    assert after == before + 2


def test_a_request_too_large_to_hold_decoded_has_edges_too():
    n = 150_000  # more than one piece, and more than one request may add
    one = make_span(service="bulk", kind=SERVER)
    message = span_message(one)
    place = message.index(one["span_id"])
    spans = b"".join(field(2, message[:place] + i.to_bytes(8, "big") + message[place + 8:]) for i in range(1, n + 1))
    resource = field(1, attribute(1, "service.name", "bulk"))
    assert server.post("/v1/traces", field(1, resource + field(2, spans))).status == 200
    found = wait_for((REQUEST, edge("user", "bulk", "virtual_node")), 65536)
    counted = found[(REQUEST, edge("user", "bulk", "virtual_node"))]
    left_out = found[("spanflame_service_graph_ignored_spans_total", 'reason="too_many_in_request"')]
    assert counted + left_out == n and counted >= 65536, (counted, left_out)


def test_a_flood_of_services_and_halves_stays_below_the_caps():
    for i in range(30):
        server.send([make_span(os.urandom(16), os.urandom(8), service="flood", kind=CLIENT,
                               attributes={"db.name": f"db{i}-{n}"}) for n in range(100)])
    for i in range(12):
        server.send([make_span(os.urandom(16), os.urandom(8), service="flood", kind=CLIENT) for n in range(1000)])
    found = now()
    assert found[("spanflame_service_graph_series", None)] <= 1000
    assert found[("spanflame_service_graph_waiting", None)] <= 10000
    assert found[("spanflame_service_graph_ignored_spans_total", 'reason="too_many_series"')] >= 2000
    assert found[("spanflame_memory_bytes", 'line="service_graph"')] < 8e6


def send_resource(s, resource, spans):
    scope = field(2, field(1, field(1, "flow")) + b"".join(field(2, span_message(x)) for x in spans))
    body = field(1, field(1, b"".join(attribute(1, k, v) for k, v in resource.items())) + scope)
    assert s.post("/v1/traces", body).status == 200


def test_dimensions_and_target_info_hold_no_secrets():
    config = ("metrics:\n  service_graph:\n    dimensions: [service.namespace, client_secret]\n"
              "  target_info:\n    enabled: true\n")
    with Server(config=config) as s:
        client, callee = call("a", "b")
        send_resource(s, {"service.name": "a", "service.namespace": "front", "service.instance.id": "i-1",
                          "client_secret": "Hunter2Hunter2", "host.name": "h"}, [client])
        send_resource(s, {"service.name": "b"}, [callee])
        text = s.metrics()
        found = check(text, False)
        assert "Hunter2" not in text
        lines = [t for t in text.splitlines() if t.startswith(REQUEST + "{")]
        assert len(lines) == 1 and 'client_service_namespace="front",server_service_namespace=""' in lines[0], lines
        info = [k for k in found if k[0] == "traces_target_info"]
        assert len(info) == 1 and 'host_name="h"' in info[0][1] and 'job="front/a",instance="i-1"' in info[0][1], info
        calls = [k for k in found if k[0] == "traces_spanmetrics_calls_total" and 'service="a"' in k[1]]
        assert len(calls) == 1 and 'job="front/a",instance="i-1"' in calls[0][1], calls
        check(s.metrics(OPEN), True)


def test_tenants_are_kept_apart():
    with Server(config="tenancy:\n  enabled: true\n") as s:
        client, callee = call("a", "b")
        for tenant, span in (("red", client), ("blue", callee), ("red", callee)):
            s.send([span], headers={"X-Scope-OrgID": tenant})
        lines = [t for t in s.metrics().splitlines() if t.startswith(REQUEST + "{")]
        assert lines == [REQUEST + '{client="a",server="b",connection_type="",tenant="red"} 1'], lines


def test_it_can_be_switched_off():
    with Server(config="metrics:\n  service_graph:\n    enabled: false\n") as s:
        s.send(list(call("a", "b")))
        text = s.metrics()
        assert "service_graph" not in text and "traces_target_info" not in text
        assert "traces_spanmetrics_calls_total{" in text


tap.run(sys.modules[__name__])
