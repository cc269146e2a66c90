/* fsck_copies.h - compares the catalogue with the copies of its content in other files. */
#pragma once
#include "os/file.h"
#include "store/local/files/catalogue.h"

struct sf_dir;

/* `say` gets a sentence per finding; effects of a kill are reported but not counted. */
struct sf_fsck_copies {
    struct sf_dir *dir;
    struct sf_catalogue *catalogue;
    const struct sf_file *lock; /* LOCK, open; or NULL */
    const uint8_t *uuid;        /* the catalogue's */
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n_faults;
};

/* LOCK, tenants.log and erase.log. */
enum sf_err sf_fsck_copies(struct sf_fsck_copies *c, struct sf_why *why);
