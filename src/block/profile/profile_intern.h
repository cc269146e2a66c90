/* profile_intern.h - interns strings, functions, locations and so on in a profile set; private to
 * this module.
 *
 * All functions return false if there is no memory. */
#pragma once
#include "block/profile/profile_set.h"

static inline sf_str sf_profile_key(const void *record, size_t len)
{
    return (sf_str){record, len};
}

/* Makes space in a list for one more than `n`. */
bool sf_profile_intern_room(void **list, uint32_t n, uint32_t *cap, size_t size);
/* `name_hash` is sf_key of its name; `m` caches names of files, and may be NULL. */
bool sf_profile_intern_function(struct sf_profile_set *s, struct sf_profile_map *m,
                                const struct sf_function *f, uint64_t name_hash, uint32_t *out);
/* `first_line` of `l` is ignored; `hash` is of both. */
bool sf_profile_intern_location(struct sf_profile_set *s, const struct sf_profile_location *l,
                                const struct sf_line *lines, uint64_t hash, uint32_t *out);
uint64_t sf_profile_intern_hash(const struct sf_profile_location *l, const struct sf_line *lines);
/* Overwrites `key`. */
bool sf_profile_intern_series(struct sf_profile_set *s, const struct sf_profile_series *from,
                              struct sf_buf *key, uint32_t *out);
bool sf_profile_intern_process(struct sf_profile_set *s, const struct sf_process *p, uint32_t *out);
/* Adds what a sample tells about its thread; nothing if it has none. */
bool sf_profile_threads_add(struct sf_profile_set *s, uint32_t process, const struct sf_sample *p);
enum sf_err sf_profile_intern_no_memory(struct sf_why *why);
