// spanflame_processor.h - samples of libspanflame's profilers with the spans of opentelemetry-cpp.
//
// Copy this file into a program that traces with opentelemetry-cpp, link it with libspanflame, and
// give its tracer provider one more processor:
//
//     processors.push_back(std::make_unique<spanflame::ContextProcessor>());
//     sf_profiling_start(SF_PROFILE_CPU | SF_PROFILE_HEAP);
//
// It exports nothing. When a span starts, the thread's samples carry it; when it ends, they carry
// the span it was started under again. Work that is handed to another thread reports it there, with
// sf_context_set and sf_context_clear. opentelemetry-cpp 1.9 and later, C++14.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/recordable.h>
#include <opentelemetry/trace/span_context.h>

#include <spanflame.h>

namespace spanflame
{

namespace api = opentelemetry::trace;
namespace sdk = opentelemetry::sdk::trace;

// Which span it is, and whether it has ended: perhaps on another thread than the one it is active
// on.
struct ActiveSpan {
    std::array<uint8_t, 16> trace_id{};
    std::array<uint8_t, 8> span_id{};
    std::atomic<bool> is_ended{false};
};

// Remembers a span's identity and nothing else of it.
class IdentityRecordable final : public sdk::Recordable
{
  public:
    const std::shared_ptr<ActiveSpan> span = std::make_shared<ActiveSpan>();

    void SetIdentity(const api::SpanContext &context, api::SpanId) noexcept override
    {
        context.trace_id().CopyBytesTo(
            opentelemetry::nostd::span<uint8_t, 16>(span->trace_id.data(), 16));
        context.span_id().CopyBytesTo(
            opentelemetry::nostd::span<uint8_t, 8>(span->span_id.data(), 8));
    }
    void SetAttribute(opentelemetry::nostd::string_view,
                      const opentelemetry::common::AttributeValue &) noexcept override
    {
    }
    void AddEvent(opentelemetry::nostd::string_view, opentelemetry::common::SystemTimestamp,
                  const opentelemetry::common::KeyValueIterable &) noexcept override
    {
    }
    void AddLink(const api::SpanContext &,
                 const opentelemetry::common::KeyValueIterable &) noexcept override
    {
    }
    void SetStatus(api::StatusCode, opentelemetry::nostd::string_view) noexcept override
    {
    }
    void SetName(opentelemetry::nostd::string_view) noexcept override
    {
    }
    void SetSpanKind(api::SpanKind) noexcept override
    {
    }
    void SetResource(const opentelemetry::sdk::resource::Resource &) noexcept override
    {
    }
    void SetStartTime(opentelemetry::common::SystemTimestamp) noexcept override
    {
    }
    void SetDuration(std::chrono::nanoseconds) noexcept override
    {
    }
    void SetInstrumentationScope(const sdk::InstrumentationScope &) noexcept override
    {
    }
};

class ContextProcessor final : public sdk::SpanProcessor
{
  public:
    std::unique_ptr<sdk::Recordable> MakeRecordable() noexcept override
    {
        return std::make_unique<IdentityRecordable>();
    }

    void OnStart(sdk::Recordable &recordable, const api::SpanContext &) noexcept override
    {
        active().push_back(static_cast<IdentityRecordable &>(recordable).span);
        show();
    }

    void OnEnd(std::unique_ptr<sdk::Recordable> &&recordable) noexcept override
    {
        static_cast<IdentityRecordable &>(*recordable).span->is_ended = true;
        show();
    }

    bool ForceFlush(std::chrono::microseconds) noexcept override
    {
        return true;
    }
    bool Shutdown(std::chrono::microseconds) noexcept override
    {
        return true;
    }

  private:
    // This thread's spans, the innermost last.
    static std::vector<std::shared_ptr<ActiveSpan>> &active()
    {
        static thread_local std::vector<std::shared_ptr<ActiveSpan>> spans;
        return spans;
    }

    // The innermost that has not ended is what the thread works on.
    static void show()
    {
        auto &spans = active();
        spans.erase(std::remove_if(spans.begin(), spans.end(),
                                   [](const auto &s) { return s->is_ended.load(); }),
                    spans.end());
        if (spans.empty())
            sf_context_clear();
        else
            sf_context_set(spans.back()->trace_id.data(), spans.back()->span_id.data());
    }
};

} // namespace spanflame
