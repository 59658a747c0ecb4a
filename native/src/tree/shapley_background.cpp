#include <bit>
#include <cmath>

#include "qed/machine/parallel.hpp"
#include "qed/tree/shapley_tree.hpp"

namespace qed {
namespace {

constexpr Index kWord = 64;
constexpr Index kTableNumbers = Index{1} << 22;  // numbers of tables at a time: 32 MiB
constexpr Index kMostInTable = 12;               // players of a leaf with a table: 4096 patterns
constexpr Index kRowsOfBlock = 64;               // rows whose directions fill a word

/// Weights of a coalition: a players meet the conditions in the row alone, c in the background alone.
class Weights {
  public:
    explicit Weights(Index most) : most_(most + 1), gain_(at(most_ * most_)), loss_(at(most_ * most_)) {
        for (Index a = 0; a < most_; ++a) {
            double ways = 1.0;  // (a + c)! / a! c!
            for (Index c = 0; c < most_; ++c) {
                if (c > 0) {
                    ways *= static_cast<double>(a + c) / static_cast<double>(c);
                }
                gain_[at(a * most_ + c)] = a > 0 ? 1.0 / (static_cast<double>(a) * ways) : 0.0;
                loss_[at(a * most_ + c)] = c > 0 ? 1.0 / (static_cast<double>(c) * ways) : 0.0;
            }
        }
    }
    /// What a player gains whose condition the row alone meets: (a-1)! c! / (a+c)!
    [[nodiscard]] double gain(Index a, Index c) const noexcept { return gain_[at(a * most_ + c)]; }
    /// What a player loses whose condition the background alone meets: a! (c-1)! / (a+c)!
    [[nodiscard]] double loss(Index a, Index c) const noexcept { return loss_[at(a * most_ + c)]; }

  private:
    Index most_;
    std::vector<double> gain_, loss_;
};

double value_of(const Matrix& x, Index row, Index column) noexcept {
    return x.kind == Kind::float32 ? static_cast<double>(*x.at<float>(row, column)) : *x.at<double>(row, column);
}

/// A bit for each node and row: whether the row goes left there.
class Directions {
  public:
    Directions() = default;
    Directions(const ShapleyTree& tree, const Matrix& x, Index first, Index count)
        : words_(blocks_of(count, kWord)), bits_(at(tree.count * words_), 0) {
        for (Index node = 0; node < tree.count; ++node) {
            if (tree.feature[node] < 0) {
                continue;
            }
            std::uint64_t* const to = bits_.data() + node * words_;
            for (Index i = 0; i < count; ++i) {
                const double value = value_of(x, first + i, tree.feature[node]);
                to[i / kWord] |= static_cast<std::uint64_t>(tree.goes_left(node, value)) << (i % kWord);
            }
        }
    }
    [[nodiscard]] const std::uint64_t* of(Index node) const noexcept { return bits_.data() + node * words_; }
    [[nodiscard]] Index words() const noexcept { return words_; }

