#include "model/span.h"

const char *sf_span_kind_name(uint8_t kind)
{
    static const char *const names[SF_KINDS] = {
        "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
        "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER",
    };
    return names[kind < SF_KINDS ? kind : 0];
}

const char *sf_span_status_name(uint8_t status)
{
    static const char *const names[SF_STATUSES] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
                                                   "STATUS_CODE_ERROR"};
    return names[status < SF_STATUSES ? status : 0];
}

bool sf_span_is_better(const struct sf_span *a, const struct sf_span *b)
{
    if (a->end_ns != b->end_ns)
        return b->end_ns > a->end_ns;
    return b->attrs.n > a->attrs.n;
}
