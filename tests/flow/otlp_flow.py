#!/usr/bin/env python3
"""OTLP traces by every door: what is acknowledged can be read at once, what is wrong is said."""
import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(__file__))
from server import (JSON, PB, TRACE_METHOD, Server, export_request, field, fields, first, json_request,  # noqa: E402
                    make_span, span_ids, tap)

server = Server().start()


def read_back(spans):
    trace = spans[0]["trace_id"]
    answer = server.get("/api/traces/" + trace.hex())
    assert answer.status == 200, (answer.status, answer.text)
    assert span_ids(answer) == sorted(s["span_id"] for s in spans)


def two_spans():
    root = make_span(name="GET /", attributes={"http.route": "/", "n": 7, "ok": True, "f": 0.5})
    return [root, make_span(root["trace_id"], root["span_id"], service="db", name="SELECT", kind=3, error=True)]


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def test_protobuf_is_visible_at_once():
    for _ in range(50):
        spans = two_spans()
        server.send(spans)
        read_back(spans)


def test_json_is_visible_at_once():
    spans = two_spans()
    answer = server.post("/v1/traces", json_request(spans), JSON)
    assert (answer.status, answer.body) == (200, b"{}"), answer.text
    assert answer.headers["Content-Type"].startswith("application/json")
    read_back(spans)


def test_content_type_may_have_parameters():
    spans = two_spans()
    assert server.post("/v1/traces", json_request(spans), "application/json; charset=utf-8").status == 200
    read_back(spans)


def test_gzip_and_deflate_bodies_are_read():
    for name, squeeze in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        spans = two_spans()
        answer = server.post("/v1/traces", squeeze(export_request(spans)), headers={"Content-Encoding": name})
        assert answer.status == 200, (name, answer.text)
        read_back(spans)


def test_zstd_bodies_are_read():
    try:
        packed = zstd(export_request(spans := two_spans()))
    except FileNotFoundError:
        raise tap.Skip("no zstd program here")
    assert server.post("/v1/traces", packed, headers={"Content-Encoding": "zstd"}).status == 200
    read_back(spans)


def test_chunked_bodies_are_read():
    spans = two_spans()
    body = export_request(spans)
    answer = server.request("POST", "/v1/traces", iter([body[:10], body[10:]]),
                            {"Content-Type": PB})  # http.client sends iterators in chunks
    assert answer.status == 200, answer.text
    read_back(spans)


def test_h2c_with_prior_knowledge_works():
    spans = two_spans()
    code, head, body = server.curl("--http2-prior-knowledge", "-H", f"content-type: {PB}", path="/v1/traces",
                                   data=export_request(spans))
    assert code == 0 and head.startswith("HTTP/2 200") and body == b"", (code, head, body)
    read_back(spans)


def test_grpc_export_works():
    spans = two_spans()
    assert server.grpc(TRACE_METHOD, export_request(spans)) == (0, "", "", b"")
    read_back(spans)


def test_grpc_takes_gzip_messages():
    spans = two_spans()
    status, text, _, _ = server.grpc(TRACE_METHOD, gzip.compress(export_request(spans)),
                                     ["grpc-encoding: gzip"], compressed=True)
    assert status == 0, text
    read_back(spans)


def test_a_large_body_goes_through_the_spool_file():
    trace = os.urandom(16)
    spans = [make_span(trace, attributes={"text": "x" * 900 + os.urandom(50).hex()}) for _ in range(3000)]
    server.send(spans)
    read_back(spans)
    assert server.metric("spanflame_bodies_spooled_total") >= 1


def test_an_empty_request_is_fine():
    assert server.post("/v1/traces", b"").status == 200
    answer = server.post("/v1/traces", b"{}", JSON)
    assert (answer.status, answer.body) == (200, b"{}")
    assert server.grpc(TRACE_METHOD, b"")[0] == 0


