/* otlp_profile.h - one OTLP profiles request being read; shared by the files that read its parts.
 * Private to this module.
 *
 * Between versions the messages changed only their field numbers, so a version is a table of
 * numbers. JSON is converted to protobuf and then decoded. */
#pragma once
#include "base/limits.h"
#include "decode/profile_build.h"
#include "wire/pb.h"

enum sf_otlp_version {
    SF_OTLP_1_4, /* and 1.5: every profile has tables of its own */
    SF_OTLP_1_7,
    SF_OTLP_1_8,
    SF_OTLP_1_9,
    SF_OTLP_1_10, /* and later */
    SF_OTLP_VERSIONS
};

enum sf_otlp_table_kind {
    SF_OTLP_MAPPINGS,
    SF_OTLP_LOCATIONS,
    SF_OTLP_FUNCTIONS,
    SF_OTLP_LINKS,
    SF_OTLP_STRINGS,
    SF_OTLP_ATTRS,
    SF_OTLP_STACKS,
    SF_OTLP_TABLES
};

struct sf_otlp_layout { /* field numbers; 0: the version has no such field */
    struct {
        uint8_t stack, start, length, values, attrs, link, times;
    } sample;
    struct {
        uint8_t time, duration, period_type, period, id, format, payload, attrs, locations;
    } profile;
    uint8_t location_attrs;
    uint8_t tables[SF_OTLP_TABLES]; /* field numbers of the tables: in the dictionary, or in a
                                     * profile */
    bool has_zero;                  /* entry 0 of a table means "none" */
};

extern const struct sf_otlp_layout sf_otlp_layouts[SF_OTLP_VERSIONS];

struct sf_otlp_table {
    sf_bytes *items;
    uint32_t *places; /* index in the batch, once looked up: see SF_OTLP_NEW */
    uint32_t n;
};
#define SF_OTLP_NEW 0u /* not looked up yet; other values are an index + 1, or SF_NONE: invalid */

struct sf_otlp_attr { /* an entry of the attribute table, decoded */
    sf_str key;
    struct sf_value val;
    sf_str text; /* the value as text of a label; empty: not possible */
    bool is_read;
};

struct sf_otlp_sample {
    uint64_t stack, start, length, link;
    bool has_link;
    uint32_t attrs[SF_LIMIT_SAMPLE_LABELS], n_attrs; /* checked */
    struct sf_profile_list values, times;            /* int64_t */
};

struct sf_otlp_reader {
    struct sf_profile_build *b;
    sf_bytes body;
    bool is_json; /* the body was converted from JSON: offsets in it are meaningless to the
                   * sender */
    enum sf_otlp_version version;
    const struct sf_otlp_layout *layout;
    struct sf_otlp_table tables[SF_OTLP_TABLES];
    struct sf_otlp_attr *attrs; /* for each entry of the attribute table */
    bool *seen;                 /* per string: the batch has it as the name of a function, or its
                                 * file; NULL: not tracked */
    bool has_tables;            /* they were read to find the version, and are the same in it */
    bool has_other; /* the dictionary, or an entry that was decoded, has other fields of bytes than
                     * those of its version */
    struct sf_line *lines; /* scratch memory for one location */
    struct sf_profile_list path;
    enum sf_err err;    /* of reading an embedded file: out of memory */
    struct sf_pb fault; /* error of a table's entry that was malformed when it was looked up */

    struct sf_attrs resource; /* of the current resource, including the scope's */
    uint32_t n_resources, n_profiles;
    struct sf_profile_list owners;
    struct sf_table owner_at;
    struct { /* of samples without attributes; valid for the same resource and list of owners */
        const struct sf_profile_owner *owner;
        uint32_t resource, n_owners, set;
    } bare;
    struct sf_otlp_sample sample;
};

/* --- version detection: otlp_profile_version.c --- */

