#!/usr/bin/env python3
"""disk_faults - a real server on a disk that fails and comes back.

Disk full, EIO on write and on sync, torn writes; for the log, for flushed and merged blocks, for the catalogue. Each
time: no crash, no silent loss, /ready tells within a second, and all is well again without hands when the fault is over.
"""
import errno
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import (IS_SHORT, RECOVERS_WITHIN_S, TELLS_WITHIN_S, House, Sender, block_files,  # noqa: E402
                                 run_parts)
from support.faultfs import faultfs  # noqa: E402

SOON = "" if IS_SHORT else " within a second"


def acknowledged_is_there(tap, house, name, sentence):
    faults = house.missing()
    tap.check(not faults, f"{name}: {sentence}", "\n".join(faults[:5]))


def survives_a_kill(tap, house, name):
    house.server.kill()
    tap.check(house.server.start(), f"{name}: starts after a kill", house.server.log_tail())
    acknowledged_is_there(tap, house, name, "nor after the restart")
    tap.check(house.server.stop() == 0, f"{name}: stops in order", house.server.log_tail())


def outage(tap, rng, name, begin, end):
    """The disk fails under load, writes are refused, and it comes back."""
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
        told = house.until_ready(503, max(5, TELLS_WITHIN_S))
        reason = house.server.ready()[1]
        senders[2].start()
        house.until(lambda: any(s.n_refused or s.fault for s in senders), RECOVERS_WITHIN_S)
        tap.check(told is not None and told <= TELLS_WITHIN_S, f"{name}: /ready tells{SOON}",
                  f"after {told} s; says {house.server.ready()}")
        tap.check(len(reason) > 5, f"{name}: and why", reason)
        tap.check(house.server.is_alive(), f"{name}: lives on", house.server.log_tail())
        client = house.server.client()
        faults = sum((rig.faults_of_trace(rig.get_trace(client, s[0].trace), s) for s in house.acked[:20]), [])
        client.close()
        tap.check(not faults, f"{name}: reads go on", "\n".join(faults[:5]))
        end(house)
        back = house.until_ready(200, RECOVERS_WITHIN_S)
        tap.check(back is not None, f"{name}: comes back by itself", f"{house.server.ready()}\n{house.server.log_tail()}")
        n_before = len(house.acked)
        house.until(lambda: len(house.acked) > n_before, RECOVERS_WITHIN_S)
        for s in senders:
            s.stop.set()
        for s in senders:
            s.join(40)
        n_refused = sum(s.n_refused for s in senders)
        wrong = [s.fault for s in senders if s.fault]
        tap.check(not wrong and n_refused > 0, f"{name}: senders were told to come back", f"{wrong}; {n_refused} refused")
        tap.check(len(house.acked) > n_before, f"{name}: and are served again")
        acknowledged_is_there(tap, house, name, "nothing acknowledged is missing")
        survives_a_kill(tap, house, name)
    finally:
        house.close()


def merge_outage(tap, rng, name, calls, error, path, mode=faultfs.FAIL):
    """The disk fails for the merge of blocks alone: that is told, and nobody is refused for it."""
    house = House(rng, name.replace(" ", "_").replace(",", ""))
    try:
        if not tap.check(house.server.start(), f"{name}: starts", house.server.log_tail()):
            return
        for _ in range(3):
            house.fill(10)
            house.flush()
        before = block_files(house)
        house.control.arm(calls, error=error, mode=mode, path=house.data + path)
        house.control.set_clock(2 * 3600)  # the hour of the blocks is over: they are due, and nothing else is
        failed = house.until(lambda: house.control.n_failed > 0, RECOVERS_WITHIN_S)
        told = house.until(lambda: "degraded" in house.server.ready()[1], max(5, TELLS_WITHIN_S))
        status, text = house.server.ready()
        tap.check(failed is not None and told is not None and told <= TELLS_WITHIN_S, f"{name}: /ready tells{SOON}",
                  f"failed after {failed} s, told after {told} s; says {text}")
        tap.check(status == 200 and "merged" in text, f"{name}: with a note, since writes go on", f"{status} {text}")
        house.fill(5)
        acknowledged_is_there(tap, house, name, "nothing acknowledged is missing")
        tap.check(house.server.is_alive() and set(before) <= set(block_files(house)), f"{name}: the blocks stay as they were",
                  str(block_files(house)))
        house.control.disarm()
        back = house.until(lambda: house.server.ready() == (200, "ready"), RECOVERS_WITHIN_S)
        tap.check(back is not None, f"{name}: comes back by itself", f"{house.server.ready()}\n{house.server.log_tail()}")
        done = house.until(lambda: len(block_files(house)) == 1, RECOVERS_WITHIN_S)
        tap.check(done is not None, f"{name}: and the blocks are merged", str(block_files(house)))
        acknowledged_is_there(tap, house, name, "nothing is missing then")
        survives_a_kill(tap, house, name)
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