def test_a_bad_id_refuses_only_its_span():
    good, short, zero = two_spans()[0], make_span(), make_span()
    short["trace_id"], zero["span_id"] = b"123", bytes(8)
    answer = server.post("/v1/traces", export_request([good, short, zero]))
    assert answer.status == 200
    partial = first(answer.body, 1)
    assert first(partial, 1) == 2, fields(partial)
    message = first(partial, 2).decode()
    assert "1 span with an invalid trace id" in message and "1 span with an invalid span id" in message, message
    read_back([good])
    good = two_spans()[0]
    body = json.loads(server.post("/v1/traces", json_request([good, short]), JSON).body)
    assert body["partialSuccess"]["rejectedSpans"] == "1", body
    read_back([good])
    status, _, _, message = server.grpc(TRACE_METHOD, export_request([short]))
    assert status == 0 and first(first(message, 1), 1) == 1


def test_malformed_bytes_refuse_everything_and_name_the_place():
    good = two_spans()
    body = export_request(good)
    answer = server.post("/v1/traces", body + b"\x0a\xff\x01ab")
    assert answer.status == 400, answer.status
    status = dict(fields(answer.body))
    assert status[1] == 3 and b"byte" in status[2], status
    assert server.get("/api/traces/" + good[0]["trace_id"].hex()).status == 404
    answer = server.post("/v1/traces", b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":7]}]}]}', JSON)
    status = json.loads(answer.body)
    assert answer.status == 400 and status["code"] == 3 and "resourceSpans" in status["message"], status
    code, text, _, _ = server.grpc(TRACE_METHOD, b"\x0a\xff\x01ab")
    assert code == 3 and "byte" in text, (code, text)


def test_broken_compression_is_the_senders_fault():
    assert server.post("/v1/traces", b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}).status == 400
    packed = gzip.compress(export_request(two_spans()))
    assert server.post("/v1/traces", packed[:-4], headers={"Content-Encoding": "gzip"}).status == 400


def test_a_compression_bomb_is_refused():
    bomb = gzip.compress(bytes(200 << 20), 9)
    answer = server.post("/v1/traces", bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status == 413, (answer.status, answer.text)


def test_a_body_that_says_it_is_too_long_is_refused_in_the_callers_words():
    before = server.metric('spanflame_requests_rejected_total{reason="too_large"}')
    for content_type in (JSON, PB):
        with socket.create_connection(("127.0.0.1", server.port), 20) as conn:
            conn.sendall(f"POST /v1/traces HTTP/1.1\r\nHost: h\r\nContent-Type: {content_type}\r\n"
                         f"Content-Length: {1 << 40}\r\n\r\n".encode())
            answer = http.client.HTTPResponse(conn)
            answer.begin()
            body = answer.read()
            assert (answer.status, answer.headers["Content-Type"]) == (413, content_type), (answer.status, body)
            code, text = ((json.loads(body)["code"], json.loads(body)["message"]) if content_type == JSON
                          else (first(body, 1), first(body, 2).decode()))
            assert code == 8 and "67108864 bytes" in text, (code, text)
    assert server.metric('spanflame_requests_rejected_total{reason="too_large"}') == before + 2


def test_wrong_content_types_and_encodings_get_415():
    assert server.post("/v1/traces", b"x", "text/plain").status == 415
    assert server.request("POST", "/v1/traces", b"x").status == 415
    assert server.post("/v1/traces", b"x", headers={"Content-Encoding": "br"}).status == 415


def test_wrong_methods_and_paths_say_what_is_right():
    answer = server.get("/v1/traces")
    assert answer.status == 405 and answer.headers["Allow"] == "POST", dict(answer.headers)
    answer = server.post("/v1/traces/", b"")
    assert answer.status == 404 and b"/v1/traces" in answer.body
    answer = server.post("/", b"")
    assert answer.status == 405 and b"/v1/traces" in answer.body
    assert server.get("/nothing").status == 404


def test_an_unknown_grpc_method_is_unimplemented():
    assert server.grpc("/opentelemetry.proto.collector.trace.v1.TraceService/Import", b"")[0] == 12
    assert server.grpc("/other.Service/Call", b"")[0] == 12


def test_other_signals_are_accepted_counted_and_said_once():
    for signal in ("metrics", "logs"):
        before = server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}')
        answer = server.post(f"/v1/{signal}", b"")
        assert (answer.status, answer.body) == (200, b""), answer.status
        assert server.post(f"/v1/{signal}", b"{}", JSON).body == b"{}"
        service = signal.capitalize()
        assert server.grpc(f"/opentelemetry.proto.collector.{signal}.v1.{service}Service/Export", b"")[0] == 0
        assert server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}') == before + 3
        assert server.log().count(f"OTLP {signal} are accepted and discarded") == 1


