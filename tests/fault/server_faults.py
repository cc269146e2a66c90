#!/usr/bin/env python3
"""server_faults - a real server on a disk and a clock that misbehave.

Disk full, EIO on write and on sync, torn writes, flipped bits and cut files, a second server on the directory, clock
jumps of a day both ways, a lost catalogue. Each time: no crash, no silent loss, /ready tells within a second, and
all is well again without hands when the fault is over.
"""
import errno
import glob
import os
import random
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

TELLS_WITHIN_S = 1.0
RECOVERS_WITHIN_S = 10.0
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
        status, _, body = client.call("POST", "/api/v1/flush")
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

    def until_ready(self, want, within):
        """Seconds until /ready answers `want`; None when it does not in time."""
        start = time.monotonic()
        while time.monotonic() - start < within:
            if self.server.ready()[0] == want:
                return time.monotonic() - start
            time.sleep(0.01)
        return None


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


def outage(tap, rng, name, begin, end):
    """The disk fails under load and comes back."""
    house = House(rng, name.replace(" ", "_").replace(",", ""))
    try:
        if not tap.check(house.server.start(), f"{name}: starts", house.server.log_tail()):
            return
        house.fill(20)
        senders = [Sender(house) for _ in range(3)]  # the log holds what it took; others meet the refusal
        for s in senders[:2]:
            s.start()
        time.sleep(0.1)
        begin(house)
        told = house.until_ready(503, 5)
        reason = house.server.ready()[1]
        senders[2].start()
        time.sleep(0.3)
        tap.check(told is not None and told <= TELLS_WITHIN_S, f"{name}: /ready tells within a second",
                  f"after {told} s; says {house.server.ready()}")
        tap.check(len(reason) > 5, f"{name}: and why", reason)
        tap.check(house.server.is_alive(), f"{name}: lives on", house.server.log_tail())
        before = house.acked[:20]
        client = house.server.client()
        faults = sum((rig.faults_of_trace(rig.get_trace(client, s[0].trace), s) for s in before), [])
        client.close()
        tap.check(not faults, f"{name}: reads go on", "\n".join(faults[:5]))
        end(house)
        back = house.until_ready(200, RECOVERS_WITHIN_S)
        tap.check(back is not None, f"{name}: comes back by itself", f"{house.server.ready()}\n{house.server.log_tail()}")
        n_before = len(house.acked)
        time.sleep(0.3)
        for s in senders:
            s.stop.set()
        for s in senders:
            s.join(40)
        n_refused = sum(s.n_refused for s in senders)
        wrong = [s.fault for s in senders if s.fault]
        tap.check(not wrong and n_refused > 0, f"{name}: senders were told to come back", f"{wrong}; {n_refused} refused")
        tap.check(len(house.acked) > n_before, f"{name}: and are served again")
        faults = house.missing()
        tap.check(not faults, f"{name}: nothing acknowledged is missing", "\n".join(faults[:5]))
        house.server.kill()
        tap.check(house.server.start(), f"{name}: starts after a kill", house.server.log_tail())
        faults = house.missing()
        tap.check(not faults, f"{name}: nor after the restart", "\n".join(faults[:5]))
        tap.check(house.server.stop() == 0, f"{name}: stops in order", house.server.log_tail())
    finally:
        house.close()


def disk_outages(tap, rng):
    def arm(calls, error, mode=faultfs.FAIL):
        return lambda h: h.control.arm(calls, error=error, mode=mode, path=h.data)

    def disarm(h):
        h.control.disarm()

    def full(h):
        h.control.set_free(1000)
        h.control.arm(faultfs.WRITE | faultfs.ALLOCATE | faultfs.OPEN | faultfs.MKDIR, error=errno.ENOSPC, path=h.data + "/")

    def room(h):
        h.control.set_free(None)
        h.control.disarm()

    outage(tap, rng, "disk full", full, room)
    outage(tap, rng, "little space left", lambda h: h.control.set_free(100_000), lambda h: h.control.set_free(None))
    outage(tap, rng, "EIO on write", arm(faultfs.WRITE, errno.EIO), disarm)
    outage(tap, rng, "EIO on sync", arm(faultfs.SYNC, errno.EIO), disarm)
    outage(tap, rng, "torn writes", arm(faultfs.WRITE, errno.EIO, faultfs.TORN), disarm)


