#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "qed/manifold/graph.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// Sources that are searched from together, one lane each. They lie close to one another, so that their searches meet the
/// same nodes at about the same time, and one visit of an edge serves all of them.
constexpr Index kTogether = 8;
constexpr Index kLooked = 64;  // nodes that are looked at to find the companions of a source
constexpr double kFar = std::numeric_limits<double>::infinity();

using Lanes [[gnu::vector_size(kTogether * sizeof(double))]] = double;

struct Company {
    Index size = 0;
    Index places[kTogether];  // where the sources stand in the list of all
};

/// Sources in companies of neighbours: breadth-first from the first that has none yet.
std::vector<Company> companies(const Graph& graph, const Index* sources, Index count) {
    std::vector<Index> place(static_cast<std::size_t>(graph.nodes), -1);
    for (Index s = 0; s < count; ++s) {
        place[static_cast<std::size_t>(sources[s])] = s;
    }
    std::vector<Index> seen_by(static_cast<std::size_t>(graph.nodes), -1);
    std::vector<bool> taken(static_cast<std::size_t>(count), false);
    std::vector<Company> all;
    std::vector<Index> queue;
    for (Index s = 0; s < count; ++s) {
        if (taken[static_cast<std::size_t>(s)]) {
            continue;
        }
        Company company;
        queue.assign(1, sources[s]);
        seen_by[static_cast<std::size_t>(sources[s])] = s;
        for (std::size_t head = 0; head < queue.size() && head < kLooked && company.size < kTogether; ++head) {
            const Index node = queue[head];
            const Index at = place[static_cast<std::size_t>(node)];
            if (at >= 0 && !taken[static_cast<std::size_t>(at)]) {
                taken[static_cast<std::size_t>(at)] = true;
                company.places[company.size++] = at;
            }
            for (Index e = graph.starts[node]; e < graph.starts[node + 1]; ++e) {
                auto& by = seen_by[static_cast<std::size_t>(graph.ends[e])];
                if (by != s) {
                    by = s;
                    queue.push_back(graph.ends[e]);
                }
            }
        }
        if (!taken[static_cast<std::size_t>(s)]) {  // the same node was named twice
            taken[static_cast<std::size_t>(s)] = true;
            company.places[company.size++] = s;
        }
        all.push_back(company);
    }
    return all;
}

/// Nearest nodes first; a node whose length falls again is visited again.
class Search {
  public:
    explicit Search(const Graph& graph)
        : graph_(graph),
          lengths_(static_cast<std::size_t>(graph.nodes)),
          waiting_(static_cast<std::size_t>(graph.nodes)) {}

    void run(const Company& company, const Index* sources, double* out) {
        std::fill(lengths_.begin(), lengths_.end(), kFar - Lanes{});
        std::fill(waiting_.begin(), waiting_.end(), kFar);
        for (Index lane = 0; lane < company.size; ++lane) {
            const auto source = static_cast<std::size_t>(sources[company.places[lane]]);
            lengths_[source][lane] = 0.0;
            push(source, 0.0);
        }
        while (!queue_.empty()) {
            const auto [key, node] = queue_.top();
            queue_.pop();
            if (key == waiting_[node]) {
                waiting_[node] = kFar;
                visit(node);
            }
        }
        for (Index lane = 0; lane < company.size; ++lane) {
            double* row = out + company.places[lane] * graph_.nodes;
            for (Index v = 0; v < graph_.nodes; ++v) {
                row[v] = lengths_[static_cast<std::size_t>(v)][lane];
            }
        }
    }

  private:
    using Entry = std::pair<double, std::size_t>;

    void push(std::size_t node, double key) {
        if (key < waiting_[node]) {
            waiting_[node] = key;
            queue_.emplace(key, node);
        }
    }

    void visit(std::size_t node) {
        const Lanes from = lengths_[node];
        for (Index e = graph_.starts[node]; e < graph_.starts[node + 1]; ++e) {
            const auto end = static_cast<std::size_t>(graph_.ends[e]);
            const Lanes reached = from + graph_.values[e];
            const Lanes known = lengths_[end];
            const auto shorter = reached < known;
            const Lanes fallen = shorter ? reached : (kFar - Lanes{});
            double least = fallen[0];
            for (Index lane = 1; lane < kTogether; ++lane) {
                least = std::min(least, fallen[lane]);
            }
            if (least < kFar) {
                lengths_[end] = shorter ? reached : known;
                push(end, least);
            }
        }
    }

    const Graph& graph_;
    std::vector<Lanes> lengths_;
    std::vector<double> waiting_;  // the key that a node is queued with; infinity if it is not
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

void shortest_paths(const Graph& graph, const Index* sources, Index count, double* out) {
    const std::vector<Company> all = companies(graph, sources, count);
    constexpr Index kPerBlock = 4;
    const auto total = static_cast<Index>(all.size());
    parallel_for(blocks_of(total, kPerBlock), [&](Index block) {
        Search search(graph);
        for (Index c = block * kPerBlock; c < std::min(total, (block + 1) * kPerBlock); ++c) {
            search.run(all[static_cast<std::size_t>(c)], sources, out);
        }
    });
}

}  // namespace qed
