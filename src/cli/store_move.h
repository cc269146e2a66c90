/* store_move.h - `spanflame store migrate --to`: asks a node to move its older data, and waits. */
#pragma once
#include "cli/client.h"

/* Returns the exit code. `output`: the value of --output. */
int sf_store_move_run(const struct sf_client *client, const char *to, const char *output);
