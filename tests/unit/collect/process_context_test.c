#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "collect/lib/attr_write.h"
#include "collect/lib/process_context.h"
#include "wire/pb.h"

/* Finds the context as an outside reader does: by the mapping's name. */
static const uint8_t *find_mapping(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long at = 0;
    while (!at && fgets(line, sizeof(line), maps)) {
        if (strstr(line, "OTEL_CTX"))
            sscanf(line, "%lx-", &at);
    }
    fclose(maps);
    return (const uint8_t *)at;
}

TEST(process_context, is_found_and_read_by_the_rules)
{
    struct sf_buf attrs = {0};
    const uint8_t *m, *payload;
    uint64_t first, second;
    bool has_schema = false;

    sf_attr_write_str(&attrs, 1, SF_STR("service.name"), SF_STR("api"));
    assert_int_equal(sf_process_context_publish(&attrs), SF_PROCESS_CONTEXT_PUBLISHED);
    m = find_mapping();
    assert_non_null(m);
    assert_memory_equal(m, "OTEL_CTX\x02\0\0", 12);
    first = sf_load_u64le(m + 16);
    assert_true(first > 0);
    payload = (const uint8_t *)sf_load_u64le(m + 24);
    assert_memory_equal(payload,
                        "\x0a\x17\x0a\x15\x0a\x0cservice.name\x12\x05\x0a\x03"
                        "api",
                        25);
    {
        struct sf_pb pb = sf_pb_init((sf_bytes){payload, sf_load_u32le(m + 12)});
        while (sf_pb_next(&pb)) {
            sf_bytes part = sf_pb_bytes(&pb);
            has_schema |= pb.field == 2 && memmem(part.p, part.len, "tlsdesc_v1_dev", 14);
        }
        assert_true(sf_pb_ok(&pb));
    }
    assert_true(has_schema);
    assert_int_equal(sf_process_context_publish(&attrs), SF_PROCESS_CONTEXT_PUBLISHED);
    second = sf_load_u64le(m + 16);
    assert_true(second > first);
    assert_ptr_equal(find_mapping(), m); /* changed in place: one per process */
    sf_buf_done(&attrs);
}

TEST(process_context, keeps_quiet_beside_another_and_does_not_follow_a_fork)
{
    struct sf_buf attrs = {0};
    int status = 0;
    pid_t child;
    assert_int_equal(sf_process_context_publish(&attrs), SF_PROCESS_CONTEXT_PUBLISHED);
    child = fork();
    if (!child)
        _exit(find_mapping() ? 1 : 0);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    sf_process_context_forget(); /* now the mapping is as good as another library's */
    assert_int_equal(sf_process_context_publish(&attrs), SF_PROCESS_CONTEXT_OTHERS);
}
