#!/usr/bin/env python3
"""A page of somebody else, in a real browser on the machine of a server without tokens."""
import http.server
import os
import sys
import threading

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import Server, free_port, make_span  # noqa: E402
import chromium  # noqa: E402


class Site(http.server.BaseHTTPRequestHandler):
    """The other site: an empty page, whatever is asked for; the test brings the script."""

    def do_GET(self):
        body = b"<!doctype html><title>a site</title><p>hello"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


chromium.need()
site = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
port = site.server_address[1]
with Server(f"cors:\n  origins: [http://friend.example:{port}]\n") as server:
    span = make_span()
    server.send([span])
    code = chromium.drive("hostile.mjs", {
        "url": f"http://127.0.0.1:{server.port}", "port": server.port, "sitePort": port, "trace": span["trace_id"].hex(),
        "args": ["--host-resolver-rules=MAP evil.example 127.0.0.1, MAP friend.example 127.0.0.1"]}, "page-shots")
sys.exit(code)
