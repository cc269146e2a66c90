/* jfr.h - one Java Flight Recorder file being read; shared by the files that read its parts.
 * Private to this module.
 *
 * A file consists of chunks, each complete in itself: types, constants and ticks are valid in their
 * chunk only. Data of a chunk is in `scratch`, which is emptied between chunks. Events that are not
 * in our list are skipped unread, so that environment variables, properties, command lines and
 * process lists in a recording are never stored. */
#pragma once
#include "base/limits.h"
#include "base/table.h"
#include "decode/id_map.h"
#include "decode/jfr/jfr_cursor.h"
#include "decode/profile_build.h"

enum { SF_JFR_HEADER_LEN = 68 };

struct sf_jfr_header {
    uint16_t major, minor;
    uint64_t size, pool_off, meta_off;
    int64_t start_ns, duration_ns, start_ticks;
    uint64_t rate;
    uint8_t state;
    uint16_t flags;
};

/* --- types --- */

enum sf_jfr_kind {
    SF_JFR_NOTHING, /* a class without fields takes no bytes */
    SF_JFR_BYTE,
    SF_JFR_SHORT,
    SF_JFR_INT,
    SF_JFR_LONG, /* also keys into constant pools */
    SF_JFR_FLOAT,
    SF_JFR_DOUBLE,
    SF_JFR_STRING,
    SF_JFR_CLASS
};

enum sf_jfr_unit { SF_JFR_NO_UNIT, SF_JFR_TICKS, SF_JFR_NS, SF_JFR_US, SF_JFR_MS, SF_JFR_S };

struct sf_jfr_field {
    sf_str name;
    uint64_t class_id;
    uint32_t cls; /* index of its class */
    uint8_t kind; /* enum sf_jfr_kind; LONG when it is a key */
    uint8_t unit; /* enum sf_jfr_unit */
    bool is_pool, is_array;
};

/* Fields of events and constants that are read, by name. */
enum sf_jfr_slot {
    SF_JFR_START,
    SF_JFR_DURATION,
    SF_JFR_THREAD,
    SF_JFR_STACK,
    SF_JFR_STATE,
    SF_JFR_SIZE,   /* tlabSize, allocationSize, size */
    SF_JFR_WEIGHT, /* in `weight`, because it may be a fraction */
    SF_JFR_SAMPLES,
    SF_JFR_TIME_SPAN,
    SF_JFR_PERIOD, /* samplingPeriod, cpuInterval */
    SF_JFR_PAUSES,
    SF_JFR_SPAN_ID,
    SF_JFR_ROOT_SPAN_ID,
    SF_JFR_CONTEXT,
    SF_JFR_TRACE_HI,
    SF_JFR_TRACE_LO,
    SF_JFR_ID,
    SF_JFR_NAME,  /* a text, or a key to one */
    SF_JFR_VALUE, /* a text; of a GC event its cause */
    SF_JFR_TYPE,  /* of a method: its class; of a frame: its frame type */
    SF_JFR_METHOD,
    SF_JFR_LINE,
    SF_JFR_TRUNCATED,
    SF_JFR_OS_ID,
    SF_JFR_JAVA_ID,
    SF_JFR_SLOTS,
    SF_JFR_SKIP = SF_JFR_SLOTS
};

struct sf_jfr_step { /* one step of reading an event or a constant */
    uint8_t kind, unit, slot;
    bool is_array;
    bool is_pool;
    uint32_t cls;
};

struct sf_jfr_values {
    int64_t v[SF_JFR_SLOTS];
    double weight;
    struct sf_jfr_text name, value;
    bool has_fault;
};

enum sf_jfr_event { /* those we read */
                    SF_JFR_EV_NONE,
                    SF_JFR_EV_EXECUTION,
                    SF_JFR_EV_NATIVE,
                    SF_JFR_EV_CPU_TIME,
                    SF_JFR_EV_WALL,
                    SF_JFR_EV_TLAB,
                    SF_JFR_EV_OUTSIDE,
                    SF_JFR_EV_ALLOC,
                    SF_JFR_EV_LIVE,
                    SF_JFR_EV_MONITOR,
                    SF_JFR_EV_WAIT,
                    SF_JFR_EV_PARK,
                    SF_JFR_EV_NATIVE_LOCK,
                    SF_JFR_EV_MALLOC,
                    SF_JFR_EV_GC,
                    SF_JFR_EV_SPAN,
                    SF_JFR_EV_DD_CPU,
                    SF_JFR_EV_DD_WALL,
                    SF_JFR_EV_DD_ALLOC,
                    SF_JFR_EV_DD_LIVE,
                    SF_JFR_EV_SETTING,
                    SF_JFR_EV_DD_CONFIG, /* settings, too */
                    SF_JFR_EVENTS
};

