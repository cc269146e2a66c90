#include "app/log.h"

#include <stdlib.h>
#include <unistd.h>

#include "os/clock.h"
#include "test.h"

TEST(log, writes_key_value_lines_for_machines)
{
    struct sf_buf out = {0};
    sf_log_render(false, false, 1700000000123456789, SF_SAY_WARN, "store: \"x\"\tfull", &out);
    assert_str(sf_buf_str(&out),
               "ts=2023-11-14T22:13:20.123Z level=warn msg=\"store: \\\"x\\\"?full\"\n");
    sf_buf_done(&out);
}

TEST(log, writes_short_lines_for_people)
{
    struct sf_buf out = {0};
    setenv("TZ", "UTC", 1);
    sf_log_render(true, false, 1700000000123456789, SF_SAY_INFO, "ready", &out);
    assert_str(sf_buf_str(&out), "22:13:20 ready\n");
    sf_buf_reset(&out);
    sf_log_render(true, false, 1700000000123456789, SF_SAY_ERROR, "no\033[2J", &out);
    assert_str(sf_buf_str(&out), "22:13:20 error: no?[2J\n");
    sf_buf_done(&out);
}

/* What a log with its own pipe wrote. */
static size_t read_all(int fd, char *to, size_t cap)
{
    size_t n = 0;
    for (ssize_t got; n < cap - 1 && (got = read(fd, to + n, cap - 1 - n)) > 0;)
        n += (size_t)got;
    to[n] = '\0';
    return n;
}

TEST(log, says_a_repeating_fault_once_and_then_its_count)
{
    int fds[2];
    char text[4096];
    assert_int_equal(pipe(fds), 0);
    struct sf_log *l = sf_log_new(fds[1], true, false, SF_SAY_INFO);
    assert_non_null(l);
    for (int i = 0; i < 50; i++)
        sf_log_print(l, SF_SAY_WARN, "listen: bad framing from 127.0.0.1:%d", 40000 + i);
    sf_log_print(l, SF_SAY_WARN, "store: disk is full");
    sf_log_print(l, SF_SAY_DEBUG, "not shown at this level");
    sf_log_free(l);
    close(fds[1]);
    read_all(fds[0], text, sizeof(text));
    close(fds[0]);
    assert_non_null(strstr(text, "bad framing from 127.0.0.1:40000\n"));
    assert_null(strstr(text, "40001"));
    assert_non_null(strstr(text, "(49 more like this)"));
    assert_non_null(strstr(text, "disk is full\n"));
    assert_null(strstr(text, "not shown"));
}

TEST(log, takes_a_fault_for_news_again_after_a_quiet_while)
{
    int fds[2];
    char text[4096];
    assert_int_equal(pipe(fds), 0);
    struct sf_log *l = sf_log_new(fds[1], true, false, SF_SAY_INFO);
    int64_t later_ns = sf_clock_mono_ns() + (int64_t)60 * 1000000000;
    sf_log_print(l, SF_SAY_ERROR, "it broke");
    sf_log_tick(l, later_ns);
    sf_log_print(l, SF_SAY_ERROR, "it broke");
    sf_log_free(l);
    close(fds[1]);
    read_all(fds[0], text, sizeof(text));
    close(fds[0]);
    char *first = strstr(text, "it broke\n");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "it broke\n"));
    assert_null(strstr(text, "more like this"));
}
