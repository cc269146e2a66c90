/* Sockets, and waiting until one of many descriptors is ready. */
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "collect/hook/block_hook.h"

#define V    "GLIBC_2.2.5"
#define NET  SF_WAIT_NETWORK, -1
#define MANY SF_WAIT_POLL, -1

#define SF_BLOCKING_IN(...) SF_BLOCKING(__VA_ARGS__)

SF_BLOCKING_IN(ssize_t, recv, V, NET, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
SF_BLOCKING_IN(ssize_t, send, V, NET, (int fd, const void *from, size_t n, int flags),
               (fd, from, n, flags))
SF_BLOCKING_IN(ssize_t, recvfrom, V, NET,
               (int fd, void *restrict to, size_t n, int flags, __SOCKADDR_ARG from,
                socklen_t *restrict from_len),
               (fd, to, n, flags, from, from_len))
SF_BLOCKING_IN(ssize_t, sendto, V, NET,
               (int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to,
                socklen_t to_len),
               (fd, from, n, flags, to, to_len))
SF_BLOCKING_IN(ssize_t, recvmsg, V, NET, (int fd, struct msghdr *m, int flags), (fd, m, flags))
SF_BLOCKING_IN(ssize_t, sendmsg, V, NET, (int fd, const struct msghdr *m, int flags),
               (fd, m, flags))
SF_BLOCKING_IN(int, recvmmsg, "GLIBC_2.12", NET,
               (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *until),
               (fd, m, n, flags, until))
SF_BLOCKING_IN(int, sendmmsg, "GLIBC_2.14", NET, (int fd, struct mmsghdr *m, unsigned n, int flags),
               (fd, m, n, flags))
SF_BLOCKING_IN(int, accept, V, NET, (int fd, __SOCKADDR_ARG from, socklen_t *restrict len),
               (fd, from, len))
SF_BLOCKING_IN(int, accept4, "GLIBC_2.10", NET,
               (int fd, __SOCKADDR_ARG from, socklen_t *restrict len, int flags),
               (fd, from, len, flags))
SF_BLOCKING_IN(int, connect, V, NET, (int fd, __CONST_SOCKADDR_ARG to, socklen_t len),
               (fd, to, len))
SF_BLOCKING_IN(int, getaddrinfo, V, NET,
               (const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out),
               (node, service, hints, out))

SF_BLOCKING_IN(int, poll, V, MANY, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
SF_BLOCKING_IN(int, ppoll, "GLIBC_2.4", MANY,
               (struct pollfd * fds, nfds_t n, const struct timespec *most, const sigset_t *mask),
               (fds, n, most, mask))
SF_BLOCKING_IN(int, select, V, MANY,
               (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
                struct timeval *restrict most),
               (n, in, out, odd, most))
SF_BLOCKING_IN(int, pselect, V, MANY,
               (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
                const struct timespec *restrict most, const sigset_t *restrict mask),
               (n, in, out, odd, most, mask))
SF_BLOCKING_IN(int, epoll_wait, "GLIBC_2.3.2", MANY,
               (int fd, struct epoll_event *out, int n, int ms), (fd, out, n, ms))
SF_BLOCKING_IN(int, epoll_pwait, "GLIBC_2.6", MANY,
               (int fd, struct epoll_event *out, int n, int ms, const sigset_t *mask),
               (fd, out, n, ms, mask))
SF_BLOCKING_IN(int, epoll_pwait2, "GLIBC_2.35", MANY,
               (int fd, struct epoll_event *out, int n, const struct timespec *most,
                const sigset_t *mask),
               (fd, out, n, most, mask))

/* What programs built with FORTIFY_SOURCE call instead. */
SF_BLOCKING_IN(ssize_t, __recv_chk, "GLIBC_2.4", NET,
               (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, room, flags))
SF_BLOCKING_IN(ssize_t, __recvfrom_chk, "GLIBC_2.4", NET,
               (int fd, void *restrict to, size_t n, size_t room, int flags, __SOCKADDR_ARG from,
                socklen_t *restrict from_len),
               (fd, to, n, room, flags, from, from_len))
SF_BLOCKING_IN(int, __poll_chk, "GLIBC_2.16", MANY,
               (struct pollfd * fds, nfds_t n, int ms, size_t room), (fds, n, ms, room))
SF_BLOCKING_IN(int, __ppoll_chk, "GLIBC_2.16", MANY,
               (struct pollfd * fds, nfds_t n, const struct timespec *most, const sigset_t *mask,
                size_t room),
               (fds, n, most, mask, room))
