#include "qed/clusters/cf_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kAtOnce = 512;  // rows between two looks at the clock

struct Feature {
    std::vector<double> mean;
    double weight = 0.0;
    double squares = 0.0;

    /// Adds what another one holds, at a known squared distance of the means.
    void add(const double* other, double count, double spread, double apart) {
        const double total = weight + count;
        const double share = total > 0 ? count / total : 0.0;
        squares += spread + weight * share * apart;
        for (std::size_t j = 0; j < mean.size(); ++j) {
            mean[j] += share * (other[j] - mean[j]);
        }
        weight = total;
    }
    void add(const Feature& other) {
        double apart = 0.0;
        for (std::size_t j = 0; j < mean.size(); ++j) {
            apart += (other.mean[j] - mean[j]) * (other.mean[j] - mean[j]);
        }
        add(other.mean.data(), other.weight, other.squares, apart);
    }
};

/// Entries side by side, their means column after column, so that distances to all of them are found at once.
struct Node {
    Node(Index width, Index room) : columns(width), capacity(room), means(size(width * room)) {}
    static std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }

    [[nodiscard]] Index count() const noexcept { return static_cast<Index>(features.size()); }
    [[nodiscard]] bool is_leaf() const noexcept { return below.empty(); }

    void put(Index at) noexcept {
        for (Index j = 0; j < columns; ++j) {
            means[size(j * capacity + at)] = features[size(at)].mean[size(j)];
        }
    }
    void append(Feature feature, Index number, std::unique_ptr<Node> child) {
        features.push_back(std::move(feature));
        numbers.push_back(number);
        if (child != nullptr) {
            below.push_back(std::move(child));
        }
        put(count() - 1);
    }
    void distances(const double* point, double* out) const noexcept {
        std::fill(out, out + count(), 0.0);
        for (Index j = 0; j < columns; ++j) {
            const double* column = means.data() + j * capacity;
            for (Index e = 0; e < count(); ++e) {
                out[e] += (column[e] - point[j]) * (column[e] - point[j]);
            }
        }
    }
    [[nodiscard]] Feature total() const {
        Feature all{std::vector<double>(size(columns), 0.0)};
        for (const Feature& one : features) {
            all.add(one);
        }
        return all;
    }

    Index columns;
    Index capacity;
    std::vector<double> means;
    std::vector<Feature> features;
    std::vector<Index> numbers;  // of subclusters, in a leaf
    std::vector<std::unique_ptr<Node>> below;
};

class Grower {
  public:
    Grower(Index columns, double threshold, Index branching, Index begun)
        : columns_(columns), limit_(threshold * threshold), capacity_(branching + 1), begun_(begun),
          away_(static_cast<std::size_t>(capacity_)) {}

    [[nodiscard]] std::unique_ptr<Node> node() const { return std::make_unique<Node>(columns_, capacity_); }
    [[nodiscard]] Index begun() const noexcept { return begun_; }

    Index insert(std::unique_ptr<Node>& root, const double* row) {
        if (descend(*root, row)) {
            auto above = node();
            split_into(*above, std::move(root));
            root = std::move(above);
        }
        return place_;
    }

    /// A node with the entries of a stored one.
    std::unique_ptr<Node> read(const CfTree& tree, Index number) const {
        auto made = node();
        for (Index e = tree.starts[at(number)]; e < tree.starts[at(number + 1)]; ++e) {
            const Index child = tree.children[at(e)];
            if (child < 0) {
                const double* mean = tree.means.data() + ~child * columns_;
                made->append({{mean, mean + columns_}, tree.weights[at(~child)], tree.squares[at(~child)]}, ~child, nullptr);
            } else {
                auto inner = read(tree, child);
                Feature whole = inner->total();
                made->append(std::move(whole), -1, std::move(inner));
            }
        }
        return made;
    }

    /// Numbers nodes from the top, and writes them and the subclusters in them.
    void write(const Node& node, CfTree& tree, std::vector<std::vector<Index>>& entries) const {
        const std::size_t own = entries.size();
        entries.emplace_back();
        for (Index e = 0; e < node.count(); ++e) {
            if (!node.is_leaf()) {
                entries[own].push_back(static_cast<Index>(entries.size()));
                write(*node.below[at(e)], tree, entries);
                continue;
            }
            const Index number = node.numbers[at(e)];
            const Feature& one = node.features[at(e)];
            entries[own].push_back(~number);
            std::copy(one.mean.begin(), one.mean.end(), tree.means.begin() + number * columns_);
            tree.weights[at(number)] = one.weight;
            tree.squares[at(number)] = one.squares;
        }
    }

