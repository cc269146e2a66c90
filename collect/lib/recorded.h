/* recorded.h - profiles an unmodified program from start to end.
 *
 * `spanflame record` preloads the library and gives process, target and rate in environment
 * variables. The process is identified by its id, which exec keeps, so a wrapper script leads to
 * the program it starts, and child processes are not recorded. The profile is written however the
 * program ends: return, exit, _exit, a signal that ends programs by default, or a crash that it
 * does not handle itself. */
#pragma once

void sf_recorded_at_exit(void);
