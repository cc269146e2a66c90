/* recorded.h - a program that is profiled from its first to its last moment without knowing it.
 *
 * `spanflame record` preloads the library and says by environment variables which process, where to
 * and how often. The process is named by its id: an exec keeps that, so a wrapper script leads to
 * the program behind it, and children are left alone. The profile is written when the program
 * exits, by whichever way: return, exit, _exit, a signal that ends programs by default, or a crash
 * that it does not handle itself. */
#pragma once

void sf_recorded_at_exit(void);
