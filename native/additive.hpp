// Steps of additive models: sums of gradient and curvature per cell of a term, and the values that minimise them with a
// smoothness penalty. A cell is a bin of one column, or a pair of bins of two columns.
#pragma once

#include <cmath>

#include "elementary.hpp"
#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kAdditiveBlock = 256;   // rows whose gradients are computed before they are added to cells
constexpr double kLeastCurvature = 1e-5;  // of a row of weight 1 whose class is certain
constexpr double kLongestStep = 2.0;      // of a value of a nonlinear model: far steps of Newton's method diverge

inline index_t cell_of(const TermCells& term, index_t row) {
    const index_t left = term.left_cell[term.left[row]];
    return term.right == nullptr ? left : left + term.right_cell[term.right[row]];
}

// Gradient and curvature of the log-likelihood of rows begin to end - 1, (rows, t) each, by the linear predictors.
inline void additive_gradient(const AdditiveRows& data, index_t begin, index_t end, double* __restrict g,
                              double* __restrict h) {
    const index_t count = end - begin, t = data.predictors;
    const double* __restrict y = data.target + begin;
    const double* __restrict z = data.scores + begin * t;
    switch (data.family) {
        case AdditiveRows::gaussian:
            for (index_t i = 0; i < count; ++i) {
                g[i] = y[i] - z[i];
                h[i] = 1.0;
            }
            break;
        case AdditiveRows::bernoulli:
            for (index_t i = 0; i < count; ++i) {
                const double p = 1.0 / (1.0 + exponential(-z[i])), v = p * (1.0 - p);
                g[i] = y[i] - p;
                h[i] = v > kLeastCurvature ? v : kLeastCurvature;
            }
            break;
        case AdditiveRows::tweedie: {
            const double one = 1.0 - data.power, two = 2.0 - data.power;
            for (index_t i = 0; i < count; ++i) {
                const double v = exponential(two * z[i]);
                g[i] = y[i] * exponential(one * z[i]) - v;
                h[i] = v;
            }
            break;
        }
        case AdditiveRows::softmax:
            for (index_t i = 0; i < count; ++i) {
                const double* __restrict row = z + i * t;
                double *__restrict gi = g + i * t, *__restrict hi = h + i * t;
                double largest = row[0], sum = 0.0;
                for (index_t k = 1; k < t; ++k) largest = row[k] > largest ? row[k] : largest;
                for (index_t k = 0; k < t; ++k) gi[k] = exponential(row[k] - largest);
                for (index_t k = 0; k < t; ++k) sum += gi[k];
                const double inverse = 1.0 / sum;
                for (index_t k = 0; k < t; ++k) {
                    const double p = gi[k] * inverse, v = p * (1.0 - p);
                    gi[k] = -p;
                    hi[k] = v > kLeastCurvature ? v : kLeastCurvature;
                }
                gi[static_cast<index_t>(y[i])] += 1.0;
            }
            break;
    }
    if (data.weight == nullptr) return;
    for (index_t i = 0; i < count; ++i) {
        for (index_t k = 0; k < t; ++k) {
            g[i * t + k] *= data.weight[begin + i];
            h[i * t + k] *= data.weight[begin + i];
        }
    }
}

// Minus the log-likelihood of rows begin to end - 1, up to a constant.
inline double additive_loss(const AdditiveRows& data, index_t begin, index_t end) {
    const index_t t = data.predictors;
    double total = 0.0;
    for (index_t i = begin; i < end; ++i) {
        const double *z = data.scores + i * t, y = data.target[i];
        double loss = 0.0;
        switch (data.family) {
            case AdditiveRows::gaussian: loss = 0.5 * (y - z[0]) * (y - z[0]); break;
            case AdditiveRows::bernoulli: {
                const double against = y > 0.5 ? -z[0] : z[0];
                loss = against > 0 ? against + std::log1p(std::exp(-against)) : std::log1p(std::exp(against));
                break;
            }
            case AdditiveRows::tweedie: {
                const double one = 1.0 - data.power, two = 2.0 - data.power;
                loss = (two == 0 ? z[0] : std::exp(two * z[0]) / two) - y * (one == 0 ? z[0] : std::exp(one * z[0]) / one);
                break;
            }
            case AdditiveRows::softmax: {
                double largest = z[0], sum = 0.0;
                for (index_t k = 1; k < t; ++k) largest = z[k] > largest ? z[k] : largest;
                for (index_t k = 0; k < t; ++k) sum += std::exp(z[k] - largest);
                loss = std::log(sum) + largest - z[static_cast<index_t>(y)];
                break;
            }
        }
        total += data.weight == nullptr ? loss : data.weight[i] * loss;
    }
    return total;
}

