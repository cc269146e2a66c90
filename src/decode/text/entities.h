/* entities.h - text of HTML and SVG. Private to this module. */
#pragma once
#include "decode/profile_build.h"

/* Decodes "&lt;" and similar; `s` itself when it has none. */
sf_str sf_entities_decode(struct sf_profile_build *b, sf_str s);
