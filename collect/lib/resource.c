#include "collect/lib/resource.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/lib/attr_write.h"
#include "collect/sys/clock.h"
#include "collect/sys/load.h"

void sf_resource_instance_id(char out[SF_INSTANCE_ID_CAP])
{
    uint8_t b[16];
    sf_clock_random_fill(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    sf_hex_encode(b, 4, out);
    sf_hex_encode(b + 4, 2, out + 9);
    sf_hex_encode(b + 6, 2, out + 14);
    sf_hex_encode(b + 8, 2, out + 19);
    sf_hex_encode(b + 10, 6, out + 24);
    out[8] = out[13] = out[18] = out[23] = '-';
    out[36] = 0;
}

void sf_resource_write(struct sf_buf *out, const struct sf_settings *s, const char *instance_id)
{
    char host[256] = "";
    double cpus = s->has_cpu_limit ? 0 : sf_load_cpu_limit();
    sf_buf_add(out, s->resource.p, s->resource.len);
    if (!s->has_instance_id)
        sf_attr_write_str(out, 1, SF_STR("service.instance.id"), sf_str_from(instance_id));
    if (!s->has_host_name && !gethostname(host, sizeof(host) - 1))
        sf_attr_write_str(out, 1, SF_STR("host.name"), sf_str_from(host));
    if (cpus > 0)
        sf_attr_write_double(out, 1, SF_STR("cpu.limit"), cpus);
    sf_attr_write_int(out, 1, SF_STR("process.pid"), getpid());
    sf_attr_write_str(out, 1, SF_STR("process.executable.name"),
                      sf_str_from(program_invocation_short_name));
    sf_attr_write_str(out, 1, SF_STR("telemetry.sdk.name"), SF_STR("spanflame"));
    sf_attr_write_str(out, 1, SF_STR("telemetry.sdk.language"), SF_STR("c"));
    sf_attr_write_str(out, 1, SF_STR("telemetry.sdk.version"), SF_STR(SPANFLAME_VERSION));
}
