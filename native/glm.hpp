// Value, gradient and curvature of a generalised linear model's log-likelihood, one cache-sized block at a time.
#pragma once

#include <cmath>

#include "counts.hpp"
#include "curves.hpp"
#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class Likelihood {
public:
    Likelihood(const Rows& rows, const Model& model, double* weight_and_value, double* gradient, double* hessian)
        : rows_(rows), model_(model), d_(rows.x.cols), first_(model.intercept ? 1 : 0), p_(d_ + first_),
          t_(model.predictors), wide_(t_ == 1 ? 1 : padded(t_)),
          most_(rows.x.sparse && !model.hessian ? 64 : clamp(kCacheBlock / (d_ > 0 ? d_ : 1), 16, 1024)), panels_(p_), totals_(weight_and_value), gradient_(gradient), hessian_(hessian), theta_(p_, wide_),
          slopes_(p_, wide_), z_(most_, wide_), value_(most_), slope_(most_, wide_), curve_(most_, wide_),
          weight_(most_), scaled_(model.hessian ? most_ : 0, panels_.row_size()) {
        repad(p_, t_, model.theta, t_, theta_, wide_);
    }

    void run() {
        const bool sparse = rows_.x.sparse && !model_.hessian;  // products of features want dense rows
        Buffer<double> buffer(sparse ? 0 : most_, d_);
        for (index_t row = rows_.begin; row < rows_.end; row += most_) {
            const index_t count = row + most_ < rows_.end ? most_ : rows_.end - row;
            const Block x = sparse ? Block{nullptr, 0} : load(rows_.x, row, count, buffer);
            start_predictors(row, count);
            if (sparse) {
                sparse_predict(row, count);
            } else {
                predict(count, x);
            }
            likelihood(row, count);
            if (sparse) {
                sparse_descend(row, count);
            } else {
                descend(count, x);
            }
            if (model_.hessian) bend(count, x);
        }
        repad(p_, t_, slopes_, wide_, gradient_, t_);
        for (index_t a = 0; model_.hessian && a < t_; ++a) {
            for (index_t b = 0; b <= a; ++b) {
                mirror(tile(a, b), p_, p_ * t_);
                if (a != b) repad(p_, p_, tile(a, b), p_ * t_, tile(b, a), p_ * t_);
            }
        }
    }

