// Steps along rows, one after another: stochastic gradient, and the perceptron's rule.
#pragma once

#include <cmath>

#include "coefficients.hpp"
#include "curves.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// Where walks start and end: theta is (p, t), the intercepts first if there are any.
template <class Coefficients>
class Walk {
public:
    Walk(const Rows& rows, const Steps& steps)
        : rows_(rows), steps_(steps), d_(rows.x.cols), t_(steps.predictors), wide_(t_ == 1 ? 1 : padded(t_)),
          first_(steps.intercept ? 1 : 0), coefficients_(rows.x, steps), intercepts_(wide_), late_intercepts_(wide_),
          past_(steps.l2 > 0 ? d_ : 0, t_) {
        for (index_t a = 0; a < t_ && first_; ++a) intercepts_[a] = steps.theta[a];
        for (index_t j = 0; j < d_; ++j) {
            for (index_t a = 0; a < t_; ++a) coefficients_.value(j)[a] = steps.theta[(j + first_) * t_ + a];
        }
        for (index_t row = rows.begin; row < rows.end; ++row) {  // whatever the order, the first bad row is named
            weight_of(rows, row);
            code_of(rows, row, steps.classes);
        }
    }

    // The predictors of the row at a place in the order, (wide,), without the offset.
    void predict(index_t place, double* z) {
        for (index_t a = 0; a < wide_; ++a) z[a] = 0.0;
        coefficients_.predict(place, z);
        for (index_t a = 0; a < t_; ++a) z[a] = scale_ * z[a] + intercepts_[a];
    }

    // theta += x gain', for the step that is being made.
    void add(index_t place, double* gain) {
        for (index_t a = 0; a < t_ && first_; ++a) {
            intercepts_[a] += gain[a];
            late_intercepts_[a] += steps_made_ * gain[a];
        }
        for (index_t a = 0; a < t_ && scale_ != 1.0; ++a) gain[a] /= scale_;
        coefficients_.add(place, gain, clock_);
    }

    // All coefficients but the intercepts are multiplied by a factor.
    void shrink(double factor) {
        scale_ *= factor;
        // Sums and differences of numbers of very different sizes lose digits: start anew long before that.
        if (!(std::fabs(scale_) > 1e-5 && std::fabs(scale_) < 1e5)) rebase();
    }

    // The step is made.
    void end_step() {
        clock_ += scale_;
        steps_made_ += 1.0;
    }

    void finish(double* theta, double* sum) {
        for (index_t a = 0; a < t_ && first_; ++a) {
            theta[a] = intercepts_[a];
            sum[a] = steps_made_ * intercepts_[a] - late_intercepts_[a];
        }
        for (index_t j = 0; j < d_; ++j) {
            const double *value = coefficients_.value(j), *late = coefficients_.late(j);
            double *to = theta + (j + first_) * t_, *sum_to = sum + (j + first_) * t_;
            for (index_t a = 0; a < t_; ++a) {
                to[a] = scale_ * value[a];
                sum_to[a] = clock_ * value[a] - late[a] + (steps_.l2 > 0 ? past_[j * t_ + a] : 0.0);
            }
        }
    }

    // Asks for what belongs to a row that is visited soon.
    template <class T>
    void fetch_soon(const T* column, index_t place) const {
#if defined(__GNUC__) || defined(__clang__)
        if (column && place + 16 < steps_.count) __builtin_prefetch(column + (steps_.order[place + 16] - rows_.begin));
#else
        (void)column, (void)place;
#endif
    }

    double steps_made() const { return steps_made_; }

private:
    void rebase() {
        for (index_t j = 0; j < d_; ++j) {
            double *value = coefficients_.value(j), *late = coefficients_.late(j);
            for (index_t a = 0; a < t_; ++a) {
                past_[j * t_ + a] += clock_ * value[a] - late[a];
                value[a] *= scale_;
                late[a] = 0.0;
            }
        }
        scale_ = 1.0;
        clock_ = 0.0;
    }

    const Rows& rows_;
    const Steps& steps_;
    const index_t d_, t_, wide_, first_;
    Coefficients coefficients_;
    Buffer<double> intercepts_, late_intercepts_;
    Buffer<double> past_;  // the sum of theta over the steps before the last rebase
    double scale_ = 1.0, clock_ = 0.0, steps_made_ = 0.0;
};

inline double step_size(const Steps& steps, double number) {
    if (steps.decay == 0.0 || steps.power == 0.0) return steps.step;
    const double slowed = 1.0 + steps.decay * number;
    if (steps.power == 1.0) return steps.step / slowed;
    return steps.step / (steps.power == 0.5 ? std::sqrt(slowed) : std::pow(slowed, steps.power));
}

// Whether all numbers are finite: only then is each of them less itself 0.
inline bool all_finite(const double* numbers, index_t n) {
    double rest = 0.0;
    for (index_t i = 0; i < n; ++i) rest += numbers[i] - numbers[i];
    return rest == 0.0;
}

// Past this a predictor has no sense any more, though its square may still be finite; families/links.py says the same.
constexpr double kLargestPredictor = 1e100;

inline bool all_sensible(const double* z, index_t t) {
    bool sensible = true;
    for (index_t a = 0; a < t; ++a) sensible = sensible && std::fabs(z[a]) <= kLargestPredictor;
    return sensible;
}

