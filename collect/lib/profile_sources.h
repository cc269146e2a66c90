/* profile_sources.h - which profilers there are. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

void sf_profile_sources_set(void); /* before the first start; any number of calls */
/* UNSUPPORTED when one of these kinds (bits) is not there; the sentence names them all. A sanitizer
 * has a malloc of its own, and a static program calls its own libc. */
enum sf_err sf_profile_sources_check(unsigned kinds, struct sf_why *why);
void sf_profile_sources_before_fork(void);
void sf_profile_sources_after_fork(bool is_child);
