/* ledger.h - divides a span's time into parts, to the nanosecond: the time breakdown.
 *
 * The breakdown follows the span's own thread, which may change over time (link/thread_line.h).
 * Which samples are used:
 *
 *   the span's thread at that time is known, and is the          used
 *   sample's
 *   it is known, and is not the sample's                         listed as parallel work if the
 *                                                                sample names the request,
 *                                                                otherwise apart
 *   it is unknown, or the sample's is; and the sample names      used
 *   the span, or the request and a time with one candidate
 *   likewise; and it is CPU time at a time with one candidate    used, as an estimate
 *   likewise; all others (shares of a profile, waits of any      apart
 *   thread of the process)
 *
 * Samples that are apart are listed beside the breakdown and are not in it. Time ranges of known
 * meaning are put on the span's time first: measured waits, local and remote child spans; where
 * several overlap, the first in enum sf_ledger_part wins. Samples of a moment then move the time
 * they represent from the part at that moment to their own part. Samples without a time explain
 * time that nothing else explained. Exact figures that the span carries take precedence over all
 * samples of the same part. The parts always sum up to the span's duration: time that nothing
 * explains is unknown, and is not distributed over the other parts. */
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
                      SF_PART_IO, /* disk or network: the sample does not tell which */
                      SF_PART_SLEEP,
                      SF_PART_CHILD,  /* inside child spans of this process */
                      SF_PART_REMOTE, /* waiting for child spans in other processes */
                      SF_PART_UNKNOWN,
                      SF_PARTS
};

enum sf_ledger_source { /* of a part: the best one */
                        SF_SOURCE_NONE,
                        SF_SOURCE_SPANS,
                        SF_SOURCE_ESTIMATE, /* samples without span and thread, or shared with
                                               others, make up a twentieth of the part or more */
                        SF_SOURCE_SAMPLES,
                        SF_SOURCE_MEASURED, /* waits with a beginning and an end */
                        SF_SOURCE_EXACT     /* the span carries the figure */
};

struct sf_ledger_sample { /* of the span itself, not of its descendants */
    uint64_t thread;      /* 0: unknown */
    int64_t start_ns;
    int64_t length_ns; /* > 0 and is_measured: it was in `part` from start to start + length */
    int64_t worth_ns;  /* time that it represents: period, or length */
    uint8_t part;      /* enum sf_ledger_part: CPU to SLEEP */
    uint8_t grade;     /* enum sf_grade: how it was attributed to the span */
    bool has_time, is_measured;
    bool is_filler;  /* used only for time that nothing else explains (nor child spans) */
    bool is_shared;  /* other spans have a part of it, too */
    bool is_guess;   /* it is not certain that it is the span's: its contribution is an estimate */
    bool names_span; /* it carries the span's id, whatever its grade */
};

enum sf_ledger_role {                     /* of a sample */
                      SF_LEDGER_OWN,      /* used in the breakdown */
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
    uint64_t cut_ns[SF_PARTS]; /* time of samples or figures of that part that exceeded the span */
    uint64_t apart_ns[SF_PARTS]; /* time of samples that nothing ties to the span */
    uint64_t other_cpu_ns;       /* of further threads that worked for the span */
    uint32_t n_samples;          /* samples in the breakdown */
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

/* The part of a sample's state; UNKNOWN for none. */
enum sf_ledger_part sf_ledger_part_of(enum sf_sample_state state);
const char *sf_ledger_part_name(enum sf_ledger_part part);       /* "run_queue": in JSON */
const char *sf_ledger_part_words(enum sf_ledger_part part);      /* "waiting for a CPU" */
const char *sf_ledger_source_name(enum sf_ledger_source source); /* "measured" */
