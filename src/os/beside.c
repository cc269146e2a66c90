#include "os/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sf_beside_find(const char *const *places, size_t n_places, char *out, size_t cap)
{
    char folder[400];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *slash;
    folder[n > 0 ? n : 0] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < n_places; i++) {
        int len = snprintf(out, cap, "%s%s", folder, places[i]);
        if (len > 0 && (size_t)len < cap && !access(out, R_OK))
            return true;
    }
    snprintf(out, cap, "%s", folder);
    return false;
}
