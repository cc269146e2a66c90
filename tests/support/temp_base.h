/* temp_base.h - where tests that sync often put their files.
 *
 * In memory where there is enough of it: a busy disk answers a sync in a tenth of a second, and
 * these tests wait for thousands. That files survive a loss of power is tested elsewhere. */
#pragma once
#include <stdint.h>
#include <sys/statvfs.h>
#include <unistd.h>

static inline const char *temp_base(void)
{
    struct statvfs fs;
    return statvfs("/dev/shm", &fs) == 0 && access("/dev/shm", W_OK) == 0 &&
                   (uint64_t)fs.f_bavail * fs.f_frsize > (uint64_t)4 << 30
               ? "/dev/shm"
               : "/tmp";
}
