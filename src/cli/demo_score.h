/* demo_score.h - the end of `spanflame demo`: what was planted, what it costs, what was measured
 * and whether it was found. */
#pragma once
#include <stdint.h>

#include "cli/demo_switch.h"

struct sf_demo_sale { /* unix seconds: when the shop ran before the steps */
    int64_t from_s, until_s;
};
/* Prints a line for each problem that was planted all the time. A failed query is reported in the
 * problem's line. Returns the number of problems not found. */
uint32_t sf_demo_score_tell(const char *server, const struct sf_demo_switches *switches,
                            struct sf_demo_sale sale);
