"""old_waits.py - what is asked of tests/data/old_2: samples and waits of a pool of threads, in the rows of format 2.

Golden answers are as in old_data.py: facts, and conclusions."""
import old_data
from old_data import A, S, Question, only, quoted, span_facts

DAY = old_data.DAY
PLACES = {"day": DAY - 86400 + 36300, "hour": DAY + 32700, "fresh": DAY + 43500, "log": DAY + 44460}


class Pool:
    """Where make.py sends the story of a pool: its first moment, and its ids."""
    N_THREADS, N_REQUESTS = 8, 12

    def __init__(self, place):
        self.number, self.base = list(PLACES).index(place), PLACES[place] * S

    def trace(self, thread, request):
        return f"{0xb1 + self.number:02x}{thread:02x}{request:028x}"

    def span(self, thread, request):
        return f"{0xd1 + self.number:02x}{thread:02x}{request:012x}"


MOST = 10**9  # the span of (9, 0) lasted one second, on one thread; its waits are of hours


def cut_spans(answer):
    """A wait longer than its span was told whole: no thread of a span can wait longer than it lasted."""
    span = answer["answer"]
    exact = span["grades"]["exact"]
    return {**answer, "answer": {**span, "grades": {"exact": {**exact, "value": min(exact["value"], MOST)}},
                                 "profile": {"stacks": dict.fromkeys(span["profile"]["stacks"])}}}


def rounded(answer):
    """What is cut in proportion is whole nanoseconds: which of its samples has the odd one depends on their order."""
    timeline = [[round(v, -3) if isinstance(v, int) else v for v in row] for row in answer["answer"]["timeline"]]
    return {**answer, "answer": {**answer["answer"], "timeline": timeline}}


def cut_search(answer):
    """Spans of 8 ms were found to have more than 30 ms of CPU time, on one thread, since a sample stands for 10 ms."""
    def spans(found):
        return {"spans": [{**s, "attributes": []} for s in found["spans"] if int(s["durationNanos"]) > 30 * 10**6]}
    traces = [{**t, "spanSet": spans(t["spanSet"]), "spanSets": [spans(s) for s in t["spanSets"]]} for t in answer["answer"]["traces"]]
    return {**answer, "answer": {"traces": [t for t in traces if t["spanSet"]["spans"]]}}


def questions():
    out = []
    for place in PLACES:
        p = Pool(place)
        at = PLACES[place] // 1200 * 1200
        for what in ("cpu", "off_cpu", "objects"):
            out.append(Question("exact", f"profile-{what}-{place}", f"/api/v1/profile?app=pool&type={what}&from={at}&until={at + 1200}&format=folded"))
            for thread, request in ((0, 0), (3, 5), (7, 11), (9, 0)):
                path = f"/api/v1/spans/{p.trace(thread, request)}/{p.span(thread, request)}/profile?type={what}"
                mend = cut_spans if (what, thread) == ("off_cpu", 9) else None
                out.append(Question("exact", f"span-{what}-{thread}-{request}-{place}", path + "&self=true", keep=span_facts, mend=mend))
                if what != "objects":
                    out.append(Question("inferred", f"span-{what}-{thread}-{request}-{place}", path + "&timeline=true",
                                        mend=mend and rounded))
            out.append(Question("exact", f"trace-{what}-{place}", f"/api/v1/profile?trace_id={p.trace(5, 3)}&type={what}&format=folded"))
        for thread, request in ((0, 0), (3, 5), (6, 1), (9, 0)):
            out.append(Question("inferred", f"ledger-{thread}-{request}-{place}", f"/api/v1/spans/{p.trace(thread, request)}/{p.span(thread, request)}/ledger"))
        out.append(Question("exact", f"frames-{place}", f"/api/v1/frames/spans?function=fsync&type=off_cpu&from={at}&until={at + 1200}",
                            keep=only("function", "type", "unit", "found", "value")))
        q = quoted('{ name = "serve" && profile.cpu > 30ms }')
        out.append(Question("exact", f"search-{place}", f"/api/search?limit=500&start={at}&end={at + 1200}&q={q}", keep=old_data.ordered("traces"),
                            mend=cut_search))
    names = [(q.sort, q.name) for q in out]
    assert len(set(names)) == len(names) and {q.tenant for q in out} == {A}
    return out
