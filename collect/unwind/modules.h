/* modules.h - the loaded modules, as an immutable snapshot that a signal handler can read.
 *
 * The loader's own list may change while a handler runs, and reading it takes the loader's lock. So
 * one thread copies the list whenever a module was loaded or unloaded, and replaces one pointer.
 * Handlers mark when they use it; an old snapshot is freed when no handler uses it. Tables of
 * unchanged modules are reused. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/unwind/rows.h"

enum { SF_MODULES_MAX = 1024, SF_BUILD_ID_MAX = 20, SF_MODULE_PATH_CAP = 512 };

struct sf_module {
    uintptr_t lo, hi;    /* bounds of its executable mapping; handlers compare these first */
    uintptr_t base;      /* load address: where its address 0 is */
    uint64_t file_off;   /* file offset of `lo` */
    struct sf_rows rows; /* may be empty */
    uint8_t build_id[SF_BUILD_ID_MAX];
    uint8_t build_id_len;
    char path[SF_MODULE_PATH_CAP]; /* "" when unknown, "[vdso]" for the kernel's */
};

struct sf_modules {
    uint32_t n;
    unsigned long long adds, subs;          /* values of the loader's counters when it was made */
    struct sf_module *list[SF_MODULES_MAX]; /* sorted by lo; shared with the next snapshot */
};

/* Makes a new snapshot if the loader's list has changed. One thread at a time, never in a handler.
 * False: no memory. */
bool sf_modules_refresh(void);
/* In a forked child. Another thread of the parent may have held the loader's lock, which is then
 * never released: so a child keeps the inherited snapshot and does not call the loader. */
void sf_modules_after_fork(void);
/* The snapshot is valid between enter and leave. NULL: there is none yet. Safe in handlers. */
const struct sf_modules *sf_modules_enter(void);
void sf_modules_leave(void);
const struct sf_module *sf_modules_find(const struct sf_modules *m, uintptr_t pc);
