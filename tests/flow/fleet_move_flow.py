#!/usr/bin/env python3
"""A server that had data before it became a node moves it to ClickHouse while it serves: every row once, whatever dies meanwhile."""
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_flow import KILLS, LONG, Proxy, command, config, shipped, spans_of, wait_for  # noqa: E402
from fleet_life_flow import gates  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

DAY = 86400 * 10**9
LONG_KEPT = "retention: {spans: 60d, profiles: 60d, detail: 60d}\n"


def become_node(s, url, **more):
    """Its data is in blocks, then it ships."""
    s.stop()
    s.config = config(url, **more) + LONG_KEPT
    s.start()


def move(s, url):
    code, text = command(s, "migrate", "--to", url)
    assert code == 0, text
    return text


def state(s):
    return s.json("/api/v1/store/migrate")


def is_done(s):
    return state(s)["state"] == "done"


class Old:
    """Data of many days, so that it is in many blocks and moved in many batches, and what must be in ClickHouse in the end."""

    def __init__(self, n_days=10, n_each=40):
        self.traces, self.n_spans, self.value, self.n_details = [], 0, 0, 0
        self.base = time.time_ns() - (n_days + 2) * DAY
        self.spans, self.profiles = [], []
        for day in range(n_days):
            at = self.base + day * DAY
            for i in range(n_each):
                trace = os.urandom(16)
                root = make_span(trace=trace, service=f"s{i % 3}", start=at + i * 10**9, attributes={"i": i, "day": day})
                self.spans.append([root, make_span(trace=trace, parent=root["span_id"], service="db", start=at + i * 10**9 + 1000)])
                self.traces.append(trace)
                self.n_spans += 2
            link = (self.traces[-1], self.spans[-1][0]["span_id"])
            self.profiles.append(otlp("s0", {"main;work": 3 + day, f"main;day{day}": 5}, link=link, at_ns=at))
            self.value += 8 + day
            self.n_details += 2

    def send(self, s):
        n = len(self.spans) // len(self.profiles)
        for i, body in enumerate(self.profiles):
            s.send([x for pair in self.spans[i * n:i * n + n] for x in pair])
            answer = s.post("/v1development/profiles", body)
            assert answer.status == 200, answer.text
            s.stop()  # which makes blocks
            s.start()

    def check(self, bed):
        n = bed.count("spanflame.spans")
        ids = {x for shard in bed.shards for x in shard.ask("SELECT DISTINCT span_id FROM spanflame.spans FORMAT TSV").split()}
        assert n == self.n_spans == len(ids), (n, len(ids), self.n_spans)
        assert sum(map(int, bed.ask("SELECT sum(spans) FROM spanflame.traces"))) == self.n_spans
        n_details = bed.count("spanflame.details") + bed.count("spanflame.undecided")
        assert n_details == self.n_details, (n_details, self.n_details)
        assert bed.count("spanflame.profiles") == len(self.profiles)
        assert sum(map(int, bed.ask("SELECT toInt64(sum(value)) FROM spanflame.aggregates"))) == \
            sum(map(int, bed.ask("SELECT toInt64(sum(total)) FROM spanflame.profiles")))


# ---- answers ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_answers_are_the_same_before_during_and_after_the_move():
    story = fleet_answers.Story()
    questions = (story.span_questions() + story.operation_questions() + story.tag_questions() + story.querier_questions()
                 + story.profile_questions() + story.door_questions())
    few = questions if LONG else questions[::40]
    half = len(story.bodies) // 2
    # In short tests, requests of both kinds.
    before, after = [*range(0, half), *range(len(story.bodies) - 4, len(story.bodies))], range(half, len(story.bodies) - 4)
    with clickhouse_bed.Bed(2 if LONG else 1) as bed, Server() as alone, Server() as one:
        def send(s, places):
            for i in places:
                story.send(s, slice(i, i + 1))
        for s in (alone, one):
            send(s, before)
        alone.stop()
        alone.start()
        become_node(one, bed.url(), timeout="60s")
        for s in (alone, one):
            send(s, after)
        shipped(one)
        found = fleet_answers.differences(alone, one, few)
        assert not found, "before: " + fleet_answers.told(found)
        assert state(one)["state"] == "none"
        text = move(one, bed.url())
        assert "moved " in text and "spans" in text, text
        found = fleet_answers.differences(alone, one, few)
        assert not found, "on the node: " + fleet_answers.told(found)
        with Server(config(bed.url(), timeout="60s")) as reader:
            found = fleet_answers.differences(alone, reader, questions if LONG else questions[::20])
            assert not found, "on another node: " + fleet_answers.told(found)
        code, text = command(one, "verify")
        assert code == 0, text
        assert not os.path.exists(os.path.join(one.data, "moving"))
        # It is done once.
        n = bed.count("spanflame.spans")
        move(one, bed.url())
        one.stop()
        one.start()
        assert is_done(one) and "history  moved" in command(one, "status")[1]
        move(one, bed.url())
        assert bed.count("spanflame.spans") == n and command(one, "verify")[0] == 0
        found = fleet_answers.differences(alone, one, few)
        assert not found, "after a restart: " + fleet_answers.told(found)
        # Verify sees a moved row that is gone.
        root = story.roots[0]
        bed.ask(f"ALTER TABLE spanflame.spans DELETE WHERE span_id = {int.from_bytes(root['span_id'], 'big')} SETTINGS mutations_sync = 1")
        code, text = command(one, "verify")
        assert code == 1 and "1 faults" in text, text