  private:
    static std::size_t at(Index i) noexcept { return static_cast<std::size_t>(i); }

    /// Puts a row below a node; returns whether the node has too many entries now.
    bool descend(Node& node, const double* row) {
        if (node.count() == 0) {
            begin(node, row);
            return false;
        }
        node.distances(row, away_.data());
        const auto nearest = std::min_element(away_.begin(), away_.begin() + node.count()) - away_.begin();
        const double apart = away_[static_cast<std::size_t>(nearest)];
        Feature& feature = node.features[static_cast<std::size_t>(nearest)];
        if (node.is_leaf()) {
            const double total = feature.weight + 1.0;
            if (feature.squares + feature.weight / total * apart <= limit_ * total) {
                feature.add(row, 1.0, 0.0, apart);
                node.put(nearest);
                place_ = node.numbers[static_cast<std::size_t>(nearest)];
                return false;
            }
            begin(node, row);
            return node.count() == capacity_;
        }
        if (!descend(*node.below[static_cast<std::size_t>(nearest)], row)) {
            feature.add(row, 1.0, 0.0, apart);
            node.put(nearest);
            return false;
        }
        std::unique_ptr<Node> full = std::move(node.below[static_cast<std::size_t>(nearest)]);
        auto halves = this->node();
        split_into(*halves, std::move(full));
        feature = std::move(halves->features[0]);
        node.below[static_cast<std::size_t>(nearest)] = std::move(halves->below[0]);
        node.put(nearest);
        node.append(std::move(halves->features[1]), -1, std::move(halves->below[1]));
        return node.count() == capacity_;
    }

    void begin(Node& node, const double* row) {
        place_ = begun_++;
        node.append({{row, row + columns_}, 1.0, 0.0}, place_, nullptr);
    }

    /// Two nodes with the entries of one, each with those nearer to one of the two that are farthest apart.
    void split_into(Node& above, std::unique_ptr<Node> full) const {
        const Index count = full->count();
        std::vector<double> away(at(count * count));
        for (Index e = 0; e < count; ++e) {
            full->distances(full->features[at(e)].mean.data(), away.data() + e * count);
        }
        const Index farthest = std::max_element(away.begin(), away.end()) - away.begin();
        const double* one = away.data() + farthest / count * count;
        const double* two = away.data() + farthest % count * count;
        std::unique_ptr<Node> halves[2] = {node(), node()};
        for (Index e = 0; e < count; ++e) {
            const bool is_first = one[e] < two[e] || e == farthest / count;
            auto child = full->is_leaf() ? nullptr : std::move(full->below[at(e)]);
            halves[is_first ? 0 : 1]->append(std::move(full->features[at(e)]), full->numbers[at(e)], std::move(child));
        }
        for (auto& half : halves) {
            Feature whole = half->total();
            above.append(std::move(whole), -1, std::move(half));
        }
    }

    Index columns_;
    double limit_;
    Index capacity_;
    Index begun_;
    std::vector<double> away_;
    Index place_ = -1;
};

}  // namespace

void grow_cf_tree(CfTree& tree, const double* x, Index rows, Index columns, double threshold, Index branching,
                  Index* place) {
    Grower grower(columns, threshold, branching, static_cast<Index>(tree.weights.size()));
    std::unique_ptr<Node> root = tree.starts.empty() ? grower.node() : grower.read(tree, 0);
    for (Index first = 0; first < rows; first += kAtOnce) {
        parallel_for(1, [&](Index /*block*/) {
            for (Index i = first; i < std::min(rows, first + kAtOnce); ++i) {
                place[i] = grower.insert(root, x + i * columns);
            }
        });
    }
    const auto count = static_cast<std::size_t>(grower.begun());
    tree.means.resize(count * static_cast<std::size_t>(columns));
    tree.weights.resize(count);
    tree.squares.resize(count);
    std::vector<std::vector<Index>> entries;
    grower.write(*root, tree, entries);
    tree.starts.assign(1, 0);
    tree.children.clear();
    for (const std::vector<Index>& own : entries) {
        tree.children.insert(tree.children.end(), own.begin(), own.end());
        tree.starts.push_back(static_cast<Index>(tree.children.size()));
    }
}

}  // namespace qed
