/* invariant.h - assertions for states that only a bug in this program can cause. Enabled in release
 * builds; invalid input never triggers them but gets INPUT or CORRUPT. */
#pragma once

_Noreturn void sf_invariant_failed(const char *what, const char *file, int line);

#define SF_ASSERT(what) ((what) ? (void)0 : sf_invariant_failed(#what, __FILE__, __LINE__))
