/* demo_shop.h - the shop of `spanflame demo`: its services as child processes (demo/README.md). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/child.h"

enum sf_demo_part {
    SF_DEMO_SUPPLIER,
    SF_DEMO_INVENTORY,
    SF_DEMO_PRICING,
    SF_DEMO_RECOMMEND, /* in Python: only if there is an interpreter */
    SF_DEMO_ORDER,
    SF_DEMO_GATEWAY,
    SF_DEMO_SHOPPER,
    SF_DEMO_PARTS
};

struct sf_demo_shop {
    const char *home;     /* a folder for the shop's database and logs */
    const char *otlp;     /* where it sends its telemetry, as a URL */
    const char *switches; /* the file that says which problems are planted (demo_switch.h) */
    const char *token;    /* that the server requires; "": none */
    uint64_t rate;        /* orders a second */
    uint64_t seed;        /* number of the first order */

    bool has_python;
    char programs[512]; /* folder of the shop's programs */
    uint16_t ports[SF_DEMO_PARTS];
    struct sf_child parts[SF_DEMO_PARTS];
    struct sf_child old_order; /* the old process while a new version starts */
    char commit[16];           /* version of order-service */
};

/* Fill the first fields, zero the rest. Starts all services, order-service at `commit`, and then
 * the shopper, which sends orders. */
enum sf_err sf_demo_shop_open(struct sf_demo_shop *s, const char *commit, struct sf_why *why);
/* Replaces the running order-service by `commit` without losing an order. */
enum sf_err sf_demo_shop_deploy(struct sf_demo_shop *s, const char *commit, struct sf_why *why);
/* SF_OK while all processes run; IO names the one that ended, and its log. */
enum sf_err sf_demo_shop_check(struct sf_demo_shop *s, struct sf_why *why);
/* Ends all processes, the shopper first; they send their last profiles before. */
void sf_demo_shop_close(struct sf_demo_shop *s);
