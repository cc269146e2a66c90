/* control_set.h - the documents of all targets and the log of their changes, kept in one file of
 * the data folder that is replaced as a whole.
 *
 * A target is a service and an instance of a tenant; "*" matches all. Members of an instance's
 * document override those of its service's, which override those of "*". Not thread-safe: the owner
 * locks. */
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

struct sf_control_change { /* entry of the log: user, change, time, address */
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
/* Whether a document for `rule` applies to the collector `one`. */
bool sf_control_set_target_holds(const struct sf_control_target *rule,
                                 const struct sf_control_target *one);

/* Lines of the file that cannot be read are left out, the file is kept as control.damaged, and
 * `notice` reports it; else it is empty. IO, NOMEM. */
enum sf_err sf_control_set_open(struct sf_dir *dir, struct sf_control_set **out, char notice[240],
                                struct sf_why *why);
/* Parses the text of a control file. CORRUPT: a line cannot be parsed. */
enum sf_err sf_control_set_read(sf_str text, struct sf_control_set **out, struct sf_why *why);
void sf_control_set_close(struct sf_control_set *s); /* NULL is fine */

/* Valid until the next change; NULL: none. */
const struct sf_control_doc *sf_control_set_get(const struct sf_control_set *s,
                                                const struct sf_control_target *target);
/* The settings of a collector at that time; *next_ms is lowered to the time when one of them
 * expires. */
struct sf_control_doc sf_control_set_effective(const struct sf_control_set *s,
                                               const struct sf_control_target *one, int64_t now_ms,
                                               int64_t *next_ms);
/* The first function sets a document (NULL: deletes it; LIMIT: too many documents), the second logs
 * the change. */
enum sf_err sf_control_set_put(struct sf_control_set *s, const struct sf_control_target *target,
                               const struct sf_control_doc *doc, struct sf_why *why);
void sf_control_set_note(struct sf_control_set *s, const struct sf_control_change *change);
/* The first function writes the file's text to `out`, the second writes that to disk without using
 * the set. */
void sf_control_set_print(const struct sf_control_set *s, struct sf_buf *out);
enum sf_err sf_control_set_save(struct sf_dir *dir, const struct sf_buf *text, struct sf_why *why);

size_t sf_control_set_n(const struct sf_control_set *s);
const struct sf_control_entry *sf_control_set_at(const struct sf_control_set *s, size_t i);
size_t sf_control_set_n_changes(const struct sf_control_set *s);
const struct sf_control_change *sf_control_set_change(const struct sf_control_set *s,
                                                      size_t i); /* the oldest first */
