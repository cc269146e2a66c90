/* faultfs.h - file calls that fail on demand, and a clock that jumps.
 *
 * Built twice from one source: as libfaultfs.so for LD_PRELOAD under any program, and as an object
 * that a test links to put itself under faults. All calls go through to the kernel unless the
 * control block says otherwise; it may be changed at any moment, also from another process.
 *
 * Under LD_PRELOAD the block is the file named by SF_FAULT_CONTROL, mapped shared and made if it
 * is missing (without that variable the shim does nothing). Another process maps the same file, or
 * simply writes at the offsets below, little-endian, `is_on` last. Python has it in
 * tests/support/faultfs/faultfs.py.
 *
 * What counts: calls in `calls`, on regular files and folders (never pipes, sockets, /proc, /dev)
 * whose absolute path contains `path` (empty: all). The `first`-th such call from now and the
 * `n_fail - 1` after it get the fault. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum faultfs_call {
    FAULTFS_OPEN = 1 << 0,     /* open, openat and creat */
    FAULTFS_WRITE = 1 << 1,    /* write, pwrite, writev, pwritev */
    FAULTFS_SYNC = 1 << 2,     /* fsync, fdatasync */
    FAULTFS_RENAME = 1 << 3,   /* rename, renameat, renameat2 */
    FAULTFS_UNLINK = 1 << 4,   /* unlink, unlinkat, rmdir */
    FAULTFS_READ = 1 << 5,     /* read, pread, readv, preadv */
    FAULTFS_MKDIR = 1 << 6,    /* mkdir, mkdirat */
    FAULTFS_TRUNCATE = 1 << 7, /* ftruncate, truncate */
    FAULTFS_ALLOCATE = 1 << 8, /* fallocate, posix_fallocate */
    FAULTFS_STATVFS = 1 << 9,  /* statvfs, fstatvfs */
    FAULTFS_ALL = (1 << 10) - 1,
    FAULTFS_CHANGES = FAULTFS_ALL & ~(FAULTFS_READ | FAULTFS_STATVFS),
};

enum faultfs_mode {
    FAULTFS_FAIL = 0,  /* nothing happens, errno = error */
    FAULTFS_SHORT = 1, /* writes and reads: half of the bytes, no error; other calls pass */
    FAULTFS_TORN = 2,  /* writes: half of the bytes reach the file, then errno = error */
    FAULTFS_KILL = 3,  /* SIGKILL to itself in the middle of the call (half of a write is done) */
};

struct faultfs_control {
    char magic[8];                /*   0 "SFFAULT1" */
    _Atomic uint32_t is_on;       /*   8 faults happen; counting continues either way */
    _Atomic uint32_t calls;       /*  12 set of enum faultfs_call */
    _Atomic uint32_t mode;        /*  16 enum faultfs_mode */
    _Atomic uint32_t error;       /*  20 errno to give */
    _Atomic uint64_t first;       /*  24 the first call to fail, 1 = the next */
    _Atomic uint64_t n_fail;      /*  32 how many; 0 = all from there on */
    _Atomic uint64_t n_matched;   /*  40 matching calls since this was last set to 0 */
    _Atomic uint64_t n_failed;    /*  48 faults given */
    _Atomic int64_t clock_ns;     /*  56 added to CLOCK_REALTIME, gettimeofday and time */
    _Atomic uint64_t free_plus_1; /*  64 free bytes that statvfs reports, + 1; 0: the truth */
    _Atomic uint32_t delay_us;    /*  72 each matching sync takes this much longer */
    _Atomic uint32_t reserved;    /*  76 */
    char path[256];               /*  80 terminated; change only while is_on is 0 */
};                                /* 336 bytes */
_Static_assert(sizeof(struct faultfs_control) == 336, "faultfs.py knows this layout");

/* For tests that link the shim. */
struct faultfs_control *faultfs_control(void);
/* Clears everything, then arms: the nth matching call and n_fail - 1 more. */
void faultfs_arm(uint32_t calls, enum faultfs_mode mode, int error, uint64_t first, uint64_t n_fail,
                 const char *path);
void faultfs_disarm(void);

/* What happened to files, in order, for tests that rebuild what a power cut would have left. Called
 * after the call succeeded, by the thread that made it. */
struct faultfs_event {
    enum faultfs_call call; /* WRITE, SYNC, OPEN with O_CREAT, UNLINK, TRUNCATE, RENAME */
    const char *path;       /* absolute */
    const char *to;         /* RENAME */
    uint64_t off;           /* WRITE; TRUNCATE: the new length */
    const void *bytes;      /* WRITE: one event for each piece */
    size_t len;
};
void faultfs_record(void (*see)(const struct faultfs_event *e));       /* NULL: stop */
void faultfs_record_reads(void (*see)(const struct faultfs_event *e)); /* READ as well */
