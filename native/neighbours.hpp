// The rows of local fits, and the search for those near a query.
#pragma once

#include <cmath>

#include "strips.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr double kInfinite = HUGE_VAL;

// Rows turned into strips. The box around each strip tells which strips are out of reach;
// that saves the more, the nearer to each other the rows of a strip lie.
class Neighbours {
public:
    Neighbours(const Rows& rows, const Local& local)
        : first_row_(rows.begin), d_(rows.x.cols), t_(local.width), strips_((rows.end - rows.begin + kStrip - 1) / kStrip),
          per_bandwidth_(1.0 / local.bandwidth), x_(strips_, d_, kStrip), y_(strips_, t_, kStrip),
          weight_(strips_, kStrip), low_(d_, strips_), high_(d_, strips_), gap_(strips_) {
        Buffer<double> buffer(kStrip, d_);
        for (index_t s = 0; s < strips_; ++s) {
            const index_t row = rows.begin + s * kStrip;
            const index_t count = rows.end - row < kStrip ? rows.end - row : kStrip;
            keep(rows, local, s, row, count, load(rows.x, row, count, buffer));
        }
    }

    index_t strips() const { return strips_; }
    const double* x(index_t s) const { return x_ + s * d_ * kStrip; }
    const double* y(index_t s) const { return y_ + s * t_ * kStrip; }
    double* weight(index_t s) { return weight_ + s * kStrip; }
    double per_bandwidth() const { return per_bandwidth_; }
    // A lower bound of the squared distance of a strip's rows from the last query, in bandwidths.
    double gap(index_t s) const { return gap_[s]; }

    // The squared distances of a strip's rows from a query, in bandwidths.
    void distances(index_t s, const double* query, double* __restrict squared) const {
        for (index_t r = 0; r < kStrip; ++r) squared[r] = 0.0;
        for (index_t j = 0; j < d_; ++j) {
            const double* __restrict x = this->x(s) + j * kStrip;
            const double at = query[j];
            for (index_t r = 0; r < kStrip; ++r) {
                const double z = (x[r] - at) * per_bandwidth_;
                squared[r] += z * z;
            }
        }
    }

    // Returns the first of the nearest rows that weigh anything, counted from the first row; -1 where there is none.
    index_t nearest(const double* query, double* squared) {
        measure_gaps(query);
        double lanes[kStrip], bound = kInfinite;
        index_t closest = 0;
        for (index_t s = 1; s < strips_; ++s) closest = gap_[s] < gap_[closest] ? s : closest;
        if (strips_ > 0) bound = least(closest, query, lanes);
        *squared = kInfinite;
        index_t found = -1;
        for (index_t s = 0; s < strips_; ++s) {
            if (gap_[s] > bound) continue;
            const double here = least(s, query, lanes);
            if (!(here < *squared)) continue;
            *squared = here;
            bound = here < bound ? here : bound;
            index_t r = 0;
            while (lanes[r] != here) ++r;
            found = s * kStrip + r;
        }
        return found;
    }

private:
    void keep(const Rows& rows, const Local& local, index_t s, index_t row, index_t count, Block block) {
        for (index_t r = 0; r < count; ++r) weight_[s * kStrip + r] = weight_of(rows, row + r);
        for (index_t j = 0; j < d_; ++j) {
            double* lanes = x_ + (s * d_ + j) * kStrip;
            double low = kInfinite, high = -kInfinite;
            for (index_t r = 0; r < kStrip; ++r) {  // the last strip is filled up with its last row, without weight
                const double value = lanes[r] = block.data[(r < count ? r : count - 1) * block.stride + j];
                if (!(value >= -kLargest && value <= kLargest)) offend("row", row + r, j, value);
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
            low_[j * strips_ + s] = low;
            high_[j * strips_ + s] = high;
        }
        for (index_t r = 0; r < count; ++r) {
            for (index_t a = 0; a < t_; ++a) {
                const double value = local.targets[(row + r - first_row_) * t_ + a];
                if (!(value >= -kLargest && value <= kLargest)) offend("target", row + r, a, value);
                y_[(s * t_ + a) * kStrip + r] = value;
            }
        }
    }

    void measure_gaps(const double* query) {
        double* __restrict gap = gap_;
        for (index_t s = 0; s < strips_; ++s) gap[s] = 0.0;
        for (index_t j = 0; j < d_; ++j) {
            const double *__restrict low = low_ + j * strips_, *__restrict high = high_ + j * strips_;
            const double at = query[j];
            for (index_t s = 0; s < strips_; ++s) {
                const double below = low[s] - at, above = at - high[s];
                const double away = below > above ? below : above;
                const double z = away > 0 ? away * per_bandwidth_ : 0.0;
                gap[s] += z * z;
            }
        }
        for (index_t s = 0; s < strips_; ++s) gap[s] *= 1.0 - 1e-12;  // rounding must not put a row out of its box
    }

    double least(index_t s, const double* query, double* lanes) {
        distances(s, query, lanes);
        const double* weight = this->weight(s);
        double part[kLanes];
        for (index_t l = 0; l < kLanes; ++l) part[l] = kInfinite;
        for (index_t r = 0; r < kStrip; r += kLanes) {
            for (index_t l = 0; l < kLanes; ++l) {
                lanes[r + l] = weight[r + l] > 0 ? lanes[r + l] : kInfinite;
                part[l] = lanes[r + l] < part[l] ? lanes[r + l] : part[l];
            }
        }
        double lowest = part[0];
        for (index_t l = 1; l < kLanes; ++l) lowest = part[l] < lowest ? part[l] : lowest;
        return lowest;
    }

    const index_t first_row_, d_, t_, strips_;
    const double per_bandwidth_;
    Buffer<double> x_, y_, weight_;         // of each strip: (d, kStrip), (t, kStrip), (kStrip,)
    Buffer<double> low_, high_, gap_;       // (d, strips), (d, strips), (strips,)
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
