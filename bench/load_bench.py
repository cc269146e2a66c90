#!/usr/bin/env python3
"""What does a span cost the server end to end, and how is that to the bare work on the same bytes?

Runs build/bench/load against a server of its own over HTTP and gRPC, plain and gzip, then the bare
work, a trace read back by id, a full scan of the disk after compaction, and a restart after kill -9.
Prints `name value unit`; ratios are of this run, machines are noisy."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
LOAD = os.path.join(ROOT, "build", "bench", "load")
BARE = os.path.join(ROOT, "build", "bench", "bare_bench")
SECONDS = os.environ.get("LOAD_SECONDS", "8")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, data):
        self.data, self.port = data, free_port()
        self.start()

    def start(self):
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.get("/ready")
                return time.monotonic() - begin
            except OSError:
                time.sleep(0.01)
                if self.process.poll() is not None:
                    sys.exit("load_bench: the server did not start")

    def get(self, path, method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                         data=b"" if method == "POST" else None,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        self.process.wait()


def load(server, *flags):
    out = subprocess.run([LOAD, "--url", f"http://127.0.0.1:{server.port}", "--seconds", f"{SECONDS}s",
                          "--pid", str(server.process.pid), "--data", server.data, *flags],
                         capture_output=True, text=True, check=True).stdout
    return {m[0]: float(m[1]) for m in re.findall(r"^(\w+) ([\d.]+) ", out, re.M)}


def show(prefix, values):
    units = {"load_rate": "spans/s", "load_server_cpu": "us/span", "load_cpu_to_durable": "us/span",
             "load_cpu_to_blocks": "us/span", "load_cpu_to_merged": "us/span", "load_server_peak_memory": "MB",
             "load_ack_p50": "ms", "load_ack_p99": "ms"}
    for name, unit in units.items():
        if name in values:
            print(f"{prefix}_{name[5:]} {values[name]:g} {unit}", flush=True)


def disk(data, below):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(os.path.join(data, below)) for f in files)


def wal_len(server):
    found = re.search(r"^spanflame_log_bytes(?:\{[^}]*\})? ([\d.e+]+)", server.get("/metrics"), re.M)
    return float(found.group(1)) if found else 0


def main():
    home = tempfile.mkdtemp(prefix="spanflame-load-bench-")
    try:
        bare = subprocess.run([BARE], capture_output=True, text=True, check=True).stdout
        bare_sum = {name: float(re.search(rf"{key} ([\d.]+)", bare).group(1))
                    for name, key in (("http", "bare_sum"), ("http_gzip", "bare_sum_gzip"))}
        print(f"bare_sum {bare_sum['http']} us/span\nbare_sum_gzip {bare_sum['http_gzip']} us/span", flush=True)
        n_spans = 0
        server = Server(os.path.join(home, "data"))
        for name, flags in [("http", []), ("http_gzip", ["--gzip"]), ("grpc", ["--protocol", "grpc"]),
                            ("grpc_gzip", ["--protocol", "grpc", "--gzip"]),
                            ("http_zstd", ["--zstd"])]:
            values = load(server, "--seed", str(len(name)), *flags)
            show(name, values)
            n_spans += values["load_spans"]
            if name in bare_sum:
                print(f"{name}_to_durable_to_bare {values['load_cpu_to_durable'] / bare_sum[name]:.2f} x", flush=True)
                print(f"{name}_all_to_bare {values['load_server_cpu'] / bare_sum[name]:.2f} x", flush=True)
        server.get("/api/v1/flush", "POST")
        # One more round stays in the log only: what a restart after kill -9 has to replay.
        n_spans += load(server, "--seed", "99")["load_spans"]
        pending = wal_len(server)
        server.stop(signal.SIGKILL)
        took = server.start()
        print(f"restart_after_kill {took:.3f} s", flush=True)
        if pending:
            print(f"restart_per_gb_of_log {took / (pending / 1e9):.2f} s/GB", flush=True)
        server.get("/api/v1/flush", "POST")
        print(f"disk_blocks {disk(server.data, 'spans') / (n_spans or 1):.1f} B/span", flush=True)
        server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