@clickhouse_bed.long
@clickhouse_bed.needed
def test_what_cannot_be_moved_is_said():
    with clickhouse_bed.Bed(1) as bed, Server() as alone, Server(config(bed.url())) as one:
        code, text = command(alone, "migrate", "--to", bed.url())
        assert code == 1 and "store.remote.url is not set" in text, text
        code, text = command(one, "migrate", "--to", bed.url("another"))
        assert code == 1 and "ships to another address" in text, text
        assert one.post("/api/v1/store/migrate", b"{}", "application/json").status == 400
        # A node that had nothing has moved all of it.
        assert "moved 0 of 0" in move(one, bed.url())
        one.send([make_span()])
        shipped(one)
        assert command(one, "verify")[0] == 0


# ---- what goes wrong ----

@clickhouse_bed.needed
def test_kills_of_node_shards_and_command_move_every_row_once():
    seed = int(os.environ.get("FLEET_SEED", time.time_ns() % 10**6))
    print(f"# seed {seed}")
    chance = random.Random(seed)
    old = Old() if LONG else Old(6, 20)
    with clickhouse_bed.Bed(2) as bed, Server(LONG_KEPT) as one:
        old.send(one)
        made, url = gates(bed)
        for gate in made:
            gate.delay = 0.02
        become_node(one, url, timeout="3s")
        asked = one.post("/api/v1/store/migrate?to=" + url, b"{}", "application/json")
        assert asked.status == 200, asked.text
        live = []
        assert state(one)["pieces"] >= (20 if LONG else 12), state(one)
        before = -1
        for n in range(KILLS if LONG else 1):
            if n % 3:  # otherwise the move would never get far enough
                wait_for(lambda b=before: state(one)["moved"] > b or is_done(one))
            time.sleep(chance.random() * 0.5)
            before = state(one)["moved"]
            what = chance.choice(("node", "shard", "both"))
            shard = chance.choice(bed.shards)
            print(f"# {what} at {state(one)['moved']} of {state(one)['pieces']} pieces")
            if what != "node":
                shard.kill()
            if what != "shard":
                one.kill()
                one.start()
            if what != "node":
                shard.start()
            live.append(make_span(service="live"))
            one.send(live[-1:])
            # Old data is there all the time, wherever it is.
            trace = chance.choice(old.traces)
            wait_for(lambda t=trace: len(spans_of(one, t)[1]) == 2, seconds=30)
        for gate in made:
            gate.delay = 0
        wait_for(lambda: is_done(one), seconds=120)
        shipped(one)
        assert bed.count("spanflame.spans", "service = 'live'") == len(live)
        bed.ask("ALTER TABLE spanflame.traces DELETE WHERE has(services, 'live') SETTINGS mutations_sync = 1")
        bed.ask("DELETE FROM spanflame.spans WHERE service = 'live'")
        old.check(bed)
        with Server(config(bed.url()) + LONG_KEPT) as reader:
            for trace in old.traces[::50]:
                assert len(spans_of(reader, trace)[1]) == 2


@clickhouse_bed.long
@clickhouse_bed.needed
def test_answers_that_are_lost_after_storing_change_nothing():
    old = Old(6)
    with clickhouse_bed.Bed(2) as bed, Server(LONG_KEPT) as one:
        old.send(one)
        proxies = [Proxy(shard.port, share=0.3) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        become_node(one, url, timeout="1s")
        asked = one.post("/api/v1/store/migrate?to=" + url, b"{}", "application/json")
        assert asked.status == 200, asked.text
        wait_for(lambda: is_done(one), seconds=180)
        assert sum(p.n_spoiled for p in proxies) > 0, "the proxy did something"
        old.check(bed)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_what_is_erased_while_it_is_moved_is_gone():
    old = Old(8)
    with clickhouse_bed.Bed(2) as bed, Server(LONG_KEPT) as one:
        old.send(one)
        made, url = gates(bed)
        become_node(one, url, timeout="5s")
        for gate in made:
            gate.delay = 0.05
        asked = one.post("/api/v1/store/migrate?to=" + url, b"{}", "application/json")
        assert asked.status == 200, asked.text
        wait_for(lambda: state(one)["moved"] > 0)
        assert not is_done(one), "the move is under way"
        answer = one.request("DELETE", "/api/v1/erase?service=s1")
        assert answer.status in (200, 202), (answer.status, answer.text)
        for gate in made:
            gate.delay = 0
        wait_for(lambda: is_done(one), seconds=120)
        wait_for(lambda: bed.count("spanflame.spans", "service = 's1'") == 0)
        wait_for(lambda: one.metric("spanflame_upkeep_erasures_open") == 0, seconds=120)
        assert bed.count("spanflame.spans", "service = 's1'") == 0
        n_gone = sum(x["service"] == "s1" for pair in old.spans for x in pair)
        assert bed.count("spanflame.spans") == old.n_spans - n_gone
        code, text = command(one, "verify")
        assert code == 0, text


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
