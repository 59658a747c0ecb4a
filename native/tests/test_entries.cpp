#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "check.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tables/entries.hpp"

using namespace qed;

namespace {

std::size_t place(Index i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

TEST(columns_are_looked_at) {
    auto x = check::numbers(7 * 5001);
    x[3] = x[9] = std::numeric_limits<double>::quiet_NaN();
    const auto s = check::numbers(5001, 4);
    std::vector<double> weights(s.size());
    for (std::size_t i = 0; i < s.size(); ++i) {
        weights[i] = s[i] + 0.5;
    }
    const Matrix layouts[] = {{x.data(), Kind::float64, 5001, 7, 7, 1}, {x.data(), Kind::float64, 5001, 7, 1, 5001}};
    for (const Matrix& from : layouts) {
        for (const double* w : {static_cast<const double*>(nullptr), static_cast<const double*>(weights.data())}) {
            std::vector<double> out(kLookRows * 7);
            std::vector<double> again(kLookRows * 7);
            set_thread_count(1);
            look_columns(from, w, out.data());
            set_thread_count(3);
            look_columns(from, w, again.data());
            CHECK(std::memcmp(out.data(), again.data(), out.size() * sizeof(double)) == 0);
            for (Index j = 0; j < 7; ++j) {
                double count = 0.0;
                double weight = 0.0;
                double sum = 0.0;
                double low = std::numeric_limits<double>::infinity();
                double high = -low;
                for (Index i = 0; i < 5001; ++i) {
                    const double value = *from.at<double>(i, j);
                    if (value == value) {
                        const double own = w == nullptr ? 1.0 : w[i];
                        count += 1.0;
                        weight += own;
                        sum += own * value;
                        low = std::min(low, value);
                        high = std::max(high, value);
                    }
                }
                double scatter = 0.0;
                for (Index i = 0; i < 5001; ++i) {
                    const double value = *from.at<double>(i, j);
                    if (value == value) {
                        scatter += (w == nullptr ? 1.0 : w[i]) * (value - sum / weight) * (value - sum / weight);
                    }
                }
                CHECK(out[place(j)] == count);
                CHECK(check::near(out[place(7 + j)], weight, weight));
                CHECK(check::near(out[place(14 + j)], sum / weight));
                CHECK(check::near(out[place(21 + j)], scatter, 10.0 * scatter));
                CHECK(out[place(28 + j)] == low);
                CHECK(out[place(35 + j)] == high);
            }
        }
    }
    set_thread_count(1);
}

TEST(columns_are_moved_and_cut_off) {
    const auto x = check::numbers(5 * 1000);
    const double first[] = {0.5, -1.0, 0.0, 2.0, 0.25};
    const double second[] = {2.0, 0.5, 1.0, -3.0, 4.0};
    const Matrix from{x.data(), Kind::float64, 1000, 5, 5, 1};
    std::vector<double> out(x.size());
    for (const bool divides : {true, false}) {
        for (const bool clips : {true, false}) {
            move_columns(from, {first, second, divides, clips, -0.1, 0.2}, {out.data(), 1, 1000});
            for (Index i = 0; i < 1000; ++i) {
                for (Index j = 0; j < 5; ++j) {
                    const double value = x[place(5 * i + j)];
                    double want = divides ? (value - first[j]) / second[j] : value * second[j] + first[j];
                    want = clips ? std::min(std::max(want, -0.1), 0.2) : want;
                    CHECK(out[place(1000 * j + i)] == want);
                }
            }
        }
    }
}

TEST(monomials_are_products_of_columns) {
    const auto x = check::numbers(3 * 700);
    // degree two with ones: 1, a, b, c, aa, ab, ac, bb, bc, cc; a run multiplies what stands from its source on by one
    // column
    const Run runs[] = {{4, 1, 3, 0}, {7, 2, 2, 1}, {9, 3, 1, 2}};
    std::vector<double> out(10 * 700);
    monomials({x.data(), Kind::float64, 700, 3, 3, 1}, runs, 3, 1, out.data(), 10);
    for (Index i = 0; i < 700; ++i) {
        const double* row = x.data() + 3 * i;
        const double want[] = {1.0,
                               row[0],
                               row[1],
                               row[2],
                               row[0] * row[0],
                               row[0] * row[1],
                               row[0] * row[2],
                               row[1] * row[1],
                               row[1] * row[2],
                               row[2] * row[2]};
        for (Index j = 0; j < 10; ++j) {
            CHECK(out[place(10 * i + j)] == want[j]);
        }
    }
}

TEST(words_are_numbered_as_they_appear) {
    const Index n = 5000;
    const Index width = 6;
    std::vector<std::uint8_t> words(place(n * width));
    const auto draws = check::numbers(n, 8);
    std::map<std::string, std::int32_t> known;
    std::vector<std::int32_t> want(place(n));
    std::vector<Index> firsts;
    for (Index i = 0; i < n; ++i) {
        const int number = static_cast<int>((draws[place(i)] + 0.5) * 300.0);
        std::string word(place(width), '\0');
        word[0] = static_cast<char>('a' + number / 26);
        word[1] = static_cast<char>('a' + number % 26);
        std::memcpy(words.data() + i * width, word.data(), place(width));
        const auto found = known.try_emplace(word, static_cast<std::int32_t>(known.size()));
        if (found.second) {
            firsts.push_back(i);
        }
        want[place(i)] = found.first->second;
    }
    std::vector<std::int32_t> codes(place(n));
    std::vector<Index> seen(place(n));
    const Index count = number_words(words.data(), n, width, width, codes.data(), seen.data());
    CHECK(count == static_cast<Index>(known.size()));
    CHECK(codes == want);
    seen.resize(place(count));
    CHECK(seen == firsts);
}

TEST(hashes_are_those_of_the_published_function) {
    // MurmurHash3_x86_32 with seed 0 of "", "a", "hello", "hello, world": values that its reference implementation
    // gives
    const std::string text = "ahellohello, world";
    const Index ends[] = {0, 1, 6, 18};
    std::int32_t out[4];
    hash_words(reinterpret_cast<const std::uint8_t*>(text.data()), ends, 4, out);
    CHECK(static_cast<std::uint32_t>(out[0]) == 0U);
    CHECK(static_cast<std::uint32_t>(out[1]) == 0x3c2569b2U);
    CHECK(static_cast<std::uint32_t>(out[2]) == 0x248bfa47U);
    CHECK(static_cast<std::uint32_t>(out[3]) == 0x149bbb7fU);
}
