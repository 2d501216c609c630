// What whole strips of rows add to the sums about a query, where there is one feature and the kernel is Gaussian.
//
// With r = (x - centre of the strip) / bandwidth and D = (centre - query) / bandwidth, a row's kernel is
// exp(-D^2 / 2) exp(-r^2 / 2) exp(-D r), and exp(-D r) is a power series. So the sums of exp(-r^2 / 2) r^k over a strip's
// rows, taken once, answer every query for which |D r| is small, to the last digits: a strip then costs as much as a row.
#pragma once

#include "elementary.hpp"
#include "neighbours.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class Expansions {
public:
    // Rows with weights of their own are summed one by one: one of them might outweigh its strip.
    Expansions(Neighbours& rows, const Rows& given, const Local& local, bool squares)
        : rows_(rows), t_(local.width), powers_(2 * local.degree + 1), cross_(local.degree + 1),
          used_(given.x.cols == 1 && given.weight == nullptr && local.shape == Local::gaussian &&
                local.theta == nullptr && !squares),
          strips_(used_ ? (rows.strips() + kLanes - 1) / kLanes * kLanes : 0), centre_(strips_), half_(strips_),
          level_(strips_, t_), sums_(kTerms + powers_ - 1, strips_), products_(kTerms + cross_ - 1, t_, strips_),
          series_(powers_ + cross_ * t_, kLanes), total_(powers_ + cross_ * t_, kLanes) {
        for (index_t s = 0; used_ && s < rows.strips(); ++s) expand(s);
    }

    bool used() const { return used_; }

    // Whether a strip's rows are answered together at the last query; `left_out` is a strip that must not be.
    bool takes(index_t s, const double* query, index_t left_out) const {
        if (!used_ || s == left_out || !(half_[s] <= 1)) return false;
        const double away = (centre_[s] - query[0]) * rows_.per_bandwidth();
        return half_[s] * (away < 0 ? -away : away) <= kReach;
    }

    // Sums over the strips within `reach` that are answered together: about the nearest row, `shift` from the query.
    void add(const double* query, double nearest, double shift, const double* target, double reach, index_t left_out) {
        for (index_t i = 0; i < (powers_ + cross_ * t_) * kLanes; ++i) total_[i] = 0.0;
        for (index_t first = 0; first < strips_; first += kLanes) {
            double away[kLanes], beside[kLanes], factor[kLanes];
            bool any = false;
            for (index_t l = 0; l < kLanes; ++l) {
                const index_t s = first + l;
                const bool here = s < rows_.strips() && rows_.gap(s) <= reach && takes(s, query, left_out);
                beside[l] = here ? (centre_[s] - nearest) * rows_.per_bandwidth() : 0.0;
                away[l] = here ? beside[l] + shift : 0.0;
                factor[l] = here ? 1.0 : 0.0;
                any = any || here;
            }
            if (!any) continue;
            for (index_t l = 0; l < kLanes; ++l) {
                factor[l] *= bounded_exponential(-0.5 * beside[l] * (beside[l] + 2 * shift));
            }
            sum_series(powers_, sums_ + first, strips_, away, factor, series_);
            for (index_t a = 0; a < t_; ++a) {
                sum_series(cross_, products_ + a * strips_ + first, t_ * strips_, away, factor,
                           series_ + (powers_ + a * cross_) * kLanes);
            }
            gather(first, beside, target);
        }
    }

    // The sum of k u^j.
    double power(index_t j) const { return sum(total_ + j * kLanes, kLanes); }
    // The sum of k u^j (y - the nearest row's).
    double cross(index_t j, index_t a) const { return sum(total_ + (powers_ + a * cross_ + j) * kLanes, kLanes); }

