#include "qed/factors/codes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr double kDependent = 1e-14;  // of its square: what is left of an atom that others make up
constexpr Index kBlock = 64;  // rows of a block: a fraction of a millisecond for dozens of entries, and shared evenly

Index blocks_of(Index rows) noexcept {
    return (rows + kBlock - 1) / kBlock;
}

/// One coordinate: the minimiser of a w² / 2 - b w + lasso |w|.
double shrunk(double b, double lasso, double a, bool positive) noexcept {
    if (b > lasso) {
        return (b - lasso) / a;
    }
    return positive || b >= -lasso ? 0.0 : (b + lasso) / a;
}

/// The slope of the squares: G w - p.
void find_slope(const CodeProblem& problem, const double* right, const double* w, double* slope) noexcept {
    const Index k = problem.width;
    for (Index l = 0; l < k; ++l) {
        slope[l] = -right[l];
    }
    for (Index j = 0; j < k; ++j) {
        if (w[j] != 0.0) {
            const double* column = problem.gram + j * k;
            for (Index l = 0; l < k; ++l) {
                slope[l] += w[j] * column[l];
            }
        }
    }
}

/// The objective of a row whose slope is known.
double value_of(const CodeProblem& problem, const double* right, const double* w, const double* slope) noexcept {
    double value = 0.0;
    for (Index l = 0; l < problem.width; ++l) {
        value += w[l] * (0.5 * (slope[l] - right[l] + problem.ridge * w[l]) + (w[l] > 0.0 ? problem.lasso : -problem.lasso));
    }
    return value;
}

/// What the entries of a row gain when each alone goes to its best place, summed.
double single_steps(const CodeProblem& problem, const double* w, const double* slope) noexcept {
    double gain = 0.0;
    for (Index l = 0; l < problem.width; ++l) {
        const double own = problem.gram[l * problem.width + l];
        const double a = own + problem.ridge;
        if (a > 0.0) {
            const double after = shrunk(own * w[l] - slope[l], problem.lasso, a, problem.positive);
            const double step = w[l] - after;
            const double fall = (slope[l] + problem.ridge * w[l]) * step - 0.5 * a * step * step +
                                problem.lasso * (std::abs(w[l]) - std::abs(after));
            gain += std::max(fall, 0.0);
        }
    }
    return gain;
}

/// One sweep over the coordinates of a row; what it gains. `slope` (k,) holds G w - p on entry and changes with w.
double sweep(const CodeProblem& problem, double* w, double* slope) noexcept {
    const Index k = problem.width;
    double gained = 0.0;
    for (Index j = 0; j < k; ++j) {
        const double* column = problem.gram + j * k;
        const double a = column[j] + problem.ridge;
        if (!(a > 0.0)) {
            w[j] = 0.0;  // an entry that nothing depends on
            continue;
        }
        const double before = w[j];
        const double after = shrunk(column[j] * before - slope[j], problem.lasso, a, problem.positive);
        const double step = after - before;
        if (step != 0.0) {
            w[j] = after;
            for (Index l = 0; l < k; ++l) {
                slope[l] += step * column[l];
            }
            gained += 0.5 * a * step * step;
        }
    }
    return gained;
}

/// Newton steps within the face of the entries that are not zero: with their signs held the objective is a quadratic there.
/// Sweeps alone take as many rounds as the atoms are alike; these steps do not depend on it.
class FaceSteps {
  public:
    explicit FaceSteps(Index width) : slope_(size(width)), step_(size(width)), face_(size(width)) {}

    double* slope() noexcept { return slope_.data(); }

    /// Moves w to the least point of its face, leaving the face where an entry reaches zero on the way; what it gains.
    double run(const CodeProblem& problem, const double* right, double* w) {
        factor_.resize(size((problem.width + 1) * problem.width));  // few rows need it
        double gained = 0.0;
        for (Index round = 0; round < 2 * problem.width; ++round) {
            Index dependent = -1;
            const Index count = factorise(problem, w, dependent);
            if (dependent >= 0) {
                const double fall = leave(problem, w, count, dependent);
                if (fall > 0.0) {
                    gained += fall;
                    find_slope(problem, right, w, slope_.data());
                    continue;
                }
            }
            const double fall = solve(problem, w, count);
            if (!(fall > 0.0)) {
                break;
            }
            const double share = advance(w, count);
            gained += fall * (share - 0.5 * share * share);
            find_slope(problem, right, w, slope_.data());
            if (share == 1.0) {
                break;
            }
        }
        return gained;
    }

