"""oracle.py - assigns samples to spans slowly, from the rules in docs/api.md ("Match quality"), without the program's own
code. Returns {(span, grade): value} and the value that belongs to no span, for one process of a simulated world."""
MS = 1000000
SLACK = MS  # a sample with a time belongs to the span it names only while that ran, 1 ms aside


def self_ns(span, low=0, high=2**63):
    """Its time outside all children in its process, between two moments."""
    low, high = max(span.start, low), min(span.end, high)
    if low >= high:
        return 0
    covered, upto = 0, low
    for start, end in sorted((c.start, c.end) for c in span.children):
        start, end = max(start, upto), min(end, high)
        covered += max(0, end - start)
        upto = max(upto, end)
    return high - low - covered


def below(root):
    return [s for s in root.process.spans if s.root is root]


def deepest(spans, at, thread):
    """The deepest span that ran then; on the sample's thread where both say theirs."""
    running = [s for s in spans if s.start <= at < s.end and (not thread or not s.thread or s.thread == thread)]
    return max(running, key=lambda s: (s.depth, s.start), default=None)


class Balance:
    def __init__(self):
        self.got, self.nobody, self.parts = {}, 0.0, 0

    def give(self, span, grade, value):
        key = (span.key(), grade)
        self.got[key] = self.got.get(key, 0) + value
        self.parts += 1

    def of(self, span):
        return {grade: value for (key, grade), value in self.got.items() if key == span.key() and value}

    def grades(self):
        out = {}
        for (_, grade), value in self.got.items():
            out[grade] = out.get(grade, 0) + value
        return out


def share(out, value, weights, grade):
    total = sum(weights.values())
    if total <= 0:
        out.nobody += value
        return
    for span, weight in weights.items():
        if weight > 0:
            out.give(span, grade, value * weight / total)


def tags_every_span(world, process, root):
    """Samples of the trace's requests in the process name a span below its first one, or a span says that its own id is on
    samples."""
    own = [s for s in process.spans if s.trace == root.trace]
    named = [s.says for s in process.samples if s.says and not isinstance(s.says, bytes) and s.says.trace == root.trace]
    is_said = world.kind in ("tagged", "labels", "few_tagged") and world.is_said
    return any(s.depth > 0 for s in named) or (is_said and any(s.depth > 0 for s in own))


def take_tagged(world, process, out, sample, span):
    has_time = world.kind in ("tagged", "root")
    if span.depth > 0 or not span.children or tags_every_span(world, process, span.root):
        if has_time and not span.start - SLACK <= sample.at < span.end + SLACK:
            out.nobody += sample.value
        else:
            out.give(span, "exact", sample.value)
    elif has_time:
        inner = deepest(below(span), sample.at, sample.thread)
        if not inner and not span.start - SLACK <= sample.at < span.end + SLACK:
            out.nobody += sample.value
        else:
            out.give(inner or span, "inherited", sample.value)
    else:
        weights = {s: self_ns(s) for s in below(span)}
        holders = [s for s, w in weights.items() if w > 0]
        share(out, sample.value, weights, "inherited" if holders == [span] else "shared")


def take_timed(process, out, sample):
    """Equal parts for what the process worked on then; a span known to be on the sample's thread comes first."""
    active = [s for s in (deepest(below(r), sample.at, sample.thread) for r in process.roots()) if s]
    on_it = [s for s in active if sample.thread and s.thread == sample.thread]
    share(out, sample.value, {s: 1 for s in on_it or active}, "window")


def take_untimed(process, out, sample, is_open):
    """By self time inside of the profile's length. Traces that samples of the process name get no part of what names
    nothing."""
    start, length = sample.profile
    weights = {s: self_ns(s, start, start + length) for s in process.spans}
    total = sum(weights.values())
    for span, weight in weights.items():
        if weight > 0 and is_open(span):
            out.give(span, "window", sample.value * weight / total)
        elif weight > 0:
            out.nobody += sample.value * weight / total
    if total <= 0:
        out.nobody += sample.value


def balance(world, process):
    out = Balance()
    named = {s.says.trace for s in process.samples if s.says and not isinstance(s.says, bytes)}
    tagged = sum(s.value for s in process.samples if s.says)
    is_tagger = tagged * 2 >= sum(s.value for s in process.samples)
    for sample in process.samples:
        if isinstance(sample.says, bytes):
            out.nobody += sample.value
        elif sample.says:
            take_tagged(world, process, out, sample, sample.says)
        elif world.kind in ("timed", "timed_unnamed"):
            take_timed(process, out, sample)
        elif is_tagger:
            out.nobody += sample.value  # background work of a process that tags its spans
        else:
            take_untimed(process, out, sample, lambda s: s.trace not in named)
    return out