def flush_outages(tap, rng):
    """The log can be written, what becomes of it cannot."""
    def arm(calls, error, path, mode=faultfs.FAIL):
        def begin(house):
            house.control.arm(calls, error=error, mode=mode, path=house.data + path)
            client = house.server.client()
            status = client.call("POST", "/api/v1/flush", headers={"Content-Type": "application/json"})[0]
            client.close()
            tap.check(status >= 500, "a flush that fails says so", str(status))
        return begin

    def disarm(house):
        house.control.disarm()

    space = faultfs.WRITE | faultfs.ALLOCATE | faultfs.OPEN
    outage(tap, rng, "disk full, flush", arm(space, errno.ENOSPC, "/tmp/"), disarm)
    outage(tap, rng, "EIO on write, flush", arm(faultfs.WRITE, errno.EIO, "/tmp/"), disarm)
    outage(tap, rng, "EIO on sync, flush", arm(faultfs.SYNC, errno.EIO, "/tmp/"), disarm)
    outage(tap, rng, "torn writes, flush", arm(faultfs.WRITE, errno.EIO, "/tmp/", faultfs.TORN), disarm)
    outage(tap, rng, "EIO on rename, flush", arm(faultfs.RENAME, errno.EIO, "/tmp/"), disarm)
    outage(tap, rng, "EIO on sync of the folder, flush", arm(faultfs.SYNC, errno.EIO, "/spans"), disarm)
    outage(tap, rng, "disk full, catalogue", arm(faultfs.WRITE, errno.ENOSPC, "/meta.db"), disarm)
    outage(tap, rng, "EIO on write, catalogue", arm(faultfs.WRITE, errno.EIO, "/meta.db"), disarm)
    outage(tap, rng, "EIO on sync, catalogue", arm(faultfs.SYNC, errno.EIO, "/meta.db"), disarm)
    outage(tap, rng, "torn writes, catalogue", arm(faultfs.WRITE, errno.EIO, "/meta.db", faultfs.TORN), disarm)


def merge_outages(tap, rng):
    merge_outage(tap, rng, "disk full, merge", faultfs.WRITE | faultfs.OPEN, errno.ENOSPC, "/tmp/")
    merge_outage(tap, rng, "EIO on write, merge", faultfs.WRITE, errno.EIO, "/tmp/")
    merge_outage(tap, rng, "EIO on sync, merge", faultfs.SYNC, errno.EIO, "/tmp/")
    merge_outage(tap, rng, "torn writes, merge", faultfs.WRITE, errno.EIO, "/tmp/", faultfs.TORN)
    merge_outage(tap, rng, "EIO on write, catalogue of a merge", faultfs.WRITE, errno.EIO, "/meta.db")
    merge_outage(tap, rng, "EIO on sync, catalogue of a merge", faultfs.SYNC, errno.EIO, "/meta.db")


def starts_on_a_full_disk(tap, rng):
    house = House(rng, "full_start")
    try:
        tap.check(house.server.start(), "full disk at the start: was well before", house.server.log_tail())
        house.fill(10)
        house.server.kill()
        house.control.set_free(1000)
        house.server.start(wait=False)
        told = house.until_ready(503, max(10, TELLS_WITHIN_S))
        tap.check(told is not None and house.server.is_alive(), "full disk at the start: serves reads, says 503",
                  house.server.log_tail())
        house.until(lambda: "starting" not in house.server.ready()[1], RECOVERS_WITHIN_S)
        faults = house.missing()
        tap.check(not faults, "full disk at the start: the log was replayed", "\n".join(faults[:5]))
        house.control.set_free(None)
        tap.check(house.until_ready(200, RECOVERS_WITHIN_S) is not None, "full disk at the start: ready when there is room",
                  f"{house.server.ready()}\n{house.server.log_tail()}")
        house.fill(3)
    finally:
        house.close()


if __name__ == "__main__":
    sys.exit(run_parts({"disk": disk_outages, "flush": flush_outages, "merge": merge_outages, "full_start": starts_on_a_full_disk}))
