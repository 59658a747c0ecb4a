#include "qed/machine/scratch.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace qed {
namespace {

struct Kept {
    AlignedBlock block;
    std::size_t size = 0;
};
constexpr std::size_t kLargestKept = std::size_t{4} << 20;
thread_local std::array<Kept, 4> store;

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
