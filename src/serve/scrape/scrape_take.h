/* scrape_take.h - a target's answer, decoded and given to the store like an upload. */
#pragma once
#include "scrape/scraper.h"
#include "serve/service.h"

struct sf_scrape_taker { /* of the thread that scrapes */
    struct sf_service *service;
    struct sf_intake_tools *tools;
    struct sf_queue *done; /* batches that are durable, or never will be */
};

/* For struct sf_scraper_ways; `arg` is the taker. Waits until the log has it. INPUT, LIMIT, BUSY,
 * FULL, UNSUPPORTED, NOMEM. */
enum sf_err sf_scrape_take(void *arg, const struct sf_scrape_answer *a, uint64_t *out_samples,
                           bool *out_has_totals, struct sf_why *why);
