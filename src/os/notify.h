/* notify.h - status messages to the service manager (systemd's notification protocol).
 */
#pragma once

struct sf_notify {
    int fd; /* -1: not requested */
};

/* Connects to the socket that NOTIFY_SOCKET names: a path, or an abstract name after '@'. Unset,
 * too long or not reachable: later calls do nothing, since a server must run without a manager too.
 * Removes the variable, so that children do not speak for this process. */
void sf_notify_open(struct sf_notify *n);
/* `state` is one or more lines of KEY=VALUE. Never blocks; a message that does not fit is lost. */
void sf_notify_send(const struct sf_notify *n, const char *state);
void sf_notify_close(struct sf_notify *n);
