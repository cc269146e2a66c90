#!/usr/bin/env python3
"""gRPC by Google's own client: calls, deadlines, pings, and what a refusal tells the sender to do."""
import os
import subprocess
import sys
import threading
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests"),
                os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from server import PROGRAM, Server, export_request, make_span, span_ids, tap  # noqa: E402

toolchain.again_with_python(__file__)

import grpc  # noqa: E402
import story  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc  # noqa: E402
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc  # noqa: E402
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LIBRARY = os.path.join(os.environ["BUILD_ROOT"], "tests", "libfaultfs.so")
UNBOUNDED = [("grpc.max_send_message_length", -1)]
server = Server().start()


def message(spans):
    return trace_service_pb2.ExportTraceServiceRequest.FromString(export_request(spans))


def channel_to(s, options=()):
    return grpc.insecure_channel(f"127.0.0.1:{s.port}", options=options)


def raw(channel, method=EXPORT):
    """Calls with bytes: for messages no library would make."""
    return channel.unary_unary(method, request_serializer=None, response_deserializer=None)


def refusal(call, *args, **more):
    """(status code, sentence, seconds to wait or None) of a call that must be refused"""
    try:
        call(*args, **more)
    except grpc.RpcError as e:
        delay = None
        for key, value in e.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                assert status.code == e.code().value[0] and status.message == e.details(), (status, e)
                for detail in status.details:
                    info = error_details_pb2.RetryInfo()
                    assert detail.Unpack(info), detail
                    delay = info.retry_delay.seconds + info.retry_delay.nanos / 1e9
        return e.code(), e.details(), delay
    raise AssertionError("it was not refused")


class Faulty:
    """`with Faulty() as (server, faults):`"""

    def __init__(self, **more):
        self.server = Server(**more)
        self.control = faultfs.Control(os.path.join(self.server.home, "faults"), LIBRARY)
        self.server.env = self.control.env(self.server.env)

    def __enter__(self):
        return self.server.start(), self.control

    def __exit__(self, *_):
        self.server.__exit__()
        self.control.close()


def test_calls_are_answered_and_visible_at_once():
    with channel_to(server) as channel:
        stub = trace_service_pb2_grpc.TraceServiceStub(channel)
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate):
            for _ in range(20):
                span = make_span()
                answer = stub.Export(message([span]), timeout=20, compression=compression)
                assert not answer.HasField("partial_success"), answer
                assert span_ids(server.get("/api/traces/" + span["trace_id"].hex())) == [span["span_id"]]


def test_a_hundred_calls_at_once_on_one_connection_are_all_answered():
    with channel_to(server) as channel:
        stub = trace_service_pb2_grpc.TraceServiceStub(channel)
        spans = [make_span() for _ in range(300)]
        for future in [stub.Export.future(message([span]), timeout=60) for span in spans]:
            future.result()
        for span in spans:
            assert span_ids(server.get("/api/traces/" + span["trace_id"].hex())) == [span["span_id"]]


def test_a_message_of_many_megabytes_passes_the_windows():
    trace = os.urandom(16)
    spans = [make_span(trace, attributes={"text": os.urandom(5000).hex()}) for _ in range(800)]
    with channel_to(server) as channel:
        trace_service_pb2_grpc.TraceServiceStub(channel).Export(message(spans), timeout=60)
    answer = server.get("/api/v2/traces/" + trace.hex(), {"Accept": "application/protobuf"})
    assert answer.status == 200 and len(answer.body) > 8_000_000, len(answer.body)


def test_a_span_with_a_bad_id_is_counted_in_the_answer():
    good = make_span()
    with channel_to(server) as channel:
        answer = trace_service_pb2_grpc.TraceServiceStub(channel).Export(
            message([good, make_span(span_id=b"short")]), timeout=20)
    assert answer.partial_success.rejected_spans == 1 and "span id" in answer.partial_success.error_message, answer
    assert span_ids(server.get("/api/traces/" + good["trace_id"].hex())) == [good["span_id"]]


def test_metrics_and_logs_are_taken_and_dropped():
    with channel_to(server) as channel:
        metrics_service_pb2_grpc.MetricsServiceStub(channel).Export(
            metrics_service_pb2.ExportMetricsServiceRequest(), timeout=20)
        logs_service_pb2_grpc.LogsServiceStub(channel).Export(logs_service_pb2.ExportLogsServiceRequest(), timeout=20)


def test_an_unknown_method_is_unimplemented():
    with channel_to(server) as channel:
        for method in (EXPORT + "More", "/no.such.Service/Call", "/opentelemetry.proto.collector.trace.v1.TraceService/"):
            code, text, delay = refusal(raw(channel, method), b"", timeout=20)
            assert code == grpc.StatusCode.UNIMPLEMENTED and text and delay is None, (method, code, text, delay)