def test_the_answer_says_how_many_points_and_records_were_discarded_and_why():
    points = b"".join(field(5, b"".join(field(1, b"\x11" + bytes(8)) for _ in range(n))) for n in (2, 3))
    bodies = {"metrics": field(1, field(2, field(2, points))),
              "logs": field(1, field(2, b"".join(field(2, field(5, field(1, b"x"))) for _ in range(5))))}
    as_json = {"metrics": {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"sum": {"dataPoints": [{}] * 5}}]}]}]},
               "logs": {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}] * 5}]}]}}
    names = {"metrics": "rejectedDataPoints", "logs": "rejectedLogRecords"}
    for signal, body in bodies.items():
        sentence = f"spanflame stores traces and profiles; {signal} are discarded"
        want = field(1, b"\x08\x05" + field(2, sentence.encode()))
        before = server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}')
        for packed, headers in ((body, {}), (gzip.compress(body), {"Content-Encoding": "gzip"})):
            answer = server.post(f"/v1/{signal}", packed, headers=headers)
            assert (answer.status, answer.body) == (200, want), (answer.status, answer.body)
        answer = server.post(f"/v1/{signal}", json.dumps(as_json[signal]).encode(), JSON)
        assert answer.status == 200 and json.loads(answer.body) == {
            "partialSuccess": {names[signal]: "5", "errorMessage": sentence}}, answer.body
        method = f"/opentelemetry.proto.collector.{signal}.v1.{signal.capitalize()}Service/Export"
        code, said, _, answered = server.grpc(method, body)
        assert (code, answered) == (0, want), (code, said, answered)
        assert server.post(f"/v1/{signal}", body[:-1]).status == 400
        assert server.post(f"/v1/{signal}", b"{", JSON).status == 400
        bomb = server.post(f"/v1/{signal}", gzip.compress(bytes(200 << 20), 9), headers={"Content-Encoding": "gzip"})
        assert bomb.status == 413, bomb.status
        large = field(1, field(2, b"".join(field(2, bytes(3) + bytes(1 << 20)) for _ in range(12))))
        if signal == "logs":  # more than one small body may hold, in its turn
            for packed, headers in ((large, {}), (gzip.compress(large, 1), {"Content-Encoding": "gzip"})):
                answer = server.post("/v1/logs", packed, headers=headers)
                assert (answer.status, answer.body[3:5]) == (200, b"\x0c\x12"), (answer.status, answer.body)
        assert server.metric(f'spanflame_other_signals_total{{signal="{signal}"}}') > before
    assert server.log().count("server: traces and profiles are stored; OTLP metrics and logs are accepted, counted "
                              "and discarded") == 1, server.log()


def test_a_repeated_request_is_stored_once():
    spans = two_spans()
    body = export_request(spans)
    for _ in range(3):
        assert server.post("/v1/traces", body).status == 200
    read_back(spans)


def test_absurd_times_are_kept_as_sent():
    spans = [make_span(), make_span()]
    spans[1]["trace_id"] = spans[0]["trace_id"]
    spans[0].update(start=0, end=0)
    spans[1].update(start=2**63 + 5, end=1)
    server.send(spans)
    read_back(spans)


def test_one_connection_carries_many_requests():
    import http.client
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    began = time.monotonic()
    for _ in range(200):
        conn.request("POST", "/v1/traces", export_request([make_span()]), {"Content-Type": PB})
        answer = conn.getresponse()
        assert answer.status == 200
        answer.read()
    conn.close()
    print(f"# 200 acknowledged requests in {time.monotonic() - began:.2f} s")


def test_other_signals_can_be_rejected():
    with Server("other_signals: reject\n") as s:
        assert s.post("/v1/metrics", b"").status == 404
        assert s.grpc("/opentelemetry.proto.collector.logs.v1.LogsService/Export", b"")[0] == 12


def test_the_server_ends_in_order():
    assert server.stop() == 0, server.log()
    server.__exit__()


tap.run(sys.modules[__name__])
