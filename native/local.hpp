// Local fits: for each query, the products of the rows around it, weighted by how near they are. Each query is summed on
// its own, over the rows in their order, so that its sums do not depend on what else is asked.
//
// Everything is measured from the row nearest to the query, in bandwidths: u = (x - nearest) / bandwidth. Weights are
// taken relative to that row's, from |z|^2 - |v|^2 = u (u + 2 v) with z = u + v and v = (nearest - query) / bandwidth, so
// that a query far from all rows costs no digits; and a row that outweighs all others adds nothing to their products.
#pragma once

#include "expansions.hpp"
#include "glm.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr double kNegligible = 50.0;  // a Gaussian weight below exp(-50) of the largest counts as none

// sums[l, c] (kVector partial sums each, rows of c `sums_row` apart) += left[l] * columns[c], lane by lane.
template <int tall, int wide>
void add_dots(const double* left, const double* const* columns, double* sums, index_t sums_row) {
    Vector total[tall][wide];
    for (int l = 0; l < tall; ++l) {
        for (int c = 0; c < wide; ++c) total[l][c] = take(sums + l * sums_row + c * kVector);
    }
    for (index_t r = 0; r < kStrip; r += kVector) {
        Vector column[wide];
        for (int c = 0; c < wide; ++c) column[c] = take(columns[c] + r);
        for (int l = 0; l < tall; ++l) {
            const Vector one = take(left + l * kStrip + r);
            for (int c = 0; c < wide; ++c) total[l][c] = total[l][c] + one * column[c];
        }
    }
    for (int l = 0; l < tall; ++l) {
        for (int c = 0; c < wide; ++c) put(sums + l * sums_row + c * kVector, total[l][c]);
    }
}

template <int tall>
void add_dots(const double* left, const double* const* columns, index_t count, double* sums, index_t sums_row) {
    index_t c = 0;
    for (; c + 4 <= count; c += 4) add_dots<tall, 4>(left, columns + c, sums + c * kVector, sums_row);
    switch (count - c) {
        case 3: add_dots<tall, 3>(left, columns + c, sums + c * kVector, sums_row); break;
        case 2: add_dots<tall, 2>(left, columns + c, sums + c * kVector, sums_row); break;
        case 1: add_dots<tall, 1>(left, columns + c, sums + c * kVector, sums_row); break;
        default: break;
    }
}

class LocalFit {
public:
    LocalFit(const Rows& rows, const Local& local, const LocalSums& sums)
        : local_(local), sums_(sums), first_row_(rows.begin), d_(rows.x.cols), t_(local.width), p_(sums.parameters),
          neighbours_(rows, local), expansions_(neighbours_, rows, local, sums.squares != nullptr), u_(d_, kStrip), shift_(d_), centre_(d_), products_of_u_(p_ - 1, kStrip),
          columns_(p_ + t_), products_(p_, p_ + t_, kVector), squares_(sums.squares ? p_ : 0, p_, kVector),
          deviations_(t_, kStrip) {
        for (index_t r = 0; r < kStrip; ++r) ones_[r] = 1.0;
        columns_[0] = ones_;
        index_t c = 1;
        for (index_t j = 0; local.degree > 0 && j < d_; ++j) columns_[c++] = u_ + j * kStrip;
        for (index_t m = 0; c < p_; ++c, ++m) columns_[c] = products_of_u_ + m * kStrip;
        for (index_t a = 0; a < t_; ++a) columns_[p_ + a] = deviations_ + a * kStrip;
    }

