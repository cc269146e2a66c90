/* beside_files.h - files in the data directory that do not belong to the store, but to which its
 * retention applies. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* State of such files: the retention of profiles applies to them, and they count for `max_len`. */
struct sf_beside_state {
    uint64_t len;      /* total length in bytes */
    int64_t oldest_ns; /* time of the oldest one; INT64_MAX: there is none */
};
struct sf_beside {
    /* Deletes files added before `before_ns`, the oldest first, until `need_len` bytes are freed
     * (UINT64_MAX: all of them), and returns what is left. Runs on the compact thread. */
    enum sf_err (*trim)(void *arg, int64_t before_ns, uint64_t need_len,
                        struct sf_beside_state *out, struct sf_why *why);
    void *arg;
};
