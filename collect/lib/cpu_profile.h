/* cpu_profile.h - what forks owe a running profile. */
#pragma once

void sf_cpu_profile_after_fork(void); /* in the child: it is not the one being profiled */
