/* profile_format.h - decodes a profile in any known format to a batch.
 *
 * The format is recognised by content, never by a file's name; an endpoint that knows the format
 * (/ingest?format=tree) passes it in the hint, because a few cannot be distinguished from others.
 * Each format is a file of its own and one line in the table of profile_format.c.
 *
 * A malformed file (invalid protobuf or JSON, no sample types) fails with INPUT, with the part and
 * its offset, and yields nothing. A single invalid element (a sample with an unknown location, a
 * line of text without a count) is left out and counted in the batch's drops; when nothing is left
 * of a profile that had samples, that is INPUT too. A profile without samples is valid: SDKs send
 * such. LIMIT: more than a limit allows, or than the arena holds.
 *
 * NOMEM: only JSON that is converted first, and embedded files, use the heap.
 *
 * Strings of the batch are views into `bytes`, the hint or the arena: all three must outlive it. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"
#include "wire/inflate.h"

/* Go serves levels (inuse_space) and totals since process start (alloc_space) together, under two
 * URLs: a scrape of both uses each from one of them. */
enum sf_profile_part { SF_PROFILE_WHOLE, SF_PROFILE_TOTALS, SF_PROFILE_LEVELS };

struct sf_profile_hint { /* what the endpoint knows about the upload; all may be zero */
    sf_str format;       /* "pprof", "jfr", "folded", "lines", "tree", ...; empty: by content */
    sf_str service;      /* a label service_name takes precedence; neither: unknown_service */
    sf_str type_word;    /* "cpu", "alloc_space", ...: the type of a text format; empty: cpu */
    /* Given parts take precedence: the name always, the others if the file has one sample type. */
    struct sf_profile_type type;
    /* Labels of the upload, in any order. trace_id, span_id and profile_id become ids of every
     * sample, __name__ is the type's name, __session_id__ the process; other "__" labels are
     * dropped. */
    const struct sf_label *labels;
    uint32_t n_labels;
    sf_trace_id trace_id; /* for every sample that has none of its own; zero: none */
    sf_span_id span_id;
    sf_profile_id profile_id;
    int64_t from_ns, until_ns; /* for formats without a time of their own; 0: unknown */
    int64_t now_ns;            /* used when the time is unknown */
    bool is_request;           /* uploaded for one request: stored as separate series */
    /* Scraped by this server: totals since process start are marked as cumulative or, with `prev`,
     * subtracted; a total that decreased means that the process was restarted. */
    bool is_scrape;
    enum sf_profile_part part; /* for a pprof: which part to use */
    bool has_sample_rate;
    uint32_t sample_rate;      /* Hz, for text formats and JFR; 0: values are not times */
    sf_str otlp_version;       /* "1.9": given by the client; empty: detected */
    sf_str spy;                /* spyName: tells the language; used to correct errors of old
                                * clients */
    sf_str jfr_labels;         /* the part "labels" sent with a JFR recording, decompressed */
    sf_str prev;               /* "prev_profile": a pprof to subtract, decompressed */
    sf_str sample_type_config; /* JSON, sent with a pprof */
    struct sf_attrs resource;  /* attributes of the process, as far as known; see model/process.h */
    sf_str session_id, peer;   /* to identify the process */
    uint32_t max_frames;       /* frames of one stack, deeper ones are cut; 0: SF_LIMIT_FRAMES */
};

/* Fails with INPUT, LIMIT, NOMEM or UNSUPPORTED (recognised, but not supported); `out` is unchanged
 * then. `hint` may be NULL. */
enum sf_err sf_profile_format_decode(sf_str bytes, const struct sf_profile_hint *hint,
                                     struct sf_arena *a, struct sf_profile_batch *out,
                                     struct sf_why *why);

/* The name of the format these bytes would be decoded as, or NULL. */
const char *sf_profile_format_find(sf_str bytes);

/* Fails with INPUT or UNSUPPORTED for bytes of unknown format: the message says what they look
 * like, and what is supported. */
enum sf_err sf_profile_format_refuse(sf_str bytes, struct sf_why *why);

/* Removes one layer of gzip or zstd, if there is one, into `out` (emptied first); otherwise *plain
 * is `in` itself. At most `max_len` bytes, and not above SF_LIMIT_RATIO per byte. */
enum sf_err sf_profile_format_unwrap(struct sf_inflate *z, sf_str in, size_t max_len,
                                     struct sf_buf *out, sf_str *plain, struct sf_why *why);
