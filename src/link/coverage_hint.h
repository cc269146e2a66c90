/* coverage_hint.h - which link between traces and profiles is missing, and lines of code or
 * configuration that add it. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum sf_missing {
    SF_MISSING_PROFILES,   /* no profiles at all */
    SF_MISSING_SPANS,      /* no spans at all */
    SF_MISSING_SPAN_IDS,   /* samples do not name spans */
    SF_MISSING_SOME_IDS,   /* some do, and some do not */
    SF_MISSING_EVERY_SPAN, /* they name the first span of a request, not the span they belong to */
    SF_MISSING_PROCESS,    /* spans do not say which instance they ran in */
    SF_MISSING_SENDER,     /* profiles of several instances do not say which they are of */
    SF_MISSING_SYMBOLS,    /* addresses without names */
    SF_MISSING_SAMPLES,    /* spans have few of the samples that their time allows */
    SF_MISSING_RATE,       /* spans are too short for the sampling rate */
    SF_MISSING_TIME,       /* there are gaps between profiles */
    SF_MISSING_CLOCK,      /* clocks contradict each other */
    SF_MISSING_THREADS,    /* spans and samples number threads differently */
    SF_MISSINGS
};

struct sf_coverage_hint {
    const char *kind;     /* "no_span_ids" */
    const char *sentence; /* what is missing, and the consequence */
    /* Lines to add; NULL: none. Names are inserted by sf_coverage_hint_fill(). */
    const char *lines[2];
};

/* `language` as in telemetry.sdk.language: go, java, python, nodejs, ruby, dotnet, rust, c, cpp;
 * others get lines that work for any program. */
struct sf_coverage_hint sf_coverage_hint_of(enum sf_missing what, sf_str language);
/* Writes a line with the service's name and the server's address, the name escaped for its place
 * (shell, URL, source text); `server` must not need escaping. */
void sf_coverage_hint_fill(const char *line, sf_str service, sf_str server, struct sf_buf *out);