enum sf_jfr_pool_kind { /* constants that are looked up */
                        SF_JFR_P_NONE,
                        SF_JFR_P_STRING,
                        SF_JFR_P_SYMBOL,
                        SF_JFR_P_CLASS,
                        SF_JFR_P_METHOD,
                        SF_JFR_P_STACK,
                        SF_JFR_P_FRAME, /* not a pool, but read by steps */
                        SF_JFR_P_FRAME_TYPE,
                        SF_JFR_P_STATE,
                        SF_JFR_P_THREAD,
                        SF_JFR_P_GC_NAME,
                        SF_JFR_P_GC_CAUSE,
                        SF_JFR_POOLS
};

struct sf_jfr_class {
    uint64_t id;
    sf_str name;
    uint32_t first, n; /* fields */
    uint8_t kind;      /* kind of its values */
    uint8_t event, pool;
    uint8_t visit; /* state of the search for cycles */
    uint8_t depth;
    struct sf_jfr_step *steps;
    uint32_t n_steps;
};

/* --- constants --- */

struct sf_jfr_constant {
    int64_t key;
    uint32_t off;   /* offset of its value in the chunk */
    uint32_t place; /* index of what was made from it, + 1; 0: not needed yet */
    uint8_t pool;   /* enum sf_jfr_pool_kind */
};

struct sf_jfr_setting_set { /* settings of one kind of writer; later chunks inherit them */
    sf_str event;           /* empty: not given */
    int64_t interval, wall; /* -1: not given */
    int64_t period_ns, native_period_ns;
};

struct sf_jfr_thread {
    uint64_t id, java_id;
    bool is_kernel; /* the thread id is the kernel's */
    sf_str name;
};

enum { SF_JFR_FRAME_CACHE = 4096, SF_JFR_CLASSES_SEEN = 1024 };

struct sf_jfr_frame_cache {
    int64_t method, type;
    int32_t line;
    uint32_t place; /* + 1; 0: free */
};

enum { SF_JFR_TYPES_MAX = 24 }; /* maximum number of profile types: see jfr_event.c */

struct sf_jfr {
    struct sf_profile_build *b;
    sf_str file;
    struct sf_arena scratch;
    size_t scratch_used; /* by the largest chunk so far */

    /* State of the current chunk. */
    struct sf_jfr_header h;
    const uint8_t *chunk; /* h.size bytes */
    uint32_t n_chunk;     /* number of the chunk */
    sf_str *strings;
    uint32_t n_strings;
    struct sf_profile_list classes, fields; /* in scratch */
    const struct sf_jfr_class *pool_class[SF_JFR_POOLS];
    struct sf_table class_at;                 /* by id, in scratch */
    uint32_t class_seen[SF_JFR_CLASSES_SEEN]; /* cache by id: index + 1 */
    struct sf_jfr_constant *constants;
    uint32_t n_constants, cap_constants;
    struct sf_table constant_at;
    uint64_t pool_keys[SF_JFR_POOLS]; /* hash of each pool's number */
    int64_t last_ticks;               /* ticks of the newest checkpoint */
    int64_t max_ticks;                /* largest ticks of all events read */
    uint64_t n_events;                /* number of events read */
    double ns_per_tick;
    bool has_time;
    bool is_native_c; /* frames of type "Native" are C: written by async-profiler */
    struct sf_jfr_frame_cache *frames;
    struct sf_profile_list threads;
    struct sf_profile_list path; /* in the batch's arena, not in scratch */
    struct sf_profile_list spans;

    /* Of the file. */
    struct sf_jfr_setting_set settings[2], *set;
    int64_t from_ns, until_ns;
    uint32_t whats[SF_JFR_TYPES_MAX], series[SF_JFR_TYPES_MAX]; /* SF_NONE: not used yet */
    uint32_t base_set;
    struct sf_id_map contexts, labels_strings; /* from the labels part of the upload */
    sf_bytes *context_items;
    sf_str *label_strings;
    struct sf_jfr_context *context_read;
    bool has_labels;
};

