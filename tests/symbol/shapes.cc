// Code that is hard to name: what is inlined into what, at the optimiser's choice, in templates,
// lambdas, local classes, constructors, cold paths, and functions that call themselves.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

template <class T, int N>
struct Ring {
    T slots[N] = {};
    int at = 0;
    inline void put(T v)
    {
        slots[at++ % N] = v;
    }
    inline T sum() const
    {
        return std::accumulate(slots, slots + N, T{});
    }
};

struct Shape {
    std::string name;
    explicit Shape(std::string n) : name(std::move(n)) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square final : Shape {
    double side;
    Square(double s) : Shape("square"), side(s) {}
    double area() const override
    {
        return side * side;
    }
};

namespace {
inline double twice(double v)
{
    return v * 2;
}

inline double four_times(double v)
{
    return twice(twice(v)) + 0.5;
}
} // namespace

__attribute__((noinline)) double weigh(const std::vector<std::unique_ptr<Shape>> &all)
{
    double total = 0;
    for (const auto &one : all) {
        struct Local {
            static double of(const Shape &s)
            {
                if (s.area() < 0)
                    throw std::runtime_error("negative: " + s.name);
                return four_times(s.area());
            }
        };
        auto add = [&total](double v) { total += twice(v); };
        add(Local::of(*one));
    }
    return total;
}

__attribute__((noinline)) int fall(int n)
{
    return n < 2 ? n : fall(n - 1) + fall(n - 2);
}

} // namespace shapes

int main(int argc, char **)
{
    std::vector<std::unique_ptr<shapes::Shape>> all;
    std::map<std::string, int> counts;
    shapes::Ring<long, 8> ring;
    for (int i = 0; i < 10 * argc; i++) {
        all.push_back(std::make_unique<shapes::Square>(i));
        counts["square" + std::to_string(i % 3)]++;
        ring.put(i);
    }
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a->area() > b->area(); });
    std::printf("%f %ld %d %zu\n", shapes::weigh(all), ring.sum(), shapes::fall(10), counts.size());
    return 0;
}