// Adds the change of a term's values to the predictors of its rows, then sums gradients and curvatures per cell of the
// next term, (cells, t) each, over rows that are not held out. Either term may be absent.
inline void additive_step(const AdditiveRows& data, index_t begin, index_t end, const TermCells* moved,
                          const double* change, const TermCells* next, double* gradient, double* curvature) {
    const index_t t = data.predictors;
    Buffer<double> g(kAdditiveBlock, t), h(kAdditiveBlock, t);
    for (index_t first = begin; first < end;) {
        // A block is held out as a whole, or not at all.
        index_t last = first + kAdditiveBlock < end ? first + kAdditiveBlock : end;
        if (first < data.held_begin && last > data.held_begin) last = data.held_begin;
        const bool held = first >= data.held_begin && first < data.held_end;
        if (held && last > data.held_end) last = data.held_end;
        if (moved != nullptr) {
            double* __restrict z = data.scores;
            if (t == 1) {
                for (index_t i = first; i < last; ++i) z[i] += change[cell_of(*moved, i)];
            } else {
                for (index_t i = first; i < last; ++i) {
                    const double* __restrict by = change + cell_of(*moved, i) * t;
                    for (index_t k = 0; k < t; ++k) z[i * t + k] += by[k];
                }
            }
        }
        if (next != nullptr && !held) {
            additive_gradient(data, first, last, g, h);
            if (t == 1) {
                for (index_t i = first; i < last; ++i) {
                    const index_t cell = cell_of(*next, i);
                    gradient[cell] += g[i - first];
                    curvature[cell] += h[i - first];
                }
            } else {
                for (index_t i = first; i < last; ++i) {
                    const index_t cell = cell_of(*next, i) * t, at = (i - first) * t;
                    for (index_t k = 0; k < t; ++k) gradient[cell + k] += g[at + k];
                    for (index_t k = 0; k < t; ++k) curvature[cell + k] += h[at + k];
                }
            }
        }
        first = last;
    }
}

// The gain in log-likelihood, less what chance adds to it, if cells of a pair may differ beyond effects of their rows
// and columns of cells: Pearson's statistic of the interaction minus its degrees of freedom.
inline double interaction_gain(index_t rows, index_t t, const double* g, const double* h, const TermCells& pair,
                               index_t height, index_t width, double ridge) {
    Buffer<double> sums(2, height * width, t), left(2, height, t), right(2, width, t), total(2, t);
    double *gc = sums, *hc = gc + height * width * t;
    for (index_t i = 0; i < rows; ++i) {
        const index_t cell = cell_of(pair, i) * t;
        for (index_t k = 0; k < t; ++k) gc[cell + k] += g[i * t + k];
        for (index_t k = 0; k < t; ++k) hc[cell + k] += h[i * t + k];
    }
    auto share = [&](double gs, double hs) { return hs > 0 ? (gs * gs - hs) / (hs + ridge) : 0.0; };
    double gain = 0.0;
    for (index_t a = 0; a < height; ++a) {
        for (index_t b = 0; b < width; ++b) {
            for (index_t k = 0; k < t; ++k) {
                const index_t at = (a * width + b) * t + k;
                gain += share(gc[at], hc[at]);
                left[a * t + k] += gc[at];
                left[(height + a) * t + k] += hc[at];
                right[b * t + k] += gc[at];
                right[(width + b) * t + k] += hc[at];
                total[k] += gc[at];
                total[t + k] += hc[at];
            }
        }
    }
    for (index_t at = 0; at < height * t; ++at) gain -= share(left[at], left[height * t + at]);
    for (index_t at = 0; at < width * t; ++at) gain -= share(right[at], right[width * t + at]);
    for (index_t k = 0; k < t; ++k) gain += share(total[k], total[t + k]);
    return gain;
}

