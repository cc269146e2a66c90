/* notify.h - status messages to the service manager (systemd's notification protocol).
 */
#pragma once

struct sf_notify {
    int fd; /* -1: no service manager */
};

/* Connects to the socket that NOTIFY_SOCKET names: a path, or an abstract name after '@'. If it is
 * unset, too long or not reachable, later calls do nothing. Removes the variable, so that child
 * processes do not send messages for this process. */
void sf_notify_open(struct sf_notify *n);
/* `state` is one or more lines of KEY=VALUE. Never blocks; a message that cannot be sent is
 * lost. */
void sf_notify_send(const struct sf_notify *n, const char *state);
void sf_notify_close(struct sf_notify *n);
