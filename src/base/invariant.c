#include "base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void sf_invariant_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "spanflame: internal error: %s does not hold at %s:%d\n", what, file, line);
    abort();
}
