"""fault_house.py - a real server under the fault shim, and the spans it acknowledged."""
import glob
import os
import random
import shutil
import subprocess
import sys
import threading
import time

from support import server_rig as rig
from support.faultfs import faultfs

# How soon is a query to a machine that does nothing else: the short form asks whether.
IS_SHORT = rig.scale() < 1
TELLS_WITHIN_S = 60.0 if IS_SHORT else 1.0
RECOVERS_WITHIN_S = 60.0 if IS_SHORT else 10.0
LIBRARY = os.path.join(os.environ.get("BUILD_ROOT", "build"), "tests", "libfaultfs.so")


class House:
    """A server with its faults and the spans it acknowledged."""

    def __init__(self, rng, name, settings=None):
        self.rng = rng
        self.folder = rig.scratch(f"sf_faults.{name}.")
        self.data = os.path.join(self.folder, "data")
        self.control = faultfs.Control(os.path.join(self.folder, "faults"), LIBRARY)
        self.settings = {"retention.min_free": "1MB"} | (settings or {})
        self.server = rig.Server(self.data, env=self.control.env(), settings=self.settings)
        self.acked = []

    def close(self):
        self.server.kill()
        self.control.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, client=None, n=5):
        """True when acknowledged, False when refused."""
        own = client or self.server.client()
        trace = rig.new_trace(self.rng)
        spans = [rig.new_span(self.rng, trace, "work") for _ in range(n)]
        body, headers = rig.make_request(self.rng, "shop", spans)
        try:
            if rig.post(own, body, headers):
                self.acked.append(spans)
                return True
            return False
        finally:
            if not client:
                own.close()

    def fill(self, n):
        client = self.server.client()
        for _ in range(n):
            if not self.send(client):
                raise AssertionError("a well server refuses: " + self.server.ready()[1])
        client.close()

    def flush(self):
        client = self.server.client()
        status, _, body = client.call("POST", "/api/v1/flush", headers={"Content-Type": "application/json"})
        client.close()
        if status != 200:
            raise AssertionError(f"flush: {status} {body[:200]!r}")

    def missing(self):
        """Sentences on what is not there as it was acknowledged."""
        client = self.server.client()
        faults = []
        for spans in list(self.acked):
            faults += rig.faults_of_trace(rig.get_trace(client, spans[0].trace), spans)
        client.close()
        return faults

    def until(self, is_so, within):
        """Seconds until it is so; None when it is not in time."""
        start = time.monotonic()
        while time.monotonic() - start < within:
            if is_so():
                return time.monotonic() - start
            time.sleep(0.01)
        return None

    def until_ready(self, want, within):
        return self.until(lambda: self.server.ready()[0] == want, within)


class Sender(threading.Thread):
    """Keeps sending, so that the server meets its disk; every answer counts."""

    def __init__(self, house):
        super().__init__(daemon=True)
        self.house = house
        self.stop = threading.Event()
        self.n_refused = 0
        self.fault = None

    def run(self):
        client = rig.Client(self.house.server.port, timeout=30)
        while not self.stop.is_set():
            try:
                if not self.house.send(client):
                    self.n_refused += 1
                    time.sleep(0.02)
            except rig.Gone as e:
                if not self.house.server.is_alive():
                    self.fault = f"the server is gone: {e}"
                    return
            except AssertionError as e:
                self.fault = str(e)
                return
        client.close()


def block_files(house):
    return sorted(os.path.relpath(p, house.data)
                  for p in glob.glob(os.path.join(house.data, "spans", "**", "*.sfs"), recursive=True))


def run_parts(parts):
    """Runs {name: function(tap, rng)}, or those named on the command line; the exit status."""
    tap = rig.Tap()
    rng = rig.seeded()
    for name, part in parts.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            part(tap, random.Random(rng.random()))
        except (rig.Gone, AssertionError, OSError, subprocess.SubprocessError) as e:
            tap.check(False, f"{name}: runs to its end", f"{type(e).__name__}: {e}")
    return tap.end()
