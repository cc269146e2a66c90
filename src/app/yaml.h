/* yaml.h - reads YAML event by event through libyaml: the configuration, alert rules, limits of
 * tenants. No tree is built, so nesting is limited by the caller's grammar. Anchors and aliases are
 * refused, because aliases could expand a small file without bound. Errors name file and line. */
#pragma once
#include <stdbool.h>
#include <yaml.h>

#include "base/err.h"
#include "base/str.h"

struct sf_yaml_reader {
    const char *file; /* file name for messages */
    yaml_parser_t parser;
    yaml_event_t event; /* the newest */
    bool has_event;
    struct sf_why *why;
    enum sf_err err; /* the first error; nothing is read after it */
};

/* `file`, `text` and `why` outlive the reader. NOMEM: nothing is open. */
enum sf_err sf_yaml_open(struct sf_yaml_reader *r, const char *file, sf_str text,
                         struct sf_why *why);
/* Returns the first error. */
enum sf_err sf_yaml_close(struct sf_yaml_reader *r);

/* All functions below return false and set `err` on an error. */
bool sf_yaml_next(struct sf_yaml_reader *r);
/* Goes to the first event of the only document. False without an error: the file is empty. */
bool sf_yaml_begin(struct sf_yaml_reader *r);
/* Checks that nothing follows the document's last event. */
bool sf_yaml_end(struct sf_yaml_reader *r);
/* The next key of the current map. False without an error: the map ends. */
bool sf_yaml_next_key(struct sf_yaml_reader *r);
/* Enters the map that is the value of a key. False without an error: the value is empty. `what` is
 * the subject of the message. */
bool sf_yaml_enter_map(struct sf_yaml_reader *r, const char *what);

/* Reports an error on the newest event's line, or on `line`, counted from 1. Always false. */
bool sf_yaml_refuse(struct sf_yaml_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool sf_yaml_refuse_at(struct sf_yaml_reader *r, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Line of the newest event. */
uint32_t sf_yaml_line(const struct sf_yaml_reader *r);
sf_str sf_yaml_scalar(const struct sf_yaml_reader *r);
/* Whether the value is empty or null. */
bool sf_yaml_is_null(const struct sf_yaml_reader *r);
/* "a map", "a list", "one value", "nothing". */
const char *sf_yaml_kind(const struct sf_yaml_reader *r);
