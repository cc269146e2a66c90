/* modules.h - what is loaded where, as an immutable snapshot a signal handler can read.
 *
 * The loader's own list may change while a handler runs, and asking it takes its lock. So one
 * thread, off the hot path, copies what is needed whenever something was loaded or unloaded, and
 * swaps one pointer. Handlers mark when they use it; an old snapshot is freed when no handler uses
 * it. Tables of modules that stayed are carried over. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/unwind/rows.h"

enum { SF_MODULES_MAX = 1024, SF_BUILD_ID_MAX = 20, SF_MODULE_PATH_CAP = 512 };

struct sf_module {
    uintptr_t lo, hi;    /* of its executable mapping; handlers look here first */
    uintptr_t base;      /* where its address 0 lies */
    uint64_t file_off;   /* of `lo` in its file */
    struct sf_rows rows; /* may be empty */
    uint8_t build_id[SF_BUILD_ID_MAX];
    uint8_t build_id_len;
    char path[SF_MODULE_PATH_CAP]; /* "" when unknown, "[vdso]" for the kernel's */
};

struct sf_modules {
    uint32_t n;
    unsigned long long adds, subs;          /* the loader's counters it was made at */
    struct sf_module *list[SF_MODULES_MAX]; /* sorted by lo; shared with the next snapshot */
};

/* Looks whether the loader's list changed, and makes a new snapshot if so. One thread at a time,
 * never in a handler. False: no memory. */
bool sf_modules_refresh(void);
/* In a forked child. Another thread of the parent may have held the loader's lock, which is then
 * never released: a child keeps the snapshot it inherited and does not call the loader. */
void sf_modules_after_fork(void);
/* Between enter and leave the snapshot stays. NULL: there is none yet. Safe in handlers. */
const struct sf_modules *sf_modules_enter(void);
void sf_modules_leave(void);
const struct sf_module *sf_modules_find(const struct sf_modules *m, uintptr_t pc);
