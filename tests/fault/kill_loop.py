#!/usr/bin/env python3
"""kill_loop - kill -9 at any moment loses nothing that was acknowledged.

Writers send spans and profiles of known content and remember which were acknowledged; meanwhile blocks are flushed,
merged and erased. The server is killed: after a random time, or by itself in the middle of a random file call (of the log, of a
block being written, of the catalogue, of a deletion), or while it starts. After every restart each acknowledged span
must be there exactly once and unchanged, the samples of each acknowledged profile must add up to what they were, in
its service's flame graph and in its span's, and what was erased must stay away. All of it is counted after every restart; the newest
and a few others are compared byte by byte, every twentieth time and at the end many. Some restarts find the catalogue deleted. Requests whose answer never came are sent again after the restart, as an SDK does, and must not count twice.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import profile_oracle as oracle  # noqa: E402
from support import server_rig as rig  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

N_CYCLES = max(3, int(200 * rig.scale()))
BUDGET_S = float(os.environ.get("KILL_LOOP_SECONDS", 200 * max(1.0, rig.scale())))
N_WRITERS = 3
LIFE_S = 0.25  # at most: more kills rather than more spans
KILL_PATHS = ["/wal/", "/spans/", "/prof/", "/tmp/", "meta.db", "erase.log", ""]


class Writer(threading.Thread):
    """Sends until told to stop or until the server is gone."""

    def __init__(self, loop, number, cycle):
        super().__init__(daemon=True)
        self.rng = random.Random(loop.rng.random())
        self.loop, self.number, self.cycle = loop, number, cycle
        self.stop = threading.Event()
        self.acked = []      # spans
        self.unanswered = None  # (service, spans, body, headers)
        self.fault = None
        self.traces = []

    def pick_trace(self):
        if self.traces and self.rng.random() < 0.4:
            return self.rng.choice(self.traces)
        trace = rig.new_trace(self.rng)
        self.traces = self.traces[-20:] + [trace]
        return trace

    def run(self):
        client = self.loop.server.client()
        service, name = f"cycle-{self.cycle}", f"writer-{self.number}"
        try:
            while not self.stop.is_set():
                spans = [rig.new_span(self.rng, self.pick_trace(), name) for _ in range(self.rng.randint(1, 12))]
                body, headers = rig.make_request(self.rng, service, spans)
                self.unanswered = (spans, body, headers)
                while not rig.post(client, body, headers):
                    if self.stop.wait(0.01):
                        return
                self.unanswered = None
                self.acked += spans
                time.sleep(self.rng.uniform(0, 0.006))
        except rig.Gone:
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.fault = f"{type(e).__name__}: {e}"
        finally:
            client.close()


class ProfileWriter(threading.Thread):
    """Sends profiles until told to stop or until the server is gone."""

    def __init__(self, loop, cycle):
        super().__init__(daemon=True)
        self.rng = random.Random(loop.rng.random())
        self.loop, self.cycle = loop, cycle
        self.stop = threading.Event()
        self.acked = []
        self.unanswered = None  # (profile, body)
        self.fault = None

    def run(self):
        client = self.loop.server.client()
        try:
            while not self.stop.is_set():
                n = len(self.acked)
                profile = oracle.Profile(self.rng, f"profiled-{self.cycle}", f"leaf_{self.cycle}_{n}")
                body = profile.body()
                self.unanswered = (profile, body)
                while not oracle.post(client, profile, body):
                    if self.stop.wait(0.01):
                        return
                self.unanswered = None
                self.acked.append(profile)
                time.sleep(self.rng.uniform(0, 0.012))
        except rig.Gone:
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.fault = f"{type(e).__name__}: {e}"
        finally:
            client.close()


class Disturber(threading.Thread):
    """Flushes all the time, and erases a trace now and then."""

    def __init__(self, loop):
        super().__init__(daemon=True)
        self.loop = loop
        self.rng = random.Random(loop.rng.random())
        self.stop = threading.Event()
        self.fault = None

    def erase_one(self, client):
        loop = self.loop
        span = rig.new_span(self.rng, rig.new_trace(self.rng), "to be erased")
        body, headers = rig.make_request(self.rng, "erasable", [span])
        if not rig.post(client, body, headers):
            return
        status, _, answer = client.call("POST", "/api/v1/erase", json.dumps({"traces": [span.trace.hex()]}),
                                        {"Content-Type": "application/json"})
        if status == 200:
            loop.erased.append(span.trace)
        elif status not in (429, 503):
            raise AssertionError(f"erase: {status} {answer[:200]!r}")

    def run(self):
        client = self.loop.server.client()
        old_s = 3600 - 3
        try:
            while not self.stop.wait(self.rng.uniform(0.01, 0.08)):
                choice = self.rng.random()
                if choice < 0.6:
                    status, _, answer = client.call("POST", "/api/v1/flush", headers={"Content-Type": "application/json"})
                    if status not in (200, 429, 503):
                        raise AssertionError(f"flush: {status} {answer[:200]!r}")
                elif choice < 0.88:
                    self.erase_one(client)
                else:  # three seconds from now retention takes it
                    span = rig.new_span(self.rng, rig.new_trace(self.rng), "old",
                                        time.time_ns() - old_s * 1_000_000_000)
                    rig.post(client, *rig.make_request(self.rng, "old", [span]))
        except rig.Gone:
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.fault = f"{type(e).__name__}: {e}"
        finally:
            client.close()


class Loop:
    def __init__(self, folder, rng, library):
        self.rng = rng
        self.folder = folder
        self.control = faultfs.Control(os.path.join(folder, "faults"), library)
        self.server = rig.Server(os.path.join(folder, "data"), env=self.control.env(),
                                 settings={"retention.spans": "1h", "retention.min_free": "1MB"})
        self.acked = {}     # trace > [span]
        self.recent = []    # traces touched in the last two cycles
        self.erased = []
        self.expected = {}  # (service, operation) > spans
        self.unanswered = []
        self.profiles = {}  # service > [profile]
        self.unanswered_profiles = []
        self.counts = {"kills": 0, "call kills": 0, "start kills": 0, "stops": 0, "lost catalogues": 0, "fsck": 0,
                       "spans": 0, "profiles": 0, "samples": 0, "resent": 0, "counts": 0}
        self.faults = []
        self.has_fsck = subprocess.run([rig.SPANFLAME, "fsck", "--help"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, check=False).returncode == 0

    # --- one life of the server ---

    def restart(self):
        """True when it is ready. Kills it a few times while it starts."""
        while self.rng.random() < 0.2:
            self.server.start(wait=False)
            time.sleep(self.rng.uniform(0, 0.06))
            self.server.kill()
            self.counts["start kills"] += 1
        if self.server.start():
            return True
        self.faults.append("the server does not start again:\n" + self.server.log_tail())
        return False

    def resend(self):
        client = self.server.client()
        for service, spans, body, headers in self.unanswered:
            for _ in range(500):
                if rig.post(client, body, headers):
                    self.note_acked(service, spans)
                    self.counts["resent"] += 1
                    break
                time.sleep(0.01)
            else:
                self.faults.append("a request sent again is refused for ever")
        self.unanswered = []
        for profile, body in self.unanswered_profiles:
            for _ in range(500):
                if oracle.post(client, profile, body):
                    self.note_profiles([profile])
                    self.counts["resent"] += 1
                    break
                time.sleep(0.01)
            else:
                self.faults.append("a profile sent again is refused for ever")
        self.unanswered_profiles = []
        client.close()

    def note_profiles(self, profiles):
        for p in profiles:
            self.profiles.setdefault(p.service, []).append(p)
        self.counts["profiles"] += len(profiles)
        self.counts["samples"] += sum(sum(p.values.values()) for p in profiles) // oracle.UNIT

    def check_profiles(self, services, n_spans=3):
        """All samples of the services, and what `n_spans` of the newest and of all spans of each have."""
        client = self.server.client()
        for service in services:
            profiles = self.profiles[service]
            self.faults += oracle.faults_of_service(client, service, profiles)
            self.faults += oracle.faults_of_spans(client, profiles[-n_spans:] + self.rng.sample(profiles, min(n_spans, len(profiles))))
            if len(self.faults) > 20:
                break
        client.close()

    def note_acked(self, service, spans):
        for s in spans:
            self.acked.setdefault(s.trace, []).append(s)
            key = (service, s.name)
            self.expected[key] = self.expected.get(key, 0) + 1
        self.counts["spans"] += len(spans)

    def check(self, traces):
        client = self.server.client()
        for trace, found in zip(traces, rig.get_traces(client, traces)):
            self.faults += rig.faults_of_trace(found, self.acked[trace])
            if len(self.faults) > 20:
                break
        erased = self.rng.sample(self.erased, min(5, len(self.erased)))
        self.faults += [f"trace {trace.hex()} was erased and is back"
                        for trace, found in zip(erased, rig.get_traces(client, erased)) if found]
        client.close()

    def arm(self):
        """Perhaps a death in the middle of a file call."""
        if self.rng.random() < 0.55:
            path = self.rng.choice(KILL_PATHS)
            most = 200 if path == "/wal/" else 40
            self.control.arm(faultfs.CHANGES, mode=faultfs.KILL, first=self.rng.randint(1, most),
                             n_fail=1, path=path)
            return True
        return False

    def live(self, cycle):
        """Writes until the end of this life."""
        writers = [Writer(self, i, cycle) for i in range(N_WRITERS)]
        profiler = ProfileWriter(self, cycle)
        disturber = Disturber(self)
        is_armed = self.arm()
        for t in writers + [profiler, disturber]:
            t.start()
        if is_armed:
            if self.server.wait_exit(LIFE_S) is not None:
                self.counts["call kills"] += 1
        else:
            time.sleep(self.rng.uniform(0.01, LIFE_S))
        if self.server.is_alive() and self.rng.random() < 0.06:
            self.control.disarm()
            self.counts["stops"] += 1
            code = self.server.stop()
            if code != 0 and not (is_armed and code == -9):  # death may have come just before
                self.faults.append(f"exit status {code} after SIGTERM:\n" + self.server.log_tail())
        else:
            self.server.kill()
            self.counts["kills"] += 1
            if self.server.process.returncode != -9:
                self.faults.append(f"ended by itself with {self.server.process.returncode}:\n" + self.server.log_tail())
        self.control.disarm()
        touched = []
        for t in writers + [profiler, disturber]:
            t.stop.set()
        for t in writers + [profiler, disturber]:
            t.join(30)
            if t.fault:
                self.faults.append(t.fault)
        for w in writers:
            self.note_acked(f"cycle-{cycle}", w.acked)
            # The newest are the most at risk; all others are counted.
            touched += [s.trace for s in w.acked[-6:] + self.rng.sample(w.acked, min(1, len(w.acked)))]
            if w.unanswered:
                self.unanswered.append((f"cycle-{cycle}",) + w.unanswered)
                touched += [s.trace for s in w.unanswered[0]]
        self.note_profiles(profiler.acked)
        if profiler.unanswered:
            self.unanswered_profiles.append(profiler.unanswered)
        return set(touched)

    def between(self):
        """Things done to the directory while nobody serves it."""
        if self.rng.random() < 0.12:
            for name in ("meta.db", "meta.db-wal", "meta.db-shm"):
                path = os.path.join(self.server.data, name)
                if os.path.exists(path):
                    os.unlink(path)
            self.counts["lost catalogues"] += 1
        elif self.has_fsck and self.rng.random() < 0.08:
            done = subprocess.run([rig.SPANFLAME, "fsck", self.server.data], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            self.counts["fsck"] += 1
            if done.returncode != 0:
                self.faults.append(f"fsck ends with {done.returncode}:\n{done.stdout[-2000:]}")

    def run(self):
        start = time.monotonic()
        previous = set()
        cycle = 0
        while cycle < N_CYCLES and time.monotonic() - start < BUDGET_S and not self.faults:
            if not self.restart():
                break
            self.resend()
            known = [t for t in previous if t in self.acked]
            is_long = cycle % 20 == 19
            older = self.rng.sample(list(self.acked), min(300 if is_long else 3, len(self.acked)))
            self.check(known + older)
            services = list(self.profiles)
            self.check_profiles(set(services[-2:] + self.rng.sample(services, min(10 if is_long else 1, len(services)))), n_spans=1)
            if not self.faults:
                self.count_all()
            if self.faults:
                break
            previous = self.live(cycle)
            self.between()
            cycle += 1
        return cycle

    # --- the end ---

    def settle(self):
        """Everything into blocks, then many spans once more, and how often each was counted."""
        if not self.restart():
            return
        self.resend()
        client = self.server.client()
        client.call("POST", "/api/v1/flush", headers={"Content-Type": "application/json"})
        client.close()  # on a busy machine the checks take longer than a connection may be idle
        self.check(self.rng.sample(list(self.acked), min(max(100, 4 * N_CYCLES), len(self.acked))))
        self.check_profiles(list(self.profiles), n_spans=1)
        self.count_all()

    def count_all(self):
        """Every acknowledged span by service and operation, every acknowledged profile by the sum of its service."""
        client = self.server.client()
        now = int(time.time())
        status, _, body = client.call("GET", f"/api/v1/services?from={now - 7200}&until={now + 3600}")
        if status == 200:
            self.compare_counts(json.loads(body))
        else:
            self.faults.append(f"services: {status} {body[:200]!r}")
        want = {service: sum(sum(p.values.values()) for p in profiles) for service, profiles in self.profiles.items()}
        seen = oracle.sums_of_services(client)
        self.faults += [f"{service}: profiles of {value} ns were acknowledged, {seen.get(service, 0)} are there"
                        for service, value in want.items() if seen.get(service, 0) != value]
        self.counts["counts"] += 1
        client.close()

    def compare_counts(self, answer):
        seen = {}
        for service in answer.get("services", []):
            for op in service.get("operations", []):
                seen[(service["service"], op["operation"])] = int(op["spans"])
        for key, want in self.expected.items():
            n = seen.get(key, 0)
            if n != want:
                self.faults.append(f"{key[0]} {key[1]}: {want} spans were acknowledged, {n} are counted")


def main():
    tap = rig.Tap()
    library = os.path.join(os.environ["BUILD_ROOT"], "tests", "libfaultfs.so")
    folder = rig.scratch("sf_kill.")
    loop = Loop(folder, rig.seeded(), library)
    n_cycles = 0
    try:
        n_cycles = loop.run()
        tap.check(not loop.faults, "every acknowledged span and sample is there once after every restart", "\n".join(loop.faults[:20]))
        if not loop.faults:
            loop.settle()
            tap.check(not loop.faults, "at the end all spans and samples are there and none is counted twice",
                      "\n".join(loop.faults[:20]))
    except (rig.Gone, AssertionError) as e:
        tap.check(False, "the server answers", "\n".join([str(e), loop.server.log_tail()] + loop.faults[:20]))
    finally:
        loop.server.kill()
    tap.say(f"{n_cycles} cycles, " + ", ".join(f"{v} {k}" for k, v in loop.counts.items()) +
            f", {len(loop.erased)} erased")
    tap.check(n_cycles >= min(N_CYCLES, 3) and loop.counts["kills"] > 0 and loop.counts["spans"] > 0 and
              loop.counts["profiles"] > 0,
              "the loop killed and wrote")
    code = tap.end()
    if code and os.environ.get("KEEP") != "no":
        tap.say("kept for a look: " + folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
