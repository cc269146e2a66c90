/* secret_shape.h - secrets known by their look: cards, keys, tokens, passwords in URLs, SQL and
 * arguments, name=value pairs.
 *
 * Nearly every text has none, and each is seen by the ingest path: sixteen bytes at a time and a
 * table over neighbouring bytes find the few places worth a second check. */
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
    SF_SHAPE_TOKEN, /* with a prefix its maker gave it */
    SF_SHAPE_URL_PASSWORD,
    SF_SHAPE_PAIR,    /* password=..., "token": ... */
    SF_SHAPE_UNKNOWN, /* bytes in an array or map that mean nothing to us */
    SF_SHAPE_ARG,     /* --password X, mysql -pX, curl -u user:X */
    SF_SHAPE_SQL,     /* IDENTIFIED BY 'X', PASSWORD 'X' */
    SF_SHAPE_WEBHOOK, /* the last part of a webhook URL, which is its only secret */
    SF_SHAPES
};

struct sf_shape_hit {
    size_t at, end;
    enum sf_shape shape;
};

/* What a shape needs to know of the words in force. */
struct sf_shape_names {
    /* Is the value of a pair with this name a secret? `is_number`: it is digits alone. */
    bool (*is_secret)(const void *arg, sf_str name, bool is_number);
    const void *arg;
    bool has_shapes; /* all of them; otherwise pairs only */
};

/* The fast half: what in the text is worth a closer look. 0: nothing, there is no secret known by
 * its look; otherwise bits for sf_secret_shape_find. It may suspect in vain, never overlook. */
enum { SF_SHAPE_LOOK_CHECKS = 1, SF_SHAPE_LOOK_CARDS = 2 };
unsigned sf_secret_shape_scan(sf_str text);
/* Appends hits to `out` (space for `max`), in no order, perhaps overlapping. Returns how many there
 * are; more than `max`: the text is full of them. */
size_t sf_secret_shape_find(sf_str text, unsigned look, const struct sf_shape_names *names,
                            struct sf_shape_hit *out, size_t max);
bool sf_secret_shape_is_card_slow(uint64_t number);
static inline bool sf_shape_is_card(uint64_t number) /* a card number as one integer */
{
    return number >= 1000000000000 && sf_secret_shape_is_card_slow(number);
}
