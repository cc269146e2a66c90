/* tenants.h - tenants by name and number.
 *
 * Numbers are small, never reused, and stored in every block. The names are in the catalogue and,
 * one line each, in tenants.log, so that they survive the loss of the catalogue. Thread-safe. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct sf_catalogue;
struct sf_dir;
struct sf_tenants;

/* Reads both, adds tenants to the catalogue that are only in the log, and creates tenant 1 if there
 * is none. */
enum sf_err sf_tenants_open(struct sf_dir *dir, struct sf_catalogue *catalogue,
                            struct sf_tenants **out, struct sf_why *why);
void sf_tenants_close(struct sf_tenants *t); /* NULL is fine */
enum sf_err sf_tenants_find(struct sf_tenants *t, sf_str name, bool can_create, uint32_t *out,
                            struct sf_why *why);
/* Its name, borrowed until close. False: the number is not assigned. */
bool sf_tenants_name(struct sf_tenants *t, uint32_t id, sf_str *out);
/* The names of the first `cap` tenants, by number, borrowed until close. Returns how many there
 * are. */
size_t sf_tenants_list(struct sf_tenants *t, sf_str *out, size_t cap);
/* Reserves a number that was found in a block, so that no other tenant gets it. */
void sf_tenants_skip(struct sf_tenants *t, uint32_t id);
