#!/usr/bin/env python3
"""TLS as an operator sets it up, and what those are told who come without it."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from server import PB, Server, export_request, free_port, make_span, tap  # noqa: E402

folder = tempfile.mkdtemp(prefix="spanflame-tls-")
CERT, KEY = os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key")
tls_port = free_port()
server = None


def start():
    global server
    if server:
        return
    if not shutil.which("openssl"):
        raise tap.Skip("openssl is not here to make a certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", KEY, "-out", CERT],
                   check=True, capture_output=True)
    server = Server(has_listen=False)
    server.config = (f"listen:\n  - 127.0.0.1:{server.port}\n"
                     f"  - {{address: '127.0.0.1:{tls_port}', tls: {{cert: {CERT}, key: {KEY}}}}}\n")
    server.start()


def curl(*args, url=None, data=None):
    done = subprocess.run(["curl", "-sS", "--max-time", "20", "-o", "-", "-w", "\n%{http_code} %{http_version}", *args,
                           url or f"https://127.0.0.1:{tls_port}/ready"], input=data, capture_output=True, check=False)
    body, _, numbers = done.stdout.rpartition(b"\n")
    return done.returncode, body, numbers.decode()


def test_alpn_chooses_between_the_two_protocols():
    start()
    assert curl("--cacert", CERT, "--http1.1") == (0, b"ready\n", "200 1.1")
    assert curl("--cacert", CERT, "--http2") == (0, b"ready\n", "200 2")
    assert curl()[0] == 60, "who does not trust the certificate does not speak to it"


def test_spans_sent_over_tls_are_there():
    start()
    span = make_span()
    code, body, numbers = curl("--cacert", CERT, "-H", f"Content-Type: {PB}", "--data-binary", "@-",
                               url=f"https://127.0.0.1:{tls_port}/v1/traces", data=export_request([span]))
    assert (code, body, numbers) == (0, b"", "200 2"), (code, body, numbers)
    code, body, numbers = curl("--cacert", CERT, url=f"https://127.0.0.1:{tls_port}/api/v2/traces/" + span["trace_id"].hex())
    assert len(json.loads(body)["trace"]["resourceSpans"]) == 1


def test_plain_http_is_told_to_use_https_and_the_log_says_so():
    start()
    for n in range(1, 1000):  # a line a second at most, so another fault may have taken this second's
        code, body, numbers = curl("--http1.1", url=f"http://127.0.0.1:{tls_port}/ready")
        assert (code, body, numbers) == (0, b"this port speaks TLS: use https://\n", "400 1.1"), (code, body, numbers)
        said = re.findall(r".*plain HTTP came to a port with TLS.*", server.log())
        if said and n >= 5:
            break
    assert "127.0.0.1" in said[0] and "level=warn" in said[0], server.log()
    assert len(said) < n, "a stranger fills the log"
    assert server.metric('spanflame_protocol_faults_total{cause="tls"}') >= n


def test_old_tls_is_refused_and_the_log_says_why():
    start()
    for _ in range(1000):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{tls_port}", "-tls1_1", "-cipher",
                               "ALL:@SECLEVEL=0"], input=b"", capture_output=True, check=False)
        assert done.returncode != 0, done.stdout
        if re.search(r"TLS failed: .*(version|protocol)", server.log()):
            return
    raise AssertionError(server.log())


def test_client_certificates_open_a_public_address_to_those_who_have_one():
    start()
    port = free_port()
    s = Server(has_listen=False, wait=False)
    s.config = (f"listen:\n  - {{address: '0.0.0.0:{port}', tls: {{cert: {CERT}, key: {KEY}, client_ca: {CERT}}}}}\n"
                f"  - 127.0.0.1:{s.port}\n")
    with s:
        s.wait_until_ready()
        url = f"https://127.0.0.1:{port}/ready"
        assert curl("--cacert", CERT, url=url)[0] != 0, "no certificate, and it answers"
        assert curl("--cacert", CERT, "--cert", CERT, "--key", KEY, url=url)[:2] == (0, b"ready\n")


tap.run(sys.modules[__name__])
