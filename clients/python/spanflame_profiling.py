"""Puts the ids of every OpenTelemetry span on the samples that Pyroscope's profiler takes in it.

Copy this file beside your program; it needs pyroscope-io and the OpenTelemetry SDK.

    provider.add_span_processor(SpanTagger())
    pyroscope.configure(..., tags=tags(provider))

A thread's samples carry span_id and trace_id of the span that is current on it, not of the one that
started last: the tags change when a span becomes current and when it no longer is. Threads that a
span starts carry nothing until a span is current in them. For asyncio set the task factory of the
loop; every step of a task then has the tags of its own span:

    asyncio.get_running_loop().set_task_factory(task_factory)
"""
import asyncio
import collections.abc
import os
import socket
import threading

import pyroscope
from opentelemetry import context, trace
from opentelemetry.sdk.trace import SpanProcessor

_local = threading.local()


def _ids():
    of = trace.get_current_span().get_span_context()
    return (format(of.span_id, "016x"), format(of.trace_id, "032x")) if of.is_valid and of.trace_flags.sampled else None


def _apply(ids):
    """Tags are a set: the old ones go first, or a sample would have both."""
    old = getattr(_local, "ids", None)
    if old == ids:
        return
    _local.ids = ids
    for key, value in zip(("span_id", "trace_id"), old or ()):
        pyroscope.remove_thread_tag(key, value)
    for key, value in zip(("span_id", "trace_id"), ids or ()):
        pyroscope.add_thread_tag(key, value)


def _hook():
    runtime = context._RUNTIME_CONTEXT  # the one place where "current" changes
    if getattr(runtime, "is_spanflame", False):
        return

    class Hooked(type(runtime)):
        is_spanflame = True

        def attach(self, *args):
            token = super().attach(*args)
            _apply(_ids())
            return token

        def detach(self, *args):
            super().detach(*args)
            _apply(_ids())

    runtime.__class__ = Hooked


class SpanTagger(SpanProcessor):
    """Add it to the tracer provider, before the first span."""

    def __init__(self):
        _hook()

    def on_start(self, span, parent_context=None):
        span.set_attribute("pyroscope.profile.id", format(span.get_span_context().span_id, "016x"))


class _Steps(collections.abc.Coroutine):
    def __init__(self, inner):
        self._inner = inner

    def _step(self, go, *args):
        _apply(_ids())
        try:
            return go(*args)
        finally:
            _apply(None)

    def send(self, value):
        return self._step(self._inner.send, value)

    def throw(self, *args):
        return self._step(self._inner.throw, *args)

    def close(self):
        return self._inner.close()

    def __await__(self):
        return self._inner.__await__()


def task_factory(loop, coro, **more):
    """For loop.set_task_factory: what a task does between two awaits carries the tags of its span."""
    return asyncio.Task(_Steps(coro), loop=loop, **more)


def tags(provider):
    """What profiles need to say to be of the same process as the provider's spans."""
    of = provider.resource.attributes
    known = {"service.instance.id": of.get("service.instance.id"), "k8s.pod.name": of.get("k8s.pod.name"),
             "host.name": socket.gethostname(), "process.pid": str(os.getpid())}
    return {key: str(value) for key, value in known.items() if value}