// The row's log-likelihood, and its slopes, (t,).
inline double slope_of(const Rows& rows, const Model& model, index_t row, const double* z, double* slope, double* p) {
    if (model.family == Model::softmax) {
        return class_curve(model.predictors, code_of(rows, row, model.predictors + 1), z, slope, p);
    }
    const double* y = model.target + (row - rows.begin);
    double value = 0.0;
    switch (model.family) {
        case Model::gaussian: gaussian_curve(1, z, y, &value, slope, p); break;
        case Model::bernoulli: bernoulli_curve(1, z, y, &value, slope, p); break;
        case Model::poisson: poisson_curve(1, z, y, &value, slope, p); break;
        case Model::gamma_log: gamma_log_curve(1, z, y, &value, slope, p); break;
        case Model::softmax: break;
        case Model::tweedie_log: tweedie_log_curve(1, model.power, z, y, &value, slope, p); break;
    }
    return value;
}

template <class Coefficients>
void descend_along(const Rows& rows, const Model& model, const Steps& steps, const Walked& walked) {
    const index_t t = steps.predictors, wide = t == 1 ? 1 : padded(t);
    const index_t most = steps.rows < steps.count ? steps.rows : steps.count;
    Walk<Coefficients> walk(rows, steps);
    Buffer<double> z(wide), p(wide), slopes(most, wide);
    double value = 0.0, weight = 0.0, steepness = 0.0;
    bool finite = true;
    for (index_t at = 0; at < steps.count && finite; at += steps.rows) {
        const index_t count = at + steps.rows < steps.count ? steps.rows : steps.count - at;
        double more_value = 0.0, more_weight = 0.0, more_steepness = 0.0;
        for (index_t r = 0; r < count; ++r) {
            const index_t row = steps.order[at + r];
            double* slope = slopes + r * wide;
            walk.fetch_soon(model.target, at + r);
            walk.fetch_soon(rows.code, at + r);
            walk.fetch_soon(rows.weight, at + r);
            walk.predict(at + r, z);
            for (index_t a = 0; a < t && model.offset; ++a) z[a] += model.offset[(row - rows.begin) * t + a];
            const double row_value = slope_of(rows, model, row, z, slope, p);
            finite = finite && all_sensible(z, t) && all_finite(slope, t);
            const double w = weight_of(rows, row);
            more_weight += w;
            if (w > 0) more_value += w * row_value;  // without weight a row counts for nothing, even at -inf
            for (index_t a = 0; a < t; ++a) {
                slope[a] *= w;
                more_steepness += std::fabs(slope[a]);
            }
        }
        if (!finite) break;
        value += more_value;
        weight += more_weight;
        steepness += more_steepness;
        const double size = step_size(steps, static_cast<double>(steps.first) + walk.steps_made());
        if (steps.l2 > 0) walk.shrink(1.0 - size * steps.l2);
        for (index_t r = 0; r < count; ++r) {
            double* slope = slopes + r * wide;
            for (index_t a = 0; a < t; ++a) slope[a] *= size / static_cast<double>(count);
            walk.add(at + r, slope);
        }
        walk.end_step();
    }
    walk.finish(walked.theta, walked.sum);
    walked.totals[0] = value;
    walked.totals[1] = weight;
    walked.totals[2] = steepness;
    walked.totals[3] = walk.steps_made();
    walked.totals[4] = finite ? 1.0 : 0.0;
}

inline void descend(const Rows& rows, const Model& model, const Steps& steps, const Walked& walked) {
    if (rows.x.sparse) {
        descend_along<SparseCoefficients>(rows, model, steps, walked);
    } else {
        descend_along<DenseCoefficients>(rows, model, steps, walked);
    }
}

// The class that a perceptron names: of one predictor, 1 where it is positive and 0 where it is negative, and at 0 the
// other class than the row's; of several, the first largest.
inline index_t named_class(const double* z, index_t t, index_t code) {
    if (t == 1) return z[0] > 0.0 ? 1 : z[0] < 0.0 ? 0 : 1 - code;
    index_t best = 0;
    for (index_t a = 1; a < t; ++a) best = z[a] > z[best] ? a : best;
    return best;
}

template <class Coefficients>
void correct_along(const Rows& rows, const Steps& steps, const Walked& walked) {
    const index_t t = steps.predictors, wide = t == 1 ? 1 : padded(t);
    Walk<Coefficients> walk(rows, steps);
    Buffer<double> z(wide), gain(wide);
    double mistakes = 0.0, overflow = -1.0, loss = 0.0;
    for (index_t at = 0; at < steps.count; ++at) {
        const index_t row = steps.order[at];
        walk.fetch_soon(rows.code, at);
        walk.fetch_soon(rows.weight, at);
        walk.predict(at, z);
        if (!all_finite(z, t)) {
            overflow = static_cast<double>(row);
            break;
        }
        const double w = weight_of(rows, row);
        if (!(w > 0)) continue;
        const index_t code = code_of(rows, row, steps.classes), named = named_class(z, t, code);
        if (named != code) {
            mistakes += 1.0;
            loss += t == 1 ? std::fabs(z[0]) : z[named] - z[code];
            for (index_t a = 0; a < wide; ++a) gain[a] = 0.0;
            if (t == 1) {
                gain[0] = code > named ? w * steps.step : -(w * steps.step);
            } else {
                gain[code] = w * steps.step;
                gain[named] = -(w * steps.step);
            }
            walk.add(at, gain);
        }
        walk.end_step();
    }
    walk.finish(walked.theta, walked.sum);
    walked.totals[0] = mistakes;
    walked.totals[1] = overflow;
    walked.totals[2] = loss;
}

inline void correct(const Rows& rows, const Steps& steps, const Walked& walked) {
    if (rows.x.sparse) {
        correct_along<SparseCoefficients>(rows, steps, walked);
    } else {
        correct_along<DenseCoefficients>(rows, steps, walked);
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
