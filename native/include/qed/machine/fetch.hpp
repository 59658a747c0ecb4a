/// Memory that will be needed soon.
#pragma once

#include "qed/machine/scratch.hpp"

namespace qed {

/// Asks for the cache lines of some numbers that lie one after the other.
template <class T>
void fetch_lines(const T* first, Index count) noexcept {
    constexpr Index kLine = kCacheLine / sizeof(T);
    for (Index j = 0; j < count; j += kLine) {
        __builtin_prefetch(first + j);
    }
}

}  // namespace qed
