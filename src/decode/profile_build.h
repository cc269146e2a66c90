/* profile_build.h - a profile batch in the making. Shared by the profile decoders; private to this
 * module.
 *
 * Mappings, functions, locations, stacks, label sets and series are interned: the same content gets
 * the same place. Everything lives in one arena; when that is full, `is_full` sticks, every place
 * is SF_NONE from then on and finish says LIMIT, so a decoder asks once per loop and not per call.
 *
 * Strings are kept as given: what does not outlive the decoding is copied by the decoder first. */
#pragma once
#include "base/list.h"
#include "base/table.h"
#include "decode/profile_format.h"
#include "decode/profile_label.h"

/* Root-most frames kept of a stack that is cut: enough to say which program and entry. */
enum { SF_PROFILE_ROOT_FRAMES = 16 };

struct sf_profile_spot { /* of a key in a table and its list */
    struct sf_table *t;
    struct sf_table_lookup lookup; /* of a new key: where it is kept */
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
    struct sf_profile_ids ids; /* of every sample without its own */
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
    bool is_inside;             /* a file inside a file is being read */
    struct sf_profile_owner me; /* as the hint says */
    uint32_t max_frames;
    struct sf_profile_list mappings, functions, locations, stacks, processes, series, samples;
    struct sf_profile_list sets, whats;
    struct sf_table mapping_at, function_at, location_at, stack_at, set_at, series_at, process_at;
    struct sf_profile_list tied; /* threads that samples with ids of their own tie to the upload */
    bool has_lent;               /* samples have the upload's ids */
    uint32_t *cut, *turned; /* a stack that was too deep or upside down, while it is interned */
    struct sf_profile_drops drops;
    bool is_estimate; /* the file reports it */
};

struct sf_json_shape; /* json/json_shape.h */

/* A format: a line in the table of profile_format.c. */
struct sf_profile_format {
    const char *name;
    const char *also;         /* other names, separated by commas */
    bool (*is)(sf_str bytes); /* looks; NULL, and none for JSON: only when named */
    bool (*is_json)(const struct sf_json_shape *shape); /* of JSON: by its keys */
    enum sf_err (*decode)(struct sf_profile_build *b, sf_str bytes);
};

/* A file carried inside another one (OTLP's original payload), compressed or not, into the same
 * batch, as measured at b->me. What cannot be read is a part that is dropped; NOMEM is an error. */
enum sf_err sf_profile_format_decode_inside(struct sf_profile_build *b, sf_str format,
                                            sf_str bytes);

void sf_profile_build_init(struct sf_profile_build *b, const struct sf_profile_hint *hint,
                           struct sf_arena *a, struct sf_why *why);

/* A list in the arena with space for one more; NULL: full. */
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
/* Room for `more` at once, at most 2^16, in a list of less than 2^24. False: full. */
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
 * `hash` is of base/key.h. True: the key is new, and `spot` is for it (kept before the next
 * question, or not at all). False: spot->place is the place of the known key, or SF_NONE: full. */
typedef bool (*sf_profile_is_same)(const struct sf_profile_build *b, uint32_t place,
                                   const void *key);
bool sf_profile_table_is_new(struct sf_profile_build *b, struct sf_table *t, uint64_t hash,
                             sf_profile_is_same is_same, const void *key,
                             struct sf_profile_spot *spot);
/* Room for a new key. False: full. */
bool sf_profile_table_more(struct sf_profile_build *b, struct sf_table *t);
/* Puts `item` at the end of the list and its place into the table. Returns the place. */
uint32_t sf_profile_table_keep(struct sf_profile_build *b, const struct sf_profile_spot *spot,
                               struct sf_profile_list *l, const void *item, size_t size);
sf_str sf_profile_table_copy(struct sf_profile_build *b, sf_str s); /* empty when full */
/* Text that people will see: tabs and line ends are blanks, other control characters '?', bytes
 * that are no UTF-8 become U+FFFD. `s` itself when it has none, which costs one check; else a copy.
 * Function and mapping names are cleaned here anyway; label values and thread names by the reader.
 */
sf_str sf_profile_clean(struct sf_profile_build *b, sf_str s);

/* Names over the limit are cut and counted. */
uint32_t sf_profile_build_mapping(struct sf_profile_build *b, const struct sf_mapping *m);
uint32_t sf_profile_build_function(struct sf_profile_build *b, const struct sf_function *f);
/* The lines are copied. */
uint32_t sf_profile_build_location(struct sf_profile_build *b, const struct sf_location *l);
/* A function, and a location of one line in it. */
uint32_t sf_profile_build_frame(struct sf_profile_build *b, const struct sf_function *f,
                                uint32_t line, enum sf_frame_kind kind);
/* Leaf first; copied. Deeper than max_frames: the 16 root-most, a marker, the rest leaf-most. */
uint32_t sf_profile_build_stack(struct sf_profile_build *b, const uint32_t *locations, size_t n);
/* Will frame `i` (from the leaf) of `n` be cut for sure? A decoder need not even name it then, and
 * hands over the others as the stack. */
bool sf_profile_build_is_cut(const struct sf_profile_build *b, size_t i, size_t n);
/* The same from a path, root first; costs no more than max_frames however deep it is. */
uint32_t sf_profile_build_path(struct sf_profile_build *b, const uint32_t *locations, size_t n);

/* The owner that resource attributes name, over what the hint says. */
void sf_profile_build_owner(struct sf_profile_build *b, struct sf_attrs resource,
                            const struct sf_label *labels, uint32_t n_labels,
                            struct sf_profile_owner *out);
/* A set of labels of samples, with the owner's; on a clash the owner's stays. */
uint32_t sf_profile_build_set(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                              const struct sf_label *labels, uint32_t n_labels);
/* The hint's type goes over `what`; not interned. `is_only`: the file has this sample type alone.
 */
uint32_t sf_profile_build_what(struct sf_profile_build *b, const struct sf_profile_what *what,
                               bool is_only);
uint32_t sf_profile_build_series(struct sf_profile_build *b, uint32_t set, uint32_t what);
/* Copies. Zero values are left out: they add nothing to any sum. Ids the sample has not are the
 * owner's. */
void sf_profile_build_sample(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                             const struct sf_sample *s);
/* Ids of the upload, for a sample that has none; profile_lend.c. */
void sf_profile_lend_ids(struct sf_profile_build *b, const struct sf_profile_ids *upload,
                         struct sf_sample *s);
/* With all samples there: which of those ids are valid. */
void sf_profile_lend_settle(struct sf_profile_build *b);
/* Room for so many more samples at once, if there is that much: a list that grows leaves its old
 * selves behind. */
void sf_profile_table_expect(struct sf_profile_build *b, uint64_t n);
/* The same of tables, before anything is in them. */
void sf_profile_table_expect_symbols(struct sf_profile_build *b, uint32_t n_functions,
                                     uint32_t n_locations, uint32_t n_stacks);
/* Should the decoder continue? */
static inline bool sf_profile_build_ok(const struct sf_profile_build *b)
{
    return !b->is_full && !b->is_over;
}

/* Notes the first drop in words and bumps the counter. */
void sf_profile_build_drop(struct sf_profile_build *b, uint64_t *counter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* LIMIT, or INPUT when everything was dropped; else the batch. */
enum sf_err sf_profile_build_finish(struct sf_profile_build *b, struct sf_profile_batch *out);
