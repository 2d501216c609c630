// Coordinate descent on a quadratic with an absolute-value penalty: the inner loop of the elastic net.
#pragma once

#include <cmath>

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class Coordinates {
public:
    // theta is moved to where theta' a theta / 2 - b' theta + sum_j l1_j |theta_j| is least; a is (q, q), symmetric.
    Coordinates(index_t q, const double* a, const double* b, const double* l1, double* theta)
        : q_(q), a_(a), l1_(l1), theta_(theta), rest_(q), active_(q) {
        for (index_t j = 0; j < q; ++j) rest_[j] = b[j];
        for (index_t j = 0; j < q; ++j) {
            if (theta[j] != 0) take(j, theta[j]);
        }
    }

    // Goes round until no coordinate moves by more than tol, in units of the root of its curvature; returns the rounds.
    index_t run(double tol, index_t most) {
        index_t rounds = 0;
        while (rounds < most) {
            ++rounds;
            if (round(nullptr, q_) <= tol) return rounds;
            index_t count = 0;
            for (index_t j = 0; j < q_; ++j) {
                if (theta_[j] != 0) active_[count++] = j;
            }
            // Most coordinates stay at zero: the others are settled among themselves first.
            while (rounds < most) {
                ++rounds;
                if (round(active_, count) <= tol) break;
            }
        }
        return rounds;
    }

private:
    double round(const index_t* which, index_t count) {
        double moved = 0.0;
        for (index_t i = 0; i < count; ++i) {
            const double by = move(which == nullptr ? i : which[i]);
            moved = by > moved ? by : moved;
        }
        return moved;
    }

    double move(index_t j) {
        const double bend = a_[j * q_ + j];
        if (!(bend > 0)) return 0.0;  // nothing is known about it: it stays
        const double best = rest_[j] + bend * theta_[j];
        const double size = std::fabs(best) - l1_[j];
        const double next = size > 0 ? (best > 0 ? size : -size) / bend : 0.0;
        const double by = next - theta_[j];
        if (by == 0) return 0.0;
        take(j, by);
        theta_[j] = next;
        return std::fabs(by) * std::sqrt(bend);
    }

    void take(index_t j, double by) {
        const double* __restrict row = a_ + j * q_;
        double* __restrict rest = rest_;
        for (index_t i = 0; i < q_; ++i) rest[i] -= by * row[i];
    }

    const index_t q_;
    const double *a_, *l1_;
    double* theta_;
    Buffer<double> rest_;  // b - a theta
    Buffer<index_t> active_;
};

inline index_t coordinate_descent(index_t q, const double* a, const double* b, const double* l1, double tol,
                                  index_t most, double* theta) {
    return Coordinates(q, a, b, l1, theta).run(tol, most);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
