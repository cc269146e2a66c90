/* What the library makes of its settings, and of contexts that come and go: stranger STORY. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spanflame.h>

static void print_counters(void)
{
    sf_counters c = {.size = sizeof(c)};
    sf_counters_read(&c);
    printf("started %llu\nunsampled %llu\nqueued %llu\nsent %llu\nrefused %llu\nfailed %llu\n",
           (unsigned long long)c.spans_started, (unsigned long long)c.spans_unsampled,
           (unsigned long long)c.spans_queued, (unsigned long long)c.spans_sent,
           (unsigned long long)c.spans_refused, (unsigned long long)c.requests_failed);
}

/* A request comes with the two headers, is worked on, and continues to somebody else with them. */
static void carries(const char *traceparent, const char *tracestate)
{
    sf_context from, to;
    char header[SF_TRACEPARENT_CAP];
    sf_attr why = {.key = "why", .type = SF_ATTR_STR, .val = {.str = "batch"}};
    sf_attr tries = {.key = "tries", .type = SF_ATTR_INT, .val = {.i = 3}};
    sf_span s;
    if (sf_context_parse(traceparent, tracestate, &from))
        exit(3);
    s = sf_span_start_with("GET /in", &(sf_span_options){.size = sizeof(sf_span_options),
                                                         .kind = SF_KIND_SERVER,
                                                         .remote = &from});
    sf_span_link(s, &from, &why, 1);
    sf_span_event_with(s, "tried", &tries, 1);
    if (sf_span_context(0, &to) || sf_traceparent(&to, header))
        exit(4);
    printf("traceparent %s\ntracestate %s\n", header, to.tracestate);
    sf_span_end(s);
}

static void makes(int n)
{
    for (int i = 0; i < n; i++)
        sf_span_end(sf_span_start("made"));
}

int main(int argc, char **argv)
{
    const char *story = argc > 1 ? argv[1] : "";
    char problem[240];
    if (!strcmp(story, "override")) {
        sf_set("SPANFLAME_PROFILES", "threads");
        sf_set("OTEL_SERVICE_NAME", "by-call");
    }
    if (sf_start(NULL))
        return 2;
    sf_problem(problem, sizeof(problem));
    printf("problem %s\nprofiling %u\n", problem, sf_profiling());
    if (!strcmp(story, "carries") && argc > 3)
        carries(argv[2], argv[3]);
    else
        makes(argc > 2 ? atoi(argv[2]) : 1);
    printf("flushed %d\n",
           sf_flush(argc > 3 && strcmp(story, "carries") ? (unsigned)atoi(argv[3]) : 20000));
    print_counters();
    return 0;
}
