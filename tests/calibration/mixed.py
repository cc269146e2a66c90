"""mixed.py - worlds in which everything comes together: services that call each other in one trace, replicas of one service
that send in different ways, a restart, two types from one process, samples of which some name no thread, and spans that are
handed over to another thread while they run. Each process is a world of its own kind (world.py), so that what is true of it, and
the oracle, stay as they are."""
import copy
import random

from world import KINDS, World


class Part(World):
    """One process. `serves`: from which to which part of the world's time, of one that was restarted."""

    def __init__(self, seed, kind, name, instance, t0, serves=(0.0, 1.0), longest_ms=400, **more):
        self.serves, self.handed, self.p_unnamed = serves, {}, random.Random(seed).choice((0.0, 0.2))
        self.longest_ms = longest_ms
        super().__init__(seed, kind, name, t0, n_replicas=1, **more)
        self.processes[0].instance = instance

    def serving(self):
        return tuple(self.t0 + int(self.length * part) for part in self.serves)

    def make_request(self, process):
        n = len(process.spans)
        super().make_request(process)
        for span in process.spans[n:]:
            if span.thread and self.rng.random() < 0.2:  # from its middle on it runs elsewhere
                self.handed[span.id] = ((span.start + span.end) // 2, self.pick_thread())

    def make_sample(self, process):
        sample = super().make_sample(process)
        at, thread = self.handed.get(sample.truth.id if sample.truth else None, (0, 0))
        if thread and sample.at >= at:
            sample.thread = thread
        if self.rng.random() < self.p_unnamed:
            sample.thread = 0
        return sample

    def other_type(self):
        """The same process and requests; samples of the other type."""
        twin = copy.copy(self)
        twin.is_alloc, twin.processes = not self.is_alloc, [copy.copy(self.processes[0])]
        twin.processes[0].samples = []
        twin.make_samples(twin.processes[0])
        return twin


def link(rng, callers, part):
    """Most requests that lie in a span of another service were called by it, and are of its trace."""
    spans = [s for caller in callers for s in caller.processes[0].spans]
    for root in part.processes[0].roots():
        own = [s for s in part.processes[0].spans if s.root is root]
        outer = [s for s in spans if s.start < root.start and max(o.end for o in own) < s.end]
        if outer and rng.random() < 0.8:
            root.called_by = rng.choice(outer)
            for span in own:
                span.trace = root.called_by.trace


def make(seed, t0):
    """The processes of one world: two of a service that calls, three of one that is called, of which one is the restart of
    another."""
    rng = random.Random(f"mixed {seed}")
    number = 100000 + 10 * seed

    def part(i, name, instance, **more):
        return Part(number + i, rng.choice(KINDS), f"{name}-{seed}", f"{name}-{seed}-{instance}", t0, n_threads=rng.choice((1, 2, 6)), **more)
    callers = [part(i, "front", str(i), n_requests=rng.randint(4, 8), longest_ms=2500) for i in range(2)]
    called = [part(2, "back", "0", serves=(0.0, 0.5)), part(3, "back", "0-again", serves=(0.6, 1.0)), part(4, "back", "1")]
    for one in called:
        link(rng, callers, one)
    return callers + called
