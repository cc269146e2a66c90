/* own_form.h - `format` of calls that answer with a profile and words around it: our JSON, text for
 * a terminal, or the profile alone in any form it can be given out in. */
#pragma once
#include "model/answer/profile_view.h"
#include "serve/call.h"

bool sf_own_form_is_json(sf_str format); /* also when nothing was requested */
bool sf_own_form_is_text(sf_str format);
/* The profile alone; with text as a drawing behind what the body holds already. INPUT names the
 * forms there are. */
enum sf_err sf_own_form_give(struct sf_call *call, sf_str format, struct sf_profile_view *view,
                             struct sf_arena *req, struct sf_why *why);
/* The headers that say what most forms have no place for: how many samples are behind it
 * (x-spanflame-samples), that it is an estimate (x-spanflame-estimate: true), and that the samples
 * are too few for times and shares (x-spanflame-few: how many). */
void sf_own_form_say(struct sf_response *r, const struct sf_profile_view *v);
