// spanflame.hpp - spanflame.h for C++: spans that end with their scope. Header only, C++11.
//
//     spanflame::span s("GET /cart");
//     s.set("http.route", "/cart").set("items", 3);
#ifndef SPANFLAME_HPP
#define SPANFLAME_HPP

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>

#include "spanflame.h"

namespace spanflame
{

// The active span while it lives, ended by its destructor; with an error when an exception leaves
// its scope. Moves, does not copy. A moved-from or released span is not a span, and harmless.
class span
{
  public:
    explicit span(const char *name, sf_kind kind = SF_KIND_INTERNAL)
    {
        sf_span_options o = options(kind);
        id_ = sf_span_start_with(name, &o);
    }
    explicit span(const std::string &name, sf_kind kind = SF_KIND_INTERNAL)
        : span(name.c_str(), kind)
    {
    }
    // The child of a context that came from elsewhere, see parse().
    span(const char *name, const sf_context &remote, sf_kind kind = SF_KIND_SERVER)
    {
        sf_span_options o = options(kind);
        o.remote = &remote;
        id_ = sf_span_start_with(name, &o);
    }
    static span from(sf_span id) // takes over a span that was started or handed over otherwise
    {
        span s;
        s.id_ = id;
        return s;
    }
    span(span &&other) noexcept : id_(other.release()), exceptions_(other.exceptions_)
    {
    }
    span &operator=(span &&other) noexcept
    {
        if (this != &other) {
            end();
            id_ = other.release();
            exceptions_ = other.exceptions_;
        }
        return *this;
    }
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    ~span()
    {
        if (id_ && uncaught() > exceptions_)
            sf_span_set_status(id_, SF_STATUS_ERROR, "an exception left the span's scope");
        end();
    }

    void end()
    {
        sf_span_end(release());
    }
    sf_span release() // the number, which the caller ends
    {
        sf_span id = id_;
        id_ = 0;
        return id;
    }
    sf_span id() const
    {
        return id_;
    }
    bool is_recording() const
    {
        return sf_span_is_recording(id_) != 0;
    }
    span &name(const char *text)
    {
        sf_span_set_name(id_, text);
        return *this;
    }
    span &set(const char *key, const char *val)
    {
        sf_span_set_str(id_, key, val);
        return *this;
    }
    span &set(const char *key, const std::string &val)
    {
        sf_span_set_strn(id_, key, val.data(), val.size());
        return *this;
    }
    template <typename T>
    typename std::enable_if<std::is_arithmetic<T>::value, span &>::type set(const char *key, T val)
    {
        if (std::is_same<T, bool>::value)
            sf_span_set_bool(id_, key, val != T());
        else if (std::is_floating_point<T>::value)
            sf_span_set_double(id_, key, static_cast<double>(val));
        else
            sf_span_set_int(id_, key, static_cast<int64_t>(val));
        return *this;
    }
    span &event(const char *text)
    {
        sf_span_event(id_, text);
        return *this;
    }
    span &link(const sf_context &to)
    {
        sf_span_link(id_, &to, nullptr, 0);
        return *this;
    }
    span &ok()
    {
        sf_span_set_status(id_, SF_STATUS_OK, nullptr);
        return *this;
    }
    span &error(const std::string &message)
    {
        sf_span_set_status(id_, SF_STATUS_ERROR, message.c_str());
        return *this;
    }
    std::string traceparent() const // empty when there is no span
    {
        sf_context c;
        char text[SF_TRACEPARENT_CAP];
        if (sf_span_context(id_, &c) || sf_traceparent(&c, text))
            return std::string();
        return text;
    }

  private:
    span() = default;
    static sf_span_options options(sf_kind kind)
    {
        sf_span_options o;
        std::memset(&o, 0, sizeof(o));
        o.size = sizeof(o);
        o.kind = kind;
        return o;
    }
    static int uncaught()
    {
#if __cplusplus >= 201703L
        return std::uncaught_exceptions();
#else
        return std::uncaught_exception() ? 1 : 0;
#endif
    }
    sf_span id_ = 0;
    int exceptions_ = uncaught();
};

// Makes a span active on this thread for a scope; nothing is started or ended. What a job queue
// or a callback wraps around its work.
class active
{
  public:
    explicit active(sf_span id) : before_(sf_activate(id))
    {
    }
    explicit active(const span &s) : active(s.id())
    {
    }
    active(const active &) = delete;
    active &operator=(const active &) = delete;
    ~active()
    {
        sf_activate(before_);
    }

  private:
    sf_span before_;
};

// False: not a trace context; `out` is as it was.
inline bool parse(const std::string &traceparent, const std::string &tracestate, sf_context &out)
{
    return sf_context_parse(traceparent.c_str(), tracestate.c_str(), &out) == 0;
}

} // namespace spanflame
#endif
