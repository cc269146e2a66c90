/* demo_bar.h - communication between the page and a running `spanflame demo`.
 *
 * Both use the stored settings of users (settings.v1.SettingsService), so the server needs no
 * additional API. The demo writes the setting `spanflame.demo`: the running version, the planted
 * problems, the last change. The page shows its demo bar while that setting is recent, and writes
 * the requested state as `spanflame.demo.wish`: the whole state, not a change, so that a repeated
 * or late request does no harm. demo/README.md has both forms. */
#pragma once
#include "cli/demo_shop.h"
#include "cli/demo_switch.h"

struct sf_demo_bar {
    const char *server;
    struct sf_demo_shop *shop;
    struct sf_demo_switches *switches;
    int64_t started_ms; /* start time of the demo's programs, where the page's range begins */

    const char *doing;         /* what the demo currently does; "": it only runs the shop */
    char refused[160];         /* why the last request was refused */
    char switched[24];         /* the problem or commit of the last change */
    bool is_worse;             /* the change planted a problem, or deployed def456 */
    int64_t switched_ms;       /* 0: nothing was changed yet */
    int64_t wish_ms;           /* time of the newest request that was processed */
    int64_t asked_ns, told_ns; /* monotonic times of the last poll and the last update */
    struct sf_why why;         /* why the last call failed; reported once */
};

/* Fill the first four fields, zero the rest. Publishes the current state. */
void sf_demo_bar_tell(struct sf_demo_bar *b, const char *doing);
/* To be called often: polls for a request twice a second, executes it, and publishes the new state.
 * Fails when order-service could not be replaced. */
enum sf_err sf_demo_bar_turn(struct sf_demo_bar *b, struct sf_why *why);
/* Replaces order-service and stores that as the last change. */
enum sf_err sf_demo_bar_deploy(struct sf_demo_bar *b, const char *commit, struct sf_why *why);
/* Deletes the settings, so that the page does not show a demo that has ended. */
void sf_demo_bar_close(struct sf_demo_bar *b);