  private:
    Index words_ = 0;
    std::vector<std::uint64_t> bits_;
};

/// Calls each(leaf, met, players): for each leaf and each of its players, which rows of a word meet all its conditions.
template <class Each>
void for_leaves(const ShapleyTree& tree, const Directions& directions, Index word, const Each& each) {
    const Index stride = tree.most_players;
    std::vector<std::uint64_t> met(at((tree.deepest + 1) * std::max<Index>(stride, 1)), ~std::uint64_t{0});
    std::vector<std::int32_t> players(at(stride + 1));
    std::vector<Index> path(at(tree.deepest + 1), 0);
    for (Index node = 1; node < tree.count; ++node) {
        path[at(tree.depth[at(node - 1)])] = node - 1;
        const Index depth = tree.depth[at(node)];
        const std::uint64_t* const above = met.data() + (depth - 1) * stride;
        std::uint64_t* const here = met.data() + depth * stride;
        std::copy_n(above, tree.present[at(path[at(depth - 1)])], here);
        const std::uint64_t left = directions.of(path[at(depth - 1)])[word];
        const Index place = tree.place[at(node)];
        const std::uint64_t before = tree.previous[at(node)] > 0 ? here[place] : ~std::uint64_t{0};
        here[place] = before & (tree.is_left_child(node) ? left : ~left);
        players[at(place)] = tree.player[at(node)];
        if (tree.feature[node] < 0) {
            each(node, here, players.data());
        }
    }
}

std::uint32_t pattern_of(const std::uint64_t* met, Index players, Index row) noexcept {
    std::uint32_t pattern = 0;
    for (Index k = 0; k < players; ++k) {
        pattern |= static_cast<std::uint32_t>((met[k] >> row) & 1U) << k;
    }
    return pattern;
}

/// For every leaf and every pattern of met conditions, what each of its players gets from a value of one.
struct Tables {
    std::vector<Index> start;  // by node: where the table of a leaf begins
    std::vector<double> numbers;
};

Index table_numbers(const ShapleyTree& tree) {
    Index total = 0;
    for (Index node = 0; node < tree.count; ++node) {
        if (tree.feature[node] < 0) {
            const Index m = tree.present[at(node)];
            total += m <= kMostInTable ? m << m : kTableNumbers;
        }
    }
    return total;
}

/// The background meets pattern p of the conditions counts[p] times; to: what m players get, by the pattern of a row.
void fill_table(Index m, const std::vector<Index>& counts, double share, const Weights& weights, double* table) {
    const auto all = static_cast<std::uint32_t>((Index{1} << m) - 1);
    for (std::uint32_t p = 0; p <= all; ++p) {
        if (counts[p] == 0) {
            continue;
        }
        const double often = share * static_cast<double>(counts[p]);
        const std::uint32_t lacking = all & ~p;  // the row must meet these; of the others it may meet any
        const Index a = std::popcount(lacking);
        for (std::uint32_t also = p;; also = (also - 1) & p) {
            const std::uint32_t pattern = lacking | also;
            const Index c = m - std::popcount(pattern);
            double* const to = table + static_cast<Index>(pattern) * m;
            for (Index k = 0; k < m; ++k) {
                if (((lacking >> k) & 1U) != 0) {
                    to[k] += often * weights.gain(a, c);
                } else if (((pattern >> k) & 1U) == 0) {
                    to[k] -= often * weights.loss(a, c);
                }
            }
            if (also == 0) {
                break;
            }
        }
    }
}

Tables tables_of(const ShapleyTree& tree, const Matrix& background, const Weights& weights) {
    const Directions directions(tree, background, 0, background.rows);
    Tables tables{std::vector<Index>(at(tree.count), 0), std::vector<double>(at(table_numbers(tree)), 0.0)};
    std::vector<std::vector<Index>> counts(at(tree.count));
    Index total = 0;
    for (Index node = 0; node < tree.count; ++node) {
        if (tree.feature[node] < 0) {
            const Index m = tree.present[at(node)];
            tables.start[at(node)] = total;
            total += m << m;
            counts[at(node)].assign(at(Index{1} << m), 0);
        }
    }
    for (Index word = 0; word < directions.words(); ++word) {
        const Index rows = std::min(kWord, background.rows - word * kWord);
        for_leaves(tree, directions, word, [&](Index leaf, const std::uint64_t* met, const std::int32_t*) {
            for (Index i = 0; i < rows; ++i) {
                ++counts[at(leaf)][pattern_of(met, tree.present[at(leaf)], i)];
            }
        });
    }
    const double share = 1.0 / static_cast<double>(background.rows);
    for (Index leaf = 1; leaf < tree.count; ++leaf) {
        if (tree.feature[leaf] < 0) {
            fill_table(tree.present[at(leaf)], counts[at(leaf)], share, weights,
                       tables.numbers.data() + tables.start[at(leaf)]);
        }
    }
    return tables;
}

/// Adds up tables over the leaves for a block of rows; out: player × width × kRowsOfBlock.
void add_tables(const ShapleyTree& tree, const Tables& tables, const Matrix& x, Index first, Index count, double* out) {
    const Directions directions(tree, x, first, count);
    const Index width = tree.all->width;
    for_leaves(tree, directions, 0, [&](Index leaf, const std::uint64_t* met, const std::int32_t* players) {
        const Index m = tree.present[at(leaf)];
        std::uint32_t patterns[kRowsOfBlock] = {};
        for (Index k = 0; k < m; ++k) {
            for (Index i = 0; i < kRowsOfBlock; ++i) {
                patterns[i] |= static_cast<std::uint32_t>((met[k] >> i) & 1U) << k;
            }
        }
        const double* const table = tables.numbers.data() + tables.start[at(leaf)];
        const double* const values = tree.all->values + tree.own[at(leaf)] * width;
        for (Index k = 0; k < m; ++k) {
            for (Index o = 0; o < width; ++o) {
                double* const to = out + (players[k] * width + o) * kRowsOfBlock;
                for (Index i = 0; i < count; ++i) {
                    to[i] += values[o] * table[static_cast<Index>(patterns[i]) * m + k];
                }
            }
        }
    });
}

/// One row against all rows of the background, a bit each. A row of the background stays on the way to a leaf as long as
/// it meets the conditions of all players whose conditions the row does not meet; most leave after a few turns.
class Walk {
  public:
    Walk(const ShapleyTree& tree, const Directions& background, Index count, const Weights& weights)
        : tree_(tree), background_(background), weights_(weights), words_(background.words()), count_(count),
          alive_(at((tree.deepest + 1) * words_), 0), follows_(at((tree.deepest + 1) * words_), 0),
          meets_(at(tree.deepest + 1), 1), path_(at(tree.deepest + 1), 0), last_(at(tree.most_players + 1)),
          gains_(at(tree.most_players + 1)) {
        for (Index b = 0; b < count; ++b) {
            alive_[at(b / kWord)] |= std::uint64_t{1} << (b % kWord);
        }
    }