    void run(const Rows& queries) {
        Buffer<double> buffer(d_);
        for (index_t row = queries.begin; row < queries.end; ++row) {
            const double* query = load(queries.x, row, 1, buffer).data;
            for (index_t j = 0; j < d_; ++j) {
                if (!(query[j] >= -kLargest && query[j] <= kLargest)) offend("finite", row, j, query[j]);
            }
            const index_t m = row - queries.begin, absent = local_.left_out ? local_.left_out[m] - first_row_ : -1;
            double* left_out = absent < 0 ? nullptr : neighbours_.weight(0) + absent;
            const double its_weight = left_out ? *left_out : 0.0;
            if (left_out) *left_out = 0.0;
            fit(m, query, absent < 0 ? -1 : absent / kStrip);
            if (left_out) *left_out = its_weight;
        }
    }

private:
    // Fits at a query, without expanding the strip in which a row is left out (-1: none).
    void fit(index_t m, const double* query, index_t left_out) {
        const index_t found = neighbours_.nearest(query, &closest_);
        sums_.nearest[m] = found < 0 ? -1 : found + first_row_;
        if (found < 0) return;
        const index_t strip = found / kStrip, lane = found % kStrip;
        for (index_t j = 0; j < d_; ++j) {
            centre_[j] = neighbours_.x(strip)[j * kStrip + lane];
            sums_.shift[m * d_ + j] = shift_[j] = (centre_[j] - query[j]) * neighbours_.per_bandwidth();
        }
        empty_ = local_.shape == Local::uniform ? closest_ > 1 : local_.shape != Local::gaussian && closest_ >= 1;
        for (index_t i = 0; i < p_ * (p_ + t_) * kVector; ++i) products_[i] = 0.0;
        for (index_t i = 0; sums_.squares && i < p_ * p_ * kVector; ++i) squares_[i] = 0.0;
        const double reach = local_.shape == Local::gaussian ? closest_ + 2 * kNegligible : empty_ ? closest_ : 1.0;
        const double* target = neighbours_.y(strip) + lane;
        if (expansions_.used()) expansions_.add(query, centre_[0], shift_[0], target, reach, left_out);
        for (index_t s = 0; s < neighbours_.strips(); ++s) {
            if (neighbours_.gap(s) > reach || expansions_.takes(s, query, left_out) || !weigh(s, query)) continue;
            expand();
            if (local_.theta) {
                curve(m, s);
            } else {
                regress(s, target);
            }
        }
        finish(m);
    }

    // Finds u and the weights of a strip's rows; returns whether any of them has one.
    bool weigh(index_t s, const double* query) {
        double* __restrict squared = squared_;
        for (index_t r = 0; d_ != 1 && r < kStrip; ++r) squared[r] = 0.0;
        for (index_t j = 0; j < d_; ++j) {
            const double* __restrict x = neighbours_.x(s) + j * kStrip;
            double* __restrict u = u_ + j * kStrip;
            const double at = centre_[j], twice = 2 * shift_[j], per_bandwidth = neighbours_.per_bandwidth();
            for (index_t r = 0; r < kStrip; ++r) {
                const double away = u[r] = (x[r] - at) * per_bandwidth;
                squared[r] = (d_ == 1 ? 0.0 : squared[r]) + away * (away + twice);  // beyond the nearest row's
            }
        }
        if (local_.shape != Local::gaussian) neighbours_.distances(s, query, squared);
        const double* __restrict weight = neighbours_.weight(s);
        double* __restrict near = near_;
        switch (empty_ ? Local::uniform : local_.shape) {
            case Local::gaussian:
                for (index_t r = 0; r < kStrip; ++r) {
                    // Rows without weight may be nearer than the nearest: nothing may overflow there.
                    const double beyond = squared[r] > 0 ? squared[r] : 0.0;
                    const double some = beyond < 2 * kNegligible ? beyond : 2 * kNegligible;
                    near[r] = beyond > 2 * kNegligible ? 0.0 : bounded_exponential(-0.5 * some);
                }
                break;
            case Local::epanechnikov:
                for (index_t r = 0; r < kStrip; ++r) near[r] = squared[r] < 1 ? 1 - squared[r] : 0.0;
                break;
            case Local::tricube:
                for (index_t r = 0; r < kStrip; ++r) {
                    const double rest = 1 - squared[r] * std::sqrt(squared[r]);
                    near[r] = rest > 0 ? rest * rest * rest : 0.0;
                }
                break;
            case Local::uniform:
                for (index_t r = 0; r < kStrip; ++r) near[r] = squared[r] <= (empty_ ? closest_ : 1.0) ? 1.0 : 0.0;
                break;
        }
        double total[kLanes] = {};
        for (index_t r = 0; r < kStrip; r += kLanes) {
            for (index_t l = 0; l < kLanes; ++l) total[l] += weighted_[r + l] = weight[r + l] * near[r + l];
        }
        return add_lanes(total) > 0;
    }

    // The products of two features, where the fit is quadratic.
    void expand() {
        double* __restrict to = products_of_u_;
        for (index_t j = 0; local_.degree == 2 && j < d_; ++j) {
            for (index_t k = j; k < d_; ++k, to += kStrip) {
                const double *__restrict one = u_ + j * kStrip, *__restrict two = u_ + k * kStrip;
                for (index_t r = 0; r < kStrip; ++r) to[r] = one[r] * two[r];
            }
        }
    }

