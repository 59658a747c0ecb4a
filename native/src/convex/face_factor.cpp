#include "qed/convex/face_factor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace qed {
namespace {

/// A pivot below this share of its diagonal entry is rounding: the column depends on those before it. It is given this
/// much length of its own, which picks one of many minima; steps remain downhill, and gradients remain true.
constexpr double kDependent = 1e-12;
/// Rows of the factor that are met together, so that what they change is read and written once for all of them.
constexpr Index kTogether = 4;

/// Subtracts what kTogether rows of the factor, already solved for, leave in the entries after them, for Sides right sides.
template <int Sides>
void clear_rows(const double* __restrict from, Index stride, double* __restrict to, Index apart, Index count) noexcept {
    double y[Sides][kTogether];
    for (int s = 0; s < Sides; ++s) {
        for (Index i = 0; i < kTogether; ++i) {
            y[s][i] = to[s * apart + i - kTogether];
        }
    }
    for (Index j = 0; j < count; ++j) {
        const double a[kTogether] = {from[j], from[stride + j], from[2 * stride + j], from[3 * stride + j]};
#pragma GCC unroll 4
        for (int s = 0; s < Sides; ++s) {
            to[s * apart + j] -= (a[0] * y[s][0] + a[1] * y[s][1]) + (a[2] * y[s][2] + a[3] * y[s][3]);
        }
    }
}

/// Solves uᵀ x = b for `count` right sides, each contiguous; x overwrites b.
void solve_transposed(const double* u, Index stride, Index size, double* b, Index count) noexcept {
    constexpr int kSides = 3;
    for (Index first = 0; first < size; first += kTogether) {
        const Index rows = std::min(kTogether, size - first);
        const double* const top = u + first * stride + first;
        for (Index c = 0; c < count; ++c) {
            double* const x = b + c * size + first;
            for (Index i = 0; i < rows; ++i) {
                double value = x[i];
                for (Index k = 0; k < i; ++k) {
                    value -= top[k * stride + i] * x[k];
                }
                x[i] = value / top[i * stride + i];
            }
        }
        const Index after = size - first - kTogether;
        const double* const from = top + kTogether;
        double* const to = b + first + kTogether;
        Index c = 0;
        for (; after > 0 && c + kSides <= count; c += kSides) {
            clear_rows<kSides>(from, stride, to + c * size, size, after);
        }
        for (; after > 0 && c < count; ++c) {
            clear_rows<1>(from, stride, to + c * size, size, after);
        }
    }
}

/// Solves u x = b; x overwrites b.
void solve_upper(const double* u, Index stride, Index size, double* x) noexcept {
    constexpr int lanes = kLanes<double>;
    for (Index first = (size - 1) / kTogether * kTogether; first >= 0; first -= kTogether) {
        const Index rows = std::min(kTogether, size - first);
        const double* const top = u + first * stride;
        double sums[kTogether] = {};
        Index j = first + rows;
        if (rows == kTogether) {
            Vector<double> total[kTogether][2] = {};
            for (; j + 2 * lanes <= size; j += 2 * lanes) {
                const Vector<double> one = load(x + j);
                const Vector<double> two = load(x + j + lanes);
                for (Index i = 0; i < kTogether; ++i) {
                    total[i][0] += load(top + i * stride + j) * one;
                    total[i][1] += load(top + i * stride + j + lanes) * two;
                }
            }
            for (Index i = 0; i < kTogether; ++i) {
                sums[i] = sum_lanes(total[i][0] + total[i][1]);
            }
        }
        for (; j < size; ++j) {
            for (Index i = 0; i < rows; ++i) {
                sums[i] += top[i * stride + j] * x[j];
            }
        }
        for (Index i = rows - 1; i >= 0; --i) {
            double value = x[first + i] - sums[i];
            for (Index k = i + 1; k < rows; ++k) {
                value -= top[i * stride + first + k] * x[first + k];
            }
            x[first + i] = value / top[i * stride + first + i];
        }
    }
}

}  // namespace

bool FaceFactor::follow(const Quadratic& quadratic, double ridge, const double* w) {
    if (ridge != ridge_) {  // every entry of the diagonal differs
        index_.clear();
        inside_.clear();
        ridge_ = ridge;
    }
    inside_.resize(at(quadratic.size), 0);
    std::vector<Index> gone;
    for (Index a = 0; a < size(); ++a) {
        if (w[index_[at(a)]] == 0.0) {
            gone.push_back(a);
        }
    }
    leave(gone);
    std::vector<Index> fresh;
    for (Index j = 0; j < quadratic.size; ++j) {
        if (w[j] != 0.0 && inside_[at(j)] == 0) {
            fresh.push_back(j);
        }
    }
    return join(quadratic, fresh);
}

