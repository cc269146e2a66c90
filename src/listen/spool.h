/* spool.h - an unnamed, encrypted file for request bodies that have not been redacted yet.
 *
 * A recording may contain environment variables and command lines of a whole machine; redaction is
 * possible only when the body is complete, and redacted data must never have been on disk. So the
 * file is encrypted with AES-256 in counter mode under a key that exists only in this process's
 * memory: blocks left on disk after a crash cannot be read. Integrity is not protected: the file
 * has no name, and an attacker who can write to our descriptors can do worse. One thread at a
 * time. */
#pragma once
#include "base/err.h"
#include "os/file.h"

struct sf_spool { /* zeroed: no file */
    struct sf_file file;
    uint8_t key[32];
};

enum sf_err sf_spool_open(const char *folder, struct sf_spool *out, struct sf_why *why);
bool sf_spool_is_open(const struct sf_spool *s);
void sf_spool_close(struct sf_spool *s); /* none is fine */

/* Each position is written once. FULL, IO, NOMEM. */
enum sf_err sf_spool_write(const struct sf_spool *s, uint64_t off, const void *p, size_t len,
                           struct sf_why *why);
/* Reads up to `len` bytes; fewer at the end. */
enum sf_err sf_spool_read(const struct sf_spool *s, uint64_t off, void *p, size_t len,
                          size_t *out_len, struct sf_why *why);
