// What a row adds to a log-likelihood: its value, slope and curvature in the linear predictors.
#pragma once

#include <cmath>

#include "elementary.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// For each row: the log-likelihood without log b(y), its slope and its expected curvature in the predictor z.
inline void gaussian_curve(index_t n, const double* z, const double* y, double* value, double* slope, double* curve) {
    for (index_t i = 0; i < n; ++i) {
        value[i] = z[i] * (y[i] - 0.5 * z[i]);
        slope[i] = y[i] - z[i];
        curve[i] = 1.0;
    }
}

inline void bernoulli_curve(index_t n, const double* z, const double* y, double* value, double* slope, double* curve) {
    for (index_t i = 0; i < n; ++i) {
        const double positive = z[i] > 0 ? z[i] : 0.0;
        const double e = exponential(z[i] > 0 ? -z[i] : z[i]);  // exponent <= 0: cannot overflow
        const double share = 1.0 / (1.0 + e);
        const double mean = z[i] > 0 ? share : e * share;
        value[i] = y[i] * z[i] - positive - log_one_plus(e);
        slope[i] = y[i] - mean;
        curve[i] = e * share * share;
    }
}

inline void poisson_curve(index_t n, const double* z, const double* y, double* value, double* slope, double* curve) {
    for (index_t i = 0; i < n; ++i) {
        const double mean = exponential(z[i]);
        value[i] = y[i] * z[i] - mean;
        slope[i] = y[i] - mean;
        curve[i] = mean;
    }
}

inline void gamma_log_curve(index_t n, const double* z, const double* y, double* value, double* slope, double* curve) {
    for (index_t i = 0; i < n; ++i) {
        const double ratio = y[i] * exponential(-z[i]);
        value[i] = -ratio - z[i];
        slope[i] = ratio - 1.0;
        curve[i] = 1.0;
    }
}

// With the variance mean^power, 1 < power < 2. Predictors are clipped as in families/natural_likelihood.py.
inline void tweedie_log_curve(index_t n, double power, const double* z, const double* y, double* value, double* slope,
                              double* curve) {
    const double one = 1.0 - power, two = 2.0 - power;
    for (index_t i = 0; i < n; ++i) {
        const double at = z[i] < -230.0 ? -230.0 : z[i] > 353.5 ? 353.5 : z[i];  // keeps NaN
        const double amount = y[i] * exponential(one * at), level = exponential(two * at);
        value[i] = amount / one - level / two;
        slope[i] = amount - level;
        curve[i] = level;
    }
}

// Of one row, with a predictor for every class but the last, which is pinned at 0. Returns the value; `p` gets the
// probabilities.
inline double class_curve(index_t t, index_t code, const double* z, double* slope, double* p) {
    double top = 0.0;
    for (index_t a = 0; a < t; ++a) top = z[a] > top ? z[a] : top;
    double total = exponential(-top);
    for (index_t a = 0; a < t; ++a) p[a] = exponential(z[a] - top);
    for (index_t a = 0; a < t; ++a) total += p[a];
    for (index_t a = 0; a < t; ++a) {
        p[a] /= total;
        slope[a] = (a == code ? 1.0 : 0.0) - p[a];
    }
    return (code < t ? z[code] : 0.0) - top - std::log(total);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