// The penalised least-squares problem of a term's values: (curvature + penalty * differences) x = right side, for each
// of t predictors, with a matrix whose band is `width` below the diagonal. FIXED is t where known at compile time.
template <int FIXED>
class Smoother {
public:
    Smoother(const TermShape& shape, index_t predictors, const double* curvature, const double* penalty)
        : shape_(shape), m_(shape.height * shape.width), t_(FIXED ? FIXED : predictors),
          band_(shape.width > 1 ? shape.width : (shape.left_ordered ? 1 : 0)), a_(m_, band_ + 1, t_),
          column_(band_ + 1, t_), penalty_(penalty) {
        for (index_t k = 0; k < t(); ++k) {
            double total = 0.0;
            for (index_t c = 0; c < m_; ++c) {
                at(c, c)[k] = curvature[c * t() + k];
                total += curvature[c * t() + k];
            }
            // Keeps the matrix invertible where no row is seen.
            for (index_t c = 0; c < m_; ++c) at(c, c)[k] += 1e-9 * total / static_cast<double>(m_) + 1e-12;
        }
        each_penalty([&](index_t c, index_t other) {
            double* diagonal = at(c, c);
            for (index_t k = 0; k < t(); ++k) diagonal[k] += penalty[k];
            if (other < 0) return;
            double *second = at(other, other), *beside = at(c, other);
            for (index_t k = 0; k < t(); ++k) second[k] += penalty[k];
            for (index_t k = 0; k < t(); ++k) beside[k] -= penalty[k];
        });
        factor();
    }

    // x, (cells, t), from the right side to the solution.
    void solve(double* x) const {
        for (index_t i = 0; i < m_; ++i) {
            for (index_t j = first_of(i); j < i; ++j) {
                for (index_t k = 0; k < t(); ++k) x[i * t() + k] -= at(i, j)[k] * x[j * t() + k];
            }
        }
        for (index_t i = 0; i < m_; ++i) {
            for (index_t k = 0; k < t(); ++k) x[i * t() + k] /= at(i, i)[k];
        }
        for (index_t i = m_ - 1; i >= 0; --i) {
            for (index_t j = first_of(i); j < i; ++j) {
                for (index_t k = 0; k < t(); ++k) x[j * t() + k] -= at(i, j)[k] * x[i * t() + k];
            }
        }
    }

    // The diagonal of the inverse, (cells, t), by the recursion of Takahashi.
    void inverse_diagonal(double* diagonal) const {
        const index_t full = 2 * band_ + 1;
        Buffer<double> z(m_, full, t());  // the entries of the inverse within the band, on both sides
        auto entry = [&](index_t i, index_t j) { return z + (i * full + (j - i + band_)) * t(); };
        Buffer<double> sums(band_ + 1, t());
        for (index_t i = m_ - 1; i >= 0; --i) {
            const index_t last = i + band_ < m_ - 1 ? i + band_ : m_ - 1, count = last - i;
            for (index_t at = 0; at < count * t(); ++at) sums[at] = 0.0;
            for (index_t p = i + 1; p <= last; ++p) {
                const double *l = at(p, i), *row = entry(p, i + 1);
                for (index_t j = 0; j < count; ++j) {
                    for (index_t k = 0; k < t(); ++k) sums[j * t() + k] -= l[k] * row[j * t() + k];
                }
            }
            double* own = entry(i, i);
            for (index_t k = 0; k < t(); ++k) own[k] = 1.0 / at(i, i)[k];
            for (index_t j = 0; j < count; ++j) {
                double *below = entry(i + 1 + j, i), *above = entry(i, i + 1 + j);
                const double* l = at(i + 1 + j, i);
                for (index_t k = 0; k < t(); ++k) {
                    below[k] = above[k] = sums[j * t() + k];
                    own[k] -= l[k] * sums[j * t() + k];
                }
            }
            for (index_t k = 0; k < t(); ++k) diagonal[i * t() + k] = own[k];
        }
    }

    // The penalised sum of squares of values, for each predictor.
    void roughness(const double* x, double* squares) const {
        each_penalty([&](index_t c, index_t other) {
            for (index_t k = 0; k < t(); ++k) {
                const double by = x[c * t() + k] - (other < 0 ? 0.0 : x[other * t() + k]);
                squares[k] += by * by;
            }
        });
    }

private:
    index_t t() const { return FIXED ? FIXED : t_; }
    index_t first_of(index_t i) const { return i > band_ ? i - band_ : 0; }
    double* at(index_t i, index_t j) { return a_ + (i * (band_ + 1) + (j - i + band_)) * t(); }
    const double* at(index_t i, index_t j) const { return a_ + (i * (band_ + 1) + (j - i + band_)) * t(); }

