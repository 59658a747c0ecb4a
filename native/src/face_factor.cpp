#include "qed/face_factor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace qed {
namespace {

/// A pivot below this share of its diagonal entry is rounding: the column depends on those before it. It is given this
/// much length of its own, which picks one of many minima; steps remain downhill, and gradients remain true.
constexpr double kDependent = 1e-12;
/// Rows that are rotated together, so that one need not wait for the other.
constexpr Index kTogether = 8;

/// Solves l x = b for `count` right sides, rows of the same stride; x overwrites b. The factor is read once for all.
void solve_rows(const double* l, Index stride, Index size, double* b, Index count) noexcept {
    for (Index a = 0; a < size; ++a) {
        const double* from = l + a * stride;
        for (Index c = 0; c < count; ++c) {
            double* x = b + c * stride;
            x[a] = (x[a] - dot(from, x, a)) / from[a];
        }
    }
}

}  // namespace

void FaceFactor::follow(const Quadratic& quadratic, double ridge, const double* w) {
    if (ridge != ridge_) {  // every entry of the diagonal differs
        index_.clear();
        inside_.clear();
        ridge_ = ridge;
    }
    inside_.resize(at(quadratic.size), 0);
    for (Index a = size() - 1; a >= 0; --a) {
        if (w[index_[at(a)]] == 0.0) {
            leave(a);
        }
    }
    std::vector<Index> fresh;
    for (Index j = 0; j < quadratic.size; ++j) {
        if (w[j] != 0.0 && inside_[at(j)] == 0) {
            fresh.push_back(j);
        }
    }
    join(quadratic, fresh);
}

void FaceFactor::reserve(Index size) {
    if (size <= stride_) {
        return;
    }
    const Index wider = size + size / 4 + 16;
    Numbers moved(at(wider * wider));
    for (Index a = 0; a < this->size(); ++a) {
        std::copy_n(row(a), a + 1, moved.data() + a * wider);
    }
    l_ = std::move(moved);
    stride_ = wider;
}

void FaceFactor::join(const Quadratic& quadratic, const std::vector<Index>& fresh) {
    const Index old = size();
    const Index count = static_cast<Index>(fresh.size());
    reserve(old + count);
    for (Index c = 0; c < count; ++c) {
        const double* from = quadratic.gram + fresh[at(c)] * quadratic.stride;
        for (Index a = 0; a < old; ++a) {
            row(old + c)[a] = from[index_[at(a)]];
        }
    }
    solve_rows(l_.data(), stride_, old, row(old), count);
    for (Index c = 0; c < count; ++c) {
        const double* from = quadratic.gram + fresh[at(c)] * quadratic.stride;
        double* to = row(old + c);
        for (Index b = 0; b < c; ++b) {
            to[old + b] = (from[fresh[at(b)]] - dot(row(old + b), to, old + b)) / row(old + b)[old + b];
        }
        const double length = from[fresh[at(c)]] + ridge_;
        const double rest = length - dot(to, to, old + c);
        to[old + c] = std::sqrt(std::max(rest, std::max(kDependent * length, 1e-300)));
        index_.push_back(fresh[at(c)]);
        inside_[at(fresh[at(c)])] = 1;
    }
}

void FaceFactor::leave(Index gone) {
    inside_[at(index_[at(gone)])] = 0;
    index_.erase(index_.begin() + gone);
    const Index rest = size() - gone;  // rows below; what they lose in column `gone` is rotated into the columns after it
    Numbers cosine(at(rest));
    Numbers sine(at(rest));
    for (Index first = 0; first < rest; first += kTogether) {
        const Index count = std::min(kTogether, rest - first);
        double lost[kTogether];
        double* rows[kTogether];
        for (Index r = 0; r < kTogether; ++r) {
            rows[r] = row(gone + 1 + first + std::min(r, count - 1)) + gone;
            lost[r] = rows[r][0];
        }
        for (Index j = 0; j < first; ++j) {
            const double c = cosine[at(j)];
            const double s = sine[at(j)];
            for (Index r = 0; r < count; ++r) {
                const double entry = rows[r][j + 1];
                rows[r][j] = c * entry + s * lost[r];
                lost[r] = c * lost[r] - s * entry;
            }
        }
        for (Index r = 0; r < count; ++r) {
            for (Index j = first; j < first + r; ++j) {
                const double entry = rows[r][j + 1];
                rows[r][j] = cosine[at(j)] * entry + sine[at(j)] * lost[r];
                lost[r] = cosine[at(j)] * lost[r] - sine[at(j)] * entry;
            }
            const Index j = first + r;
            const double entry = rows[r][j + 1];
            const double length = std::hypot(entry, lost[r]);
            cosine[at(j)] = entry / length;
            sine[at(j)] = lost[r] / length;
            rows[r][j] = length;
        }
    }
    // the rows have lost a column; now they close the gap that the row has left
    for (Index a = gone; a < size(); ++a) {
        std::copy_n(row(a + 1), a + 1, row(a));
    }
}

Numbers FaceFactor::solved(const Numbers& pull) const {
    Numbers d = pull;
    solve_rows(l_.data(), stride_, size(), d.data(), 1);
    for (Index a = size() - 1; a >= 0; --a) {
        d[at(a)] /= row(a)[a];
        add_scaled(row(a), -d[at(a)], d.data(), a);
    }
    return d;
}

}  // namespace qed
