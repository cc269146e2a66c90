#!/usr/bin/env python3
"""fake_server.py serve --data DIR --listen HOST:PORT - just enough of the API to test the tests.

Keeps requests in one synced file and everything else in memory. $FAKE makes it worse than it should be: `lossy`
acknowledges some requests without keeping them, `double` does not recognise a request that is sent again, `changes`
returns wrong times and values, `forgets` brings back what was erased; `lossy profiles` and `double profiles` treat
only profiles so. A test of the real server is only worth something if
it notices each of these.
"""
import base64
import gzip
import json
import os
import signal
import struct
import sys
import threading
import time
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAKE = os.environ.get("FAKE", "")


def varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if not b[i - 1] & 128:
            return n, i


def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            value, i = varint(b, i)
        elif key & 7 == 1:
            value = struct.unpack_from("<Q", b, i)[0]
            i += 8
        else:
            n, i = varint(b, i)
            value = b[i:i + n]
            i += n
        yield key >> 3, value


def attribute(b):
    pair = dict(fields(b))
    return dict(fields(pair[2]))[1].decode()


def decode_pb(body):
    for _, resource_spans in fields(body):
        service = ""
        for number, value in fields(resource_spans):
            if number == 1:
                service = attribute(dict(fields(value))[1])
                continue
            for _, span in fields(value):
                f = dict(fields(span))
                yield service, f[1], f[2], f[5].decode(), f[7], f[8], attribute(f[9])


def decode_json(body):
    for rs in json.loads(body)["resourceSpans"]:
        service = rs["resource"]["attributes"][0]["value"]["stringValue"]
        for s in rs["scopeSpans"][0]["spans"]:
            yield (service, bytes.fromhex(s["traceId"]), bytes.fromhex(s["spanId"]), s["name"],
                   int(s["startTimeUnixNano"]), int(s["endTimeUnixNano"]), s["attributes"][0]["value"]["stringValue"])


def decode_pprof(body):
    """(path, span, value) of every sample."""
    strings, functions, samples = [], {}, []
    for number, value in fields(gzip.decompress(body)):
        if number == 6:
            strings.append(value.decode())
        elif number == 5:
            f = dict(fields(value))
            functions[f[1]] = f[2]
        elif number == 2:
            samples.append(dict(fields(value)))
    for s in samples:
        label = dict(fields(s[3]))
        yield ";".join(strings[functions[i]] for i in reversed(s[1])), strings[label[2]], s[2]


class Store:
    def __init__(self, folder):
        os.makedirs(os.path.join(folder, "wal"), exist_ok=True)
        self.lock = threading.Lock()
        self.traces, self.erased, self.seen, self.counts = {}, set(), set(), {}
        self.samples = []
        self.fd = os.open(os.path.join(folder, "wal", "log"), os.O_RDWR | os.O_CREAT, 0o600)
        self.off = 0
        self.replay()

    def replay(self):
        raw = os.pread(self.fd, 1 << 30, 0)
        while self.off + 8 <= len(raw):
            n, check = struct.unpack_from("<II", raw, self.off)
            record = raw[self.off + 8:self.off + 8 + n]
            if len(record) < n or zlib.crc32(record) != check:
                break
            self.apply(record)
            self.off += 8 + n

    def log(self, record):
        framed = struct.pack("<II", len(record), zlib.crc32(record)) + record
        os.pwrite(self.fd, framed, self.off)
        os.fdatasync(self.fd)
        self.off += len(framed)

    def apply(self, record):
        kind, body = record[:1], record[1:]
        if kind == b"e":
            self.erased.add(body)
            return
        if record in self.seen and FAKE != "double" and not (FAKE == "double profiles" and kind == b"i"):
            return
        self.seen.add(record)
        if kind == b"i":
            service, _, pprof = body.partition(b"\0")
            self.samples += [(service.decode(),) + sample for sample in decode_pprof(pprof)]
            return
        for span in (decode_json if kind == b"j" else decode_pb)(body):
            self.traces.setdefault(span[1], {})[span[2]] = span
            key = (span[0], span[3])
            self.counts[key] = self.counts.get(key, 0) + 1

    def put(self, record):
        with self.lock:
            loses = {"lossy": (b"jpi", 50), "lossy profiles": (b"i", 8)}.get(FAKE, (b"", 1))
            if not (record[:1] in loses[0] and zlib.crc32(record) % loses[1] == 0):
                self.log(record)
                self.apply(record)
        if FAKE.startswith("double") and zlib.crc32(record) % 4 == 0:
            time.sleep(0.03)  # a kill is to come between the log and the answer

    def spans(self, trace):
        with self.lock:
            if trace in self.erased and FAKE != "forgets":
                return []
            return [{"spanId": base64.b64encode(s[2]).decode(), "name": s[3],
                     "startTimeUnixNano": str(s[4] + (FAKE == "changes" and s[2][0] % 50 == 0)),
                     "endTimeUnixNano": str(s[5]), "attributes": [{"key": "note", "value": {"stringValue": s[6]}}]}
                    for s in self.traces.get(trace, {}).values()]

    def folded(self, service, span):
        out = {}
        with self.lock:
            for s, path, span_of, value in self.samples:
                if s == service and span in ("", span_of):
                    out[path] = out.get(path, 0) + value + (FAKE == "changes" and value % 7 == 0)
        return "".join(f"{path} {value}\n" for path, value in out.items())

    def series(self):
        """As SelectSeries answers: one point for each service."""
        sums = {}
        with self.lock:
            for service, _, _, value in self.samples:
                sums[service] = sums.get(service, 0) + value
        return {"series": [{"labels": [{"name": "service_name", "value": service}], "points": [{"value": value}]}
                           for service, value in sums.items()]}

    def services(self):
        out = {}
        with self.lock:
            for (service, operation), n in self.counts.items():
                out.setdefault(service, []).append({"operation": operation, "spans": n})
        return [{"service": s, "operations": o} for s, o in out.items()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    store = None

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        is_json = self.headers.get("Content-Type") == "application/json"
        if self.path == "/v1/traces":
            self.store.put((b"j" if is_json else b"p") + body)
        elif self.path.startswith("/ingest?"):
            service = urllib.parse.parse_qs(self.path.partition("?")[2])["name"][0]
            self.store.put(b"i" + service.encode() + b"\0" + body)
        elif self.path == "/api/v1/erase":
            self.store.put(b"e" + bytes.fromhex(json.loads(body)["traces"][0]))
        is_series = self.path.endswith("/SelectSeries")
        self.answer(200, json.dumps(self.store.series()).encode() if is_series else b"{}" if is_json else b"")

    def do_GET(self):
        if self.path.startswith("/api/traces/"):
            spans = self.store.spans(bytes.fromhex(self.path[len("/api/traces/"):]))
            self.answer(200 if spans else 404, json.dumps({"batches": [{"scopeSpans": [{"spans": spans}]}]}).encode())
        elif self.path.startswith("/api/v1/profile?"):
            asked = urllib.parse.parse_qs(self.path.partition("?")[2])
            self.answer(200, self.store.folded(asked["service"][0], asked.get("span_id", [""])[0]).encode())
        elif self.path.startswith("/api/v1/services"):
            self.answer(200, json.dumps({"services": self.store.services()}).encode())
        else:
            self.answer(200, b"ready")


def main():
    if sys.argv[1] != "serve":
        return 0
    port = int(sys.argv[sys.argv.index("--listen") + 1].rsplit(":", 1)[1])
    Handler.store = Store(sys.argv[sys.argv.index("--data") + 1])
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
