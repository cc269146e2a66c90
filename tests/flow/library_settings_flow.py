#!/usr/bin/env python3
"""The variables of OpenTelemetry, Pyroscope and Spanflame, as a program and the server it sends to see them."""
import gzip
import http.server
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]
HOME = library_home.folder("library-settings")
PREFIX = os.path.join(HOME, "prefix")
ENV = library_home.install(PREFIX)


class Listener(http.server.BaseHTTPRequestHandler):
    """Keeps what comes and says yes."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers, body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def listener():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run(*argv, **more):
    return library_home.run(*argv, **dict({"env": ENV}, **more))


def build():
    out = os.path.join(HOME, "stranger")
    run("cc", "-Wall", "-Werror", os.path.join(SOURCE, "tests", "flow", "library", "stranger.c"), "-o", out,
        *run("pkg-config", "--cflags", "--libs", "spanflame").split(), "-Wl,-rpath," + os.path.join(PREFIX, "lib"))
    return out


STRANGER = build()


def tell(*argv, **env):
    """What the program said: word -> rest of the line."""
    lines = run(STRANGER, *argv, env=dict(ENV, **dict({"SPANFLAME_PROFILES": "none"}, **env))).splitlines()
    return {line.split(" ", 1)[0]: (line + " ").split(" ", 1)[1].strip() for line in lines}


def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def plain(request):
    path, headers, body = request
    return gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body


def test_name_resource_headers_and_compression_are_on_the_request():
    to = listener()
    tell("make", OTEL_EXPORTER_OTLP_ENDPOINT=url(to) + "/root", OTEL_SERVICE_NAME="by-name",
         OTEL_RESOURCE_ATTRIBUTES="service.name=not-this,team=a%20b", OTEL_EXPORTER_OTLP_HEADERS="x-one=1,x-two=a%3Db")
    path, headers, _ = to.seen[0]
    assert path == "/root/v1/traces" and headers["Content-Type"] == "application/x-protobuf", to.seen
    assert (headers["X-One"], headers["X-Two"], headers["Content-Encoding"]) == ("1", "a=b", "gzip"), headers
    body = plain(to.seen[0])
    assert b"by-name" in body and b"not-this" not in body and b"a b" in body and b"telemetry.sdk.language" in body, body


def test_variables_of_traces_go_before_the_general_ones():
    to, other = listener(), listener()
    tell("make", OTEL_EXPORTER_OTLP_ENDPOINT=url(other), OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=url(to) + "/as-it-stands",
         OTEL_EXPORTER_OTLP_COMPRESSION="gzip", OTEL_EXPORTER_OTLP_TRACES_COMPRESSION="none",
         OTEL_EXPORTER_OTLP_HEADERS="x-one=1", OTEL_EXPORTER_OTLP_TRACES_HEADERS="x-one=2")
    path, headers, body = to.seen[0]
    assert (path, headers["X-One"], other.seen) == ("/as-it-stands", "2", []), (to.seen, other.seen)
    assert "Content-Encoding" not in headers and b"made" in body, headers


def test_pyroscope_s_address_is_used_when_there_is_no_other():
    to, other = listener(), listener()
    tell("make", PYROSCOPE_SERVER_ADDRESS=url(to))
    assert to.seen[0][0] == "/v1/traces", to.seen
    tell("make", PYROSCOPE_SERVER_ADDRESS=url(to), OTEL_EXPORTER_OTLP_ENDPOINT=url(other))
    assert len(to.seen) == 1 and len(other.seen) == 1, (to.seen, other.seen)


def test_profiles_go_to_their_path_with_the_same_headers():
    to = listener()
    tell("make", OTEL_EXPORTER_OTLP_ENDPOINT=url(to), OTEL_EXPORTER_OTLP_HEADERS="x-one=1", SPANFLAME_PROFILES="threads")
    paths = {path: headers["X-One"] for path, headers, _ in to.seen}
    assert paths == {"/v1/traces": "1", "/v1development/profiles": "1"}, paths


def test_headers_bring_a_token_over_both_protocols():
    made = run(PROGRAM, "token", "new", "--name", "x", "--scopes", "write")
    token, line = [text for text in made.splitlines() if text and not text.startswith("#")]
    path = os.path.join(HOME, "tokens")
    with open(path, "w", encoding="ascii") as f:
        os.chmod(path, 0o600)
        f.write(line + "\n")
    server = Server(f"auth:\n  token_file: {path}\n").start()
    for protocol in ("http/protobuf", "grpc"):
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.port}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        said = tell("make", OTEL_EXPORTER_OTLP_HEADERS=f"authorization=Bearer%20{token}", **env)
        assert (said["sent"], said["refused"], said["flushed"]) == ("1", "0", "0"), (protocol, said)
        said = tell("make", OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20wrong", **env)
        assert (said["sent"], said["refused"]) == ("0", "1"), (protocol, said)


def test_samplers_keep_all_none_or_a_share():
    to = listener()
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url(to)}
    assert tell("make", "100", OTEL_TRACES_SAMPLER="always_off", **env)["unsampled"] == "100" and not to.seen
    assert tell("make", "100", OTEL_TRACES_SAMPLER="always_on", **env)["sent"] == "100"
    said = tell("make", "10000", OTEL_TRACES_SAMPLER="parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG="0.25", **env)
    assert abs(int(said["queued"]) - 2500) < 6 * 43.3, said  # six standard deviations: by chance twice in 10^9 runs
    assert int(said["queued"]) + int(said["unsampled"]) == 10000, said


def test_a_remote_parent_decides_for_its_children():
    to = listener()
    parent = "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-"
    said = tell("carries", parent + "00", "a=1", OTEL_EXPORTER_OTLP_ENDPOINT=url(to))
    assert said["unsampled"] == "1" and said["traceparent"].endswith("-00") and not to.seen, said


def test_a_context_comes_in_and_goes_out_with_its_state():
    server = Server().start()
    trace, parent = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
    said = tell("carries", f"00-{trace}-{parent}-01", "vendor=x,other=y", OTEL_SERVICE_NAME="carries",
                OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.port}")
    assert said["tracestate"] == "vendor=x,other=y" and said["sent"] == "1", said
    version, out_trace, span_id, flags = said["traceparent"].split("-")
    assert (version, out_trace, flags) == ("00", trace, "01") and span_id != parent, said
    span = server.json(f"/api/traces/{trace}")["batches"][0]["scopeSpans"][0]["spans"][0]
    assert span["traceState"] == "vendor=x,other=y" and span["kind"] == "SPAN_KIND_SERVER", span
    link, event = span["links"][0], span["events"][0]
    assert link["traceState"] == "vendor=x,other=y", link
    assert link["attributes"] == [{"key": "why", "value": {"stringValue": "batch"}}], link
    assert event["name"] == "tried" and event["attributes"][0]["key"] == "tries", event


def test_a_request_is_given_up_after_its_timeout():
    with socket.socket() as s:  # takes connections and never answers
        s.bind(("127.0.0.1", 0))
        s.listen(8)
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{s.getsockname()[1]}"}
        short = tell("make", "1", "3000", OTEL_EXPORTER_OTLP_TIMEOUT="100", **env)
        assert short["flushed"] == "-1" and int(short["failed"]) >= 1, short
        assert tell("make", "1", "500", OTEL_EXPORTER_OTLP_TIMEOUT="600000", **env)["failed"] == "0"


def test_a_call_goes_before_the_environment_and_that_before_the_file():
    to = listener()
    path = os.path.join(HOME, "spanflame.yaml")
    with open(path, "w", encoding="ascii") as f:
        f.write("profiling:\n  cpu: {enabled: true}\n  memory: {enabled: false}\n")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url(to), "SPANFLAME_CONFIG": path, "OTEL_SERVICE_NAME": "by-variable"}
    assert tell("make", SPANFLAME_PROFILES="", **env)["profiling"] == "1"
    assert tell("make", SPANFLAME_PROFILES="wall", **env)["profiling"] == "2"
    assert tell("override", SPANFLAME_PROFILES="wall", **env)["profiling"] == "32"
    assert b"by-call" in plain(to.seen[-1]) and b"by-variable" not in plain(to.seen[-1])


def check_config(*argv):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SPANFLAME_")}
    return json.loads(run(PROGRAM, "check-config", "--output", "json", *argv, env=env))


SERVERS_OWN = ("profiling.conditional.flagged", "profiling.conditional.rules")


def test_every_key_of_the_profiling_block_is_read():
    keys = {s["key"]: s["value"] for s in check_config()["settings"] if s["key"].startswith("profiling.")}
    for key in SERVERS_OWN:  # what a server keeps; a program has nothing to do with it
        del keys[key]
        assert tell("make", "0", **{"SPANFLAME_" + key.replace(".", "_").upper(): "nonsense"})["problem"] == ""
    for key in keys:
        variable = "SPANFLAME_" + key.replace(".", "_").upper()
        said = tell("make", "0", **{variable: "nonsense"})["problem"]
        assert said == f"{variable}: 'nonsense' is not a valid value; the default is used", (key, said)
        assert tell("make", "0", **{variable: keys[key]})["problem"] == "", key
    said = check_config(*[w for key in keys for w in ("--set", f"{key}={keys[key]}")])["warnings"]
    assert len(keys) > 20 and all(": used by collectors only" in w for w in said), (len(keys), said)


def test_a_disabled_sdk_makes_nothing():
    to = listener()
    said = tell("make", "10", OTEL_SDK_DISABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT=url(to), SPANFLAME_PROFILES="cpu")
    assert (said["started"], said["profiling"], to.seen) == ("0", "0", []), said


tap.run(sys.modules[__name__])
