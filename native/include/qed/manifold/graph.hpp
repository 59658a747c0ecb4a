/// A graph in compressed rows, and what embeddings ask of it.
///
/// Layout: the neighbours of node i are ends[starts[i]] … ends[starts[i + 1] - 1], with a number each. Ownership: none.
#pragma once

#include "qed/machine/matrix.hpp"

namespace qed {

struct Graph {
    Index nodes = 0;
    const Index* starts = nullptr;
    const Index* ends = nullptr;
    const double* values = nullptr;
};

/// out[s * nodes + v]: the length of the shortest path from sources[s] to v along edges of nonnegative length, infinity
/// where there is none. A length is the least of all sums along paths, so that it does not depend on the order of the search.
void shortest_paths(const Graph& graph, const Index* sources, Index count, double* out);

}  // namespace qed