    // Calls with each pair of neighbours whose difference is penalised, the larger first; or with a cell and -1 whose
    // value is. Bin 0 of an ordered column holds missing cells, and has no neighbour.
    template <class Each>
    void each_penalty(Each&& each) const {
        const index_t width = shape_.width;
        for (index_t a = 0; a < shape_.height; ++a) {
            for (index_t b = 0; b < width; ++b) {
                const index_t c = a * width + b;
                if (!shape_.left_ordered || (shape_.left_missing && a == 0)) {
                    each(c, -1);
                } else if (a > (shape_.left_missing ? 1 : 0)) {
                    each(c, c - width);
                }
                if (width == 1) continue;
                if (!shape_.right_ordered || (shape_.right_missing && b == 0)) {
                    each(c, -1);
                } else if (b > (shape_.right_missing ? 1 : 0)) {
                    each(c, c - 1);
                }
            }
        }
    }

    // L D L': L below the diagonal of `a_`, D on it.
    void factor() {
        for (index_t p = 0; p < m_; ++p) {
            const index_t last = p + band_ < m_ - 1 ? p + band_ : m_ - 1;
            const double* pivot = at(p, p);
            for (index_t i = p + 1; i <= last; ++i) {
                double *entry = at(i, p), *kept = column_ + (i - p - 1) * t();
                for (index_t k = 0; k < t(); ++k) {
                    kept[k] = entry[k];
                    entry[k] /= pivot[k];
                }
            }
            for (index_t i = p + 1; i <= last; ++i) {
                const double *by = at(i, p), *__restrict kept = column_;
                double* __restrict row = at(i, p + 1);
                const index_t count = i - p;
                if (FIXED == 1) {
                    const double factor = by[0];
                    for (index_t j = 0; j < count; ++j) row[j] -= factor * kept[j];
                } else {
                    for (index_t j = 0; j < count; ++j) {
                        for (index_t k = 0; k < t(); ++k) row[j * t() + k] -= by[k] * kept[j * t() + k];
                    }
                }
            }
        }
    }

    const TermShape shape_;
    const index_t m_, t_, band_;
    Buffer<double> a_, column_;
    const double* penalty_;
};

// The least-squares fit that rises, or falls, with the cell: pools neighbours that break the order.
inline void make_monotone(index_t cells, index_t first, int direction, const double* weight, double* x) {
    Buffer<double> mean(cells), mass(cells);
    Buffer<index_t> length(cells);
    index_t blocks = 0;
    for (index_t c = first; c < cells; ++c) {
        mean[blocks] = direction * x[c];
        mass[blocks] = weight[c] + 1e-12;
        length[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            const index_t into = blocks - 2, from = blocks - 1;
            const double both = mass[into] + mass[from];
            mean[into] = (mean[into] * mass[into] + mean[from] * mass[from]) / both;
            mass[into] = both;
            length[into] += length[from];
            --blocks;
        }
    }
    index_t c = first;
    for (index_t block = 0; block < blocks; ++block) {
        for (index_t i = 0; i < length[block]; ++i) x[c++] = direction * mean[block];
    }
}