private:
    double* tile(index_t a, index_t b) { return hessian_ + a * p_ * p_ * t_ + b * p_; }

    double* theta_of(index_t feature) { return theta_ + (feature + first_) * wide_; }
    double* slopes_of(index_t feature) { return slopes_ + (feature + first_) * wide_; }

    void start_predictors(index_t row, index_t count) {
        const double* offset = model_.offset ? model_.offset + (row - rows_.begin) * t_ : nullptr;
        for (index_t r = 0; r < count; ++r) {
            weight_[r] = weight_of(rows_, row + r);
            for (index_t a = 0; a < t_; ++a) {
                z_[r * wide_ + a] = (first_ ? theta_[a] : 0.0) + (offset ? offset[r * t_ + a] : 0.0);
            }
        }
    }

    void predict(index_t count, Block x) {
        if (t_ > 1) {
            add_product(count, t_, d_, x.data, x.stride, 1, theta_of(0), z_);
            return;
        }
        for (index_t r = 0; r < count; ++r) z_[r] += dot(x.data + r * x.stride, theta_of(0), d_);
    }

    void sparse_predict(index_t row, index_t count) {
        with_sparse(rows_.x, [&](auto stored) {
            if (t_ == 1) {
                const double* __restrict theta = theta_of(0);
                for (index_t r = 0; r < count; ++r) {
                    const Span span = stored.span(row + r);
                    double sums[4] = {};  // one sum would wait for itself
                    index_t s = span.first;
                    for (; s + 4 <= span.last; s += 4) {
                        for (index_t l = 0; l < 4; ++l) {
                            sums[l] += static_cast<double>(stored.value[s + l]) * theta[stored.column_of(s + l)];
                        }
                    }
                    for (; s < span.last; ++s) {
                        sums[0] += static_cast<double>(stored.value[s]) * theta[stored.column_of(s)];
                    }
                    z_[r] += (sums[0] + sums[2]) + (sums[1] + sums[3]);
                }
                return;
            }
            for (index_t r = 0; r < count; ++r) {
                double* z = z_ + r * wide_;
                stored.visit(row + r, [&](index_t j, double value) {
                    const double* theta = theta_of(j);
                    for (index_t a = 0; a < t_; ++a) z[a] += value * theta[a];
                });
            }
        });
    }

    void likelihood(index_t row, index_t count) {
        const double* y = model_.target ? model_.target + (row - rows_.begin) : nullptr;
        switch (model_.family) {
            case Model::gaussian: gaussian_curve(count, z_, y, value_, slope_, curve_); break;
            case Model::bernoulli: bernoulli_curve(count, z_, y, value_, slope_, curve_); break;
            case Model::poisson: poisson_curve(count, z_, y, value_, slope_, curve_); break;
            case Model::gamma_log: gamma_log_curve(count, z_, y, value_, slope_, curve_); break;
            case Model::softmax: softmax_curve(row, count); break;
            case Model::tweedie_log: tweedie_log_curve(count, model_.power, z_, y, value_, slope_, curve_); break;
        }
        for (index_t r = 0; model_.slope_share != 0.0 && r < count; ++r) curve_[r] += model_.slope_share * slope_[r];
        if (rows_.weight != nullptr) {
            for (index_t r = 0; r < count; ++r) {
                // Without weight a row counts for nothing, even at -inf; but bad input must still show.
                const double seen = z_[r * wide_] + (y ? y[r] : 0.0);
                value_[r] = weight_[r] > 0 ? weight_[r] * value_[r] : 0.0 * seen;
                for (index_t a = 0; a < t_; ++a) {
                    double& slope = slope_[r * wide_ + a];
                    slope = weight_[r] > 0 ? weight_[r] * slope : 0.0;
                }
            }
        }
        totals_[0] += sum(weight_, count);
        totals_[1] += sum(value_, count);
    }

    // curve_ holds the probabilities; the last class's predictor is pinned at 0.
    void softmax_curve(index_t row, index_t count) {
        for (index_t r = 0; r < count; ++r) {
            const index_t code = code_of(rows_, row + r, t_ + 1);
            value_[r] = class_curve(t_, code, z_ + r * wide_, slope_ + r * wide_, curve_ + r * wide_);
        }
    }

    void descend(index_t count, Block x) {
        for (index_t r = 0; first_ && r < count; ++r) {
            for (index_t a = 0; a < t_; ++a) slopes_[a] += slope_[r * wide_ + a];
        }
        double* slopes = slopes_of(0);
        if (t_ > 1) {
            add_product(d_, t_, count, x.data, 1, x.stride, slope_, slopes);
            return;
        }
        index_t r = 0;
        for (; r + 4 <= count; r += 4) {  // four rows to one pass over the gradient
            const double *x0 = x.data + r * x.stride, *x1 = x0 + x.stride, *x2 = x1 + x.stride, *x3 = x2 + x.stride;
            const double s0 = slope_[r], s1 = slope_[r + 1], s2 = slope_[r + 2], s3 = slope_[r + 3];
            for (index_t j = 0; j < d_; ++j) slopes[j] += (s0 * x0[j] + s1 * x1[j]) + (s2 * x2[j] + s3 * x3[j]);
        }
        for (; r < count; ++r) {
            for (index_t j = 0; j < d_; ++j) slopes[j] += slope_[r] * x.data[r * x.stride + j];
        }
    }

    void sparse_descend(index_t row, index_t count) {
        with_sparse(rows_.x, [&](auto stored) {
            if (t_ == 1) {
                double* __restrict slopes = slopes_of(0);
                for (index_t r = 0; r < count; ++r) {
                    const Span span = stored.span(row + r);
                    const double slope = slope_[r];
                    if (first_) slopes_[0] += slope;
                    for (index_t s = span.first; s < span.last; ++s) {  // checked when the row was predicted
                        slopes[stored.column[s]] += static_cast<double>(stored.value[s]) * slope;
                    }
                }
                return;
            }
            for (index_t r = 0; r < count; ++r) {
                const double* slope = slope_ + r * wide_;
                for (index_t a = 0; first_ && a < t_; ++a) slopes_[a] += slope[a];
                stored.visit(row + r, [&](index_t j, double value) {
                    double* slopes = slopes_of(j);
                    for (index_t a = 0; a < t_; ++a) slopes[a] += value * slope[a];
                });
            }
        });
    }

    void bend(index_t count, Block x) {
        for (index_t a = 0; a < t_; ++a) {
            for (index_t b = 0; b <= a; ++b) {
                for (index_t r = 0; r < count; ++r) {
                    const double root = root_of(r, a, b);
                    const double* row = x.data + r * x.stride;
                    auto one = [&](index_t j, double* to) { *to = j < first_ ? root : root * row[j - first_]; };
                    auto many = [&](index_t j, double* to) {
                        if (j >= first_) {
                            put(to, root * take(row + (j - first_)));
                        } else {
                            for (index_t l = 0; l < kVector; ++l) one(j + l, to + l);
                        }
                    };
                    panels_.store(scaled_, count, r, many, one);
                }
                panels_.add_products(scaled_, count, a == b ? 1.0 : -1.0, tile(a, b), p_ * t_);
            }
        }
    }

    // The root of the size of the curvature between predictors a and b: of softmax, p_a (1 - p_a) or -p_a p_b.
    double root_of(index_t r, index_t a, index_t b) {
        const double* curve = curve_ + r * wide_;
        if (!(weight_[r] > 0)) return 0.0;  // the curvature may be infinite
        if (model_.family != Model::softmax) return std::sqrt(weight_[r] * curve[0]);
        return std::sqrt(weight_[r] * curve[a] * (a == b ? 1.0 - curve[a] : curve[b]));
    }

    const Rows& rows_;
    const Model& model_;
    const index_t d_, first_, p_, t_, wide_, most_;  // wide_: t_, padded for matrix products
    const Panels panels_;
    double *totals_, *gradient_, *hessian_;
    Buffer<double> theta_, slopes_;  // theta and the gradient, padded
    Buffer<double> z_, value_, slope_, curve_, weight_, scaled_;  // of the rows of a block
};

inline void curvature(const Rows& rows, const Model& model, double* weight_and_value, double* gradient,
                      double* hessian) {
    Likelihood(rows, model, weight_and_value, gradient, hessian).run();
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
