/* invariant.h - what only our own mistake could break. Stays on in release; bytes from outside
 * never meet it, they get INPUT or CORRUPT. */
#pragma once

_Noreturn void sf_invariant_failed(const char *what, const char *file, int line);

#define SF_ASSERT(what) ((what) ? (void)0 : sf_invariant_failed(#what, __FILE__, __LINE__))