  private:
    static std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }
    [[nodiscard]] Index face(Index s) const noexcept { return face_[size(s)]; }
    double& at(const CodeProblem& problem, Index i, Index j) noexcept { return factor_[size(i * problem.width + j)]; }

    /// Cholesky factor over the entries of the face. The first that depends on those before it is told, with its row behind
    /// the factor; such entries are left out.
    Index factorise(const CodeProblem& problem, const double* w, Index& dependent) noexcept {
        Index count = 0;
        for (Index next = 0; next < problem.width; ++next) {
            if (w[next] == 0.0) {
                continue;
            }
            const double* row = problem.gram + next * problem.width;
            double rest = row[next] + problem.ridge;
            for (Index i = 0; i < count; ++i) {
                double sum = row[face(i)];
                for (Index j = 0; j < i; ++j) {
                    sum -= at(problem, i, j) * at(problem, count, j);
                }
                at(problem, count, i) = sum / at(problem, i, i);
                rest -= at(problem, count, i) * at(problem, count, i);
            }
            if (rest > kDependent * row[next]) {
                at(problem, count, count) = std::sqrt(rest);
                face_[size(count++)] = next;
            } else if (dependent < 0) {
                if (leaves(problem, w, count, next)) {
                    dependent = next;
                    return count;
                }
            }
        }
        return count;
    }

    /// Finds the direction along which an entry and those that it depends on change nothing but the penalty.
    bool leaves(const CodeProblem& problem, const double* w, Index count, Index dependent) noexcept {
        for (Index i = count - 1; i >= 0; --i) {
            double sum = at(problem, count, i);
            for (Index j = i + 1; j < count; ++j) {
                sum += at(problem, j, i) * step_[size(j)];
            }
            step_[size(i)] = -sum / at(problem, i, i);
        }
        tilt_ = w[dependent] > 0.0 ? 1.0 : -1.0;
        double terms = 1.0;
        for (Index i = 0; i < count; ++i) {
            tilt_ += (w[face(i)] > 0.0 ? 1.0 : -1.0) * step_[size(i)];
            terms += std::abs(step_[size(i)]);
        }
        return problem.lasso > 0.0 && std::abs(tilt_) > 1e-9 * terms;
    }

    /// Goes along that direction, downhill, until an entry reaches zero; what it gains.
    double leave(const CodeProblem& problem, double* w, Index count, Index dependent) const noexcept {
        const double way = tilt_ > 0.0 ? -1.0 : 1.0;
        Index first = -1;
        double length = 0.0;
        const auto look = [&](Index s, double here, double by) {
            if (here * by < 0.0 && (first < 0 || -here / by < length)) {
                length = -here / by;
                first = s;
            }
        };
        look(count, w[dependent], way);
        for (Index s = 0; s < count; ++s) {
            look(s, w[face(s)], way * step_[size(s)]);
        }
        if (first < 0) {
            return 0.0;
        }
        for (Index s = 0; s < count; ++s) {
            w[face(s)] = s == first ? 0.0 : w[face(s)] + way * length * step_[size(s)];
        }
        w[dependent] = first == count ? 0.0 : w[dependent] + way * length;
        return problem.lasso * length * std::abs(tilt_);
    }

    /// The step to the least point of the face; minus the derivative along it.
    double solve(const CodeProblem& problem, const double* w, Index count) noexcept {
        double fall = 0.0;
        for (Index i = 0; i < count; ++i) {
            const Index l = face(i);
            double sum = -slope_[size(l)] - problem.ridge * w[l] - (w[l] > 0.0 ? problem.lasso : -problem.lasso);
            for (Index j = 0; j < i; ++j) {
                sum -= at(problem, i, j) * step_[size(j)];
            }
            step_[size(i)] = sum / at(problem, i, i);
            fall += step_[size(i)] * step_[size(i)];
        }
        for (Index i = count - 1; i >= 0; --i) {
            double sum = step_[size(i)];
            for (Index j = i + 1; j < count; ++j) {
                sum -= at(problem, j, i) * step_[size(j)];
            }
            step_[size(i)] = sum / at(problem, i, i);
        }
        return fall;
    }

    /// Goes along the step as far as signs stay; the share of it that was taken.
    double advance(double* w, Index count) const noexcept {
        double share = 1.0;
        Index first = -1;
        for (Index s = 0; s < count; ++s) {
            const double here = w[face(s)];
            const double by = step_[size(s)];
            if ((here > 0.0) != (here + by > 0.0) && -here / by < share) {
                share = -here / by;
                first = s;
            }
        }
        for (Index s = 0; s < count; ++s) {
            w[face(s)] = s == first ? 0.0 : w[face(s)] + share * step_[size(s)];
        }
        return share;
    }

    std::vector<double> slope_;
    std::vector<double> factor_;
    std::vector<double> step_;
    std::vector<Index> face_;
    double tilt_ = 0.0;  ///< what the penalty rises by along the direction of a dependent entry, over the lasso
};

