#include "qed/clusters/condensed.hpp"

#include <limits>
#include <utility>

namespace qed {
namespace {

class Condensing {
  public:
    Condensing(const Index* children, const double* density, Index rows, Index least)
        : children_(children), density_(density), rows_(rows), least_(least), size_(static_cast<std::size_t>(2 * rows - 1), 1) {
        for (Index node = rows; node < 2 * rows - 1; ++node) {
            size_[at(node)] = size_[at(side(node, 0))] + size_[at(side(node, 1))];
        }
    }

    Condensed run() {
        std::vector<std::pair<Index, Index>> waiting{{2 * rows_ - 2, rows_}};
        Index fresh = rows_ + 1;
        while (!waiting.empty()) {
            const auto [node, cluster] = waiting.back();
            waiting.pop_back();
            if (node < rows_) {
                leave(cluster, node, std::numeric_limits<double>::infinity(), 1);
                continue;
            }
            const double here = density_[node - rows_];
            const bool splits = is_large(side(node, 0)) && is_large(side(node, 1));
            for (int s = 0; s < 2; ++s) {
                const Index part = side(node, s);
                if (splits) {
                    leave(cluster, fresh, here, size_[at(part)]);
                    waiting.emplace_back(part, fresh++);
                } else if (is_large(part)) {
                    waiting.emplace_back(part, cluster);
                } else {
                    leave_with_all(cluster, part, here);
                }
            }
        }
        return std::move(out_);
    }

  private:
    static std::size_t at(Index i) noexcept { return static_cast<std::size_t>(i); }
    [[nodiscard]] Index side(Index node, int s) const noexcept { return children_[2 * (node - rows_) + s]; }
    [[nodiscard]] bool is_large(Index node) const noexcept { return size_[at(node)] >= least_; }

    void leave(Index cluster, Index child, double density, Index size) {
        out_.parent.push_back(cluster);
        out_.child.push_back(child);
        out_.density.push_back(density);
        out_.size.push_back(size);
    }

    void leave_with_all(Index cluster, Index top, double density) {
        below_.assign(1, top);
        while (!below_.empty()) {
            const Index node = below_.back();
            below_.pop_back();
            if (node < rows_) {
                leave(cluster, node, density, 1);
            } else {
                below_.push_back(side(node, 0));
                below_.push_back(side(node, 1));
            }
        }
    }

    const Index* children_;
    const double* density_;
    Index rows_;
    Index least_;
    std::vector<Index> size_;
    std::vector<Index> below_;
    Condensed out_;
};

}  // namespace

Condensed condense(const Index* children, const double* density, Index rows, Index least) {
    return Condensing(children, density, rows, least).run();
}

}  // namespace qed
