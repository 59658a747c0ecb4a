#include "qed/machine/scratch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace qed {
namespace {

struct Kept {
    AlignedBlock block;
    std::size_t size = 0;
};
constexpr std::size_t kLargestKept = std::size_t{4} << 20;
thread_local std::array<Kept, 4> store;

/// Asks for large pages, 2 MiB at a time: the first touch of a gigabyte then costs a few hundred faults, not a quarter million.
void ask_for_large_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    constexpr std::uintptr_t page = 4096;
    const auto first = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
    const auto last = (reinterpret_cast<std::uintptr_t>(block) + bytes) / page * page;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // refused: small pages do as well
#endif
}

}  // namespace

Scratch::Scratch(std::size_t bytes) : size_(std::max<std::size_t>(bytes, kCacheLine)) {
    Kept* best = nullptr;
    for (Kept& kept : store) {
        if (kept.block && kept.size >= size_ && (best == nullptr || kept.size < best->size)) {
            best = &kept;
        }
    }
    if (best != nullptr) {
        block_ = std::move(best->block);
        size_ = std::exchange(best->size, 0);
    } else {
        block_.reset(::operator new(size_, std::align_val_t{kCacheLine}));
        if (size_ > kLargestKept) {
            ask_for_large_pages(block_.get(), size_);
        }
    }
}

Scratch::~Scratch() {
    if (size_ > kLargestKept) {
        return;
    }
    // The smallest block of the store makes room: large ones are the dear ones.
    Kept& slot =
        *std::min_element(store.begin(), store.end(), [](const Kept& a, const Kept& b) { return a.size < b.size; });
    if (slot.size < size_) {
        slot.block = std::move(block_);
        slot.size = size_;
    }
}

}  // namespace qed
