// The C++ wrapper as people use it; compiled as C++11 and C++17.
#include <spanflame.hpp>

#include <stdexcept>
#include <thread>

static void fails()
{
    spanflame::span s("throws");
    throw std::runtime_error("x");
}

int main()
{
    sf_start(nullptr);
    {
        spanflame::span s("outer", SF_KIND_SERVER);
        s.set("text", std::string("a b")).set("n", 3).set("share", 0.5).set("is", true).event("e");
        try {
            fails();
        } catch (const std::exception &) {
        }
        sf_context c;
        if (!spanflame::parse(s.traceparent(), "", c))
            return 1;
        spanflame::span moved = std::move(s);
        sf_span id = moved.id();
        std::thread([id] {
            spanflame::active here(id);
            spanflame::span inner("on a thread");
        }).join();
    }
    return sf_current() == 0 && sf_flush(20000) == 0 ? 0 : 2;
}