def test_garbage_is_an_invalid_argument_with_its_place_and_no_retry():
    with channel_to(server) as channel:
        code, text, delay = refusal(raw(channel), b"\x0a\x05abc", timeout=20)
        assert code == grpc.StatusCode.INVALID_ARGUMENT and "byte" in text and delay is None, (code, text, delay)
        raw(channel)(export_request([make_span()]), timeout=20)  # the connection goes on


def test_a_message_over_the_limit_is_exhausted_without_a_retry():
    with Server(flags=["--set", "limits.body=1MiB", "--set", "limits.inflated=1MiB"]) as s:
        with channel_to(s, UNBOUNDED) as channel:
            for compression in (None, grpc.Compression.Gzip):  # on the wire, and inflated
                code, text, delay = refusal(raw(channel), bytes(3 << 20), timeout=20, compression=compression)
                assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and delay is None, (compression, code, text, delay)
                raw(channel)(export_request([make_span()]), timeout=20)


def test_a_message_over_the_standard_limit_is_exhausted_without_a_retry():
    with channel_to(server, UNBOUNDED) as channel:
        code, text, delay = refusal(raw(channel), bytes((64 << 20) + 1), timeout=60)
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and str(64 << 20) in text and delay is None, (code, text, delay)


def test_a_deadline_is_kept_by_the_server():
    with Faulty() as (s, faults):
        with channel_to(s) as channel:
            export = raw(channel)
            export(export_request([make_span()]), timeout=20)
            faults.set_sync_delay(3_000_000)
            faults.count(faultfs.SYNC)
            begin = time.monotonic()
            span = make_span()
            # A client's own clock would hide the server's: this one says its deadline and waits on.
            status, text, _, _ = s.grpc(EXPORT, export_request([span]), ["grpc-timeout: 300m"])
            took = time.monotonic() - begin
            assert status == 4 and took < 2.5, (status, text, took)
            code, _, _ = refusal(export, export_request([make_span()]), timeout=0.3)
            assert code == grpc.StatusCode.DEADLINE_EXCEEDED, code
            faults.set_sync_delay(0)
            export(export_request([make_span()]), timeout=20)


def pings_in(seen):
    """PING frames that are no answers, in what a client sent."""
    at, n = 24, 0  # behind the preface
    while at + 9 <= len(seen):
        n += seen[at + 3] == 6 and not seen[at + 4] & 1
        at += 9 + int.from_bytes(seen[at:at + 3], "big")
    return n


def test_pings_do_not_end_a_connection():
    wire = story.Wire(server.port)
    states = []
    options = [("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_timeout_ms", 5000),  # as often as this client can
               ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0),
               ("grpc.http2.min_time_between_pings_ms", 1)]
    with channel_to(wire, options) as channel:
        channel.subscribe(states.append)
        for _ in range(3):
            raw(channel)(export_request([make_span()]), timeout=20)
            time.sleep(2.2)
    wire.close()
    n = pings_in(wire.seen)
    print(f"# {n} pings")
    assert n >= 6, n
    assert grpc.ChannelConnectivity.TRANSIENT_FAILURE not in states and states.count(
        grpc.ChannelConnectivity.READY) == 1, states


def test_tokens_are_metadata():
    def token(name, scopes):
        said = subprocess.run([PROGRAM, "token", "new", "--name", name, "--scopes", scopes], capture_output=True,
                              text=True, check=True).stdout
        line = next(x.strip() for x in said.splitlines() if x.strip().startswith(f"{name}:"))
        return next(w for w in said.split() if len(w) > 20 and ":" not in w), line
    writer, writer_line = token("app", "write")
    reader, reader_line = token("eye", "read")
    s = Server("auth:\n  token_file: HOME/tokens\n")
    with open(os.path.join(s.home, "tokens"), "w", encoding="utf-8") as f:
        f.write(f"{writer_line}\n{reader_line}\n")
    os.chmod(f.name, 0o600)
    with s, channel_to(s) as channel:
        body = export_request([make_span()])
        assert refusal(raw(channel), body, timeout=20)[0] == grpc.StatusCode.UNAUTHENTICATED
        assert refusal(raw(channel), body, timeout=20, metadata=[("authorization", "Bearer nonsense")])[0] == \
            grpc.StatusCode.UNAUTHENTICATED
        code, text, _ = refusal(raw(channel), body, timeout=20, metadata=[("authorization", f"Bearer {reader}")])
        assert code == grpc.StatusCode.PERMISSION_DENIED and "write" in text, (code, text)
        raw(channel)(body, timeout=20, metadata=[("authorization", f"Bearer {writer}")])


