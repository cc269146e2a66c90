/* profile_build.h - builds a profile batch. Shared by the profile decoders; private to this module.
 *
 * Mappings, functions, locations, stacks, label sets and series are interned: the same content gets
 * the same index ("place"). Everything is in one arena; when that is full, `is_full` stays set, all
 * indexes are SF_NONE from then on and finish fails with LIMIT, so a decoder checks once per loop
 * and not per call.
 *
 * Strings are not copied: the decoder first copies those that do not outlive the decoding. */
#pragma once
#include "base/list.h"
#include "base/table.h"
#include "decode/profile_format.h"
#include "decode/profile_label.h"

/* Outermost frames kept of a stack that is cut: enough to show program and entry point. */
enum { SF_PROFILE_ROOT_FRAMES = 16 };

struct sf_profile_spot { /* result of looking up a key in a table and its list */
    struct sf_table *t;
    struct sf_table_lookup lookup; /* where a new key is added */
    uint32_t place;                /* SF_NONE: it is new, or the arena is full */
};

struct sf_profile_list {
    void *items;
    uint32_t n, cap;
};

struct sf_profile_owner { /* the profiled service, process and labels of the upload */
    sf_str service;
    uint32_t process;              /* or SF_NONE */
    const struct sf_label *labels; /* sorted, unique, service_name among them */
    uint32_t n_labels;
    struct sf_profile_ids ids; /* for every sample without its own */
    sf_str type_name;          /* __name__; empty: not given */
};

struct sf_profile_what { /* what was measured, and when */
    struct sf_profile_type type;
    int64_t time_ns, duration_ns, period;
    sf_profile_id id;
    bool is_cumulative;
};

struct sf_profile_build {
    struct sf_arena *a;
    const struct sf_profile_hint *hint;
    struct sf_why *why;
    bool is_full;
    bool is_over;               /* more than SF_LIMIT_SAMPLES */
    bool is_inside;             /* a file embedded in another one is being read */
    bool is_clean;              /* names need not be cleaned: the decoder cleaned all strings */
    struct sf_profile_owner me; /* the owner given by the hint */
    uint32_t max_frames;
    struct sf_profile_list mappings, functions, locations, stacks, processes, series, samples;
    struct sf_profile_list sets, whats;
    struct sf_table mapping_at, function_at, location_at, stack_at, set_at, series_at, process_at;
    struct sf_profile_list tied; /* threads that belong to the upload's request, because samples of
                                  * them carry its id */
    bool has_lent;               /* some samples have the upload's ids */
    uint32_t *cut, *turned;      /* buffers for a stack that is too deep or in reverse order */
    struct sf_profile_drops drops;
    bool is_estimate; /* the file says so */
    bool is_all_seen; /* see struct sf_profile_batch */
    struct sf_profile_list unseen;
};

struct sf_json_shape; /* json/json_shape.h */

/* A format: one row in the table of profile_format.c. */
struct sf_profile_format {
    const char *name;
    const char *also;         /* other names, separated by commas */
    bool (*is)(sf_str bytes); /* recognises it; NULL and not JSON: only by name */
    bool (*is_json)(const struct sf_json_shape *shape); /* recognises JSON by its keys */
    enum sf_err (*decode)(struct sf_profile_build *b, sf_str bytes);
};

/* Decodes a file embedded in another one (OTLP's original payload), compressed or not, into the
 * same batch, with the owner b->me. A file that cannot be read is dropped and counted; NOMEM is an
 * error. */
enum sf_err sf_profile_format_decode_inside(struct sf_profile_build *b, sf_str format,
                                            sf_str bytes);

void sf_profile_build_init(struct sf_profile_build *b, const struct sf_profile_hint *hint,
                           struct sf_arena *a, struct sf_why *why);

/* Makes space for one more item in an arena list; NULL: full. */
static inline void *sf_profile_list_more(struct sf_profile_build *b, struct sf_profile_list *l,
                                         size_t size)
{
    if (!sf_list_room_arena(b->a, &l->items, size, l->n, &l->cap, sizeof(l->cap), 64,
                            SF_LIST_MAX)) {
        b->is_full = true;
        return NULL;
    }
    return (uint8_t *)l->items + l->n * size;
}
/* Reserves space for `more` items, at most 2^16, in a list of less than 2^24. False: full. */
bool sf_profile_table_room(struct sf_profile_build *b, struct sf_profile_list *l, size_t size,
                           uint32_t more);
static inline void *sf_profile_new(struct sf_profile_build *b, size_t n, size_t size)
{
    void *p = sf_arena_new_n(b->a, n, size);
    if (!p)
        b->is_full = true;
    return p;
}
/* Interning, for a decoder's own lists too; a zeroed table is an empty one, in the batch's arena.
 * `hash` is from base/key.h. True: the key is new, and `spot` is valid for adding it until the next
 * lookup. False: spot->place is the index of the known key, or SF_NONE: full. */