void FaceFactor::reserve(Index size) {
    if (size <= stride_) {
        return;
    }
    const Index wider = size + size / 2 + 16;
    Numbers moved(at(wider * wider));
    const Index old = this->size();
    for (Index a = 0; a < old; ++a) {
        std::copy_n(row(a) + a, old - a, moved.data() + a * wider + a);
    }
    u_ = std::move(moved);
    stride_ = wider;
}

bool FaceFactor::join(const Quadratic& quadratic, const std::vector<Index>& fresh) {
    const Index old = size();
    const Index count = static_cast<Index>(fresh.size());
    reserve(old + count);
    Numbers columns(at(old * count));
    for (Index c = 0; c < count; ++c) {
        const double* from = quadratic.gram + fresh[at(c)] * quadratic.stride;
        for (Index a = 0; a < old; ++a) {
            columns[at(c * old + a)] = from[index_[at(a)]];
        }
    }
    solve_transposed(u_.data(), stride_, old, columns.data(), count);
    for (Index a = 0; a < old; ++a) {
        for (Index c = 0; c < count; ++c) {
            row(a)[old + c] = columns[at(c * old + a)];
        }
    }
    std::vector<char> depends(at(count), 0);
    for (Index c = 0; c < count; ++c) {
        const double* from = quadratic.gram + fresh[at(c)] * quadratic.stride;
        const double* mine = columns.data() + c * old;
        double rest = from[fresh[at(c)]] + ridge_;
        const double least = std::max(kDependent * rest, 1e-300);
        rest -= dot(mine, mine, old);
        for (Index b = 0; b < c; ++b) {
            if (depends[at(b)] != 0) {  // it leaves nothing to the others but rounding, which would grow from row to row
                row(old + b)[old + c] = 0.0;
                continue;
            }
            double entry = from[fresh[at(b)]] - dot(columns.data() + b * old, mine, old);
            for (Index k = 0; k < b; ++k) {
                entry -= row(old + k)[old + b] * row(old + k)[old + c];
            }
            entry /= row(old + b)[old + b];
            row(old + b)[old + c] = entry;
            rest -= entry * entry;
        }
        depends[at(c)] = rest > least ? 0 : 1;
        row(old + c)[old + c] = depends[at(c)] != 0 ? std::sqrt(least) : std::sqrt(rest);
        index_.push_back(fresh[at(c)]);
        inside_[at(fresh[at(c)])] = 1;
    }
    return std::find(depends.begin(), depends.end(), 1) == depends.end();
}

/// What is left when some columns are taken out: row r begins as many columns earlier as have gone before it.
void FaceFactor::close_columns(const std::vector<Index>& gone) noexcept {
    for (Index a = 0; a < size(); ++a) {
        const auto next = std::lower_bound(gone.begin(), gone.end(), a);
        Index to = a - (next - gone.begin());
        Index from = a;
        for (auto here = next; from < size(); ++here) {
            const Index end = here == gone.end() ? size() : *here;
            std::copy(row(a) + from, row(a) + end, row(a) + to);
            to += end - from;
            from = end + 1;
        }
    }
}

/// Rotates row j with each of the rows after it, to `last`, so that they are zero in column j.
void FaceFactor::rotate_rows(Index j, Index last) noexcept {
    const Index columns = size();
    for (Index r = j + 1; r <= last; ++r) {
        double* __restrict one = row(j);
        double* __restrict two = row(r);
        const double length = std::hypot(one[j], two[j]);
        if (!(length > 0.0)) {
            continue;
        }
        const double c = one[j] / length;
        const double s = two[j] / length;
        for (Index k = j; k < columns; ++k) {
            const double above = one[k];
            one[k] = c * above + s * two[k];
            two[k] = c * two[k] - s * above;
        }
        one[j] = length;
    }
}

void FaceFactor::leave(const std::vector<Index>& gone) {
    if (gone.empty()) {
        return;
    }
    close_columns(gone);
    const Index rows = size();
    for (auto a = gone.rbegin(); a != gone.rend(); ++a) {
        inside_[at(index_[at(*a)])] = 0;
        index_.erase(index_.begin() + *a);
    }
    Index last = gone.front();  // the last row that is not zero in column j
    std::size_t before = 0;     // how many went before that row
    for (Index j = gone.front(); j < size(); ++j) {
        while (last + 1 < rows) {
            const std::size_t more = before + (before < gone.size() && gone[before] < last + 1 ? 1 : 0);
            if (last + 1 - static_cast<Index>(more) > j) {
                break;
            }
            before = more;
            ++last;
        }
        rotate_rows(j, last);
    }
}

Numbers FaceFactor::solved(const Numbers& pull) const {
    Numbers d = pull;
    solve_transposed(u_.data(), stride_, size(), d.data(), 1);
    solve_upper(u_.data(), stride_, size(), d.data());
    return d;
}

}  // namespace qed
