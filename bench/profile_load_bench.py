#!/usr/bin/env python3
"""What does a sample cost the server end to end, and how is that to the bare work on the same bytes?

Runs build/bench/load --profiles against a server of its own: gzip pprof with one value a sample and
with Go's two, then OTLP over HTTP and gRPC. After each round everything is flushed and merged, so
that bytes on disk are those of blocks. Prints `name value unit`; ratios are of this run."""
import os
import re
import shutil
import subprocess
import tempfile
import time

from load_bench import ROOT, Server, disk, load

BARE = os.path.join(ROOT, "build", "bench", "profile_bare_bench")
ROUNDS = [("pprof", []), ("pprof_go", ["--sample-types", "2"]), ("otlp", ["--format", "otlp"]),
          ("otlp_gzip", ["--format", "otlp", "--gzip"]),
          ("otlp_grpc", ["--format", "otlp", "--protocol", "grpc"])]
UNITS = {"load_rate": "samples/s", "load_profiles": "profiles/s", "load_server_cpu": "us/sample",
         "load_server_cpu_per_million": "s", "load_cpu_to_durable": "us/sample",
         "load_cpu_to_blocks": "us/sample", "load_cpu_to_merged": "us/sample",
         "load_server_peak_memory": "MB", "load_pushed_back": "requests", "load_ack_p50": "ms",
         "load_ack_p99": "ms"}


def settled(server):
    """Bytes of blocks once the flush is done and merging has come to rest."""
    server.get("/api/v1/flush", "POST")
    before = -1
    for _ in range(30):
        now = disk(server.data, "prof")
        if now == before:
            break
        before = now
        time.sleep(1)
    return before


def main():
    bare = subprocess.run([BARE], capture_output=True, text=True, check=True).stdout
    print(bare, end="", flush=True)
    bare_sum = float(re.search(r"profile_bare_sum ([\d.]+)", bare).group(1))
    for name, flags in ROUNDS:
        home = tempfile.mkdtemp(prefix="spanflame-profile-load-bench-")
        try:
            server = Server(os.path.join(home, "data"))
            values = load(server, "--profiles", *flags)
            for key, unit in UNITS.items():
                if key in values:
                    print(f"{name}_{key[5:]} {values[key]:g} {unit}", flush=True)
            print(f"{name}_disk {settled(server) / values['load_samples']:.2f} B/sample", flush=True)
            if name == "pprof":
                print(f"pprof_to_durable_to_bare {values['load_cpu_to_durable'] / bare_sum:.2f} x", flush=True)
                print(f"pprof_all_to_bare {values['load_server_cpu'] / bare_sum:.2f} x", flush=True)
            server.stop()
        finally:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
