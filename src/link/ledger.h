/* ledger.h - where a span's time went, to the last nanosecond.
 *
 * The ledger follows the span's own thread, decided instant by instant (link/thread_line.h).
 * A sample enters it by these rules:
 *
 *   the span's thread then is known, and is the sample's         enters
 *   it is known, and is not the sample's                         work beside it where the sample
 *                                                                names the request, else apart
 *   it is unknown, or the sample's is: the sample names the      enters
 *   span, or the request and a moment with one candidate
 *   ...: it is CPU time at a moment with one candidate           enters, as an estimate
 *   ...: all else (shares of a profile, waits of any thread      apart
 *   of the process)
 *
 * What is apart is listed beside the ledger and is not a part of it. Ranges of known meaning are
 * laid on the span's time: measured waits, child spans here and elsewhere; where several lie on
 * each other the first of enum sf_ledger_part wins. Samples that represent a moment then move their
 * worth of time from what lay at that moment to what they saw. Samples without a time explain what
 * nothing else did. Exact figures the span carries come before all samples of the same thing. The
 * parts always add up to the span's duration: what nothing explains is unknown, and is not spread
 * over the rest. */
#pragma once
#include "link/attribution.h"
#include "link/thread_line.h"
#include "model/profile.h"

enum sf_ledger_part { /* in order of precedence */
                      SF_PART_CPU,
                      SF_PART_GC,
                      SF_PART_RUN_QUEUE, /* ready, waiting for a CPU */
                      SF_PART_LOCK,
                      SF_PART_DISK,
                      SF_PART_NET,
                      SF_PART_IO, /* disk or network: the sample does not say which */
                      SF_PART_SLEEP,
                      SF_PART_CHILD,  /* inside child spans of this process */
                      SF_PART_REMOTE, /* waiting for child spans of others */
                      SF_PART_UNKNOWN,
                      SF_PARTS
};

enum sf_ledger_source { /* of a part, best one seen */
                        SF_SOURCE_NONE,
                        SF_SOURCE_SPANS,
                        SF_SOURCE_ESTIMATE, /* samples that name neither span nor thread, or that
                                               others share: a twentieth of the part or more */
                        SF_SOURCE_SAMPLES,
                        SF_SOURCE_MEASURED, /* waits with a beginning and an end */
                        SF_SOURCE_EXACT     /* the span carries the figure */
};

struct sf_ledger_sample { /* of the span itself, not of its children */
    uint64_t thread;      /* 0: unknown */
    int64_t start_ns;
    int64_t length_ns; /* > 0 and is_measured: it was in `part` from start to start + length */
    int64_t worth_ns;  /* time it represents: period, or length */
    uint8_t part;      /* enum sf_ledger_part: CPU to SLEEP */
    uint8_t grade;     /* enum sf_grade: how it came to the span */
    bool has_time, is_measured;
    bool is_filler;  /* says of the time only what nothing else did (and no child spans) */
    bool is_shared;  /* other spans have a part of it, too */
    bool is_guess;   /* it is not known to be the span's: what it adds is an estimate */
    bool names_span; /* it carries the span's id, whatever its grade */
};

enum sf_ledger_role {                     /* of a sample */
                      SF_LEDGER_OWN,      /* it is in the ledger */
                      SF_LEDGER_ESTIMATE, /* likewise, as an estimate */
                      SF_LEDGER_BESIDE,   /* work for the request on another thread */
                      SF_LEDGER_APART     /* nothing ties it to the span */
};

struct sf_ledger_exact {           /* of the span's thread, without children */
    int64_t ns[SF_PART_SLEEP + 1]; /* SF_LEDGER_UNSAID: not carried */
};
#define SF_LEDGER_UNSAID (-1)
extern const struct sf_ledger_exact sf_ledger_unsaid; /* nothing is carried */

struct sf_ledger {
    uint64_t ns[SF_PARTS]; /* sum: duration_ns */
    uint8_t sources[SF_PARTS];
    uint64_t duration_ns;
    uint64_t cut_ns[SF_PARTS];   /* of samples or figures of that part, had no space in the span */
    uint64_t apart_ns[SF_PARTS]; /* of samples that nothing ties to the span */
    uint64_t other_cpu_ns;       /* of further threads that worked for the span */
    uint32_t n_samples;          /* in the ledger */
    uint32_t n_others;           /* of other threads */
    uint32_t n_apart;
    const uint8_t *roles; /* enum sf_ledger_role of each sample */
    struct sf_thread_line threads;
};

/* LIMIT: the arena is full. */
enum sf_err sf_ledger_make(const struct sf_span_tree *tree, uint32_t span,
                           const struct sf_ledger_sample *samples, uint32_t n_samples,
                           const struct sf_ledger_exact *exact, struct sf_arena *req,
                           struct sf_ledger *out, struct sf_why *why);

/* What a sample's state means in a ledger; UNKNOWN for none. */
enum sf_ledger_part sf_ledger_part_of(enum sf_sample_state state);
const char *sf_ledger_part_name(enum sf_ledger_part part);       /* "run_queue": in JSON */
const char *sf_ledger_part_words(enum sf_ledger_part part);      /* "waiting for a CPU" */
const char *sf_ledger_source_name(enum sf_ledger_source source); /* "measured" */
