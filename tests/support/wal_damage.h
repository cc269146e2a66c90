/* wal_damage.h - what becomes of a log's files, and what fsck says then. */
#pragma once
#include <fcntl.h>

#include "support/wal_rig.h"
#include "test.h"

static inline void rig_flip(const struct rig *r, unsigned slot, off_t at)
{
    char path[600];
    uint8_t byte;
    int fd;
    rig_slot_path(r, slot, path, sizeof(path));
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* The slot that holds sequence `sequence`; fails the test when there is none. */
static inline unsigned rig_slot_of(const struct rig *r, uint64_t sequence)
{
    for (unsigned number = 0; number < 100; number++) {
        char path[600];
        uint8_t head[64] = {0};
        int fd;
        rig_slot_path(r, number, path, sizeof(path));
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
        close(fd);
        if (sf_load_u64le(head + 8) == sequence)
            return number;
    }
    fail_msg("no slot with sequence %llu", (unsigned long long)sequence);
    return 0;
}

static inline bool rig_file_holds(const char *path, const void *needle, size_t len)
{
    static uint8_t bytes[8 << 20];
    int fd = open(path, O_RDONLY);
    ssize_t got;
    if (fd < 0)
        return false;
    got = read(fd, bytes, sizeof(bytes));
    close(fd);
    return got > 0 && memmem(bytes, (size_t)got, needle, len) != NULL;
}

static inline bool rig_log_holds(const struct rig *r, const void *needle, size_t len)
{
    for (unsigned number = 0; number < 100; number++) {
        char path[600];
        rig_slot_path(r, number, path, sizeof(path));
        if (rig_file_holds(path, needle, len))
            return true;
    }
    return false;
}

static inline void rig_zero(const struct rig *r, unsigned slot, off_t from, off_t to)
{
    static const uint8_t zeros[4096];
    char path[600];
    int fd;
    rig_slot_path(r, slot, path, sizeof(path));
    fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (; from < to; from += 4096)
        assert_int_equal(pwrite(fd, zeros, sizeof(zeros), from), sizeof(zeros));
    close(fd);
}

static inline void rig_remove_tail(const struct rig *r)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/wal.tail", r->path);
    assert_int_equal(unlink(path), 0);
}

static inline uint64_t rig_faults_of(const struct rig *r)
{
    uint64_t n_faults = 0;
    assert_ok(sf_wal_verify(r->dir, &(struct sf_wal_known){.ckpt_lsn = r->ckpt_lsn}, NULL, NULL,
                            &n_faults, NULL));
    return n_faults;
}

/* Ten batches, a page each, in one slot that is still needed. */
static inline void rig_write_ten(struct rig *r)
{
    rig_init_temporary(r);
    assert_ok(rig_open(r));
    for (uint32_t i = 0; i < 10; i++)
        assert_ok(rig_put(r, i, 1, 1000));
    rig_close(r);
    assert_int_equal(rig_faults_of(r), 0);
    r->n_notices = 0;
}
