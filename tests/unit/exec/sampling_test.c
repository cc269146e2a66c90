#include "exec/sampling.h"

#include <math.h>

#include "test.h"

static void expect(const char *trace_state, double want)
{
    double got = sf_sampling_weight(sf_str_from(trace_state));
    if (fabs(got - want) > want * 1e-9)
        fail_msg("%s: %g, not %g", trace_state, got, want);
}

TEST(sampling, reads_thresholds)
{
    expect("ot=th:0", 1);
    expect("ot=th:8", 2);
    expect("ot=th:c", 4);
    expect("ot=th:fd70a3d70a3d71", 100);
    expect("ot=rv:6e6d1a75832a2f;th:C", 4);
    expect("vendor=x:y, ot=th:c;rv:00000000000000 ,other=1", 4);
    expect("ot=th:ffffffffffffff", 72057594037927936.0);
}

TEST(sampling, reads_powers_of_older_samplers)
{
    expect("ot=p:0", 1);
    expect("ot=r:5;p:3", 8);
    expect("ot=p:62", 4611686018427387904.0);
    expect("ot=p:63", 1); /* never sampled: there is no such span */
}

TEST(sampling, takes_what_it_does_not_understand_as_not_sampled)
{
    static const char *const odd[] = {
        "",        "x",         "ot=",         "ot=th:",    "ot=th:x",  "ot=th",
        "ot=p:",   "ot=p:-1",   "ot=p:x",      "ot=th:c c", "not=th:c", "ot=th:000000000000000",
        ",,,;;::", "ot=;th:c:", "foo=ot=th:8", "ot=th:-8"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        expect(odd[i], 1);
    expect(NULL, 1);
}
