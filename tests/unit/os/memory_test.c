#include "os/memory.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char root[] = "/tmp/sf_memory.XXXXXX";

static void put(const char *name, const char *text)
{
    char path[200];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make(const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static uint64_t limit_with(const char *groups)
{
    char path[200];
    put("groups", groups);
    snprintf(path, sizeof(path), "%s/groups", root);
    return sf_memory_limit_in(path, root);
}

TEST(memory, finds_the_smallest_limit_of_its_control_groups)
{
    char command[200];
    assert_non_null(mkdtemp(root));
    make("pod");
    make("pod/server");
    make("memory");
    make("memory/old");
    put("pod/memory.max", "293601280\n");
    put("pod/server/memory.max", "max\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/old/memory.limit_in_bytes", "1048576\n");
    assert_true(limit_with("0::/pod/server\n") == 293601280);
    assert_true(limit_with("0::/\n") == UINT64_MAX);
    assert_true(limit_with("3:cpu:/pod\n5:cpuset,memory:/old\n") == 1048576);
    assert_true(limit_with("") == UINT64_MAX);
    assert_true(sf_memory_limit_in("/nowhere/at/all", root) == UINT64_MAX);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}
