/* cpu_profile.h - what the library's beginning, end and forks owe a running profile. */
#pragma once

void sf_cpu_profile_at_exit(void);
void sf_cpu_profile_after_fork(void); /* in the child: it is not the one being profiled */
