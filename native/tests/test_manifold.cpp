#include <limits>

#include "check.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/manifold/graph.hpp"
#include "qed/manifold/grid.hpp"
#include "qed/manifold/ranks.hpp"
#include "qed/manifold/scaling.hpp"
#include "qed/manifold/similarity.hpp"
#include "qed/manifold/stress.hpp"
#include "qed/manifold/tsne.hpp"
#include "qed/manifold/umap.hpp"

using namespace qed;

namespace {

/// Forces of all pairs by their definition, and the sum of q.
double push_all(const std::vector<double>& y, Index n, std::vector<double>& force) {
    double sum = 0.0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            if (i == j) {
                continue;
            }
            const double a = y[static_cast<std::size_t>(2 * i)] - y[static_cast<std::size_t>(2 * j)];
            const double b = y[static_cast<std::size_t>(2 * i + 1)] - y[static_cast<std::size_t>(2 * j + 1)];
            const double q = 1.0 / (1.0 + a * a + b * b);
            sum += q;
            force[static_cast<std::size_t>(2 * i)] += q * q * a;
            force[static_cast<std::size_t>(2 * i + 1)] += q * q * b;
        }
    }
    return sum;
}

}  // namespace

TEST(points_push_through_a_grid) {
    constexpr Index n = 700;
    for (const double width : {1e-3, 5.0, 30.0}) {
        std::vector<double> y = check::numbers(2 * n, 3);
        for (double& value : y) {
            value *= width;
        }
        std::vector<double> wanted(y.size());
        const double sum = push_all(y, n, wanted);
        std::vector<double> found[2];
        for (const int threads : {1, 3}) {
            set_thread_count(threads);
            GridRepulsion grid(n, 2);
            std::vector<double>& force = found[threads / 2];
            force.resize(y.size());
            CHECK(grid.arrange(y.data()));
            CHECK(std::abs(grid.run(force.data()) - sum) < 0.01 * sum);
        }
        CHECK(found[0] == found[1]);
        double off = 0.0;
        double size = 0.0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            off += (found[0][i] - wanted[i]) * (found[0][i] - wanted[i]);
            size += wanted[i] * wanted[i];
        }
        CHECK(off < 2.25e-4 * size);  // 1.5 %: evenly spread points, whose forces cancel, are the hardest
    }
    std::vector<double> far(2 * n, 0.0);
    far[0] = 1e9;
    CHECK(!GridRepulsion(n, 2).arrange(far.data()));
    far[0] = std::numeric_limits<double>::quiet_NaN();
    CHECK(!GridRepulsion(n, 2).arrange(far.data()));
}

TEST(gradient_of_tsne_by_differences) {
    const std::vector<Index> starts{0, 2, 4, 6};
    const std::vector<Index> ends{1, 2, 0, 2, 0, 1};
    const std::vector<double> p{0.2, 0.1, 0.2, 0.2, 0.1, 0.2};
    const Graph graph{3, starts.data(), ends.data(), p.data()};
    std::vector<double> y{0.3, -1.0, 1.2, 0.4, -0.7, 0.9};
    std::vector<double> gradient(6);
    tsne_gradient(graph, 2, y.data(), {0.0, false}, gradient.data());
    std::vector<double> none(6);
    for (std::size_t i = 0; i < 6; ++i) {
        const double before = y[i];
        y[i] = before + 1e-5;
        const double up = tsne_gradient(graph, 2, y.data(), {0.0, false}, none.data()).divergence;
        y[i] = before - 1e-5;
        const double down = tsne_gradient(graph, 2, y.data(), {0.0, false}, none.data()).divergence;
        y[i] = before;
        CHECK(std::abs((up - down) / 2e-5 - gradient[i]) < 1e-8);
    }
    const std::vector<Index> all{0, 1, 2};
    std::vector<double> force(6);
    CHECK(check::near(student_sum(y.data(), 3, 2, all.data(), 3), push_all(y, 3, force)));
}

TEST(shortest_paths_of_a_ring_and_an_island) {
    // 0 - 1 - 2 - 3 - 0 with lengths 1, 2, 4, 8; node 4 alone
    const std::vector<Index> starts{0, 2, 4, 6, 8, 8};
    const std::vector<Index> ends{1, 3, 0, 2, 1, 3, 2, 0};
    const std::vector<double> lengths{1, 8, 1, 2, 2, 4, 4, 8};
    const std::vector<Index> sources{0, 3};
    std::vector<double> out(10);
    shortest_paths({5, starts.data(), ends.data(), lengths.data()}, sources.data(), 2, out.data());
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 3 && out[3] == 7 && std::isinf(out[4]));
    CHECK(out[5] == 7 && out[6] == 6 && out[7] == 4 && out[8] == 0 && std::isinf(out[9]));
}