typedef bool (*sf_profile_is_same)(const struct sf_profile_build *b, uint32_t place,
                                   const void *key);
bool sf_profile_table_is_new(struct sf_profile_build *b, struct sf_table *t, uint64_t hash,
                             sf_profile_is_same is_same, const void *key,
                             struct sf_profile_spot *spot);
/* Reserves space for a new key. False: full. */
bool sf_profile_table_more(struct sf_profile_build *b, struct sf_table *t);
/* Appends `item` to the list and adds its index to the table. Returns the index. */
uint32_t sf_profile_table_keep(struct sf_profile_build *b, const struct sf_profile_spot *spot,
                               struct sf_profile_list *l, const void *item, size_t size);
sf_str sf_profile_table_copy(struct sf_profile_build *b, sf_str s); /* empty when full */
/* Cleans text for display: tabs and line ends become blanks, other control characters '?', invalid
 * UTF-8 becomes U+FFFD. Returns `s` itself when nothing changes, else a copy. Names of functions
 * and mappings are cleaned by the builder, label values and thread names by the decoder. */
sf_str sf_profile_clean(struct sf_profile_build *b, sf_str s);

/* Names over the limit are truncated and counted. */
uint32_t sf_profile_build_mapping(struct sf_profile_build *b, const struct sf_mapping *m);
uint32_t sf_profile_build_function(struct sf_profile_build *b, const struct sf_function *f);
/* The lines are copied. */
uint32_t sf_profile_build_location(struct sf_profile_build *b, const struct sf_location *l);
/* Adds a function, and a location with one line in it. */
uint32_t sf_profile_build_frame(struct sf_profile_build *b, const struct sf_function *f,
                                uint32_t line, enum sf_frame_kind kind);
/* Leaf first; copied. If deeper than max_frames: the 16 outermost frames, a marker, and the
 * innermost ones. */
uint32_t sf_profile_build_stack(struct sf_profile_build *b, const uint32_t *locations, size_t n);
/* Whether frame `i` (from the leaf) of `n` will certainly be cut. Then a decoder need not resolve
 * it and passes the others as the stack. */
bool sf_profile_build_is_cut(const struct sf_profile_build *b, size_t i, size_t n);
/* The same from a path, outermost first; the cost is bounded by max_frames. */
uint32_t sf_profile_build_path(struct sf_profile_build *b, const uint32_t *locations, size_t n);

/* The owner from resource attributes, which take precedence over the hint. */
void sf_profile_build_owner(struct sf_profile_build *b, struct sf_attrs resource,
                            const struct sf_label *labels, uint32_t n_labels,
                            struct sf_profile_owner *out);
/* A set of labels of samples, merged with the owner's, which take precedence. */
uint32_t sf_profile_build_set(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                              const struct sf_label *labels, uint32_t n_labels);
/* The hint's type takes precedence over `what`; not interned. `is_only`: the file has only this
 * sample type. */
uint32_t sf_profile_build_what(struct sf_profile_build *b, const struct sf_profile_what *what,
                               bool is_only);
uint32_t sf_profile_build_series(struct sf_profile_build *b, uint32_t set, uint32_t what);
/* Copies the sample. Zero values are left out. Missing ids are taken from the owner. */
void sf_profile_build_sample(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                             const struct sf_sample *s);
/* Sets the upload's ids for a sample that has none; see profile_lend.c. */
void sf_profile_lend_ids(struct sf_profile_build *b, const struct sf_profile_ids *upload,
                         struct sf_sample *s);
/* To be called after all samples: decides which of those ids are valid. */
void sf_profile_lend_settle(struct sf_profile_build *b);
/* Reserves space for so many more samples, if available: a growing list leaves its old copies in
 * the arena. */
void sf_profile_table_expect(struct sf_profile_build *b, uint64_t n);
/* The same for tables, before anything is in them. */
void sf_profile_table_expect_symbols(struct sf_profile_build *b, uint32_t n_functions,
                                     uint32_t n_locations, uint32_t n_stacks);
/* Whether the decoder should continue. */
static inline bool sf_profile_build_ok(const struct sf_profile_build *b)
{
    return !b->is_full && !b->is_over;
}

/* Increments the counter, and keeps the message of the first drop. */
void sf_profile_build_drop(struct sf_profile_build *b, uint64_t *counter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* LIMIT, or INPUT when everything was dropped; else the batch. */
enum sf_err sf_profile_build_finish(struct sf_profile_build *b, struct sf_profile_batch *out);
