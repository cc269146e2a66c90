/* beside_files.h - files that lie beside the store's and that its retention covers. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Files of the data directory that are not the store's and that its retention covers: they age as
 * profiles do, and `max_len` counts them. */
struct sf_beside_state {
    uint64_t len;      /* bytes of what is there */
    int64_t oldest_ns; /* when the oldest of them came; INT64_MAX: there is none */
};
struct sf_beside {
    /* Deletes files that came before `before_ns`, the oldest first, until `need_len` bytes are
     * freed (UINT64_MAX: all of them), and says what is left. On the compact thread. */
    enum sf_err (*trim)(void *arg, int64_t before_ns, uint64_t need_len,
                        struct sf_beside_state *out, struct sf_why *why);
    void *arg;
};
