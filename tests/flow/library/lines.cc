// What the optimiser inlines: three functions that are one in the program's symbol table.
#include <cstdio>

namespace work
{
static volatile double sink;

inline __attribute__((always_inline)) double inner(double v)
{
    for (int i = 0; i < 1000; i++)
        v = v * 1.0000001 + 0.5; // hot
    return v;
}

inline __attribute__((always_inline)) double middle(double v)
{
    return inner(v) + 1; // calls inner
}

struct Job {
    template <class T> __attribute__((noinline)) T run(T v)
    {
        return middle(v); // calls middle
    }
};
} // namespace work

int main()
{
    work::Job job;
    for (int i = 0; i < 300000; i++)
        work::sink = job.run<double>(i); // calls run
    std::printf("%f\n", work::sink);
}