private:
    static constexpr index_t kTerms = 24;
    static constexpr double kReach = 1.5;  // of |D r|: the first term left out is below 1e-19

    void expand(index_t s) {
        const double *x = rows_.x(s), *y = rows_.y(s), *weight = rows_.weight(s);
        double low = x[0], high = x[0];
        for (index_t r = 1; r < kStrip; ++r) {
            low = x[r] < low ? x[r] : low;
            high = x[r] > high ? x[r] : high;
        }
        centre_[s] = low + (high - low) / 2;
        half_[s] = (high - low) / 2 * rows_.per_bandwidth();
        if (!(half_[s] <= 1)) return;
        double z[kStrip], power[kStrip], deviation[kStrip], ones[kStrip];
        for (index_t r = 0; r < kStrip; ++r) {
            z[r] = (x[r] - centre_[s]) * rows_.per_bandwidth();
            ones[r] = 1.0;
            power[r] = weight[r] * bounded_exponential(-0.5 * z[r] * z[r]);
        }
        for (index_t a = 0; a < t_; ++a) level_[a * strips_ + s] = y[a * kStrip];
        for (index_t k = 0; k < kTerms + powers_ - 1; ++k) {
            sums_[k * strips_ + s] = dot(power, ones, kStrip);
            for (index_t a = 0; k < kTerms + cross_ - 1 && a < t_; ++a) {
                for (index_t r = 0; r < kStrip; ++r) deviation[r] = y[a * kStrip + r] - y[a * kStrip];
                products_[(k * t_ + a) * strips_ + s] = dot(power, deviation, kStrip);
            }
            for (index_t r = 0; r < kStrip; ++r) power[r] *= z[r];
        }
    }

    // series[j] = factor * the sum over k of (-D)^k / k! times the table's row k + j, whose rows are `step` apart.
    template <int count>
    static void sum_series(const double* table, index_t step, const double* away, const double* factor, double* series) {
        double total[count][kLanes] = {}, term[kLanes];
        for (index_t l = 0; l < kLanes; ++l) term[l] = factor[l];
        for (index_t k = 0; k < kTerms; ++k) {
            for (int j = 0; j < count; ++j) {
                const double* sums = table + (k + j) * step;
                for (index_t l = 0; l < kLanes; ++l) total[j][l] += term[l] * sums[l];
            }
            const double inverse = -1.0 / static_cast<double>(k + 1);
            for (index_t l = 0; l < kLanes; ++l) term[l] *= away[l] * inverse;
        }
        for (index_t i = 0; i < count * kLanes; ++i) series[i] = total[i / kLanes][i % kLanes];
    }

    static void sum_series(index_t count, const double* table, index_t step, const double* away, const double* factor,
                           double* series) {
        switch (count) {
            case 1: sum_series<1>(table, step, away, factor, series); break;
            case 2: sum_series<2>(table, step, away, factor, series); break;
            case 3: sum_series<3>(table, step, away, factor, series); break;
            default: sum_series<5>(table, step, away, factor, series); break;
        }
    }

    static void add_term(const double* __restrict term, const double* __restrict sums, double* __restrict series) {
        for (index_t l = 0; l < kLanes; ++l) series[l] += term[l] * sums[l];
    }

    // Adds the series, taken from powers of r to those of u = r + beside, and from the strip's level to the target.
    void gather(index_t first, const double* beside, const double* target) {
        for (index_t a = 0; a < t_; ++a) {
            double level[kLanes];
            double* cross = series_ + (powers_ + a * cross_) * kLanes;
            for (index_t l = 0; l < kLanes; ++l) level[l] = level_[a * strips_ + first + l] - target[a * kStrip];
            for (index_t j = 0; j < cross_; ++j) add_term(level, series_ + j * kLanes, cross + j * kLanes);
            move(cross, cross_, beside);
        }
        move(series_, powers_, beside);
        for (index_t i = 0; i < (powers_ + cross_ * t_) * kLanes; ++i) total_[i] += series_[i];
    }

    // Turns the sums of r^j into those of (r + beside)^j.
    static void move(double* moments, index_t count, const double* beside) {
        for (index_t pass = 1; pass < count; ++pass) {
            for (index_t j = count - 1; j >= pass; --j) add_term(beside, moments + (j - 1) * kLanes, moments + j * kLanes);
        }
    }

    Neighbours& rows_;
    const index_t t_, powers_, cross_;  // how many powers of u are summed alone, and with each target
    const bool used_;
    const index_t strips_;                      // in whole blocks of kLanes
    Buffer<double> centre_, half_, level_;      // (strips,), (strips,) in bandwidths, (t, strips)
    Buffer<double> sums_, products_;            // (powers of r, strips), (powers of r, t, strips)
    Buffer<double> series_, total_;             // (powers_ + t cross_, kLanes)
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
