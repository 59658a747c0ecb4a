// Prints GFLOP/s of packed products and nanoseconds an entry of packing: best of several runs, one thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "qed/dense/panel.hpp"
#include "qed/machine/scratch.hpp"

using namespace qed;

namespace {

template <class Work>
double best_seconds(int runs, Work&& work) {
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

template <class T>
void time_product(const char* name, Index columns) {
    const Index side = padded<T>(columns);
    const ScratchArray<T> packed(strips_of<T>(columns) * kStrip<T> * kDepth);
    const ScratchArray<double> result(side * side);
    std::fill_n(packed.get(), strips_of<T>(columns) * kStrip<T> * kDepth, T{1});
    std::fill_n(result.get(), side * side, 0.0);
    const Panel<T> panel{packed.get(), kDepth, columns};
    const double seconds = best_seconds(50, [&] {
        for (int i = 0; i < 20; ++i) {
            multiply_panels<T, true>(panel, panel, result.get(), side);
        }
    });
    const double operations = 20.0 * static_cast<double>(columns * (columns + 1) * kDepth);
    std::printf("%s %4ld columns  %6.1f GFLOP/s\n", name, static_cast<long>(columns), operations / seconds * 1e-9);
}

template <class T>
void time_packing(const char* name, bool by_columns) {
    constexpr Index columns = 51;
    const std::vector<double> data(kDepth * columns, 1.0);
    const std::vector<double> shift(columns, 0.5);
    Factor from =
        plain({data.data(), Kind::float64, kDepth, columns, by_columns ? 1 : columns, by_columns ? kDepth : 1});
    from.column_shift = shift.data();
    const ScratchArray<T> packed(strips_of<T>(columns) * kStrip<T> * kDepth);
    const double seconds = best_seconds(200, [&] {
        for (int i = 0; i < 20; ++i) {
            pack_strips<T>(from, 0, kDepth, 0, strips_of<T>(columns), packed.get());
        }
    });
    std::printf("%s %s  %6.3f ns an entry\n", name, by_columns ? "columns" : "rows   ",
                seconds / 20 / (kDepth * columns) * 1e9);
}

}  // namespace

int main() {
    for (const Index columns : {48, 52, 144}) {
        time_product<double>("product double", columns);
        time_product<float>("product float ", columns);
    }
    for (const bool by_columns : {false, true}) {
        time_packing<double>("packing double", by_columns);
        time_packing<float>("packing float ", by_columns);
    }
    return 0;
}
