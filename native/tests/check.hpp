/// The smallest test bench that says where something failed.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

#include "qed/machine/matrix.hpp"

namespace check {

using Test = void (*)();
struct Named {
    const char* name;
    Test run;
};
std::vector<Named>& tests();
int& failures();

struct Register {
    Register(const char* name, Test run) { tests().push_back({name, run}); }
};

/// Numbers that look random and are the same everywhere.
inline std::vector<double> numbers(qed::Index count, unsigned seed = 1) {
    std::vector<double> out(static_cast<std::size_t>(count));
    std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (double& value : out) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        value = static_cast<double>(state >> 11) * 0x1p-53 - 0.5;
    }
    return out;
}

inline bool near(double a, double b, double scale = 1.0) {
    return std::abs(a - b) <= 1e-12 * scale;
}

}  // namespace check

#define TEST(name)                                             \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            ++check::failures();                                                         \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                                \
    } while (false)
