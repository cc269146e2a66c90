"""old_values.py - what is asked of tests/data/old_3: values that only filters of span blocks of format 3 find.

Golden answers are as in old_data.py; all of these are facts."""
import old_data
from old_data import A, S, Question, ordered, quoted, without

DAY = old_data.DAY
PLACES = {"hour": DAY + 32700, "fresh": DAY + 43500, "log": DAY + 44460}
N_SPANS = {"hour": 70000, "fresh": 3000, "log": 300}


class Orders:
    """Where make.py sends orders: their first moment, and their ids."""

    def __init__(self, place):
        self.number, self.base, self.n_spans = list(PLACES).index(place), PLACES[place] * S, N_SPANS[place]

    def start(self, n):
        """Within ten minutes."""
        return self.base + n * (600 * S // self.n_spans)

    def trace(self, n):
        return f"{0xb5 + self.number:02x}{n:030x}"

    def span(self, n):
        return f"{0xd5 + self.number:02x}{n:014x}"

    def path(self, n):
        return f"/orders/{self.number}/order-{n:07d}"


def questions():
    out = []
    for place in PLACES:
        p = Orders(place)
        at = PLACES[place] // 1200 * 1200
        for n in (0, 5, p.n_spans // 2, p.n_spans - 5):
            q = quoted(f'{{ span.order.path = "{p.path(n)}" }}')
            out.append(Question("exact", f"path-{place}-{n}", f"/api/search?limit=20&q={q}"))
            out.append(Question("exact", f"trace-{place}-{n}", "/api/traces/" + p.trace(n // 10)))
        either = quoted(f'{{ span.order.path = "{p.path(35)}" || span.order.path = "/orders/nowhere" }}')
        out.append(Question("exact", f"path-either-{place}", f"/api/search?limit=20&q={either}"))
        out.append(Question("exact", f"path-pattern-{place}", "/api/search?limit=20&q=" + quoted(f'{{ span.order.path =~ ".*{p.path(55)[-8:]}" }}'), keep=ordered("traces")))
        for number, q in enumerate(('{ span.customer = "customer-7" } | count_over_time()', '{ span.customer = "nobody" } | count_over_time()',
                                    '{ span.order.path != nil } | count_over_time() by (span.http.route)')):
            out.append(Question("exact", f"metrics-{number}-{place}", f"/api/metrics/query_range?start={at}&end={at + 1200}&step=300&exemplars=0&q={quoted(q)}",
                                keep=lambda a: without("exemplars")(ordered("series")(a))))
    out.append(Question("exact", "path-nowhere", "/api/search?limit=20&q=" + quoted('{ span.order.path = "/orders/nowhere" }')))
    names = [(q.sort, q.name) for q in out]
    assert len(set(names)) == len(names) and {q.tenant for q in out} == {A}
    return out
