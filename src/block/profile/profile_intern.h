/* profile_intern.h - the places of things in a profile set; private to this room.
 *
 * False everywhere: no memory. */
#pragma once
#include "block/profile/profile_set.h"

static inline sf_str sf_profile_key(const void *record, size_t len)
{
    return (sf_str){record, len};
}

/* A list with room for one more than `n`. */
bool sf_profile_intern_room(void **list, uint32_t n, uint32_t *cap, size_t size);
bool sf_profile_intern_function(struct sf_profile_set *s, const struct sf_function *f,
                                uint32_t *out);
/* `first_line` of what is given does not count. */
bool sf_profile_intern_location(struct sf_profile_set *s, const struct sf_profile_location *l,
                                const struct sf_line *lines, uint32_t *out);
/* `key` is scratch. */
bool sf_profile_intern_series(struct sf_profile_set *s, const struct sf_profile_series *from,
                              struct sf_buf *key, uint32_t *out);
bool sf_profile_intern_process(struct sf_profile_set *s, const struct sf_process *p, uint32_t *out);
/* What a sample says of its thread; nothing when it names none. */
bool sf_profile_threads_add(struct sf_profile_set *s, uint32_t process, const struct sf_sample *p);
enum sf_err sf_profile_intern_no_memory(struct sf_why *why);
