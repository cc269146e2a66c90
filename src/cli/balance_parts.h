/* balance_parts.h - which part of a service's samples is attributed to spans: queried in parts of
 * the time range and added up. */
#pragma once
#include "cli/client.h"

struct sf_balance_ask {
    const char *command, *service, *type, *output; /* the last two may be NULL */
    int64_t since_ns;
};

int sf_balance_parts_run(const struct sf_client *client, const struct sf_balance_ask *ask);
