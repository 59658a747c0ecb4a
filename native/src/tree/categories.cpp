#include "qed/tree/categories.hpp"

#include <algorithm>

#include "qed/tree/rows.hpp"

namespace qed {
namespace {

/// The categories of the rows of a node.
class Categories {
  public:
    Categories(const SplitView& node, Index first, const std::uint8_t* codes)
        : node_(node), first_(first), codes_(codes) {
        for (Index i = 0; i < node.count; ++i) {
            ++counts_[codes[i]];
            weights_[codes[i]] += node.weights != nullptr ? node.weights[first + i] : 1.0;
        }
        for (Index category = 0; category < kMissingCategory; ++category) {
            if (counts_[category] > 0) {
                order_[many_++] = static_cast<std::uint8_t>(category);
            }
        }
    }

    [[nodiscard]] Index many() const noexcept { return many_; }
    [[nodiscard]] Index missing() const noexcept { return counts_[kMissingCategory]; }

    /// Puts them in the order of the mean of a target, or of the share of a class; equal ones by their numbers.
    void sort_by_target(Index target) {
        double sums[kCategories] = {};
        for (Index i = 0; i < node_.count; ++i) {
            const Index place = first_ + i;
            if (node_.criterion >= Criterion::squared) {
                sums[codes_[i]] += node_.pulls[place * node_.width + target];
            } else if (static_cast<Index>(node_.codes[place]) == target) {
                sums[codes_[i]] += node_.weights != nullptr ? node_.weights[place] : 1.0;
            }
        }
        for (Index k = 0; k < many_; ++k) {
            keys_[order_[k]] = sums[order_[k]] / weights_[order_[k]];
        }
        sort();
    }

    void sort_by_draw(std::uint64_t stream) {
        for (Index k = 0; k < many_; ++k) {
            keys_[order_[k]] = uniform_of(stream + 1 + order_[k]);
        }
        sort();
    }

    /// Entries of all rows: a rank is a place in the order.
    void write(TreeEntry* entries) const {
        Index starts[kCategories];
        std::uint32_t ranks[kCategories];
        Index start = 0;
        for (Index k = 0; k < many_; ++k) {
            ranks[order_[k]] = static_cast<std::uint32_t>(k);
            starts[order_[k]] = start;
            start += counts_[order_[k]];
        }
        ranks[kMissingCategory] = kMissingRank;
        starts[kMissingCategory] = start;
        for (Index i = 0; i < node_.count; ++i) {
            entries[starts[codes_[i]]++] = {ranks[codes_[i]], static_cast<std::uint32_t>(first_ + i)};
        }
    }

    /// Rows of the first categories in order.
    [[nodiscard]] Index rows_of(Index some) const noexcept {
        Index rows = 0;
        for (Index k = 0; k < some; ++k) {
            rows += counts_[order_[k]];
        }
        return rows;
    }

    /// The set of the categories whose rows are the first `known` ones in order.
    [[nodiscard]] CategorySet set_of(Index known) const noexcept {
        CategorySet set;
        Index rows = 0;
        for (Index k = 0; k < many_; ++k) {
            set.add(order_[k], rows < known);
            rows += counts_[order_[k]];
        }
        return set;
    }

  private:
    void sort() {
        std::sort(order_, order_ + many_, [this](std::uint8_t a, std::uint8_t b) {
            return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
        });
    }

    const SplitView& node_;
    Index first_;
    const std::uint8_t* codes_;
    Index counts_[kCategories] = {};
    double weights_[kCategories] = {};
    double keys_[kCategories] = {};
    std::uint8_t order_[kCategories] = {};
    Index many_ = 0;
};

}  // namespace

CategoryCut best_set(const SplitView& node, const SplitRule& rule, Index first, const std::uint8_t* codes,
                     TreeEntry* entries) {
    Categories categories(node, first, codes);
    CategoryCut best;
    if (categories.many() + (categories.missing() > 0 ? 1 : 0) < 2) {
        return best;
    }
    const bool has_classes = node.criterion < Criterion::squared;
    const Index begin = has_classes && node.width == 2 ? 1 : 0;  // the order of one of two classes is that of both
    double bar = -1.0;
    for (Index target = begin; target < node.width; ++target) {
        categories.sort_by_target(target);
        categories.write(entries);
        const TreeCut cut = best_cut(node, rule, entries);
        if (cut.is_found() && cut.gain > bar) {
            best = {cut, categories.set_of(cut.known)};
            bar = cut.gain + beyond_rounding(cut.gain, node.scale);
        }
    }
    return best;
}

CategoryCut drawn_set(const SplitView& node, const SplitRule& rule, Index first, const std::uint8_t* codes,
                      TreeEntry* entries, std::uint64_t stream) {
    Categories categories(node, first, codes);
    const Index many = categories.many();
    if (many + (categories.missing() > 0 ? 1 : 0) < 2 || many == 0) {
        return {};
    }
    categories.sort_by_draw(stream);
    categories.write(entries);
    const auto share = static_cast<Index>(uniform_of(stream) * static_cast<double>(many - 1));
    const Index known = categories.rows_of(many == 1 ? 1 : 1 + std::min(share, many - 2));
    const bool missing_left = many > 1 && categories.missing() > 0 && (mixed_bits(stream) & 1U) != 0;
    return {one_cut(node, rule, entries, known, missing_left), categories.set_of(known)};
}

}  // namespace qed
