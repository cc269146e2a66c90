/* Wrappers for reading, writing and syncing: files, pipes, terminals, and sockets used like
 * files. */
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "collect/hook/block_hook.h"

#define V "GLIBC_2.2.5"

SF_BLOCKING(ssize_t, read, V, SF_WAIT_IO, fd, (int fd, void *to, size_t n), (fd, to, n))
SF_BLOCKING(ssize_t, write, V, SF_WAIT_IO, fd, (int fd, const void *from, size_t n), (fd, from, n))
SF_BLOCKING(ssize_t, readv, V, SF_WAIT_IO, fd, (int fd, const struct iovec *to, int n), (fd, to, n))
SF_BLOCKING(ssize_t, writev, V, SF_WAIT_IO, fd, (int fd, const struct iovec *from, int n),
            (fd, from, n))
SF_BLOCKING(ssize_t, pread, V, SF_WAIT_IO, fd, (int fd, void *to, size_t n, off_t at),
            (fd, to, n, at))
SF_BLOCKING(ssize_t, pread64, V, SF_WAIT_IO, fd, (int fd, void *to, size_t n, off64_t at),
            (fd, to, n, at))
SF_BLOCKING(ssize_t, pwrite, V, SF_WAIT_IO, fd, (int fd, const void *from, size_t n, off_t at),
            (fd, from, n, at))
SF_BLOCKING(ssize_t, pwrite64, V, SF_WAIT_IO, fd, (int fd, const void *from, size_t n, off64_t at),
            (fd, from, n, at))
SF_BLOCKING(ssize_t, preadv, "GLIBC_2.10", SF_WAIT_IO, fd,
            (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at))
SF_BLOCKING(ssize_t, preadv64, "GLIBC_2.10", SF_WAIT_IO, fd,
            (int fd, const struct iovec *to, int n, off64_t at), (fd, to, n, at))
SF_BLOCKING(ssize_t, pwritev, "GLIBC_2.10", SF_WAIT_IO, fd,
            (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at))
SF_BLOCKING(ssize_t, pwritev64, "GLIBC_2.10", SF_WAIT_IO, fd,
            (int fd, const struct iovec *from, int n, off64_t at), (fd, from, n, at))
SF_BLOCKING(ssize_t, sendfile, V, SF_WAIT_IO, to, (int to, int from, off_t *at, size_t n),
            (to, from, at, n))
SF_BLOCKING(ssize_t, sendfile64, "GLIBC_2.3", SF_WAIT_IO, to,
            (int to, int from, off64_t *at, size_t n), (to, from, at, n))
SF_BLOCKING(int, fsync, V, SF_WAIT_DISK, -1, (int fd), (fd))
SF_BLOCKING(int, fdatasync, V, SF_WAIT_DISK, -1, (int fd), (fd))
SF_BLOCKING(int, msync, V, SF_WAIT_DISK, -1, (void *at, size_t n, int flags), (at, n, flags))
SF_BLOCKING(int, syncfs, "GLIBC_2.14", SF_WAIT_DISK, -1, (int fd), (fd))

/* Variants that programs built with FORTIFY_SOURCE call. */
SF_BLOCKING(ssize_t, __read_chk, "GLIBC_2.4", SF_WAIT_IO, fd,
            (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
SF_BLOCKING(ssize_t, __pread_chk, "GLIBC_2.4", SF_WAIT_IO, fd,
            (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room))
SF_BLOCKING(ssize_t, __pread64_chk, "GLIBC_2.4", SF_WAIT_IO, fd,
            (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room))