    // Adds weight * column j * column k for every j < p, and k from j to the last: two j at a time.
    void add_products(const double* weight, index_t columns, index_t width, double* sums) {
        alignas(64) double left[2 * kStrip];
        for (index_t j = 0; j < p_; j += 2) {
            const index_t tall = j + 1 < p_ ? 2 : 1;
            for (index_t l = 0; l < tall; ++l) {
                const double* __restrict column = columns_[j + l];
                for (index_t r = 0; r < kStrip; ++r) left[l * kStrip + r] = weight[r] * column[r];
            }
            double* to = sums + (j * width + j) * kVector;
            if (tall == 2) {
                add_dots<2>(left, columns_ + j, columns - j, to, width * kVector);
            } else {
                add_dots<1>(left, columns_ + j, columns - j, to, 0);
            }
        }
    }

    void regress(index_t s, const double* target) {
        for (index_t a = 0; a < t_; ++a) {
            const double* y = neighbours_.y(s) + a * kStrip;
            for (index_t r = 0; r < kStrip; ++r) deviations_[a * kStrip + r] = y[r] - target[a * kStrip];
        }
        add_products(weighted_, p_ + t_, p_ + t_, products_);
        if (sums_.squares == nullptr) return;
        double twice[kStrip];
        for (index_t r = 0; r < kStrip; ++r) twice[r] = weighted_[r] * near_[r];
        add_products(twice, p_, p_, squares_);
    }

    // The log-likelihood of a Bernoulli target and its derivatives at theta.
    void curve(index_t m, index_t s) {
        double z[kStrip], value[kStrip], slope[kStrip], bend[kStrip];
        for (index_t r = 0; r < kStrip; ++r) z[r] = 0.0;
        for (index_t j = 0; j < p_; ++j) {
            const double theta = local_.theta[m * p_ + j], *__restrict column = columns_[j];
            for (index_t r = 0; r < kStrip; ++r) z[r] += theta * column[r];
        }
        bernoulli_curve(kStrip, z, neighbours_.y(s), value, slope, bend);
        for (index_t r = 0; r < kStrip; ++r) {
            deviations_[r] = slope[r];
            bend[r] *= weighted_[r];
        }
        sums_.value[m] += dot(weighted_, value, kStrip);
        add_products(bend, p_, p_ + t_, products_);
        double left[kStrip];
        for (index_t j = 0; j < p_; ++j) {
            for (index_t r = 0; r < kStrip; ++r) left[r] = weighted_[r] * columns_[j][r];
            add_dots<1, 1>(left, columns_ + p_, products_ + (j * (p_ + t_) + p_) * kVector, 0);
        }
    }

    void finish(index_t m) {
        for (index_t j = 0; j < p_; ++j) {
            const double* row = products_ + j * (p_ + t_) * kVector;
            for (index_t k = j; k < p_; ++k) {
                const double product = gather(row + k * kVector) + (expansions_.used() ? expansions_.power(j + k) : 0.0);
                sums_.products[(m * p_ + j) * p_ + k] = sums_.products[(m * p_ + k) * p_ + j] = product;
                if (sums_.squares == nullptr) continue;
                const double square = gather(squares_ + (j * p_ + k) * kVector);
                sums_.squares[(m * p_ + j) * p_ + k] = sums_.squares[(m * p_ + k) * p_ + j] = square;
            }
            for (index_t a = 0; a < t_; ++a) {
                const double together = expansions_.used() ? expansions_.cross(j, a) : 0.0;
                sums_.targets[(m * p_ + j) * t_ + a] = gather(row + (p_ + a) * kVector) + together;
            }
        }
    }

    static double gather(const double* lane) { return sum(lane, kVector); }

    const Local& local_;
    const LocalSums& sums_;
    const index_t first_row_, d_, t_, p_;
    Neighbours neighbours_;
    Expansions expansions_;
    double closest_ = 0.0;  // the squared distance of the nearest row, in bandwidths
    bool empty_ = false;    // whether a kernel of bounded support reaches no row: then the nearest rows count alike
    Buffer<double> u_, shift_, centre_, products_of_u_;
    Buffer<const double*> columns_;  // of the local design, then of the targets: (kStrip,) each
    Buffer<double> products_, squares_, deviations_;
    alignas(64) double ones_[kStrip], squared_[kStrip], near_[kStrip], weighted_[kStrip];
};

inline void local_sums(const Rows& queries, const Rows& rows, const Local& local, const LocalSums& sums) {
    LocalFit(rows, local, sums).run(queries);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
