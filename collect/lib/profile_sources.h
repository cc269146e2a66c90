/* profile_sources.h - registers the profilers that need no hooks; checks which are available. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

void sf_profile_sources_set(void); /* to be called before the first start; any number of times */
/* UNSUPPORTED when some of these kinds (bits) are not available; the message names them. A
 * sanitizer has a malloc of its own, and a static program calls its own libc. */
enum sf_err sf_profile_sources_check(unsigned kinds, struct sf_why *why);
void sf_profile_sources_before_fork(void);
void sf_profile_sources_after_fork(bool is_child);
