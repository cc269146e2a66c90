#include "os/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

bool sf_terminal_is(int fd)
{
    return isatty(fd) == 1;
}

size_t sf_terminal_width(int fd, size_t otherwise)
{
    struct winsize size = {0};
    uint64_t columns;

    if (sf_str_to_u64(sf_str_from(getenv("COLUMNS")), &columns) && columns > 0 && columns < 10000)
        return (size_t)columns;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return otherwise;
}
