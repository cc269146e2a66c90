/* demo_bar.h - how the page and a running `spanflame demo` speak with each other.
 *
 * Both use the settings that readers keep (settings.v1.SettingsService), so the server needs
 * nothing of its own for it. The demo writes the setting `spanflame.demo`: what runs, which
 * problems are planted, what was switched last. The page shows its demo bar while that setting is
 * fresh, and writes the requested state as `spanflame.demo.wish`: the whole state, not a change, so
 * that a repeated or late request does no harm. demo/README.md has both forms. */
#pragma once
#include "cli/demo_shop.h"
#include "cli/demo_switch.h"

struct sf_demo_bar {
    const char *server;
    struct sf_demo_shop *shop;
    struct sf_demo_switches *switches;
    int64_t started_ms; /* when the demo's programs began: where the page's range starts */

    const char *doing;         /* what the demo does just now; "": it only sells */
    char refused[160];         /* why the last request was refused */
    char switched[24];         /* the problem or commit of the last switch */
    bool is_worse;             /* the switch planted something, or deployed def456 */
    int64_t switched_ms;       /* 0: nothing was switched */
    int64_t wish_ms;           /* of the newest request that was processed */
    int64_t asked_ns, told_ns; /* when, by the monotonic clock */
    struct sf_why why;         /* why the last call failed; reported once */
};

/* Fill the first four fields, the rest zero. Says what is true now. */
void sf_demo_bar_tell(struct sf_demo_bar *b, const char *doing);
/* To be called often: polls for a request twice a second, executes it, and publishes the new state.
 * IO and the like: order-service could not be replaced. */
enum sf_err sf_demo_bar_turn(struct sf_demo_bar *b, struct sf_why *why);
/* Replaces order-service and notes it as the last switch. */
enum sf_err sf_demo_bar_deploy(struct sf_demo_bar *b, const char *commit, struct sf_why *why);
/* Takes the settings away: kept data is not a running demo. */
void sf_demo_bar_close(struct sf_demo_bar *b);