/* INPUT: no readable version. `name` may be "1.9" and similar; empty: detect by content. */
enum sf_err sf_otlp_profile_version_find(struct sf_otlp_reader *r, sf_str name);

/* --- tables: otlp_profile_tables.c --- */

/* Reads the tables of the body's dictionary messages, or of one profile. False: the arena is
 * full. */
bool sf_otlp_profile_tables_read(struct sf_otlp_reader *r, struct sf_pb holder, bool is_dictionary);
/* Whether `at` is in the table and, in version 1.8 and later, not the zero entry. */
static inline bool sf_otlp_has(const struct sf_otlp_reader *r, enum sf_otlp_table_kind kind,
                               uint64_t at)
{
    return at < r->tables[kind].n && (at || !r->layout->has_zero);
}
static inline struct sf_pb sf_otlp_entry(const struct sf_otlp_reader *r,
                                         enum sf_otlp_table_kind kind, uint64_t at)
{
    return sf_pb_part(r->body, r->tables[kind].items[at]);
}
/* Notes malformed bytes of an entry: the request is refused at the end. */
static inline void sf_otlp_note_fault(struct sf_otlp_reader *r, const struct sf_pb *pb)
{
    if (!sf_pb_ok(pb) && sf_pb_ok(&r->fault))
        r->fault = *pb;
}
/* Out of range: empty; so is index 0. */
sf_str sf_otlp_profile_tables_str(const struct sf_otlp_reader *r, uint64_t at);
/* Indexes in the batch; SF_NONE: an index in the entry is out of range. */
uint32_t sf_otlp_profile_tables_location(struct sf_otlp_reader *r, uint64_t at);
uint32_t sf_otlp_profile_tables_stack(struct sf_otlp_reader *r, uint64_t at);

/* --- attributes: otlp_profile_attrs.c --- */

/* Entry `at` of the attribute table, which must exist; borrowed from the reader. */
const struct sf_otlp_attr *sf_otlp_profile_attrs_at(struct sf_otlp_reader *r, uint32_t at);
/* Reads a KeyValue, with texts inline or by index. */
struct sf_attr sf_otlp_profile_attrs_read(struct sf_otlp_reader *r, struct sf_pb *pb);
/* A value as text of a label: texts, whole numbers, and lists with one such element. */
sf_str sf_otlp_profile_attrs_label_text(struct sf_profile_build *b, struct sf_value val);

/* --- texts that the batch may not have: otlp_profile_text.c --- */

/* Lists them and sets is_all_seen, once the whole body has been read. */
void sf_otlp_profile_text_list(struct sf_otlp_reader *r);

/* --- profiles: otlp_profile_samples.c --- */

/* Reads the current profile. Malformed bytes are an error of `pb`; a number out of range drops this
 * profile only. */
void sf_otlp_profile_samples_read(struct sf_otlp_reader *r, struct sf_pb *pb);

/* --- the profiled process: otlp_profile_owner.c --- */

/* Adds the attributes of a Resource or InstrumentationScope message to those already read. */
void sf_otlp_profile_owner_read(struct sf_otlp_reader *r, struct sf_pb *pb, uint32_t field);
/* The current resource, combined with these attributes of a sample: some profilers name the process
 * there. NULL: full. Borrowed until the next call. */
const struct sf_profile_owner *sf_otlp_profile_owner(struct sf_otlp_reader *r,
                                                     const uint32_t *attrs, uint32_t n);
/* Does an attribute identify the profiled process, rather than describe the sample? */
bool sf_otlp_profile_owner_is_key(sf_str key);

/* --- JSON: otlp_profile_json.c --- */

/* Converts the first object of the text to protobuf of the version that its keys belong to, in the
 * arena; *io_text is advanced past it. */
enum sf_err sf_otlp_profile_json_transcribe(struct sf_profile_build *b, sf_str *io_text,
                                            sf_bytes *out, enum sf_otlp_version *out_version);
