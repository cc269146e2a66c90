#include "os/notify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* False: not a possible socket address. */
static bool make_address(const char *name, struct sockaddr_un *to, socklen_t *len)
{
    size_t n = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof(to->sun_path))
        return false;
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(to->sun_path, name, n);
    if (name[0] == '@')
        to->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return true;
}

void sf_notify_open(struct sf_notify *n)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to;
    socklen_t len;
    n->fd = -1;
    if (name && make_address(name, &to, &len)) {
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (n->fd >= 0 && connect(n->fd, (const struct sockaddr *)&to, len))
            sf_notify_close(n);
    }
    unsetenv("NOTIFY_SOCKET");
}

void sf_notify_send(const struct sf_notify *n, const char *state)
{
    if (n->fd >= 0)
        (void)send(n->fd, state, strlen(state), MSG_NOSIGNAL);
}

void sf_notify_close(struct sf_notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}
