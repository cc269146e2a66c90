/* coverage_hint.h - which link between traces and profiles is missing, and the lines that add it.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum sf_missing {
    SF_MISSING_PROFILES,   /* no profiles at all */
    SF_MISSING_SPANS,      /* no spans at all */
    SF_MISSING_SPAN_IDS,   /* samples do not name spans */
    SF_MISSING_SOME_IDS,   /* some do, and some do not */
    SF_MISSING_EVERY_SPAN, /* they name the first span of a request, not the one they are of */
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
    const char *sentence; /* what is missing and what that costs */
    const char *lines[2]; /* to add; NULL: none. Names are put in by sf_coverage_hint_fill() */
};

/* `language` as telemetry.sdk.language says it: go, java, python, nodejs, ruby, dotnet, rust, c,
 * cpp; anything else gets lines that hold for any program. */
struct sf_coverage_hint sf_coverage_hint_of(enum sf_missing what, sf_str language);
/* A line with the service's name and the server's address in it, the name escaped for the place it
 * stands in (shell, URL, source text); `server` must be harmless by itself. */
void sf_coverage_hint_fill(const char *line, sf_str service, sf_str server, struct sf_buf *out);
