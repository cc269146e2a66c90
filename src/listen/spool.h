/* spool.h - an unnamed, encrypted file for request bodies that have not been redacted yet.
 *
 * A recording may carry the environment and command line of a whole machine; redaction comes when
 * the body is complete, and what it takes out must never have been on the disk. So what goes into
 * the file is AES-256 in counter mode under a key that only this process's memory has, and that is
 * gone with the file: what a crash leaves in free blocks is noise. No integrity is promised: the
 * file has no name, and an attacker who can write to our descriptors can do worse. One thread at a
 * time. */
#pragma once
#include "base/err.h"
#include "os/file.h"

struct sf_spool { /* a zeroed one is none */
    struct sf_file file;
    uint8_t key[32];
};

enum sf_err sf_spool_open(const char *folder, struct sf_spool *out, struct sf_why *why);
bool sf_spool_is_open(const struct sf_spool *s);
void sf_spool_close(struct sf_spool *s); /* none is fine */

/* A place is written once. FULL, IO, NOMEM. */
enum sf_err sf_spool_write(const struct sf_spool *s, uint64_t off, const void *p, size_t len,
                           struct sf_why *why);
/* Up to `len` bytes; fewer at the end. */
enum sf_err sf_spool_read(const struct sf_spool *s, uint64_t off, void *p, size_t len,
                          size_t *out_len, struct sf_why *why);