def starts_on_a_full_disk(tap, rng):
    house = House(rng, "full_start")
    try:
        tap.check(house.server.start(), "full disk at the start: was well before", house.server.log_tail())
        house.fill(10)
        house.server.kill()
        house.control.set_free(1000)
        house.server.start(wait=False)
        told = house.until_ready(503, 10)
        tap.check(told is not None and house.server.is_alive(), "full disk at the start: serves reads, says 503",
                  house.server.log_tail())
        time.sleep(0.3)
        faults = house.missing()
        tap.check(not faults, "full disk at the start: the log was replayed", "\n".join(faults[:5]))
        house.control.set_free(None)
        tap.check(house.until_ready(200, RECOVERS_WITHIN_S) is not None, "full disk at the start: ready when there is room",
                  f"{house.server.ready()}\n{house.server.log_tail()}")
        house.fill(3)
    finally:
        house.close()


# --- damage ---

def flip(path, rng, at=None):
    size = os.path.getsize(path)
    at = rng.randrange(size) if at is None else at
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return at


def used_end(path):
    """Where the bytes of a file end that are not zero padding."""
    with open(path, "rb") as f:
        return len(f.read().rstrip(b"\0"))


def damage_cases(data, rng):
    """(what, function(folder)) for every kind of file, bits flipped and files cut."""
    cases = []
    names = [os.path.relpath(p, data) for p in glob.glob(os.path.join(data, "**"), recursive=True) if os.path.isfile(p)]
    kinds = {}
    for name in sorted(names):
        if os.path.getsize(os.path.join(data, name)) and used_end(os.path.join(data, name)):
            kind = "block" if name.endswith(".sfs") else "log slot" if name.endswith(".wal") else os.path.basename(name)
            kinds.setdefault(kind, []).append(name)
    for kind, files in kinds.items():
        n_flips = 12 if kind in ("block", "log slot", "meta.db") else 3
        for _ in range(n_flips):
            name = rng.choice(files)
            at = rng.randrange(used_end(os.path.join(data, name)))
            cases.append((f"bit flipped in {kind} {name} at {at}",
                          lambda folder, n=name, a=at: flip(os.path.join(folder, n), rng, a)))
        name = rng.choice(files)
        size = os.path.getsize(os.path.join(data, name))
        for keep in (0, size // 2, size - 1):
            cases.append((f"{kind} {name} cut to {keep} bytes",
                          lambda folder, n=name, k=keep: os.truncate(os.path.join(folder, n), k)))
    return cases


def damage(tap, rng):
    """Files are damaged while nobody looks. What is gone must be owned up to."""
    house = House(rng, "damage")
    try:
        tap.check(house.server.start(), "damage: starts", house.server.log_tail())
        for _ in range(3):
            house.fill(15)
            house.flush()
        house.fill(15)  # stays in the log
        house.server.kill()
        pristine = os.path.join(house.folder, "pristine")
        shutil.copytree(house.data, pristine)
        cases = damage_cases(pristine, rng)
        n_missing = 0
        failures = []
        for what, hurt in cases:
            shutil.rmtree(house.data)
            shutil.copytree(pristine, house.data)
            hurt(house.data)
            open(house.server.log_path, "w", encoding="utf-8").close()
            if not house.server.start():
                failures.append(f"{what}: the server does not start\n{house.server.log_tail()}")
                house.server.kill()
                continue
            missing, wrong = [], []
            try:
                for fault in house.missing():
                    (wrong if "changed" in fault or " 2 times" in fault else missing).append(fault)
                status, text = house.server.ready()
                told = status == 200 and len(text.splitlines()) > 1 or status == 503
                said = any(word in house.server.log_tail(200) for word in ("damaged", "lost", "quarantined", "unfinished",
                                                                          "corrupt", "cannot be read"))
                if wrong:
                    failures.append(f"{what}: {wrong[0]}")
                if missing and not (told or said):
                    failures.append(f"{what}: {len(missing)} spans are missing and nobody says so; /ready: {text}")
                n_missing += bool(missing)
                if not house.send():
                    failures.append(f"{what}: does not accept spans any more: {text}")
                house.acked.pop()
            except (rig.Gone, AssertionError) as e:
                failures.append(f"{what}: {e}\n{house.server.log_tail()}")
            if not house.server.is_alive():
                failures.append(f"{what}: the server died\n{house.server.log_tail()}")
            house.server.kill()
        tap.say(f"{len(cases)} damaged directories, in {n_missing} something was gone")
        tap.check(not failures, "damage: no crash, nothing wrong, nothing silently lost", "\n".join(failures[:12]))
        tap.check(len(cases) >= 20, "damage: enough kinds of files", str(len(cases)))
    finally:
        house.close()


# --- directory and clock ---

def second_server(tap, rng):
    house = House(rng, "second")
    try:
        tap.check(house.server.start(), "second server: the first starts", house.server.log_tail())
        house.fill(5)
        other = rig.Server(house.data)
        other.log_path = os.path.join(house.folder, "other.log")
        other.start(wait=False)
        code = other.wait_exit(10)
        other.kill()
        tap.check(code not in (None, 0) and code > 0, "second server: refuses to start", f"exit status {code}")
        text = other.log_tail()
        tap.check(house.data in text or "another" in text, "second server: says why", text)
        house.fill(5)
        tap.check(not house.missing() and house.server.is_alive(), "second server: the first does not notice")
    finally:
        house.close()


def block_files(house):
    return sorted(os.path.relpath(p, house.data)
                  for p in glob.glob(os.path.join(house.data, "spans", "**", "*.sfs"), recursive=True))


def lost_catalogue(tap, rng):
    house = House(rng, "catalogue")
    try:
        tap.check(house.server.start(), "lost catalogue: starts", house.server.log_tail())
        for _ in range(4):
            house.fill(10)
            house.flush()
        house.fill(10)
        house.server.kill()
        before = block_files(house)
        for path in glob.glob(os.path.join(house.data, "meta.db*")):
            os.unlink(path)
        tap.check(house.server.start(), "lost catalogue: starts without it", house.server.log_tail())
        faults = house.missing()
        tap.check(not faults, "lost catalogue: nothing is lost", "\n".join(faults[:5]))
        gone = set(before) - set(block_files(house))
        tap.check(before and not gone, "lost catalogue: no block was deleted or moved", str(gone))
        house.fill(5)
        house.server.kill()
        tap.check(house.server.start() and not house.missing(), "lost catalogue: the rebuilt one holds", house.server.log_tail())
    finally:
        house.close()


def clock_jumps(tap, rng):
    day = 86400
    house = House(rng, "clock", {"retention.spans": "12h"})
    try:
        tap.check(house.server.start(), "clock: starts", house.server.log_tail())
        house.fill(10)
        house.flush()
        house.fill(10)
        for offset in (day, 0, -day, 0, 2 * day):
            house.control.set_clock(offset)
            time.sleep(0.4)
            house.fill(5)
            house.flush()
            faults = house.missing()
            tap.check(not faults, f"clock {offset // 3600:+d} h: nothing is gone, spans are accepted", "\n".join(faults[:5]))
        time.sleep(2)
        faults = house.missing()
        tap.check(not faults, "clock two days ahead: retention waits", "\n".join(faults[:5]))
        house.server.kill()
        tap.check(house.server.start(), "clock two days ahead: starts again", house.server.log_tail())
        time.sleep(1.5)
        faults = house.missing()
        tap.check(not faults, "clock two days ahead: retention still waits after a restart", "\n".join(faults[:5]))
        house.control.set_clock(0)
        house.server.kill()
        tap.check(house.server.start() and not house.missing(), "clock right again: all is there", house.server.log_tail())
    finally:
        house.close()


def main():
    tap = rig.Tap()
    rng = rig.seeded()
    parts = {"disk": disk_outages, "full_start": starts_on_a_full_disk, "damage": damage, "second": second_server,
             "catalogue": lost_catalogue, "clock": clock_jumps}
    for name, part in parts.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            part(tap, random.Random(rng.random()))
        except (rig.Gone, AssertionError, OSError, subprocess.SubprocessError) as e:
            tap.check(False, f"{name}: runs to its end", f"{type(e).__name__}: {e}")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
