/* demo_score.h - the end of `spanflame demo`: what was planted, what it costs, what was measured
 * and whether it was found. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Prints a line for each planted problem but those in `off` (names with commas; NULL: none). What
 * cannot be asked is said in its line. Returns how many were not found. */
uint32_t sf_demo_score_tell(const char *server, const char *off);
