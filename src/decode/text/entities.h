/* entities.h - text of HTML and SVG. Private to this module. */
#pragma once
#include "decode/profile_build.h"

/* With "&lt;" and its like as the characters they represent; `s` itself when it has none. */
sf_str sf_entities_decode(struct sf_profile_build *b, sf_str s);
