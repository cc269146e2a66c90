// Two spans of opentelemetry-cpp, and a CPU profile whose samples carry them.
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/scope.h>

#include "spanflame_processor.h"

static volatile unsigned long sink;

static void work(double seconds)
{
    const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
    while (std::clock() < end)
        sink = sink + 1;
}

static void print(const char *name, const opentelemetry::trace::SpanContext &context)
{
    char hex[16];
    context.span_id().ToLowerBase16(opentelemetry::nostd::span<char, 16>(hex, 16));
    std::printf("%s %.16s\n", name, hex);
}

int main(int argc, char **argv)
{
    std::vector<std::unique_ptr<opentelemetry::sdk::trace::SpanProcessor>> processors;
    processors.push_back(std::make_unique<spanflame::ContextProcessor>());
    opentelemetry::sdk::trace::TracerProvider provider(std::move(processors));
    auto tracer = provider.GetTracer("example");

    if (argc < 2 || sf_cpu_profile_start(argv[1], 100))
        return 1;
    auto outer = tracer->StartSpan("outer");
    print("outer", outer->GetContext());
    {
        opentelemetry::trace::Scope scope(outer);
        work(0.4);
        auto inner = tracer->StartSpan("inner");
        print("inner", inner->GetContext());
        work(0.4);
        inner->End();
        work(0.2);
    }
    outer->End();
    work(0.2);
    return sf_cpu_profile_stop() ? 1 : 0;
}
