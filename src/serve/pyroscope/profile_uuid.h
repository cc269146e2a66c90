/* profile_uuid.h - parses a profile id as Pyroscope's clients write it. */
#pragma once
#include "model/profile.h"

/* "0af3c1d2-...": 32 hexadecimal digits with or without dashes. */
bool sf_profile_uuid_parse(sf_str text, sf_profile_id *out);
void sf_profile_uuid_render(sf_profile_id id, char out[37]);
