/* otlp_profile.h - a profile as an OTLP ExportProfilesServiceRequest, protobuf, in the layout since
 * protocol version 1.10. */
#pragma once
#include "base/err.h"
#include "model/answer/profile_view.h"

enum sf_err sf_otlp_profile_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                   struct sf_buf *out, struct sf_why *why);
