/* verdict.h - a verdict: the stored result of retention by outcome for one hour, that is, which
 * traces keep their samples. It is used when blocks are merged and answers are made.
 *
 * The file, as verdict/TENANT-HOUR.sfv (docs/format-store.md has the bytes): the rules by which the
 * hour was judged, every trace that is kept with its reasons, its spans and its chance to be kept,
 * and when each of its local roots ran in which process. Samples of all other traces are removed,
 * except for the baseline, which is selected by ids alone. */
#pragma once
#include "model/ids.h"
#include "model/keep_rules.h"

struct sf_verdict_entry {
    sf_trace_id id;              /* zero: a span known only from samples, whose trace is unknown */
    uint16_t reasons;            /* bits of enum sf_keep_reason */
    uint16_t baseline_per_10000; /* baseline share of its services: the probability that it would be
                                  * kept without regard to its outcome */
    uint32_t first_span, n_spans;
};

struct sf_verdict_root { /* samples without an id inside it are kept too */
    uint64_t process;    /* sf_process_hash; without a key if the span's process is a guess */
    int64_t start_ns, end_ns;
};

struct sf_verdict_head {
    uint32_t tenant;
    int64_t hour;         /* since 1970 */
    uint64_t lsn;         /* records up to this one were considered */
    uint64_t below_block; /* blocks with lower numbers have not been processed with it yet */
    int64_t created_ns;
    uint32_t version;   /* version of the rule set */
    int64_t since_hour; /* and its first hour */
    bool is_whole;      /* the hour exceeded the limits, or could not be read completely: all of it
                         * is kept */
    bool is_shared;     /* for the samples of all nodes, in ClickHouse; not in the file */
};

struct sf_verdict {
    struct sf_verdict_head head;
    struct sf_keep_rules rules;
    uint64_t n_traces, n_spans;            /* numbers considered */
    uint64_t n_by[SF_KEEP_REASONS];        /* traces kept, by reason; a trace may have several */
    const struct sf_verdict_entry *traces; /* sorted by id, each once */
    uint32_t n_kept;
    const sf_span_id *spans; /* spans of the traces, in their order */
    uint32_t n_kept_spans;
    const struct sf_verdict_root *roots; /* sorted by process and start */
    uint32_t n_roots;
    const sf_str *services; /* services whose samples carried span ids in that hour; sorted */
    uint32_t n_services;
    /* Computed when it is read: */
    const sf_span_id *by_id; /* the spans, sorted */
    const int64_t *until_ns; /* for each root: the latest end of all up to it in its process */
};

enum { SF_VERDICT_FORMAT = 1, SF_VERDICT_HEADER_LEN = 80 };

/* Writes the file; the lists must be sorted. */
void sf_verdict_encode(const struct sf_verdict *v, const uint8_t uuid[16], struct sf_buf *out);
/* Reads the first SF_VERDICT_HEADER_LEN bytes. CORRUPT; UNSUPPORTED: a newer format. */
enum sf_err sf_verdict_head_decode(sf_bytes in, const uint8_t uuid[16], struct sf_verdict_head *out,
                                   struct sf_why *why);
/* Everything is copied into `req`. LIMIT: it is full. */
enum sf_err sf_verdict_decode(sf_bytes in, const uint8_t uuid[16], struct sf_arena *req,
                              struct sf_verdict *out, struct sf_why *why);

/* NULL: not kept for its outcome; it may still be in the baseline. */
const struct sf_verdict_entry *sf_verdict_trace(const struct sf_verdict *v, sf_trace_id id);
bool sf_verdict_has_span(const struct sf_verdict *v, sf_span_id id);
/* Whether a kept root overlaps [start, end] in the process. */
bool sf_verdict_has_root(const struct sf_verdict *v, uint64_t process, int64_t start_ns,
                         int64_t end_ns);
/* Whether samples of the service carried span ids. If not, removing samples has not changed the
 * answers about its spans. */
bool sf_verdict_has_service(const struct sf_verdict *v, sf_str service);
/* Compare functions for sorting the lists. */
int sf_verdict_entry_cmp(const void *a, const void *b);
int sf_verdict_root_cmp(const void *a, const void *b);
