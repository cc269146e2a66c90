/* own_form.h - the parameter `format` of calls that answer with a profile and text around it: our
 * JSON, text for a terminal, or the profile alone in any output format. */
#pragma once
#include "model/answer/profile_view.h"
#include "serve/call.h"

bool sf_own_form_is_json(sf_str format); /* true also when no format is given */
bool sf_own_form_is_text(sf_str format);
/* Writes the profile alone; as text, a drawing after what the body already contains. INPUT lists
 * the formats. */
enum sf_err sf_own_form_give(struct sf_call *call, sf_str format, struct sf_profile_view *view,
                             struct sf_arena *req, struct sf_why *why);
/* Sets headers for what most formats cannot express: the number of samples (x-spanflame-samples),
 * that it is an estimate (x-spanflame-estimate: true), and that there are too few samples for times
 * and shares (x-spanflame-few: their number). */
void sf_own_form_say(struct sf_response *r, const struct sf_profile_view *v);
