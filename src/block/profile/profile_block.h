/* profile_block.h - definitions shared by the writer, the reader and the in-memory form of
 * profiles. profile_block_writer.c and docs/format-profile-block.md describe the format.
 *
 * All data of one service of one tenant is stored together: its symbols, its stack tree, its
 * series, its profiles and their samples. Queries and merges process one service at a time, so they
 * need memory for only one service. */
#pragma once
#include "base/num.h"
#include "base/time_unit.h"
#include "block/span/span_block.h"
#include "model/profile.h"

#define SF_PROFILE_SLOT_NS (600 * SF_NS_PER_S) /* a rollup covers ten minutes */

enum {
    SF_PROFILE_GRANULE_ROWS = 4096, /* detail rows decoded at once */
    SF_PROFILE_INDEX_ROWS = 1024,   /* ids of one piece of an index */
    SF_PROFILE_INDEX_MAX = 8192,    /* ids of one piece in earlier versions */
};

/* Codes are indexes into the lists beside them; all are checked when they are read. */
struct sf_profile_function {
    uint32_t name, system_name, file; /* strings */
    uint32_t start_line;
};

struct sf_profile_module { /* a mapping without its addresses, which differ in every process */
    uint32_t file, build_id;
};

struct sf_profile_location {
    uint64_t addr;
    uint32_t module; /* or SF_NONE */
    uint32_t first_line, n_lines;
    uint32_t kind; /* enum sf_frame_kind */
};

struct sf_profile_node { /* parent < own index; node 0 is the root, without a location */
    uint32_t parent, location;
};

struct sf_profile_symbols {
    const sf_str *strings;
    const struct sf_profile_function *functions;
    const struct sf_profile_module *modules;
    const struct sf_profile_location *locations;
    const struct sf_line *lines; /* innermost first */
    const struct sf_profile_node *nodes;
    uint32_t n_strings, n_functions, n_modules, n_locations, n_lines, n_nodes;
};

enum sf_profile_flag { /* of a series; numbers are part of the format */
                       SF_PROFILE_REQUEST = 1,
                       SF_PROFILE_DIFF = 2,
                       SF_PROFILE_FLAGS = 3
};

struct sf_profile_series {
    struct sf_profile_type type;
    const struct sf_label *labels;
    uint32_t n_labels;
    uint8_t flags;
};

struct sf_profile_thread {
    uint32_t process; /* or SF_NONE */
    struct sf_sampled_thread t;
};

int sf_profile_threads_cmp(const void *a, const void *b); /* process (none first), then thread */

struct sf_profile_row {       /* one profile: a point of its series */
    uint32_t series, process; /* process or SF_NONE */
    int64_t time_ns, duration_ns;
    int64_t index_ns; /* the time by which it is found and retained: its own, if plausible */
    int64_t period, total;
    uint64_t n_samples;
    sf_profile_id id; /* zero: derived */
};

struct sf_profile_entry { /* a stack of a profile */
    uint32_t node, row;
    int64_t value;
};

struct sf_profile_detail { /* a sample with an id or a time of its own */
    sf_trace_id trace_id;
    sf_span_id span_id;
    uint64_t thread;
    int64_t start_ns, length_ns, value;
    uint32_t process, series, node;
    uint8_t state;
    bool has_time;  /* otherwise start and length are its profile's */
    bool is_lent;   /* its ids are inherited: see struct sf_sample */
    bool is_coarse; /* start and length are stored in whole milliseconds */
};

/* Flags of a detail row: state << 1, has_time, and these. */
enum { SF_PROFILE_COARSE = 0x40, SF_PROFILE_LENT = 0x80 };
/* First byte of DET of format 2 when its rows are waits: lengths equal the values, and steps are
 * relative to the end of the previous row. Other granules begin with the number of rows of a run,
 * which is never 0. */
enum { SF_PROFILE_WAITS_MARK = 0, SF_PROFILE_WAITS = 1 };
/* Encoding of the lengths of a group since format 3: as they are, or minus the value. */
enum { SF_PROFILE_LENGTHS_PLAIN = 0, SF_PROFILE_LENGTHS_OF_VALUES = 1 };
/* Encoding of the flags: as they are, or xor with those of the last row with the same node. */
enum { SF_PROFILE_FLAGS_PLAIN = 0, SF_PROFILE_FLAGS_OF_NODES = 1 };
/* Flags of a granule in STX: properties common to all rows, inherited ids, encoding of codes. */
enum {
    SF_PROFILE_ONE_SERIES = 1,
    SF_PROFILE_ONE_VALUE = 2,
    SF_PROFILE_ANY_LENT = 4,
    SF_PROFILE_BINNED_CODES = 8, /* since format 3 */
    SF_PROFILE_STACK_FLAGS = 15
};
/* A run of rows in one byte: the largest number of rows, and the first distance that does not
 * fit. */
enum { SF_PROFILE_RUN_ROWS = 7, SF_PROFILE_RUN_BACK = 31 };
_Static_assert(SF_PROFILE_GRANULE_ROWS <= 4096, "a place is a byte and four bits");
_Static_assert(SF_STATES <= SF_PROFILE_COARSE / 2, "a state, a truth value and flags in a byte");

struct sf_profile_service { /* entry of the directory */
    uint32_t tenant;
    sf_str name;
    int64_t ts_min_ns, ts_max_ns; /* index time; largest end */
    uint32_t n_series, n_processes, n_rows, n_nodes;
    uint64_t n_entries, n_details;
    uint32_t n_alone; /* slots of which only the sum is left; SF_NONE: unknown (format 1) */
};

/* Bits of an index into a granule's list of nodes beyond its lowest byte. */
static inline unsigned sf_profile_high_bits(uint32_t n_nodes)
{
    return n_nodes <= 256 ? 0 : n_nodes <= 512 ? 1 : n_nodes <= 1024 ? 2 : 4;
}

/* Upper bound of the end of a detail row: when stored in milliseconds, start and length are each up
 * to one too small. */
static inline int64_t sf_profile_detail_end(const struct sf_profile_detail *d)
{
    return sf_add_sat_i64(d->start_ns, sf_add_sat_i64(d->length_ns, d->is_coarse ? 1999999 : 0));
}

/* Number of the ten-minute slot since 1970. */
static inline int64_t sf_profile_slot(int64_t index_ns)
{
    return index_ns / SF_PROFILE_SLOT_NS - (index_ns % SF_PROFILE_SLOT_NS < 0);
}

enum sf_profile_section { /* numbers are part of the format */
                          SF_PROFILE_DIR = 1,
                          SF_PROFILE_SYM,
                          SF_PROFILE_SER,
                          SF_PROFILE_PTS,
                          SF_PROFILE_IDX,
                          SF_PROFILE_CHK,
                          SF_PROFILE_DET,
                          SF_PROFILE_SPX,
                          SF_PROFILE_TRX,
                          SF_PROFILE_DUP,
                          SF_PROFILE_SRC,
                          SF_PROFILE_STX,
                          SF_PROFILE_THR, /* since format 2 */
                          SF_PROFILE_SECTIONS
};
const char *sf_profile_block_writer_section_name(uint16_t id);
