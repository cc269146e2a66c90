/* verdict.h - which traces of an hour keep their samples: what is written down when the hour was
 * judged, and asked when blocks are merged and answers are given.
 *
 * The file, as verdict/TENANT-HOUR.sfv (docs/format-store.md has the bytes): the rules by which the
 * hour was judged, every trace that is kept with its reasons, its spans and its chance to be kept,
 * and when each of its local roots ran in which process. What is not in it goes, but for the
 * baseline: that is decided by ids alone. */
#pragma once
#include "model/ids.h"
#include "model/keep_rules.h"

struct sf_verdict_entry {
    sf_trace_id id;   /* zero: a span that came in samples only, whose trace is not known */
    uint16_t reasons; /* bits of enum sf_keep_reason */
    uint16_t baseline_per_10000; /* the share of the rules of its services: its chance to be kept
                                  * were it not for its outcome */
    uint32_t first_span, n_spans;
};

struct sf_verdict_root { /* samples without an id that lie in it are kept too */
    uint64_t process;    /* sf_process_hash; that of a span whose process is a guess has no key */
    int64_t start_ns, end_ns;
};

struct sf_verdict_head {
    uint32_t tenant;
    int64_t hour;         /* since 1970 */
    uint64_t lsn;         /* blocks without later records were judged */
    uint64_t below_block; /* and those with a number below this were not thinned by it yet */
    int64_t created_ns;
    uint32_t version;   /* of the rule set, */
    int64_t since_hour; /* and when that began */
    bool is_whole;      /* the hour could not be judged within its limits, or not all of it could
                         * be read: it is kept whole */
    bool is_shared;     /* of all nodes' samples, in ClickHouse; not in the file */
};

struct sf_verdict {
    struct sf_verdict_head head;
    struct sf_keep_rules rules;
    uint64_t n_traces, n_spans;            /* judged */
    uint64_t n_by[SF_KEEP_REASONS];        /* traces kept, by reason; one may have several */
    const struct sf_verdict_entry *traces; /* sorted by id, each once */
    uint32_t n_kept;
    const sf_span_id *spans; /* of the traces, in their order */
    uint32_t n_kept_spans;
    const struct sf_verdict_root *roots; /* sorted by process and start */
    uint32_t n_roots;
    const sf_str *services; /* whose samples named spans in that hour; sorted */
    uint32_t n_services;
    /* Made when it is read: */
    const sf_span_id *by_id; /* the spans, sorted */
    const int64_t *until_ns; /* of each root: the latest end of those up to it in its process */
};

enum { SF_VERDICT_FORMAT = 1, SF_VERDICT_HEADER_LEN = 80 };

/* All bytes of the file; the lists must be sorted. */
void sf_verdict_encode(const struct sf_verdict *v, const uint8_t uuid[16], struct sf_buf *out);
/* The first SF_VERDICT_HEADER_LEN bytes. CORRUPT; UNSUPPORTED: a later format. */
enum sf_err sf_verdict_head_decode(sf_bytes in, const uint8_t uuid[16], struct sf_verdict_head *out,
                                   struct sf_why *why);
/* In `req`, names and lists copied. LIMIT: it is full. */
enum sf_err sf_verdict_decode(sf_bytes in, const uint8_t uuid[16], struct sf_arena *req,
                              struct sf_verdict *out, struct sf_why *why);

/* NULL: it is not kept for what it did; it may still be in the baseline. */
const struct sf_verdict_entry *sf_verdict_trace(const struct sf_verdict *v, sf_trace_id id);
bool sf_verdict_has_span(const struct sf_verdict *v, sf_span_id id);
/* Does a root that is kept overlap [start, end] in the process? */
bool sf_verdict_has_root(const struct sf_verdict *v, uint64_t process, int64_t start_ns,
                         int64_t end_ns);
/* Did samples of the service name spans? Of one whose samples do not, nothing was removed that an
 * answer would be made of. */
bool sf_verdict_has_service(const struct sf_verdict *v, sf_str service);
/* Sorts what a verdict is made of. */
int sf_verdict_entry_cmp(const void *a, const void *b);
int sf_verdict_root_cmp(const void *a, const void *b);
