/* Wrappers for sockets, and for waiting until one of many descriptors is ready. */
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "base/time_unit.h"
#include "collect/hook/block_hook.h"

#define V    "GLIBC_2.2.5"
#define NET  SF_WAIT_NETWORK, -1
#define MANY SF_WAIT_POLL, -1

#define SF_BLOCKING_IN(...)          SF_BLOCKING(__VA_ARGS__)
#define SF_BLOCKING_AGAIN_IN(...)    SF_BLOCKING_AGAIN(__VA_ARGS__)
#define SF_BLOCKING_REPEATED_IN(...) SF_BLOCKING_REPEATED(__VA_ARGS__)

/* The kernel does not restart these calls on sockets with a receive timeout. */
SF_BLOCKING_REPEATED_IN(ssize_t, recv, V, NET, (int fd, void *to, size_t n, int flags),
                        (fd, to, n, flags))
SF_BLOCKING_IN(ssize_t, send, V, NET, (int fd, const void *from, size_t n, int flags),
               (fd, from, n, flags))
SF_BLOCKING_REPEATED_IN(ssize_t, recvfrom, V, NET,
                        (int fd, void *restrict to, size_t n, int flags, __SOCKADDR_ARG from,
                         socklen_t *restrict from_len),
                        (fd, to, n, flags, from, from_len))
SF_BLOCKING_IN(ssize_t, sendto, V, NET,
               (int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to,
                socklen_t to_len),
               (fd, from, n, flags, to, to_len))
SF_BLOCKING_REPEATED_IN(ssize_t, recvmsg, V, NET, (int fd, struct msghdr *m, int flags),
                        (fd, m, flags))
SF_BLOCKING_IN(ssize_t, sendmsg, V, NET, (int fd, const struct msghdr *m, int flags),
               (fd, m, flags))
SF_BLOCKING_IN(int, recvmmsg, "GLIBC_2.12", NET,
               (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *until),
               (fd, m, n, flags, until))
SF_BLOCKING_IN(int, sendmmsg, "GLIBC_2.14", NET, (int fd, struct mmsghdr *m, unsigned n, int flags),
               (fd, m, n, flags))
SF_BLOCKING_REPEATED_IN(int, accept, V, NET, (int fd, __SOCKADDR_ARG from, socklen_t *restrict len),
                        (fd, from, len))
SF_BLOCKING_REPEATED_IN(int, accept4, "GLIBC_2.10", NET,
                        (int fd, __SOCKADDR_ARG from, socklen_t *restrict len, int flags),
                        (fd, from, len, flags))
SF_BLOCKING_IN(int, connect, V, NET, (int fd, __CONST_SOCKADDR_ARG to, socklen_t len),
               (fd, to, len))
SF_BLOCKING_IN(int, getaddrinfo, V, NET,
               (const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out),
               (node, service, hints, out))

/* A call with a timeout: restarted with the remaining time. */
#define SF_AGAIN_MS(begin_ms, first, next)                                                 \
    struct sf_again again = sf_again_begin((int64_t)(begin_ms)*SF_NS_PER_MS);              \
    int result = first;                                                                    \
    while (SF_RARELY(result == -1) && errno == EINTR && sf_again_wants(&again)) {          \
        int left = (begin_ms) > 0 && again.end_ns ? sf_again_left_ms(&again) : (begin_ms); \
        result = next;                                                                     \
    }                                                                                      \
    return result

#define SF_AGAIN_SPEC(most, first, next)                                          \
    struct sf_again again = sf_again_begin(sf_again_ns_of(most));                 \
    int result = first;                                                           \
    while (SF_RARELY(result == -1) && errno == EINTR && sf_again_wants(&again)) { \
        struct timespec rest = {0}, *left = NULL;                                 \
        if (most) {                                                               \
            rest = again.end_ns ? sf_again_left(&again) : *(most);                \
            left = &rest;                                                         \
        }                                                                         \
        result = next;                                                            \
    }                                                                             \
    return result