    /// Adds to out, player × width, whose numbers stand `stride` apart.
    void go(const Matrix& x, Index row, double* out, Index stride) {
        for (Index node = 1; node < tree_.count;) {
            path_[at(tree_.depth[at(node)])] = node;
            if (!turn(node, x, row)) {
                node = tree_.end[at(node)];
                continue;
            }
            if (tree_.feature[node] < 0) {
                add_leaf(node, out, stride);
            }
            ++node;
        }
    }

  private:
    /// Goes along the edge into a node with what is left of the background; false if nothing is.
    bool turn(Index node, const Matrix& x, Index row) {
        const Index depth = tree_.depth[at(node)];
        const Index parent = path_[at(depth - 1)];
        const Index before = tree_.previous[at(node)];
        const bool is_left = tree_.is_left_child(node);
        const bool goes = tree_.goes_left(parent, value_of(x, row, tree_.feature[parent])) == is_left;
        const bool meets = meets_[at(before)] != 0 && goes;  // nothing is asked before the first edge of a player
        meets_[at(depth)] = meets ? 1 : 0;
        const std::uint64_t* const left = background_.of(parent);
        const std::uint64_t* const above = alive_.data() + (depth - 1) * words_;
        const std::uint64_t* const met = follows_.data() + before * words_;
        std::uint64_t* const here = alive_.data() + depth * words_;
        std::uint64_t* const own = follows_.data() + depth * words_;
        std::uint64_t any = 0;
        for (Index w = 0; w < words_; ++w) {
            const std::uint64_t side = is_left ? left[w] : ~left[w];
            own[w] = before > 0 ? met[w] & side : side;
            here[w] = meets ? above[w] : above[w] & own[w];
            any |= here[w];
        }
        return any != 0;
    }

    void add_leaf(Index leaf, double* out, Index stride) {
        const Index m = tree_.present[at(leaf)];
        const Index depth = tree_.depth[at(leaf)];
        for (Index d = 1; d <= depth; ++d) {
            last_[at(tree_.place[at(path_[at(d)])])] = d;  // the deepest edge of a player holds all its conditions
        }
        Index lost = 0;
        for (Index k = 0; k < m; ++k) {
            lost += meets_[at(last_[at(k)])] == 0 ? 1 : 0;
            gains_[at(k)] = 0.0;
        }
        double losses = 0.0;
        for (Index w = 0; w < words_; ++w) {
            for (std::uint64_t bits = alive_[at(depth * words_ + w)]; bits != 0; bits &= bits - 1) {
                const int b = std::countr_zero(bits);
                Index lacking = 0;
                for (Index k = 0; k < m; ++k) {
                    lacking += static_cast<Index>(~(follows_[at(last_[at(k)] * words_ + w)] >> b) & 1U);
                }
                losses += weights_.loss(lacking, lost);
                const double gain = weights_.gain(lacking, lost);
                for (Index k = 0; k < m; ++k) {
                    gains_[at(k)] += ((follows_[at(last_[at(k)] * words_ + w)] >> b) & 1U) == 0 ? gain : 0.0;
                }
            }
        }
        const Index width = tree_.all->width;
        const double* const values = tree_.all->values + tree_.own[at(leaf)] * width;
        for (Index k = 0; k < m; ++k) {
            const Index edge = last_[at(k)];
            const double own = (meets_[at(edge)] != 0 ? gains_[at(k)] : -losses) / static_cast<double>(count_);
            const Index player = tree_.player[at(path_[at(edge)])];
            for (Index o = 0; o < width; ++o) {
                out[(player * width + o) * stride] += own * values[o];
            }
        }
    }

