#!/usr/bin/env python3
"""disk_faults - a real server on a disk that fails and comes back.

Disk full, EIO on write and on sync, torn writes. Each time: no crash, no silent loss, /ready tells within a second, and
all is well again without hands when the fault is over.
"""
import errno
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import RECOVERS_WITHIN_S, TELLS_WITHIN_S, House, Sender, run_parts  # noqa: E402
from support.faultfs import faultfs  # noqa: E402


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


if __name__ == "__main__":
    sys.exit(run_parts({"disk": disk_outages, "full_start": starts_on_a_full_disk}))
