/* secret_shape.h - secrets recognised by their form: card numbers, keys, tokens, passwords in URLs,
 * SQL and arguments, name=value pairs.
 *
 * Nearly all texts contain none, and the ingest path scans every text: a fast pass over sixteen
 * bytes at a time finds the few positions that need an exact check. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum sf_shape {
    SF_SHAPE_CARD,
    SF_SHAPE_CLOUD_KEY,
    SF_SHAPE_JWT,
    SF_SHAPE_AUTH_HEADER, /* Bearer ..., Basic ... */
    SF_SHAPE_PRIVATE_KEY,
    SF_SHAPE_TOKEN, /* with a vendor's prefix */
    SF_SHAPE_URL_PASSWORD,
    SF_SHAPE_PAIR,    /* password=..., "token": ... */
    SF_SHAPE_UNKNOWN, /* unknown bytes in an array or map */
    SF_SHAPE_ARG,     /* --password X, mysql -pX, curl -u user:X */
    SF_SHAPE_SQL,     /* IDENTIFIED BY 'X', PASSWORD 'X' */
    SF_SHAPE_WEBHOOK, /* the last part of a webhook URL, which is its only secret */
    SF_SHAPES
};

struct sf_shape_hit {
    size_t at, end;
    enum sf_shape shape;
};

/* How to decide whether a pair's name means a secret. */
struct sf_shape_names {
    /* Whether the value of a pair with this name is a secret. `is_number`: the value consists of
     * digits. */
    bool (*is_secret)(const void *arg, sf_str name, bool is_number);
    const void *arg;
    bool has_shapes; /* find all shapes; otherwise pairs only */
};

/* The fast pass: decides which exact checks the text needs. 0: none, it contains no secret;
 * otherwise bits for sf_secret_shape_find. It may report false positives but misses nothing. */
enum { SF_SHAPE_LOOK_CHECKS = 1, SF_SHAPE_LOOK_CARDS = 2 };
unsigned sf_secret_shape_scan(sf_str text);
/* Appends hits to `out` (space for `max`), in no order, possibly overlapping. Returns their number,
 * which may be more than `max`. */
size_t sf_secret_shape_find(sf_str text, unsigned look, const struct sf_shape_names *names,
                            struct sf_shape_hit *out, size_t max);
bool sf_secret_shape_is_card_slow(uint64_t number);
static inline bool sf_shape_is_card(uint64_t number) /* a card number as one integer */
{
    return number >= 1000000000000 && sf_secret_shape_is_card_slow(number);
}
