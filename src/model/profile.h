/* profile.h - profiles of any kind, as decoders return them.
 *
 * Tables belong to a batch; entries are referred to by index ("place"). Index 0 is a normal entry,
 * "none" is SF_NONE. Decoders check every index when they read it, so later modules may rely on
 * them. */
#pragma once
#include "model/ids.h"
#include "model/value.h"

#define SF_NONE UINT32_MAX

/* The type of a profile: name:sample_type:unit:period_type:period_unit, Pyroscope's id in parts,
 * such as "process_cpu:cpu:nanoseconds:cpu:nanoseconds". */
struct sf_profile_type {
    sf_str name, sample_type, sample_unit, period_type, period_unit;
};

struct sf_label { /* of a series: sorted by key, keys unique */
    sf_str key, val;
};

struct sf_mapping { /* a loaded file */
    sf_str file, build_id;
    uint64_t start, limit, file_off;
};

struct sf_function {
    sf_str name, system_name, file;
    uint32_t start_line;
};

struct sf_line { /* one frame of source; several at one location are inlined calls */
    uint32_t function;
    uint32_t line;
};

enum sf_frame_kind { /* kind of code: used for colours, folding and the classification of leaf
                      * frames */
                     SF_FRAME_UNKNOWN,
                     SF_FRAME_NATIVE,
                     SF_FRAME_KERNEL,
                     SF_FRAME_GO,
                     SF_FRAME_JVM,
                     SF_FRAME_PYTHON,
                     SF_FRAME_V8,
                     SF_FRAME_RUBY,
                     SF_FRAME_PHP,
                     SF_FRAME_PERL,
                     SF_FRAME_DOTNET,
                     SF_FRAME_BEAM,
                     SF_FRAME_RUST,
                     SF_FRAME_LUAJIT,
                     SF_FRAME_MARKER,  /* "(truncated)", unwinding failure */
                     SF_FRAME_SERVICE, /* only in answers: bars for a service, ... */
                     SF_FRAME_SPAN,    /* a span, */
                     SF_FRAME_RUNNING, /* ... for CPU time without a stack, */
                     SF_FRAME_UNSEEN,  /* for unknown time, */
                     SF_FRAME_WAIT_GC, /* and for waits: in the order of enum sf_ledger_part */
                     SF_FRAME_WAIT_RUN_QUEUE,
                     SF_FRAME_WAIT_LOCK,
                     SF_FRAME_WAIT_DISK,
                     SF_FRAME_WAIT_NET,
                     SF_FRAME_WAIT_IO,
                     SF_FRAME_WAIT_SLEEP,
                     SF_FRAME_KINDS,
                     SF_FRAME_KINDS_SENT = SF_FRAME_SERVICE /* the kinds before this one may come
                                                             * from senders */
};

struct sf_location {
    uint32_t mapping; /* or SF_NONE */
    uint64_t addr;    /* 0 when lines are known; else the offset in the mapping's file, which is the
                       * same in every process, or the sender's address if it gave no range */
    const struct sf_line *lines; /* innermost first; none while unsymbolised */
    uint32_t n_lines;
    uint8_t kind; /* enum sf_frame_kind */
};

struct sf_stack { /* leaf first */
    const uint32_t *locations;
    uint32_t n;
};

enum sf_sample_state {
    SF_STATE_UNKNOWN,
    SF_STATE_RUNNING,
    SF_STATE_RUN_QUEUE,
    SF_STATE_LOCK,
    SF_STATE_DISK,
    SF_STATE_NET,
    SF_STATE_IO, /* disk or network: the sender does not say which */
    SF_STATE_SLEEP,
    SF_STATE_GC,
    SF_STATES
};

struct sf_sample {
    uint32_t series; /* index in the batch's series */
    uint32_t stack;
    int64_t value;  /* in the series' unit; may be negative in diffs */
    uint32_t count; /* number of events in the value, 1 when unknown */
    /* Optional data from the sender; zero if missing. If any is given, a detail row is stored. */
    sf_trace_id trace_id;
    sf_span_id span_id;
    uint64_t thread;         /* the kernel's thread id, or another number or hash; 0: unknown */
    uint64_t runtime_thread; /* the runtime's own id, such as Java's; 0: unknown */
    sf_str thread_name;
    int64_t start_ns;  /* 0: no time of its own */
    int64_t length_ns; /* 0: a moment */
    uint8_t state;     /* enum sf_sample_state */
    bool has_time;
    bool is_kernel_thread; /* `thread` is the kernel's number */
    /* Its ids are those of the whole upload, which contains several threads, and it is not certain
     * that this thread worked for that request. */
    bool is_lent;
};

struct sf_series {
    sf_str service;
    struct sf_profile_type type;
    const struct sf_label *labels; /* service_name included */
    uint32_t n_labels;
    uint32_t process;             /* index in the batch's processes, or SF_NONE */
    int64_t time_ns, duration_ns; /* time range of this profile */
    int64_t period;
    sf_profile_id id; /* zero: derived from series and time */
    bool is_request;  /* uploaded for one request: its own series, not in the service's aggregate */
    bool is_cumulative; /* a total since process start: the store computes the difference */
    bool is_diff;       /* has negative values: a difference computed by the sender */
};

struct sf_process {      /* process instance that spans and samples are joined by */
    sf_str service, key; /* key: identifies the instance, see model/process.h */
    bool is_guess;       /* only the sender's address is known: samples are joined by service, which
                          * is reported */
};

/* A thread of a process: its names in addition to the number that its samples carry. A number that
 * is neither the kernel's nor the runtime's is a hash of the name, or from rows stored without a
 * table of threads. */
struct sf_sampled_thread {
    uint64_t thread;                /* as in struct sf_sample */
    uint64_t kernel_id, runtime_id; /* 0: not known */
    sf_str name;
};

struct sf_profile_drops { /* data that a decoder left out or truncated, for the answer to the
                           * sender */
    uint64_t n_samples;   /* samples left out */
    uint64_t n_frames;    /* frames of samples that were kept */
    uint64_t n_parts;     /* lines of text, chunks of a recording, profiles of a request */
    uint64_t n_labels;    /* labels of samples over the limit */
    uint64_t n_cut_stacks, n_cut_names;
    char first[160]; /* message about the first one, with its position */
};

struct sf_profile_batch {
    const struct sf_mapping *mappings;
    const struct sf_function *functions;
    const struct sf_location *locations;
    const struct sf_stack *stacks;
    const struct sf_process *processes;
    const struct sf_series *series;
    const struct sf_sample *samples;
    uint32_t n_mappings, n_functions, n_locations, n_stacks, n_processes, n_series, n_samples;
    struct sf_profile_drops drops;
    bool is_estimate; /* the file says so: an export of samples that several spans share */
    /* True if every text in the bytes that this batch was decoded from is either in the batch,
     * unchanged, or in `unseen` (labels with their keys). False if the decoder does not track this.
     */
    bool is_all_seen;
    const struct sf_label *unseen;
    uint32_t n_unseen;
};