constexpr Index kSweepsOfAFace = 32;  // after so many without rest the face is solved: far fewer than a slow row needs

/// Sweeps over one row, whose slope is known, from where it stands; true if it came to rest: neither a sweep nor the steps of
/// its face gain more than `enough`. Small gains of sweeps alone say nothing about directions in which they are slow.
bool code_row(const CodeProblem& problem, const double* right, double enough, Index sweeps, double* w, FaceSteps& steps) {
    double before = 0.0;
    for (Index round = 0; round < sweeps; ++round) {
        const double gained = sweep(problem, w, steps.slope());
        if (gained == 0.0) {
            return true;
        }
        const bool is_small = gained <= enough;
        const bool is_slow = (round + 1) % kSweepsOfAFace == 0 && gained > 0.5 * before;
        if ((is_small || is_slow) && steps.run(problem, right, w) <= enough && is_small) {
            return true;
        }
        before = gained;
    }
    return false;
}

/// A growing Cholesky factor of the chosen entries, and solutions with it.
class Pursuit {
  public:
    Pursuit(const CodeProblem& problem, Index most)
        : problem_(problem),
          most_(most),
          factor_(static_cast<std::size_t>(most * most)),
          half_(static_cast<std::size_t>(most)),
          value_(static_cast<std::size_t>(most)),
          chosen_(static_cast<std::size_t>(most)),
          slope_(static_cast<std::size_t>(problem.width)) {}

    void run(const double* right, double square, double tolerance, double* w) {
        const Index k = problem_.width;
        std::copy_n(right, k, slope_.data());
        std::fill_n(w, k, 0.0);
        Index count = 0;
        double left = square;
        while (count < most_ && left > tolerance) {
            const Index next = strongest(count);
            if (next < 0 || !grow(next, count, right)) {
                break;
            }
            left = square - squared_half(++count);
            solve(count);
            for (Index l = 0; l < k; ++l) {
                slope_[static_cast<std::size_t>(l)] = right[l];
            }
            for (Index s = 0; s < count; ++s) {
                const double* row = problem_.gram + chosen(s) * k;
                const double by = value_[static_cast<std::size_t>(s)];
                for (Index l = 0; l < k; ++l) {
                    slope_[static_cast<std::size_t>(l)] -= by * row[l];
                }
            }
        }
        for (Index s = 0; s < count; ++s) {
            w[chosen(s)] = value_[static_cast<std::size_t>(s)];
        }
    }

  private:
    [[nodiscard]] Index chosen(Index s) const noexcept { return chosen_[static_cast<std::size_t>(s)]; }
    [[nodiscard]] double& at(Index i, Index j) noexcept { return factor_[static_cast<std::size_t>(i * most_ + j)]; }

