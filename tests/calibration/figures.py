"""figures.py - no figure of a span is more than there was room for, in any answer, and every estimate is marked.

Of each span of a world: its flame graph, time breakdown, explanation, findings and row in the waterfall, in JSON and in text, and
of its service the spans with a function and the coverage. Nothing here asks how an answer was made: only durations, threads and
sampling periods of the world are known."""
import re

PERIOD = 10000000
UNITS = {"ns": 1, "us": 1000, "µs": 1000, "ms": 1000000, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
TIME = re.compile(r"(~?)\b(\d[\d,]*(?:\.\d+)?) (ns|us|µs|ms|s|min|h)\b")
EXPECTED = re.compile(r"([\d,]+) samples? of about ([\d,]+) expected")
# What is no time of the span: what was cut off it, how often a sampler fires, which command shows more.
BESIDE = re.compile(r"(the samples stand for|one every) \S+ \S+( more)?|\S+ \S+ more was measured|--time-range \S+|\(\d+ to \d+ .s\)")
STACKS = ("parse", "sum", "sort", "idle")
ROUNDING = 1.006  # text has three digits


def times(text):
    return [(mark, float(n.replace(",", "")) * UNITS[unit]) for mark, n, unit in TIME.findall(BESIDE.sub("", " ".join(text.split())))]


def check_expected(text, told):
    """What came is never said to be more than what could come."""
    for came, most in EXPECTED.findall(" ".join(text.split())):
        assert int(came.replace(",", "")) <= int(most.replace(",", "")), (told, text)


def check_times(text, most, told):
    for _, ns in times(text):
        assert ns <= most * ROUNDING + 1, (told, ns, most, text)


def check_tree(profile, told):
    total = sum(node[2] for node in profile["nodes"])
    assert all(node[2] >= 0 for node in profile["nodes"]) and abs(total - profile["total"]) <= len(profile["nodes"]), (told, profile)


def room_of(answer, duration):
    """Samples that name no thread have one more than fits on each of the fewest threads they can be of."""
    return answer["threads"] * (duration + (0 if answer["areThreadsNamed"] else PERIOD))


def check_profile(server, world, span, told):
    for is_self in ("true", "false"):
        path = f"/api/v1/spans/{span.trace.hex()}/{span.id.hex()}/profile?type={world.type()}&self={is_self}"
        answer, text = server.json(path), server.get(path + "&format=text").text
        told = (*told, path, answer["reason"])
        check_tree(answer["profile"], told)
        check_expected(text, told)
        assert answer["isEstimate"] == (answer["known"]["estimatedSamples"] > 0) == answer["profile"]["isEstimate"], (told, answer)
        assert answer["known"]["samples"] + answer["known"]["estimatedSamples"] == answer["samples"], (told, answer)
        assert all(0 <= s["shareLow"] <= s["share"] <= s["shareHigh"] <= 1 for s in answer["shares"]), (told, answer["shares"])
        if answer["known"]["samples"] == 0:
            assert not answer["shares"] and "HOT PATH" not in text and "95 % interval" not in text, (told, text)
        figures = text.split("\n", 1)[1]  # behind the span's name and duration
        marks = {bool(m) for m, _ in times(figures.split("\n")[0])} | {bool(m) for m in re.findall(r"= (~?)\d+%", text)}
        assert marks <= {answer["isEstimate"]}, (told, text)
        if world.is_alloc:
            continue
        if answer["profile"]["isFew"]:
            assert not times(figures.split("(~")[0].split("\n")[0]) and "HOT PATH" not in text and not answer["shares"], (told, text)
            continue
        room = room_of(answer, span.end - span.start)
        assert answer["profile"]["total"] <= room, (told, answer["profile"]["total"], room)
        check_times(figures, room, told)
        assert answer["looks"] <= answer["mostSamples"] + answer["threads"] or answer["isEstimate"] or "cut to fit" in answer["reason"], (told, answer)


def check_ledger(server, span, told):
    path, duration = f"/api/v1/spans/{span.trace.hex()}/{span.id.hex()}/ledger", span.end - span.start
    answer, text = server.json(path), server.get(path + "?format=text").text
    assert answer["durationNs"] == duration and sum(p["ns"] for p in answer["parts"]) == duration, (told, answer)
    assert all(0 <= p["ns"] <= duration and 0 <= p["share"] <= 1 for p in answer["parts"]), (told, answer)
    check_times(text.split("not on this span's thread")[0], duration, (*told, path))
    check_expected(text, (*told, path))


def below(span):
    """With the span itself: the longest child is told of, and may outlive its parent."""
    return [span] + [one for child in span.children for one in below(child)]


def check_why(server, span, told):
    duration = span.end - span.start
    path = f"/api/v1/explain?trace={span.trace.hex()}&span={span.id.hex()}"
    answer, text = server.json(path), server.get(path + "&format=text").text
    told = (*told, path)
    assert answer["duration_ns"] == duration and sum(p["ns"] for p in answer["parts"]) == duration, (told, answer)
    for part in answer["parts"]:
        if part["low_ns"] is not None:
            assert 0 <= part["low_ns"] <= part["ns"] <= part["high_ns"] <= duration, (told, part)
        for one in part["functions"]:
            assert one["ns"] <= part["ns"] and (one["low_ns"] is None or one["low_ns"] <= one["ns"] <= one["high_ns"] <= duration), (told, part)
        assert sum(one["ns"] for one in part["functions"]) <= part["ns"] + len(part["functions"]), (told, part)  # rounded
        assert all(one["ns"] <= part["ns"] for one in part["children"]), (told, part)
    check_times(text, max(s.end - s.start for s in below(span)), (*told, text))


def check_findings(server, span, told):
    path = f"/api/v1/findings?trace={span.trace.hex()}&span={span.id.hex()}"
    answer = server.json(path)
    for found in answer["findings"]:
        assert 0 <= found["share"] <= 1, (told, found)
        assert answer["samples"] > 0 or found["count"] > 0, (told, path, answer)


def check_waterfall(server, world, trace, told):
    answer = server.json(f"/api/v1/trace/{trace.hex()}")
    for row in answer["spans"]:
        duration, hot = row["durationNs"], row.get("hot")
        assert row["criticalNs"] <= duration, (told, row)
        if hot and answer["hotUnit"] == "nanoseconds":
            most = server.json(f"/api/v1/spans/{trace.hex()}/{row['spanId']}/profile?type=cpu&self={'false' if hot.get('isWithChildren') else 'true'}")
            assert hot["value"] <= most["profile"]["total"] and 0 <= hot["share"] <= 1 and most["known"]["samples"] > 0, (told, row, most["profile"]["total"])
    assert sum(row["criticalNs"] for row in answer["spans"]) + answer["gapNs"] == answer["criticalNs"], (told, answer["criticalNs"])
    whole = server.json(f"/api/v1/traces/{trace.hex()}/ledgers")
    rows = whole["spans"]
    for row in rows:  # the waterfall's breakdown of a span is that of the span, or says what it leaves out
        own = server.json(f"/api/v1/spans/{trace.hex()}/{row['spanId']}/ledger")
        parts = {p["part"]: p["ns"] for p in own["parts"] if p["ns"]}
        estimates = [p["part"] for p in own["parts"] if p["ns"] and p["source"] == "estimate"]
        assert (row["parts"], row["estimates"]) == (parts, estimates) or "left out" in whole["note"], (told, row, parts, whole["note"])
    of = {row["spanId"]: row["durationNs"] for row in answer["spans"]}
    assert all(sum(row["parts"].values()) == of[row["spanId"]] for row in rows), (told, rows)
    for by in ("samples", "wall", "critical-path"):
        path = f"/api/v1/traces/{trace.hex()}/flame?by={by}"
        flame = server.json(path)
        check_tree(flame["profile"], (*told, path))
        if by == "critical-path":
            assert flame["profile"]["total"] <= answer["durationNs"], (told, path)
        text = server.get(path + "&format=text").text
        assert flame["isEstimate"] == ("~" in text), (told, path, text)


def check_service(server, world, told):
    for function in STACKS:
        path = f"/api/v1/frames/spans?function={function}&service={world.name}&type={world.type()}&from=now-1h"
        answer = server.json(path)
        for row in answer["spans"]:
            assert 0 <= row["share"] <= 1, (told, path, row)
    text = server.get(f"/api/v1/coverage?service={world.name}&{world.range()}&format=text").text
    check_expected(text, told)


def check(server, worlds, step):
    """Of each world every `step`-th span."""
    for world in worlds:
        told = (world.kind, world.name, world.processes[0].instance)
        for span in world.processes[0].spans[::step]:
            check_profile(server, world, span, told)
            check_ledger(server, span, told)
            check_why(server, span, told)
            check_findings(server, span, told)
        check_service(server, world, told)
    for trace in sorted({s.trace for world in worlds for s in world.processes[0].spans})[::step]:
        check_waterfall(server, world, trace, ("trace",))