// Values of an ordered column on a straight line over the places of its bins: the curve's penalised problem, for the two
// parameters of the line. Missing cells keep a value of their own.
inline void smooth_line(const TermShape& shape, index_t t, const double* gradient, const double* curvature,
                        const double* penalty, bool bounded, const Smoothed& out) {
    const index_t cells = shape.height, first = shape.left_missing ? 1 : 0;
    const double* c = shape.line;
    double steps = 0.0;
    for (index_t b = first + 1; b < cells; ++b) steps += (c[b] - c[b - 1]) * (c[b] - c[b - 1]);
    for (index_t k = 0; k < t; ++k) {
        auto h = [&](index_t b) { return curvature[b * t + k]; };
        auto wanted = [&](index_t b) { return h(b) * out.values[b * t + k] + gradient[b * t + k]; };
        double mass = 1e-12, place = 0.0, height = 0.0;
        for (index_t b = first; b < cells; ++b) {
            mass += h(b);
            place += h(b) * c[b];
            height += wanted(b);
        }
        place /= mass;
        height /= mass;
        double width = 0.0, slope = 0.0;
        for (index_t b = first; b < cells; ++b) {
            width += h(b) * (c[b] - place) * (c[b] - place);
            slope += (c[b] - place) * wanted(b);
        }
        const double divisor = width + penalty[k] * steps + 1e-12;
        slope /= divisor;
        if (shape.monotone * slope < 0) slope = 0.0;
        double longest = 0.0;
        for (index_t b = 0; b < cells; ++b) {
            const index_t at = b * t + k;
            const double alone = h(b) + penalty[k] + 1e-12;
            const double x = b < first ? wanted(b) / alone : height + slope * (c[b] - place);
            out.change[at] = x - out.values[at];
            const double size = out.change[at] < 0 ? -out.change[at] : out.change[at];
            longest = size > longest ? size : longest;
            if (out.variance == nullptr) continue;
            out.variance[at] = b < first ? 1.0 / alone : 1.0 / mass + (c[b] - place) * (c[b] - place) / divisor;
            out.freedom[k] += h(b) * out.variance[at];
            out.roughness[k] += b < first ? x * x : 0.0;
        }
        if (out.variance != nullptr) out.roughness[k] += slope * slope * steps;
        // A line stays a line: its whole step is shortened.
        const double share = bounded && longest > kLongestStep ? kLongestStep / longest : 1.0;
        for (index_t b = 0; b < cells; ++b) out.values[b * t + k] += out.change[b * t + k] *= share;
    }
}

template <int FIXED>
void smooth_term_of(const TermShape& shape, index_t t, const double* gradient, const double* curvature,
                    const double* penalty, bool bounded, const Smoothed& out) {
    const index_t cells = shape.height * shape.width;
    const Smoother<FIXED> smoother(shape, t, curvature, penalty);
    Buffer<double> x(cells, t);
    for (index_t at = 0; at < cells * t; ++at) x[at] = curvature[at] * out.values[at] + gradient[at];
    smoother.solve(x);
    if (shape.monotone != 0) make_monotone(cells, shape.left_missing ? 1 : 0, shape.monotone, curvature, x);
    if (out.variance != nullptr) {
        smoother.inverse_diagonal(out.variance);
        for (index_t at = 0; at < cells * t; ++at) out.freedom[at % t] += out.variance[at] * curvature[at];
        smoother.roughness(x, out.roughness);
    }
    for (index_t at = 0; at < cells * t; ++at) {
        double by = x[at] - out.values[at];
        if (bounded) by = by > kLongestStep ? kLongestStep : (by < -kLongestStep ? -kLongestStep : by);
        out.change[at] = by;
        out.values[at] += by;
    }
}

inline void smooth_term(const TermShape& shape, index_t t, const double* gradient, const double* curvature,
                        const double* penalty, bool bounded, const Smoothed& out) {
    if (shape.line != nullptr) return smooth_line(shape, t, gradient, curvature, penalty, bounded, out);
    (t == 1 ? smooth_term_of<1> : smooth_term_of<0>)(shape, t, gradient, curvature, penalty, bounded, out);
}

// Fits every term once, given the others, with the penalties of each, (terms, t); `first` holds the first cell of each
// term among all. Values, their changes and variances are (cells, t), degrees of freedom and roughness (terms, t).
inline void additive_cycle(const AdditiveRows& data, index_t terms, const TermCells* cells, const TermShape* shapes,
                           const index_t* first, const double* penalty, bool bounded, const Smoothed& out) {
    const index_t t = data.predictors;
    Buffer<double> sums(2, first[terms], t);
    double *gradient = sums, *curvature = gradient + first[terms] * t;
    for (index_t at = 0; at < terms; ++at) {
        const index_t from = first[at] * t;
        additive_step(data, 0, data.rows, at > 0 ? cells + at - 1 : nullptr, at > 0 ? out.change + first[at - 1] * t : nullptr,
                      cells + at, gradient + from, curvature + from);
        Smoothed one{out.values + from, out.change + from, nullptr, nullptr, nullptr};
        if (out.variance != nullptr) {
            one.variance = out.variance + from;
            one.freedom = out.freedom + at * t;
            one.roughness = out.roughness + at * t;
        }
        smooth_term(shapes[at], t, gradient + from, curvature + from, penalty + at * t, bounded, one);
    }
    additive_step(data, 0, data.rows, cells + terms - 1, out.change + first[terms - 1] * t, nullptr, nullptr, nullptr);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
