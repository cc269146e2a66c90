/* thinned.h - a sentence that tells when and by which rule the samples of a request were
 * deleted. */
#pragma once
#include "base/arena.h"
#include "model/keep_state.h"

/* "thinned: ...", in `req`. False: it is full. */
bool sf_thinned_say(const struct sf_keep_state *s, struct sf_arena *req, sf_str *out);
