#include "app/version.h"

const char *sf_version(void)
{
    return SF_VERSION; /* given by the build */
}
