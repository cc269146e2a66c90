/* deploys.h - deploys of services: posted by pipelines, and detected in spans. */
#pragma once
#include "os/dir.h"
#include "serve/call.h"

struct sf_deploys;

/* Reads the file; a file that cannot be read is renamed, and `notice` (240 bytes) reports it. */
enum sf_err sf_deploys_open(struct sf_dir *dir, struct sf_deploys **out, char notice[240],
                            struct sf_why *why);
void sf_deploys_close(struct sf_deploys *d); /* NULL is fine */

bool sf_deploys_post(struct sf_call *call, struct sf_worker *worker);
bool sf_deploys_list(struct sf_call *call, struct sf_worker *worker);
