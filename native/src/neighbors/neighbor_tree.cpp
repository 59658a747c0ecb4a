#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "qed/machine/parallel.hpp"
#include "qed/neighbors/neighbors.hpp"

namespace qed {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr int kLevels = 3;  // halvings between a node and its eight children

struct Key {
    double value;
    Index id;
    bool operator<(const Key& other) const noexcept {
        return value < other.value || (value == other.value && id < other.id);
    }
};

/// A range of rows that is to become one child: whole octets, but for the very last one.
struct Range {
    Index first_octet;
    Index octets;
};

class Builder {
  public:
    Builder(const double* x, Index rows, Index columns, Index* ids)
        : x_(x), rows_(rows), columns_(columns), ids_(ids) {}

    /// Writes the nodes below a range of rows, the root of them first; children are numbered from `base`.
    void build(Range range, Index base, Boxes& out, std::vector<Key>& keys) const {
        const Index node = static_cast<Index>(out.children.size()) / kOctet;
        const std::array<Range, kOctet> parts = split(range, keys);
        reserve(out);
        for (Index c = 0; c < kOctet; ++c) {
            write_box(parts[static_cast<std::size_t>(c)], node, c, out);
        }
        for (Index c = 0; c < kOctet; ++c) {
            const Range part = parts[static_cast<std::size_t>(c)];
            Index& slot = out.children[static_cast<std::size_t>(node * kOctet + c)];
            if (part.octets == 0) {
                slot = kNoChild;
            } else if (part.octets == 1) {
                slot = ~part.first_octet;
            } else {
                slot = base + static_cast<Index>(out.children.size()) / kOctet;
                build(part, base, out, keys);
            }
        }
    }

    /// Halves a range three times, each time in the column in which it is widest.
    std::array<Range, kOctet> split(Range range, std::vector<Key>& keys) const {
        std::array<Range, kOctet> parts{};
        parts[0] = range;
        for (int level = 0; level < kLevels; ++level) {
            const int step = kOctet >> level;
            for (int at = 0; at < kOctet; at += step) {
                const auto here = static_cast<std::size_t>(at);
                const Range whole = parts[here];
                const Index left = (whole.octets + 1) / 2;
                if (whole.octets > 1) {
                    halve(whole, left, keys);
                }
                parts[here] = {whole.first_octet, left};
                parts[here + static_cast<std::size_t>(step / 2)] = {whole.first_octet + left, whole.octets - left};
            }
        }
        return parts;
    }

    void reserve(Boxes& out) const {
        out.children.resize(out.children.size() + kOctet, kNoChild);
        out.ends.resize(out.ends.size() + static_cast<std::size_t>(2 * columns_ * kOctet));
    }

    void write_box(Range part, Index node, Index child, Boxes& out) const {
        double* low = out.ends.data() + node * 2 * columns_ * kOctet + child;
        double* high = low + columns_ * kOctet;
        for (Index j = 0; j < columns_; ++j) {
            low[j * kOctet] = kFar;
            high[j * kOctet] = -kFar;
        }
        const auto [first, last] = row_range(part);
        for (Index i = first; i < last; ++i) {
            const double* row = x_ + ids_[i] * columns_;
            for (Index j = 0; j < columns_; ++j) {
                low[j * kOctet] = std::min(low[j * kOctet], row[j]);
                high[j * kOctet] = std::max(high[j * kOctet], row[j]);
            }
        }
    }

  private:
    std::pair<Index, Index> row_range(Range part) const noexcept {
        return {part.first_octet * kOctet, std::min(rows_, (part.first_octet + part.octets) * kOctet)};
    }

    void halve(Range whole, Index left, std::vector<Key>& keys) const {
        const auto [first, last] = row_range(whole);
        const Index column = widest(first, last);
        keys.resize(static_cast<std::size_t>(last - first));
        for (Index i = first; i < last; ++i) {
            keys[static_cast<std::size_t>(i - first)] = {x_[ids_[i] * columns_ + column], ids_[i]};
        }
        std::nth_element(keys.begin(), keys.begin() + left * kOctet, keys.end());
        for (Index i = first; i < last; ++i) {
            ids_[i] = keys[static_cast<std::size_t>(i - first)].id;
        }
    }

    Index widest(Index first, Index last) const {
        std::vector<double> low(static_cast<std::size_t>(columns_), kFar);
        std::vector<double> high(static_cast<std::size_t>(columns_), -kFar);
        for (Index i = first; i < last; ++i) {
            const double* row = x_ + ids_[i] * columns_;
            for (std::size_t j = 0; j < low.size(); ++j) {
                low[j] = std::min(low[j], row[j]);
                high[j] = std::max(high[j], row[j]);
            }
        }
        std::size_t best = 0;
        for (std::size_t j = 1; j < low.size(); ++j) {
            best = high[j] - low[j] > high[best] - low[best] ? j : best;
        }
        return static_cast<Index>(best);
    }

    const double* x_;
    Index rows_;
    Index columns_;
    Index* ids_;
};

/// The root and its children one after the other, what lies below each child side by side.
void build_all(const Builder& builder, Index octet_count, Boxes& out) {
    std::vector<Key> keys;
    const std::array<Range, kOctet> parts = builder.split({0, octet_count}, keys);
    builder.reserve(out);
    std::array<Boxes, kOctet> below;
    parallel_for(kOctet, [&](Index c) {
        const auto here = static_cast<std::size_t>(c);
        std::vector<Key> own;
        if (parts[here].octets > 1) {
            builder.build(parts[here], 0, below[here], own);
        }
    });
    for (Index c = 0; c < kOctet; ++c) {
        const auto here = static_cast<std::size_t>(c);
        builder.write_box(parts[here], 0, c, out);
        const Index base = static_cast<Index>(out.children.size()) / kOctet;
        if (parts[here].octets == 1) {
            out.children[here] = ~parts[here].first_octet;
        } else if (parts[here].octets > 1) {
            out.children[here] = base;
        }
        for (const Index child : below[here].children) {
            out.children.push_back(child >= 0 ? child + base : child);
        }
        out.ends.insert(out.ends.end(), below[here].ends.begin(), below[here].ends.end());
    }
}

}  // namespace

void arrange(const double* x, Index rows, Index columns, double* octets, Index* ids, Boxes* boxes) {
    const Index count = blocks_of(rows, kOctet);
    std::iota(ids, ids + rows, Index{0});
    std::fill(ids + rows, ids + count * kOctet, Index{-1});
    const Effort effort(static_cast<double>(rows) * static_cast<double>(columns) * (boxes == nullptr ? 2.0 : 60.0));
    if (boxes != nullptr) {
        build_all(Builder(x, rows, columns, ids), count, *boxes);
    }
    const Index step = std::max(Index{1}, Index{1 << 14} / columns);
    parallel_for(blocks_of(count, step), [&](Index block) {
        for (Index o = block * step; o < std::min(count, (block + 1) * step); ++o) {
            double* octet = octets + o * columns * kOctet;
            for (Index r = 0; r < kOctet; ++r) {
                const Index id = ids[o * kOctet + r];
                for (Index j = 0; j < columns; ++j) {
                    octet[j * kOctet + r] = id < 0 ? kFar : x[id * columns + j];
                }
            }
        }
    });
}

}  // namespace qed
