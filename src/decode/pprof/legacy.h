/* legacy.h - common parts of pprof's formats from before protobuf: addresses, the memory map after
 * the samples, which maps them to files, and names if the writer knew them. Private to this
 * module. */
#pragma once
#include "decode/id_map.h"
#include "decode/profile_build.h"

enum { SF_LEGACY_TYPES = 4 };

struct sf_legacy {
    struct sf_profile_build *b;
    struct sf_profile_list maps;  /* ranges of addresses, sorted */
    struct sf_profile_list names; /* for Java: addresses with names */
    struct sf_profile_list stack; /* locations, leaf first */
    uint32_t series[SF_LEGACY_TYPES];
    uint32_t n_types;
    bool has_count;
};

void sf_legacy_init(struct sf_legacy *l, struct sf_profile_build *b);
/* Reads the text after the samples: /proc/self/maps in any of its forms, or "0xADDR name
 * (file:line)" per line. */
void sf_legacy_read_map(struct sf_legacy *l, sf_str text);
/* The file that contains the address. */
bool sf_legacy_file(const struct sf_legacy *l, uint64_t addr, sf_str *out);
/* Sample types "type/unit", and the period with its own. The first type counts events when
 * `has_count`. */
struct sf_legacy_period {
    const char *type; /* "space/bytes" */
    int64_t period, duration_ns;
    bool has_count;
};
void sf_legacy_types(struct sf_legacy *l, const char *const *types, uint32_t n,
                     const struct sf_legacy_period *period);
/* Adds an address to the stack; `is_return`: a return address, so the instruction is the one
 * before. */
void sf_legacy_push(struct sf_legacy *l, uint64_t addr, bool is_return);
void sf_legacy_push_name(struct sf_legacy *l, sf_str name, sf_str file, uint32_t line);
/* Adds the stack with a value of each type, and empties it. */
void sf_legacy_add(struct sf_legacy *l, const int64_t *values, uint64_t thread, sf_str thread_name);
bool sf_legacy_hex(sf_str text, uint64_t *out); /* "0x1f" or "1f" */
