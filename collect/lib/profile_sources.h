/* profile_sources.h - which profilers there are. */
#pragma once
#include <stdbool.h>

void sf_profile_sources_set(void); /* before the first start; any number of calls */
void sf_profile_sources_before_fork(void);
void sf_profile_sources_after_fork(bool is_child);