def test_a_full_disk_is_unavailable_with_a_retry_and_an_sdk_comes_back_by_itself():
    with Faulty(flags=["--set", "retention.min_free=1MB"]) as (s, faults):
        with channel_to(s) as channel:
            raw(channel)(export_request([make_span()]), timeout=20)
            faults.set_free(0)
            end = time.monotonic() + 10
            while s.get("/ready").status == 200 and time.monotonic() < end:
                time.sleep(0.02)
            code, text, delay = refusal(raw(channel), export_request([make_span()]), timeout=20)
            assert code == grpc.StatusCode.UNAVAILABLE and delay and delay > 0, (code, text, delay)
            threading.Timer(1.0, faults.set_free, [None]).start()
            env = story.environment("shop-python", f"http://127.0.0.1:{s.port}", "grpc", "gzip")
            env["OTEL_EXPORTER_OTLP_TIMEOUT"] = "30"
            done = subprocess.run([sys.executable, os.path.join(toolchain.HERE, "python", "send.py"), "grpc",
                                   str(time.time_ns() - 10**9)], capture_output=True, text=True, env=env, timeout=60,
                                  check=False)
            assert done.returncode == 0, done.stderr


def test_a_slow_disk_pushes_back_with_a_retry_and_recovers():
    with Faulty(flags=["--memory", "64MiB"]) as (s, faults):
        with channel_to(s) as channel:
            export = raw(channel)
            export(export_request([make_span()]), timeout=20)
            faults.set_sync_delay(2_000_000)
            faults.count(faultfs.SYNC)
            text = os.urandom(20000).hex()
            bodies = [export_request([make_span(attributes={"text": text}) for _ in range(25)]) for _ in range(100)]
            calls = [export.future(body, timeout=60) for body in bodies]
            pushed = n_ok = 0
            for call in calls:
                if call.exception() is None:
                    n_ok += 1
                    continue
                code, text, delay = refusal(call.result)
                assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and delay and delay >= 1, (code, text, delay)
                pushed += 1
            print(f"# of 100 MB behind a disk that syncs in 2 s: {n_ok} calls answered, {pushed} told to come back")
            assert pushed > 0 and n_ok > 0, (n_ok, pushed)
            faults.set_sync_delay(0)
            end = time.monotonic() + 20
            while True:
                try:
                    export(export_request([make_span()]), timeout=20)
                    break
                except grpc.RpcError as e:
                    assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and time.monotonic() < end, e
                    time.sleep(0.1)


def test_a_channel_outlives_a_restart():
    with Server() as s, channel_to(s) as channel:
        raw(channel)(export_request([make_span()]), timeout=20)
        assert s.stop() == 0
        s.start()
        raw(channel)(export_request([make_span()]), timeout=30, wait_for_ready=True)


def test_tls_with_a_client_certificate_works_and_without_one_does_not():
    s = Server(wait=False)
    path = lambda name: os.path.join(s.home, name)
    for who in ("server", "client"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", f"/CN={who}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", path(who + ".key"), "-out", path(who + ".crt")], check=True, capture_output=True)
    port = story.socket.create_server(("127.0.0.1", 0))
    number = port.getsockname()[1]
    port.close()
    s.config = (f"listen:\n  - address: \"127.0.0.1:{number}\"\n    tls: {{cert: HOME/server.crt, key: HOME/server.key, "
                "client_ca: HOME/client.crt}\n")
    read = lambda name: open(path(name), "rb").read()
    whole = grpc.ssl_channel_credentials(read("server.crt"), read("client.key"), read("client.crt"))
    bare = grpc.ssl_channel_credentials(read("server.crt"))
    # --listen would replace the list of the file.
    with open(path("tls.yaml"), "w", encoding="utf-8") as f:
        f.write(s.config.replace("HOME", s.home))
    log = open(path("log"), "w+", encoding="utf-8")
    process = subprocess.Popen([PROGRAM, "serve", "--data", s.data, "--config", path("tls.yaml")], stderr=log, stdout=log)
    try:
        with grpc.secure_channel(f"127.0.0.1:{number}", whole) as channel:
            end = time.monotonic() + 60
            while True:  # it listens a moment before its store is open
                try:
                    raw(channel)(export_request([make_span()]), timeout=30, wait_for_ready=True)
                    break
                except grpc.RpcError as e:
                    assert e.code() == grpc.StatusCode.UNAVAILABLE and time.monotonic() < end, e
                    time.sleep(0.1)
        with grpc.secure_channel(f"127.0.0.1:{number}", bare) as channel:
            code, text, _ = refusal(raw(channel), export_request([make_span()]), timeout=10)
            assert code == grpc.StatusCode.UNAVAILABLE, (code, text)
        with grpc.insecure_channel(f"127.0.0.1:{number}") as channel:
            assert refusal(raw(channel), b"", timeout=10)[0] == grpc.StatusCode.UNAVAILABLE
    finally:
        process.terminate()
        assert process.wait(30) == 0, open(log.name, encoding="utf-8").read()
        s.__exit__()


tap.run(sys.modules[__name__])
