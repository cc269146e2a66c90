/* yaml.h - events of libyaml, one at a time, for files that people write: the configuration,
 * rules of alerts, limits of tenants. No tree is built, so nesting is as deep as the reader's own
 * grammar. Anchors and aliases are refused: nothing in such a file is worth one that grows when
 * read. A mistake is one sentence with file and line. */
#pragma once
#include <stdbool.h>
#include <yaml.h>

#include "base/err.h"
#include "base/str.h"

struct sf_yaml_reader {
    const char *file; /* the name in sentences */
    yaml_parser_t parser;
    yaml_event_t event; /* the newest */
    bool has_event;
    struct sf_why *why;
    enum sf_err err; /* the first mistake; nothing is read after it */
};

/* `file`, `text` and `why` outlive the reader. NOMEM: nothing is open. */
enum sf_err sf_yaml_open(struct sf_yaml_reader *r, const char *file, sf_str text,
                         struct sf_why *why);
/* Returns the first mistake. */
enum sf_err sf_yaml_close(struct sf_yaml_reader *r);

/* All below return false and set `err` at a mistake. */
bool sf_yaml_next(struct sf_yaml_reader *r);
/* To the first event of the only document. False without a mistake: the file is empty. */
bool sf_yaml_begin(struct sf_yaml_reader *r);
/* Behind the document's last event: nothing may follow. */
bool sf_yaml_end(struct sf_yaml_reader *r);
/* The next key of the map at hand. False without a mistake: the map ends. */
bool sf_yaml_next_key(struct sf_yaml_reader *r);
/* The map behind a key. False without a mistake: nothing is behind it. `what` is the sentence's
 * subject. */
bool sf_yaml_enter_map(struct sf_yaml_reader *r, const char *what);

/* A mistake on the newest event's line, or on `line`, counted from 1. Always false. */
bool sf_yaml_refuse(struct sf_yaml_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool sf_yaml_refuse_at(struct sf_yaml_reader *r, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of the newest event. */
uint32_t sf_yaml_line(const struct sf_yaml_reader *r);
sf_str sf_yaml_scalar(const struct sf_yaml_reader *r);
/* Nothing was written behind the colon, or null. */
bool sf_yaml_is_null(const struct sf_yaml_reader *r);
/* "a map", "a list", "one value", "nothing". */
const char *sf_yaml_kind(const struct sf_yaml_reader *r);