    const ShapleyTree& tree_;
    const Directions& background_;
    const Weights& weights_;
    Index words_;  // of bits: rows of the background
    Index count_;
    std::vector<std::uint64_t> alive_;    // by depth: rows of the background that are still on the way
    std::vector<std::uint64_t> follows_;  // by depth: those that meet the conditions of the player of the edge, down to it
    std::vector<char> meets_;             // by depth: whether the row does
    std::vector<Index> path_, last_;
    std::vector<double> gains_;
};

/// A tree, with what its rows are compared with: tables, or the directions of the background.
struct Prepared {
    bool has_tables = false;
    Tables tables;
    Directions background;
};

/// Tables cost up to 3^m for a leaf of m players, and then nothing that grows with the background; a walk visits, for
/// each pair of rows, about as many nodes as three times the root of all leaves (counted on grown trees).
bool prefers_tables(const ShapleyTree& tree, Index rows, Index background) {
    double tables = 0.0;
    double leaves = 0.0;
    for (Index node = 0; node < tree.count; ++node) {
        if (tree.feature[node] < 0) {
            const Index m = tree.present[at(node)];
            if (m > kMostInTable) {
                return false;
            }
            const double ways = std::min(std::pow(3.0, static_cast<double>(m)),
                                         static_cast<double>(background << m));
            tables += static_cast<double>(m) * (ways + static_cast<double>(rows + background));
            leaves += 1.0;
        }
    }
    return tables < 15.0 * std::sqrt(leaves) * static_cast<double>(rows) * static_cast<double>(background);
}

}  // namespace

void add_background_values(const ShapleyTrees& trees, const Matrix& x, const Matrix& background, double* out) {
    const std::vector<ShapleyTree> prepared = prepare_shapley(trees);
    Index most = 1;
    for (const ShapleyTree& tree : prepared) {
        most = std::max(most, tree.most_players);
    }
    const Weights weights(most);
    const Index outputs = trees.outputs();
    const Index size = trees.players * trees.width * kRowsOfBlock;
    for (Index first = 0, last = 0; first < trees.trees; first = last) {
        Index numbers = 0;
        for (last = first; last < trees.trees && (last == first || numbers < kTableNumbers); ++last) {
            const ShapleyTree& tree = prepared[at(last)];
            numbers += prefers_tables(tree, x.rows, background.rows) ? table_numbers(tree)
                                                                     : tree.count * blocks_of(background.rows, kWord);
        }
        const Effort effort(100.0 * static_cast<double>(last - first) * static_cast<double>(x.rows));
        std::vector<Prepared> chunk(at(last - first));
        parallel_for(last - first, [&](Index t) {
            const ShapleyTree& tree = prepared[at(first + t)];
            Prepared& own = chunk[at(t)];
            own.has_tables = prefers_tables(tree, x.rows, background.rows);
            if (own.has_tables) {
                own.tables = tables_of(tree, background, weights);
            } else {
                own.background = Directions(tree, background, 0, background.rows);
            }
        });
        const Index rows_of_block = chunk.front().has_tables ? kRowsOfBlock : 4;
        parallel_for(blocks_of(x.rows, rows_of_block), [&](Index block) {
            const Index row = block * rows_of_block;
            const Index count = std::min(rows_of_block, x.rows - row);
            std::vector<double> found(at(size * trees.groups), 0.0);
            for (Index t = first; t < last; ++t) {
                double* const own = found.data() + (t % trees.groups) * size;
                const Prepared& part = chunk[at(t - first)];
                if (part.has_tables) {
                    add_tables(prepared[at(t)], part.tables, x, row, count, own);
                    continue;
                }
                Walk walk(prepared[at(t)], part.background, background.rows, weights);
                for (Index i = 0; i < count; ++i) {
                    walk.go(x, row + i, own + i, kRowsOfBlock);
                }
            }
            for (Index i = 0; i < count; ++i) {
                double* to = out + (row + i) * trees.players * outputs;
                for (Index player = 0; player < trees.players; ++player) {
                    for (Index group = 0; group < trees.groups; ++group) {
                        for (Index k = 0; k < trees.width; ++k) {
                            *to++ += found[at(group * size + (player * trees.width + k) * kRowsOfBlock + i)];
                        }
                    }
                }
            }
        });
    }
}

}  // namespace qed
