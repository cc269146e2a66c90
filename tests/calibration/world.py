"""world.py - small worlds of processes, requests and samples, made from a seed, and how each kind of sender tells them.

A world knows what is true: which span every sample belongs to. What the server is told is less, and differs by kind:

kind            as sent by                                   a sample says
tagged          libspanflame, SDKs that tag every span       span, trace, time, thread
root            Java's agents, timed SDKs that tag requests  the request's first span in the process, time, thread
root_lost       the same, and it is lost on the way          likewise, or nothing; time, thread
root_untimed    Go, Python, Ruby, .NET: pprof with labels    the request's first span; its profile's time
labels          Node: labels around what runs               span, no time
few_tagged      a process of which one library tags          a fifth of it a span, the rest nothing; no time
timed           whole-host profilers, OTLP                   time, thread
timed_unnamed   the same without threads                     time
untimed         pprof that is scraped                        nothing
"""
import json
import random

from pprof_make import pprof

US, MS, S = 1000, 1000000, 10**9
KINDS = ("tagged", "root", "root_untimed", "labels", "few_tagged", "timed", "timed_unnamed", "untimed")
TIMED = ("tagged", "root", "root_lost", "timed", "timed_unnamed")
STACKS = ("main;serve;parse", "main;serve;sum", "main;serve;sum;sort", "main;idle")


class Span:
    def __init__(self, world, process, parent, start, end, thread):
        rng = world.rng
        self.trace = parent.trace if parent else rng.randbytes(16)
        self.id = rng.randbytes(8)
        self.process, self.parent, self.thread = process, parent, thread
        self.start, self.end = start, end
        self.depth = parent.depth + 1 if parent else 0
        self.root = parent.root if parent else self
        self.children, self.called_by = [], None  # the span of another process that called it
        if parent:
            parent.children.append(self)
        process.spans.append(self)

    def key(self):
        return self.trace.hex(), self.id.hex()


class Sample:
    def __init__(self, at, value, stack, thread=0, truth=None, says=None, profile=None):
        self.at, self.value, self.stack, self.thread = at, value, stack, thread
        self.truth = truth  # the span it is of; None: of none
        self.says = says  # the span whose id it carries, bytes for an id nobody has, or None
        self.profile = profile  # (start, length) of the profile it is sent in


class Process:
    def __init__(self, service, instance, language):
        self.service, self.instance, self.language = service, instance, language
        self.has_name = self.has_profile_name = True  # spans, profiles say which process they are of
        self.zone = ""  # a label of its profiles
        self.spans, self.samples = [], []

    def roots(self):
        return [s for s in self.spans if not s.parent]

    def resource(self):
        names = {"service.instance.id": self.instance} if self.has_name else {}
        return {**names, "telemetry.sdk.language": self.language, "telemetry.sdk.name": "opentelemetry"}

    def profile_resource(self):
        zone = {"zone": self.zone} if self.zone else {}
        return {**zone, **{k: v for k, v in self.resource().items() if self.has_profile_name or k != "service.instance.id"}}


