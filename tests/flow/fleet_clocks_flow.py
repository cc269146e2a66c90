#!/usr/bin/env python3
"""Nodes whose clocks are wrong: 20 minutes do not change any answer, and a node that is 60 days ahead deletes nothing of the others.
The clock of a node is shifted by a library that is loaded into it (LD_PRELOAD)."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_flow import LONG, command, config, shipped, spans_of, wait_for  # noqa: E402
from fleet_life_flow import KEEP, QUICK, Hour, judged, pins_of  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*next)(clockid_t, struct timespec *);
    int failed;
    if (!next)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    failed = next(id, t);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += atol(getenv("CLOCK_SHIFT_S"));
    return failed;
}
"""


class Shift:
    """`with Shift() as at:` gives a function from seconds to an environment."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        source, library = (os.path.join(self.folder.name, name) for name in ("shift.c", "shift.so"))
        with open(source, "w", encoding="ascii") as f:
            f.write(SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return lambda seconds: {"LD_PRELOAD": library, "CLOCK_SHIFT_S": str(seconds)}

    def __exit__(self, *_):
        self.folder.cleanup()


@clickhouse_bed.long
@clickhouse_bed.needed
def test_clocks_that_differ_by_forty_minutes_change_no_answer():
    if os.environ.get("SANITIZER", "none") != "none":
        raise tap.Skip("a sanitizer must be loaded first")
    story = fleet_answers.Story()
    with clickhouse_bed.Bed(2) as bed, Shift() as at, Server() as alone, Server(config(bed.url(), timeout="60s"), env=at(1200)) as ahead, \
            Server(config(bed.url(), timeout="60s"), env=at(-1200)) as behind, Server(config(bed.url(), timeout="60s"), env=at(-1200)) as reader:
        story.send(alone)
        story.send(ahead, slice(0, None, 2))
        story.send(behind, slice(1, None, 2))
        shipped(ahead), shipped(behind)
        assert ahead.json("/api/v1/store")["lag_seconds"] == 0 == behind.json("/api/v1/store")["lag_seconds"]
        questions = (story.span_questions() + story.operation_questions() + story.tag_questions() + story.querier_questions()
                     + story.profile_questions() + story.door_questions())
        for node in (ahead, behind, reader):
            found = fleet_answers.differences(alone, node, questions[::2])
            assert not found, fleet_answers.told(found)
        for node in (ahead, behind):
            code, text = command(node, "verify")
            assert code == 0, text


@clickhouse_bed.long
@clickhouse_bed.needed
def test_an_hour_is_judged_once_by_nodes_whose_clocks_differ():
    if os.environ.get("SANITIZER", "none") != "none":
        raise tap.Skip("a sanitizer must be loaded first")
    hour = Hour()
    with clickhouse_bed.Bed(1) as bed, Shift() as at, Server(config(bed.url(), **QUICK) + KEEP, env=at(1200)) as ahead, \
            Server(config(bed.url(), **QUICK) + KEEP, env=at(-1200)) as behind:
        ahead.send(hour.roots)
        behind.send(hour.children)
        hour.send_samples(behind)
        shipped(ahead), shipped(behind)
        judged(bed)
        for shift in (1200, -1200):  # nodes that have nothing of it in their memory
            with Server(config(bed.url(), interval="5s") + KEEP, env=at(shift)) as reader:
                found = hour.sampled(reader)
            assert set(found) == hour.kept and set(found.values()) == {3 * 10**6}, (len(found), len(hour.kept))


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_node_that_is_sixty_days_ahead_deletes_nothing_of_the_others():
    if os.environ.get("SANITIZER", "none") != "none":
        raise tap.Skip("a sanitizer must be loaded first")
    rules = "retention: {spans: 3d, profiles: 3d, detail: 3d}\n"
    trace = os.urandom(16)
    with clickhouse_bed.Bed(2 if LONG else 1) as bed, Shift() as at:
        with Server(config(bed.url(), **QUICK) + rules) as right:
            right.send([make_span(trace=trace)] + [make_span() for _ in range(20)])
            shipped(right)
            assert right.post(f"/api/v1/pins/{trace.hex()}?for=1d", b"{}", "application/json").status == 200
        with Server(config(bed.url(), **QUICK) + rules, env=at(60 * 86400)) as ahead:
            wait_for(lambda: ahead.metric("spanflame_upkeep_lease") == 1)
            dropped = ahead.metric("spanflame_upkeep_partitions_dropped_total")
            time.sleep(4)  # three rounds
            assert bed.count("spanflame.spans") == 21 and dropped == 0 == ahead.metric("spanflame_upkeep_partitions_dropped_total")
            assert len(spans_of(ahead, trace)[1]) == 1
        with Server(config(bed.url(), **QUICK) + rules) as later:
            wait_for(lambda: pins_of(later) == {trace.hex(): ""}, seconds=20)


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
