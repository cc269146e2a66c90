/* control_set.h - the documents of all targets and the log of their changes, kept in one file of
 * the data folder that is replaced as a whole.
 *
 * A target is a service and an instance of a tenant; "*" represents all. The document of an
 * instance goes before that of its service, member by member, and that before the one of all. Not
 * for several threads at once: the owner has a lock. */
#pragma once
#include "os/dir.h"
#include "serve/own/control_doc.h"

enum { SF_CONTROL_NAME_CAP = 129, SF_CONTROL_WHO_CAP = 66, SF_CONTROL_PEER_CAP = 64 };

struct sf_control_target {
    char tenant[SF_CONTROL_NAME_CAP * 2];
    char service[SF_CONTROL_NAME_CAP], instance[SF_CONTROL_NAME_CAP]; /* "*": all */
};

struct sf_control_entry {
    struct sf_control_target target;
    struct sf_control_doc doc;
};

struct sf_control_change { /* of the log: user, change, time, address */
    struct sf_control_target target;
    char who[SF_CONTROL_WHO_CAP], from[SF_CONTROL_PEER_CAP];
    char what[160]; /* "put {...}", "delete", "capture ..." */
    int64_t time_ms;
};

struct sf_control_set; /* opaque */

/* INPUT: an empty name, one that is too long, or one with control characters. */
enum sf_err sf_control_set_target_make(sf_str tenant, sf_str service, sf_str instance,
                                       struct sf_control_target *out, struct sf_why *why);
bool sf_control_set_target_eq(const struct sf_control_target *a, const struct sf_control_target *b);
/* Does a document for `rule` hold for a collector that is `one`? */
bool sf_control_set_target_holds(const struct sf_control_target *rule,
                                 const struct sf_control_target *one);

/* Lines of the file that cannot be read are left out, the file is kept as control.damaged, and
 * `notice` reports it; else it is empty. IO, NOMEM. */
enum sf_err sf_control_set_open(struct sf_dir *dir, struct sf_control_set **out, char notice[240],
                                struct sf_why *why);
void sf_control_set_close(struct sf_control_set *s); /* NULL is fine */

/* A view until the next change; NULL: none. */
const struct sf_control_doc *sf_control_set_get(const struct sf_control_set *s,
                                                const struct sf_control_target *target);
/* What holds for a collector at that moment; *next_ms is lowered to when that changes by itself. */
struct sf_control_doc sf_control_set_effective(const struct sf_control_set *s,
                                               const struct sf_control_target *one, int64_t now_ms,
                                               int64_t *next_ms);
/* Puts a document (NULL: takes it away) and notes the change. LIMIT: too many. */
enum sf_err sf_control_set_put(struct sf_control_set *s, const struct sf_control_target *target,
                               const struct sf_control_doc *doc, struct sf_why *why);
void sf_control_set_note(struct sf_control_set *s, const struct sf_control_change *change);
/* The whole file as it is now, and onto the disk. The second does not touch the set. */
void sf_control_set_print(const struct sf_control_set *s, struct sf_buf *out);
enum sf_err sf_control_set_save(struct sf_dir *dir, const struct sf_buf *text, struct sf_why *why);

size_t sf_control_set_n(const struct sf_control_set *s);
const struct sf_control_entry *sf_control_set_at(const struct sf_control_set *s, size_t i);
size_t sf_control_set_n_changes(const struct sf_control_set *s);
const struct sf_control_change *sf_control_set_change(const struct sf_control_set *s,
                                                      size_t i); /* the oldest first */