TEST(similarities_reach_their_sums) {
    const std::vector<double> d{0.5, 1.0, 1.5, 4.0, 1.0, 1.0, 1.0, 1.0};
    std::vector<double> out(8);
    double precision[2];
    perplexity_similarities(d.data(), 2, 4, 2.5, out.data(), precision);
    double entropy = 0.0;
    for (std::size_t j = 0; j < 4; ++j) {
        entropy -= out[j] * std::log(out[j]);
        CHECK(check::near(out[4 + j], 0.25));  // equal distances have one entropy only
    }
    CHECK(std::abs(entropy - std::log(2.5)) < 1e-9);
    double near[2];
    double spread[2];
    membership_similarities(d.data(), 2, 4, 2.0, 1.0, out.data(), near, spread);
    CHECK(near[0] == 0.5 && out[0] == 1.0);
    CHECK(std::abs(out[0] + out[1] + out[2] + out[3] - 2.0) < 1e-4);
}

TEST(places_stress_and_squares) {
    // one row: itself at column 0; nearest in the other space are columns 3 and 1, which stand 3rd and 1st here
    const std::vector<double> reference{0.0, 1.0, 2.0, 3.0, 4.0};
    const std::vector<double> other{0.0, 2.0, 5.0, 1.0, 6.0};
    const Index own = 0;
    CHECK(places_beyond(reference.data(), other.data(), &own, 1, 5, 2) == 1);
    // three points on a line, whose distances should be twice as large
    const std::vector<double> D{0, 2, 6, 2, 0, 4, 6, 4, 0};
    const std::vector<double> x{0.0, 1.0, 3.0};
    std::vector<double> moved(3);
    const StressSums sums = guttman_step(D.data(), x.data(), 3, 1, moved.data());
    CHECK(check::near(sums.stress, 14.0) && check::near(sums.squares, 14.0));
    CHECK(check::near(moved[1] - moved[0], 2.0) && check::near(moved[2] - moved[1], 4.0));
    std::vector<double> pairs(3);
    pair_distances(x.data(), 3, 1, pairs.data());
    CHECK(pairs[0] == 1.0 && pairs[1] == 3.0 && pairs[2] == 2.0);
    const std::vector<double> v{1.0, 10.0, 100.0};
    double out[3];
    squared_product(D.data(), 3, 3, v.data(), 1, out);
    CHECK(out[0] == 3640.0 && out[1] == 1604.0 && out[2] == 196.0);
}

TEST(a_layout_is_the_same_on_any_number_of_threads) {
    constexpr Index n = 300;
    std::vector<Index> starts(n + 1);
    std::vector<Index> ends;
    for (Index i = 0; i < n; ++i) {  // a ring
        ends.push_back((i + n - 1) % n);
        ends.push_back((i + 1) % n);
        starts[static_cast<std::size_t>(i) + 1] = static_cast<Index>(ends.size());
    }
    const std::vector<double> weights(ends.size(), 1.0);
    const Graph graph{n, starts.data(), ends.data(), weights.data()};
    const std::vector<Index> all{0, 7, 150, 299};
    UmapRule rule;
    rule.epochs = 60;
    for (const Index d : {2, 3}) {
        const std::vector<double> start = check::numbers(n * d, 5);
        std::vector<double> found[2];
        for (const int threads : {1, 3}) {
            set_thread_count(threads);
            std::vector<double>& y = found[threads / 2] = start;
            umap_epochs(graph, d, y.data(), nullptr, 0, rule, 0, 60);
        }
        CHECK(found[0] == found[1]);
        const double before = umap_cross_entropy(graph, d, start.data(), rule.curve, 5.0, all.data(), 4);
        CHECK(umap_cross_entropy(graph, d, found[0].data(), rule.curve, 5.0, all.data(), 4) < before);
        // a point that is placed among fixed ones: the same with others and alone
        std::vector<double> some(start.begin(), start.begin() + 20 * d);
        umap_epochs({20, starts.data(), ends.data(), weights.data()}, d, some.data(), found[0].data(), n, rule, 0, 60);
        std::vector<double> one(start.begin(), start.begin() + d);
        umap_epochs({1, starts.data(), ends.data(), weights.data()}, d, one.data(), found[0].data(), n, rule, 0, 60);
        for (std::size_t c = 0; c < static_cast<std::size_t>(d); ++c) {
            CHECK(some[c] == one[c]);
        }
    }
}