    [[nodiscard]] Index strongest(Index count) const noexcept {
        Index best = -1;
        double size = 0.0;
        for (Index l = 0; l < problem_.width; ++l) {
            const double here = std::abs(slope_[static_cast<std::size_t>(l)]);
            if (here > size && std::find(chosen_.begin(), chosen_.begin() + count, l) == chosen_.begin() + count) {
                best = l;
                size = here;
            }
        }
        return best;
    }

    bool grow(Index next, Index count, const double* right) noexcept {
        const double* row = problem_.gram + next * problem_.width;
        double rest = row[next];
        double half = right[next];
        for (Index i = 0; i < count; ++i) {
            double sum = row[chosen(i)];
            for (Index j = 0; j < i; ++j) {
                sum -= at(i, j) * at(count, j);
            }
            at(count, i) = sum / at(i, i);
            rest -= at(count, i) * at(count, i);
            half -= at(count, i) * half_[static_cast<std::size_t>(i)];
        }
        if (!(rest > 1e-14 * row[next])) {
            return false;
        }
        at(count, count) = std::sqrt(rest);
        half_[static_cast<std::size_t>(count)] = half / at(count, count);
        chosen_[static_cast<std::size_t>(count)] = next;
        return true;
    }

    [[nodiscard]] double squared_half(Index count) const noexcept {
        double sum = 0.0;
        for (Index i = 0; i < count; ++i) {
            sum += half_[static_cast<std::size_t>(i)] * half_[static_cast<std::size_t>(i)];
        }
        return sum;
    }

    void solve(Index count) noexcept {
        for (Index i = count - 1; i >= 0; --i) {
            double sum = half_[static_cast<std::size_t>(i)];
            for (Index j = i + 1; j < count; ++j) {
                sum -= at(j, i) * value_[static_cast<std::size_t>(j)];
            }
            value_[static_cast<std::size_t>(i)] = sum / at(i, i);
        }
    }

    const CodeProblem& problem_;
    Index most_;
    std::vector<double> factor_;
    std::vector<double> half_;
    std::vector<double> value_;
    std::vector<Index> chosen_;
    std::vector<double> slope_;
};

}  // namespace

CodeTally code_rows(const CodeProblem& problem, const double* enough, Index sweeps, double* w) {
    const Index k = problem.width;
    const double work = static_cast<double>(problem.rows) * static_cast<double>(k) * static_cast<double>(k);
    const Effort effort(4.0 * work);
    std::vector<CodeTally> parts(static_cast<std::size_t>(blocks_of(problem.rows)), CodeTally{0, 0.0, 0.0});
    parallel_for(blocks_of(problem.rows), [&](Index block) {
        FaceSteps steps(k);
        CodeTally part{0, 0.0, 0.0};
        const Index end = std::min(problem.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < end; ++i) {
            const double* right = problem.right + i * k;
            double* row = w + i * k;
            find_slope(problem, right, row, steps.slope());
            part.gain += single_steps(problem, row, steps.slope());
            part.unfinished += code_row(problem, right, enough[i], sweeps, row, steps) ? 0 : 1;
            part.value += value_of(problem, right, row, steps.slope());
        }
        parts[static_cast<std::size_t>(block)] = part;
    });
    CodeTally all{0, 0.0, 0.0};
    for (const CodeTally& part : parts) {
        all = {all.unfinished + part.unfinished, all.value + part.value, all.gain + part.gain};
    }
    return all;
}

void pursue_rows(const CodeProblem& problem, const double* squares, Index most, double tolerance, double* w) {
    const Index k = problem.width;
    const Effort effort(4.0 * static_cast<double>(problem.rows) * static_cast<double>(k) * static_cast<double>(most));
    parallel_for(blocks_of(problem.rows), [&](Index block) {
        Pursuit pursuit(problem, most);
        const Index end = std::min(problem.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < end; ++i) {
            pursuit.run(problem.right + i * k, squares[i], tolerance, w + i * k);
        }
    });
}

}  // namespace qed
