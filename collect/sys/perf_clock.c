#include "collect/sys/perf_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t page_len(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static int perf_clock_open_event(uint32_t tid, uint64_t period_ns)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = period_ns,
                                   .exclude_hv = 1,
                                   .wakeup_events = 1};
    return (int)syscall(SYS_perf_event_open, &attr, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool aim(int fd, uint32_t tid, int sig)
{
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};
    return !fcntl(fd, F_SETOWN_EX, &owner) && !fcntl(fd, F_SETSIG, sig) &&
           !fcntl(fd, F_SETFL, O_ASYNC);
}

void *sf_perf_clock_start(uint32_t tid, uint64_t period_ns, int sig)
{
    int saved = errno, fd = perf_clock_open_event(tid, period_ns);
    void *page = MAP_FAILED;
    if (fd >= 0) {
        page = mmap(NULL, page_len(), PROT_READ, MAP_SHARED, fd, 0);
        if (page != MAP_FAILED && !aim(fd, tid, sig)) {
            munmap(page, page_len());
            page = MAP_FAILED;
        }
        close(fd);
    }
    errno = saved;
    return page == MAP_FAILED ? NULL : page;
}

void sf_perf_clock_stop(void *clock)
{
    int saved = errno;
    munmap(clock, page_len());
    errno = saved;
}

enum sf_err sf_perf_clock_try(struct sf_why *why)
{
    enum { NEVER_NS = 2000000000 };
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    int saved = errno, fd;
    enum sf_err err = SF_OK;
    void *clock;
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0)
        return sf_fail(why, SF_ERR_DENIED, "the program runs under a seccomp filter");
    fd = perf_clock_open_event(tid, NEVER_NS);
    if (fd < 0) {
        err = sf_fail(why, SF_ERR_DENIED, "perf_event_open: %s", strerror(errno));
    } else {
        close(fd);
        clock = sf_perf_clock_start(tid, NEVER_NS, SIGURG);
        if (clock)
            sf_perf_clock_stop(clock);
        else
            err = sf_fail(why, SF_ERR_DENIED, "perf_event_open: no memory for its pages");
    }
    errno = saved;
    return err;
}