class World:
    """`n_replicas` processes of one service. `has_threads`: spans and samples name threads, `n_threads` of them: with few,
    requests that run at the same time say the same one."""
    longest_ms = 400  # requests

    def __init__(self, seed, kind, name, t0, n_replicas=None, is_alloc=None, has_threads=None, n_requests=None, n_threads=6):
        self.rng = random.Random(f"{kind} {seed}")
        rng = self.rng
        self.kind, self.name, self.t0, self.n_threads = kind, name, t0, n_threads
        self.is_alloc = rng.random() < 0.5 if is_alloc is None else is_alloc
        self.has_threads = (rng.random() < 0.7 if has_threads is None else has_threads) and kind != "timed_unnamed"
        self.is_said = rng.random() < 0.5  # spans say that their ids are on samples
        self.length = 3 * S
        self.processes = [Process(name, f"{name}-{i}", "java" if kind.startswith("java") else rng.choice(["go", "cpp", "python"]))
                          for i in range(n_replicas or rng.randint(1, 3))]
        for process in self.processes:
            for _ in range(n_requests or rng.randint(2, 6)):
                self.make_request(process)
            self.make_samples(process)

    # ---- requests ----

    def moment(self, low, high):
        """Never at the same time as a sample: those are at whole microseconds."""
        return self.rng.randrange(low // US, max(low // US + 1, high // US)) * US + 500

    def serving(self):
        return self.t0, self.t0 + self.length

    def make_request(self, process):
        rng = self.rng
        start = self.moment(*self.serving())
        root = Span(self, process, None, start, start + rng.randint(20, self.longest_ms) * MS, self.pick_thread())
        self.make_children(root, 3)

    def make_children(self, span, levels):
        rng = self.rng
        if levels == 0 or span.end - span.start < 8 * MS:
            return
        for _ in range(rng.randint(0, 3)):
            start = self.moment(span.start, span.end - 3 * MS)
            end = self.moment(start + 2 * MS, span.end)
            if rng.random() < 0.1:
                end += rng.randint(1, 20) * MS  # handed over: it outlives its parent
            thread = span.thread if rng.random() < 0.6 else self.pick_thread()
            self.make_children(Span(self, span.process, span, start, max(end, start + MS), thread), levels - 1)

    def pick_thread(self):
        return self.rng.randint(1001, 1000 + self.n_threads) if self.has_threads else 0

    # ---- samples ----

    def value(self):
        return self.rng.randint(1, 4000) * 1000 if self.is_alloc else 10 * MS

    def make_samples(self, process):
        rng = self.rng
        for _ in range(rng.randint(40, 120)):
            sample = self.make_sample(process)
            length = S
            start = sample.at - (sample.at - self.t0) % length
            sample.profile = (start, length)
            process.samples.append(sample)

    def make_sample(self, process):
        rng, kind = self.rng, self.kind
        at = self.moment(self.t0 - 50 * MS, self.t0 + self.length + 400 * MS) - 500
        thread = self.pick_thread()
        stack = rng.choice(STACKS)
        if kind in ("timed", "timed_unnamed", "untimed") or (kind == "few_tagged" and rng.random() < 0.8):
            return Sample(at, self.value(), stack, thread)
        span = rng.choice(process.spans)
        at = self.moment(span.start, span.end) + 500
        at = min(at, (span.end - 1) // US * US)
        sample = Sample(at, self.value(), stack, span.thread or thread, span, span)
        if kind in ("root", "root_untimed"):
            sample.says = span.root
        luck = rng.random()
        if luck < 0.06:
            sample.says, sample.truth = rng.randbytes(8), None  # of a span that never came
        elif luck < 0.12 and kind in ("tagged", "root"):
            sample.at = (max(s.end for s in process.spans if s.root is span.root) + rng.randint(2, 20) * MS) // US * US
            sample.truth = None  # the id was left on the thread
        elif luck < 0.2 and kind in ("root_untimed", "labels"):
            sample.says, sample.truth = None, None  # background work
        return sample

    # ---- sending ----

    def send(self, server):
        for process in self.processes:
            server.send([{"trace_id": s.trace, "span_id": s.id, "parent": (s.parent or s.called_by).id if s.parent or s.called_by else None, "name": "op",
                          "service": process.service, "start": s.start, "end": s.end, "kind": 2 if not s.parent else 1,
                          "resource": process.resource(), "attributes": self.attributes(s)} for s in process.spans])
            self.send_samples(server, process)

    def send_samples(self, server, process):
        if self.kind in TIMED:
            answer = server.post("/v1development/profiles", self.otlp(process), "application/json")
            assert answer.status == 200, answer.text
            assert answer.text in ("{}", ""), answer.text
            return
        for start, length in sorted({s.profile for s in process.samples}):
            body = self.pprof(process, start, length)
            label = f"&label=service.instance.id={process.instance}" if process.has_profile_name else ""
            label += f"&label=zone={process.zone}" if process.zone else ""
            answer = server.post(f"/api/v1/profile?service={process.service}{label}", body, "application/octet-stream")
            assert answer.status == 200, answer.text

    def attributes(self, span):
        out = {"thread.id": span.thread} if span.thread else {}
        if self.kind in ("tagged", "labels", "few_tagged") and self.is_said:
            out["pyroscope.profile.id"] = span.id.hex()
        return out

    def id_of(self, sample):
        return sample.says if isinstance(sample.says, bytes) else sample.says.id

    def pprof(self, process, start, length):
        """Samples of one stack and span are added up, as every pprof does."""
        stacks = {}
        for s in process.samples:
            if s.profile == (start, length):
                key = (s.stack, (("span_id", self.id_of(s).hex()),) if s.says else ())
                stacks[key] = stacks.get(key, 0) + s.value
        kind = {"sample_type": "alloc_space", "unit": "bytes", "period": 524288} if self.is_alloc else {}
        return pprof(stacks, when=start, seconds=length // S, **kind)

    def otlp(self, process):
        strings, links, attributes, stacks, names = [""], [{}], [{}], [{}], {}

        def word(text):
            if text not in strings:
                strings.append(text)
            return strings.index(text)
        functions, locations = [{}], [{}]

        def stack_of(path):
            if path not in names:
                for name in path.split(";"):
                    if name not in names:
                        functions.append({"nameStrindex": word(name)})
                        locations.append({"lines": [{"functionIndex": len(functions) - 1}]})
                        names[name] = len(locations) - 1
                stacks.append({"locationIndices": [names[n] for n in reversed(path.split(";"))]})
                names[path] = len(stacks) - 1
            return names[path]
        profiles = []
        for start, length in sorted({s.profile for s in process.samples}):
            samples = []
            for s in process.samples:
                if s.profile != (start, length):
                    continue
                one = {"stackIndex": stack_of(s.stack), "values": [str(s.value)], "timestampsUnixNano": [str(s.at)]}
                if s.says:
                    trace = bytes(15) + b"\1" if isinstance(s.says, bytes) else s.says.trace
                    links.append({"traceId": trace.hex(), "spanId": self.id_of(s).hex()})
                    one["linkIndex"] = len(links) - 1
                if s.thread and self.kind != "timed_unnamed":
                    attributes.append({"keyStrindex": word("thread.id"), "value": {"intValue": str(s.thread)}})
                    one["attributeIndices"] = [len(attributes) - 1]
                samples.append(one)
            unit = ("alloc_space", "bytes") if self.is_alloc else ("cpu", "nanoseconds")
            profile = {"sampleType": {"typeStrindex": word(unit[0]), "unitStrindex": word(unit[1])}, "samples": samples,
                       "timeUnixNano": str(start), "durationNano": str(length),
                       "periodType": {"typeStrindex": word(unit[0]), "unitStrindex": word(unit[1])},
                       "period": "524288" if self.is_alloc else str(10 * MS)}
            profiles.append(profile)
        resource = [{"key": k, "value": {"stringValue": v}}
                    for k, v in dict(process.profile_resource(), **{"service.name": process.service}).items()]
        return json.dumps({"resourceProfiles": [{"resource": {"attributes": resource}, "scopeProfiles": [{"profiles": profiles}]}],
                           "dictionary": {"stringTable": strings, "functionTable": functions, "locationTable": locations,
                                          "stackTable": stacks, "linkTable": links, "mappingTable": [{}],
                                          "attributeTable": attributes}}).encode()

    def range(self):
        return f"from={self.t0 // S - 5}&until={(self.t0 + self.length) // S + 5}"

    def type(self):
        return "alloc_space" if self.is_alloc else "cpu"
