"""traceql_make.py - queries to put to two parsers: by the grammar, and by changing queries that are known.

Most that are made by the grammar mean something, and most that are changed mean nothing; both parsers must say so of
the same ones."""
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\s+|[A-Za-z_.:][\w.:-]*|\d+(?:\.\d+)?[a-z]*|[&!]?(?:>>|<<|~|>=|<=|>|<|=~|=)|&&|\|\||.', re.S)
ATTRIBUTES = ["name", "kind", "status", "statusMessage", "duration", "childCount", "rootName", "rootServiceName",
              "traceDuration", "nestedSetParent", "nestedSetLeft", ".a", "span.b", "resource.service.name", "resource.c",
              'span."x y"', "event.d", "link.e", "instrumentation.f", "trace:id", "trace:duration", "trace:rootService",
              "span:id", "span:parentID", "span:childCount", "event:name", "event:timeSinceStart", "link:spanID",
              "instrumentation:name", "instrumentation:version"]
LITERALS = ["1", "-2", "0", "1.5", "100ms", "1h30m", '"x"', "`y`", '""', "true", "false", "error", "ok", "server", "client",
            "nil"]
OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "=~", "!~", "&&", "||", "+", "-", "*", "/", "%", "^"]
BETWEEN = ["&&", "||", ">", ">>", "<", "<<", "~", "!>", "!>>", "!<", "!<<", "!~", "&>", "&>>", "&<", "&<<", "&~"]
COMPARE = ["=", "!=", "<", "<=", ">", ">="]


class Maker:
    def __init__(self, random):
        self.r = random

    def one(self, *choices):
        return self.r.choice(choices)

    def leaf(self):
        return self.r.choice(ATTRIBUTES if self.r.random() < 0.55 else LITERALS)

    def expr(self, depth):
        kind = self.r.random()
        if depth <= 0 or kind < 0.2:
            return self.leaf()
        if kind < 0.3:
            return self.one("!", "-") + self.expr(depth - 1)
        if kind < 0.45:
            return f"({self.expr(depth - 1)})"
        return f"{self.expr(depth - 1)} {self.r.choice(OPERATORS)} {self.expr(depth - 1)}"

    def filter(self):
        return "{ }" if self.r.random() < 0.2 else "{ %s }" % self.expr(self.r.choice((1, 1, 2, 3)))

    def spanset(self, depth):
        kind = self.r.random()
        if depth <= 0 or kind < 0.4:
            return self.filter() if self.r.random() < 0.5 else "{ .a }"
        if kind < 0.6:
            return f"({self.spanset(depth - 1)})"
        if kind < 0.75:
            return f"({self.pipeline(depth - 1)})"
        return f"{self.spanset(depth - 1)} {self.r.choice(BETWEEN)} {self.spanset(depth - 1)}"

    def number(self, depth):
        kind = self.r.random()
        if depth <= 0 or kind < 0.5:
            return self.one("1", "2.5", "0", "10ms", "-1")
        if kind < 0.7:
            return f"({self.number(depth - 1)})"
        return f"{self.number(depth - 1)} {self.one('+', '-', '*', '/')} {self.number(depth - 1)}"

    def aggregate(self):
        text = "count()" if self.r.random() < 0.5 else f"{self.one('min', 'max', 'avg', 'sum')}({self.expr(1)})"
        return f"({text})" if self.r.random() < 0.2 else text

    def stage(self, depth):
        kind = self.r.random()
        if kind < 0.35:
            return self.spanset(depth)
        if kind < 0.7:
            sides = [self.aggregate(), self.number(1)]
            if self.r.random() < 0.1:
                sides.reverse()
            return f"{sides[0]} {self.r.choice(COMPARE)} {sides[1]}"
        if kind < 0.8:
            return f"by({self.expr(1)})"
        if kind < 0.9:
            return "select(%s)" % ", ".join(self.r.choice(ATTRIBUTES) for _ in range(self.r.choice((1, 2))))
        return "coalesce()"

    def pipeline(self, depth):
        return " | ".join([self.spanset(depth)] + [self.stage(depth - 1) for _ in range(self.r.choice((0, 0, 1, 2)))])

    def metric(self):
        by = f" by ({self.r.choice(ATTRIBUTES)})" if self.r.random() < 0.4 else ""
        kind = self.r.random()
        if kind < 0.4:
            return self.one("rate()", "count_over_time()") + by
        if kind < 0.6:
            return f"{self.one('min', 'max', 'avg', 'sum', 'histogram')}_over_time({self.r.choice(ATTRIBUTES)}){by}"
        if kind < 0.8:
            return f"quantile_over_time({self.r.choice(ATTRIBUTES)}, {self.one('0.5', '.9', '1, 0.1', '2', '99')}){by}"
        return f"compare({self.filter()}{self.one('', ', 10', ', 5, 1, 2', ', 0')})"

    def metrics(self, depth):
        kind = self.r.random()
        if depth <= 0 or kind < 0.5:
            return f"{self.pipeline(1)} | {self.metric()}{self.second()}"
        if kind < 0.7:
            return f"({self.metrics(depth - 1)}){self.second()}"
        if kind < 0.8:
            return f"{self.number(1)} {self.one('+', '-', '*', '/')} ({self.metrics(depth - 1)}){self.second()}"
        return f"({self.metrics(depth - 1)}) {self.one('+', '-', '*', '/', '%')} " \
               f"{self.one(self.number(1), f'({self.metrics(depth - 1)})')}{self.second()}"

    def second(self):
        kind = self.r.random()
        if kind < 0.6:
            return ""
        return f" | {self.one('topk', 'bottomk')}({self.one('1', '10', '0', '-1')})" if kind < 0.8 \
            else f" {self.r.choice(COMPARE)} {self.number(1)}"

    def query(self):
        text = self.pipeline(2) if self.r.random() < 0.6 else self.metrics(2)
        if self.r.random() < 0.1:
            text += f" with({self.one('sample=true', 'exemplars=5', 'most_recent=true', 'x=0.1, y=`a`', 'name=1')})"
        return text

    def changed(self, known, words):
        parts = list(self.r.choice(known))
        for _ in range(self.r.choice((1, 1, 1, 2, 3))):
            at, kind = self.r.randrange(len(parts) + 1), self.r.random()
            if kind < 0.25 and len(parts) > 1:
                del parts[min(at, len(parts) - 1)]
            elif kind < 0.5:
                parts.insert(at, self.r.choice(words))
            elif kind < 0.7 and parts:
                parts[min(at, len(parts) - 1)] = self.r.choice(words)
            elif kind < 0.85:
                other = sorted((at, self.r.randrange(len(parts) + 1)))
                parts = parts[:other[0]] + ["("] + parts[other[0]:other[1]] + [")"] + parts[other[1]:]
            else:
                parts = parts[:at] + [self.one(" && ", " | ", " || ", " >> ", " + ")] + list(self.r.choice(known))
        return "".join(parts)


def tokens(query):
    return TOKEN.findall(query)