/* --- jfr_meta.c --- */

/* False: the chunk cannot be read; `c` has the reason. */
bool sf_jfr_meta_read(struct sf_jfr *r, struct sf_jfr_cursor *c);
/* The class with this id, or NULL. */
struct sf_jfr_class *sf_jfr_meta_class_at(struct sf_jfr *r, uint64_t id);

/* --- jfr_value.c --- */

void sf_jfr_value_skip(const struct sf_jfr *r, struct sf_jfr_cursor *c,
                       const struct sf_jfr_class *k);
/* Determines which slot each field of a class fills. False: no memory. */
bool sf_jfr_value_steps_make(struct sf_jfr *r, struct sf_jfr_class *k);
/* Reads the fields for which the class has steps; stops after the last. The array of a stack's
 * frames is left to the caller, with *out_array at its count. */
void sf_jfr_values_read(const struct sf_jfr *r, struct sf_jfr_cursor *c,
                        const struct sf_jfr_class *k, struct sf_jfr_values *out,
                        struct sf_jfr_cursor *out_array);

/* --- jfr_pool.c --- */

bool sf_jfr_pools_read(struct sf_jfr *r, struct sf_jfr_cursor *c);
struct sf_jfr_constant *sf_jfr_pool_constant_find(const struct sf_jfr *r,
                                                  enum sf_jfr_pool_kind pool, int64_t key);
/* A text of the pool, valid as long as the chunk. Empty: not found. */
sf_str sf_jfr_pool_text(struct sf_jfr *r, enum sf_jfr_pool_kind pool, int64_t key);
/* A text in an event or a constant: a view into the file, or a copy in `a`. */
sf_str sf_jfr_pool_text_of(struct sf_jfr *r, const struct sf_jfr_text *t, struct sf_arena *a);
struct sf_jfr_cursor sf_jfr_pool_cursor_at(const struct sf_jfr *r, uint64_t off);

/* --- jfr_stack.c --- */

uint32_t sf_jfr_stack_of(struct sf_jfr *r, int64_t key);
/* The function of this name; the name need not outlive the chunk. */
uint32_t sf_jfr_stack_function_of(struct sf_jfr *r, sf_str name);
struct sf_jfr_thread sf_jfr_stack_thread_of(struct sf_jfr *r, int64_t key);

/* --- jfr_labels.c --- */

struct sf_jfr_context {
    struct sf_profile_ids ids;
    uint32_t set;
    bool is_read;
};

enum sf_err sf_jfr_labels_read(struct sf_jfr *r);
/* NULL: no labels with this number. */
const struct sf_jfr_context *sf_jfr_labels_context_of(struct sf_jfr *r, int64_t id);

/* --- jfr_event.c, jfr_setting.c --- */

void sf_jfr_setting_take(struct sf_jfr *r, const struct sf_jfr_class *k,
                         const struct sf_jfr_values *v);
/* The interval that one sample represents, for kinds where the recording's settings give it. */
int64_t sf_jfr_setting_interval_of(const struct sf_jfr *r);
int64_t sf_jfr_setting_wall_interval_of(const struct sf_jfr *r);
bool sf_jfr_setting_is_clock(sf_str event);

void sf_jfr_event_take(struct sf_jfr *r, const struct sf_jfr_class *k,
                       const struct sf_jfr_values *v);

/* --- jfr_span.c --- */

/* Adds a span on the thread and at the time of `at`. */
void sf_jfr_span_take(struct sf_jfr *r, const struct sf_jfr_values *v, const struct sf_sample *at);
/* Assigns the chunk's samples, from index `from` on, to the spans recorded by async-profiler. */
void sf_jfr_spans_join(struct sf_jfr *r, uint32_t from);

/* Allocates memory of the chunk; NULL: full, which ends the whole file. */
static inline void *sf_jfr_new(struct sf_jfr *r, size_t n, size_t size)
{
    void *p = sf_arena_new_n(&r->scratch, n, size);
    if (!p)
        r->b->is_full = true;
    return p;
}
void *sf_jfr_meta_list_more(struct sf_jfr *r, struct sf_profile_list *l, size_t size);
