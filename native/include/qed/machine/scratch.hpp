/// Short-lived working memory.
///
/// Ownership: a Scratch owns its block and gives it back to a small store of its thread, so that a kernel called again
/// does not pay for fresh pages. Layout: aligned to a cache line; contents undefined at first.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "qed/machine/matrix.hpp"

namespace qed {

inline constexpr std::size_t kCacheLine = 64;

struct AlignedFree {
    void operator()(void* block) const noexcept { ::operator delete(block, std::align_val_t{kCacheLine}); }
};
using AlignedBlock = std::unique_ptr<void, AlignedFree>;

class Scratch {
  public:
    explicit Scratch(std::size_t bytes);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] void* get() const noexcept { return block_.get(); }

  private:
    AlignedBlock block_;
    std::size_t size_;
};

/// A scratch block seen as `count` numbers.
template <class T>
class ScratchArray {
  public:
    explicit ScratchArray(Index count) : scratch_(static_cast<std::size_t>(count) * sizeof(T)) {}
    [[nodiscard]] T* get() const noexcept { return static_cast<T*>(scratch_.get()); }
    [[nodiscard]] T& operator[](Index i) const noexcept { return get()[i]; }

  private:
    Scratch scratch_;
};

}  // namespace qed