SF_BLOCKING_AGAIN_IN(int, poll, V, MANY, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
static int again_poll(struct pollfd *fds, nfds_t n, int ms)
{
    SF_AGAIN_MS(ms, next_poll(fds, n, ms), next_poll(fds, n, left));
}

SF_BLOCKING_AGAIN_IN(int, ppoll, "GLIBC_2.4", MANY,
                     (struct pollfd * fds, nfds_t n, const struct timespec *most,
                      const sigset_t *mask),
                     (fds, n, most, mask))
static int again_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *most,
                       const sigset_t *mask)
{
    SF_AGAIN_SPEC(most, next_ppoll(fds, n, most, mask), next_ppoll(fds, n, left, mask));
}

/* On return, `most` contains the remaining time. */
SF_BLOCKING_REPEATED_IN(int, select, V, MANY,
                        (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
                         struct timeval *restrict most),
                        (n, in, out, odd, most))

SF_BLOCKING_AGAIN_IN(int, pselect, V, MANY,
                     (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
                      const struct timespec *restrict most, const sigset_t *restrict mask),
                     (n, in, out, odd, most, mask))
static int again_pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
                         const struct timespec *restrict most, const sigset_t *restrict mask)
{
    SF_AGAIN_SPEC(most, next_pselect(n, in, out, odd, most, mask),
                  next_pselect(n, in, out, odd, left, mask));
}

SF_BLOCKING_AGAIN_IN(int, epoll_wait, "GLIBC_2.3.2", MANY,
                     (int fd, struct epoll_event *out, int n, int ms), (fd, out, n, ms))
static int again_epoll_wait(int fd, struct epoll_event *out, int n, int ms)
{
    SF_AGAIN_MS(ms, next_epoll_wait(fd, out, n, ms), next_epoll_wait(fd, out, n, left));
}

SF_BLOCKING_AGAIN_IN(int, epoll_pwait, "GLIBC_2.6", MANY,
                     (int fd, struct epoll_event *out, int n, int ms, const sigset_t *mask),
                     (fd, out, n, ms, mask))
static int again_epoll_pwait(int fd, struct epoll_event *out, int n, int ms, const sigset_t *mask)
{
    SF_AGAIN_MS(ms, next_epoll_pwait(fd, out, n, ms, mask),
                next_epoll_pwait(fd, out, n, left, mask));
}

SF_BLOCKING_AGAIN_IN(int, epoll_pwait2, "GLIBC_2.35", MANY,
                     (int fd, struct epoll_event *out, int n, const struct timespec *most,
                      const sigset_t *mask),
                     (fd, out, n, most, mask))
static int again_epoll_pwait2(int fd, struct epoll_event *out, int n, const struct timespec *most,
                              const sigset_t *mask)
{
    SF_AGAIN_SPEC(most, next_epoll_pwait2(fd, out, n, most, mask),
                  next_epoll_pwait2(fd, out, n, left, mask));
}

/* Variants that programs built with FORTIFY_SOURCE call. */
SF_BLOCKING_REPEATED_IN(ssize_t, __recv_chk, "GLIBC_2.4", NET,
                        (int fd, void *to, size_t n, size_t room, int flags),
                        (fd, to, n, room, flags))
SF_BLOCKING_REPEATED_IN(ssize_t, __recvfrom_chk, "GLIBC_2.4", NET,
                        (int fd, void *restrict to, size_t n, size_t room, int flags,
                         __SOCKADDR_ARG from, socklen_t *restrict from_len),
                        (fd, to, n, room, flags, from, from_len))
SF_BLOCKING_AGAIN_IN(int, __poll_chk, "GLIBC_2.16", MANY,
                     (struct pollfd * fds, nfds_t n, int ms, size_t room), (fds, n, ms, room))
static int again___poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
    SF_AGAIN_MS(ms, next___poll_chk(fds, n, ms, room), next___poll_chk(fds, n, left, room));
}

SF_BLOCKING_AGAIN_IN(int, __ppoll_chk, "GLIBC_2.16", MANY,
                     (struct pollfd * fds, nfds_t n, const struct timespec *most,
                      const sigset_t *mask, size_t room),
                     (fds, n, most, mask, room))
static int again___ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *most,
                             const sigset_t *mask, size_t room)
{
    SF_AGAIN_SPEC(most, next___ppoll_chk(fds, n, most, mask, room),
                  next___ppoll_chk(fds, n, left, mask, room));
}
