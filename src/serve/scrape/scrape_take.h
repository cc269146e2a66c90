/* scrape_take.h - decodes the answer of a scraped target and gives it to the store like an
 * upload. */
#pragma once
#include "scrape/scraper.h"
#include "serve/service.h"

struct sf_scrape_taker { /* used by the scraping thread only */
    struct sf_service *service;
    struct sf_intake_tools *tools;
    struct sf_queue *done; /* tickets of batches that are durable or have failed */
};

/* For struct sf_scraper_ways; `arg` is the taker. Waits until the batch is durable. INPUT, LIMIT,
 * BUSY, FULL, UNSUPPORTED, NOMEM. */
enum sf_err sf_scrape_take(void *arg, const struct sf_scrape_answer *a, uint64_t *out_samples,
                           bool *out_has_totals, struct sf_why *why);
