/* speedscope.h - a profile as speedscope's file format: shared frames, samples with weights. */
#pragma once
#include "base/err.h"
#include "model/answer/profile_view.h"

enum sf_err sf_speedscope_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                 struct sf_buf *out, struct sf_why *why);
