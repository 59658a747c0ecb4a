/// Student's t, by which points of t-SNE attract and push each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "qed/manifold/lanes.hpp"

namespace qed {

template <class V>
[[gnu::always_inline]] inline V root(V v) noexcept {
    V out;
    for (std::size_t lane = 0; lane < sizeof(V) / sizeof(v[0]); ++lane) {
        out[lane] = std::sqrt(v[lane]);
    }
    return out;
}

/// Student's t with as many degrees of freedom as the embedding has dimensions less one, one at least.
struct Tail {
    Index freedom;
    explicit Tail(Index d) : freedom(std::max<Index>(d - 1, 1)) {}
    [[nodiscard]] double factor() const noexcept {
        return 2.0 * static_cast<double>(freedom + 1) / static_cast<double>(freedom);
    }
    /// (1 + s / freedom)^-1 from the squared distance s, and its power (freedom + 1) / 2.
    template <class V>
    [[gnu::always_inline]] std::pair<V, V> at(V square) const noexcept {
        if (freedom == 1) {
            const V inverse = 1 / (1 + square);
            return {inverse, inverse};
        }
        const V inverse = 1 / (1 + square / static_cast<decltype(square[0] + 0)>(freedom));
        V power = (freedom + 1) % 2 == 1 ? root(inverse) : 1 + V{};
        for (Index i = 0; i < (freedom + 1) / 2; ++i) {
            power *= inverse;
        }
        return {inverse, power};
    }
};

}  // namespace qed
