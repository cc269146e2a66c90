#!/usr/bin/env python3
"""server_faults - a real server whose surroundings misbehave.

A second server on the directory, clock jumps of a day both ways, a lost catalogue: no crash, no loss.
"""
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import House, block_files, run_parts  # noqa: E402


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


if __name__ == "__main__":
    sys.exit(run_parts({"second": second_server, "catalogue": lost_catalogue, "clock": clock_jumps}))
