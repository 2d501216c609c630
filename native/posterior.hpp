// What is made of the scores of a strip of rows while they are in cache: posterior, evidence, best class.
#pragma once

#include <cmath>

#include "elementary.hpp"
#include "strips.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr double kImpossible = -HUGE_VAL;  // the score of a class that cannot have produced the row

// The scores of a strip, (k, kStrip), class by class, from the intercepts on, and their reading.
class Scores {
public:
    // Without intercepts the scores start from zero.
    Scores(const Rows& rows, const Reading& reading, const double* intercept)
        : begin_(rows.begin), reading_(reading), k_(reading.classes), level_(k_), impossible_(k_),
          scores_(k_, kStrip) {
        for (index_t c = 0; c < k_; ++c) {
            impossible_[c] = intercept != nullptr && !std::isfinite(intercept[c]);
            level_[c] = intercept != nullptr && !impossible_[c] ? intercept[c] : 0.0;
            if (reading.prior[c] > reading.prior[likeliest_]) likeliest_ = c;
        }
    }

    double* of_class(index_t c) { return scores_ + c * kStrip; }

    // Adds to what every row of a class starts from.
    void raise(index_t c, double level) { level_[c] += level; }

    void start() {
        for (index_t c = 0; c < k_; ++c) {
            for (index_t r = 0; r < kStrip; ++r) of_class(c)[r] = level_[c];
        }
    }

    bool finite() { return !any_not_finite(scores_, k_ * kStrip); }

    // Offends about the first row of a strip whose features are finite and whose scores are not.
    [[noreturn]] void blame_overflow(index_t first) {
        index_t row = kStrip;
        for (index_t i = 0; i < k_ * kStrip; ++i) {
            if (!std::isfinite(scores_[i]) && i % kStrip < row) row = i % kStrip;
        }
        offend("overflow", first + row, -1, 0.0);
    }

    // Reads the finished scores of the rows first to first + count - 1. None is NaN or +inf.
    void read(index_t first, index_t count) {
        for (index_t c = 0; c < k_; ++c) {
            for (index_t r = 0; impossible_[c] && r < kStrip; ++r) of_class(c)[r] = kImpossible;
        }
        const index_t row = first - begin_;
        if (reading_.what == Reading::joint) {
            store(row, count);
            return;
        }
        find_best();
        switch (reading_.what) {
            case Reading::joint: break;
            case Reading::best: store_best(row, count); break;
            case Reading::evidence: store_evidence(row, count); break;
            case Reading::posterior: posterior(row, count); break;
            case Reading::log_posterior: log_posterior(row, count); break;
        }
    }

private:
    // The first of the largest scores of each row, and which it is.
    void find_best() {
        for (index_t r = 0; r < kStrip; ++r) {
            top_[r] = scores_[r];
            best_[r] = 0;
        }
        for (index_t c = 1; c < k_; ++c) {
            const double* scores = of_class(c);
            for (index_t r = 0; r < kStrip; ++r) {
                best_[r] = scores[r] > top_[r] ? c : best_[r];
                top_[r] = scores[r] > top_[r] ? scores[r] : top_[r];
            }
        }
    }

    bool any_row_is_impossible(index_t count) const {
        bool found = false;
        for (index_t r = 0; r < count; ++r) found |= top_[r] == kImpossible;
        return found;
    }

    // Turns the scores of all classes but the best into their ratio to it, and adds the ratios up. The best's own is
    // left out, so that a sum that is small beside its 1 keeps its digits. Scores become what they are below the best.
    template <bool keep_scores>
    void compare_with_best(double temperature) {
        for (index_t r = 0; r < kStrip; ++r) {
            rest_[r] = 0.0;
            shift_[r] = top_[r] == kImpossible ? 0.0 : top_[r];  // -inf less -inf would be NaN
        }
        for (index_t c = 0; c < k_; ++c) {
            double* scores = of_class(c);
            for (index_t r = 0; r < kStrip; ++r) scores[r] -= shift_[r];
            // Divided, because 1 / temperature may overflow; but not for nothing.
            for (index_t r = 0; temperature != 1.0 && r < kStrip; ++r) scores[r] /= temperature;
            for (index_t r = 0; r < kStrip; ++r) {
                const double ratio = exponential(scores[r]);  // exponent <= 0: cannot overflow
                rest_[r] += best_[r] == c ? 0.0 : ratio;
                if (!keep_scores) scores[r] = ratio;
            }
        }
    }

    void store_best(index_t row, index_t count) {
        for (index_t r = 0; r < count; ++r) {
            reading_.codes[row + r] = top_[r] == kImpossible ? likeliest_ : best_[r];
        }
    }

    void store_evidence(index_t row, index_t count) {
        compare_with_best<true>(1.0);
        double evidence[kStrip];
        for (index_t r = 0; r < kStrip; ++r) evidence[r] = top_[r] + log_one_plus_any(rest_[r]);
        std::memcpy(reading_.numbers + row, evidence, sizeof(double) * count);
    }

    void posterior(index_t row, index_t count) {
        compare_with_best<false>(reading_.temperature);
        for (index_t r = 0; r < kStrip; ++r) rest_[r] = 1.0 / (1.0 + rest_[r]);
        for (index_t c = 0; c < k_; ++c) {
            double* ratios = of_class(c);
            for (index_t r = 0; r < kStrip; ++r) ratios[r] *= rest_[r];
        }
        if (any_row_is_impossible(count)) use_prior(count, [](double prior) { return prior; });
        store(row, count);
    }

    void log_posterior(index_t row, index_t count) {
        compare_with_best<true>(reading_.temperature);
        for (index_t r = 0; r < kStrip; ++r) rest_[r] = log_one_plus_any(rest_[r]);
        for (index_t c = 0; c < k_; ++c) {
            double* scores = of_class(c);
            for (index_t r = 0; r < kStrip; ++r) scores[r] -= rest_[r];
        }
        if (any_row_is_impossible(count)) use_prior(count, [](double prior) { return std::log(prior); });
        store(row, count);
    }

    template <class Show>
    void use_prior(index_t count, Show&& show) {
        for (index_t r = 0; r < count; ++r) {
            for (index_t c = 0; top_[r] == kImpossible && c < k_; ++c) of_class(c)[r] = show(reading_.prior[c]);
        }
    }

    // Stores what stands in place of the scores, row by row.
    void store(index_t row, index_t count) {
        double* __restrict to = reading_.numbers + row * k_;
        const double* __restrict from = scores_;
        if (k_ == 2) {
            for (index_t r = 0; r < count; ++r) {
                to[2 * r] = from[r];
                to[2 * r + 1] = from[kStrip + r];
            }
            return;
        }
        for (index_t r = 0; r < count; ++r) {
            for (index_t c = 0; c < k_; ++c) to[r * k_ + c] = from[c * kStrip + r];
        }
    }

    const index_t begin_;
    const Reading& reading_;
    const index_t k_;
    Buffer<double> level_;
    Buffer<bool> impossible_;
    index_t likeliest_ = 0;  // class of the prior
    Buffer<double> scores_;
    alignas(64) double top_[kStrip], rest_[kStrip], shift_[kStrip];
    index_t best_[kStrip];
};

// The reading of scores that are there already, one row of x for each row.
inline void read_scores(const Rows& rows, const Reading& reading) {
    const index_t k = reading.classes;
    Strips strips(rows);
    Scores scores(rows, reading, nullptr);
    Buffer<double> row_scores(k);
    each_strip(rows, [&](index_t first, index_t count) {
        strips.move(first, count);
        strips.turn_features(0, k, scores.of_class(0));
        for (index_t row = first; !scores.finite() && row < first + count; ++row) {
            const double* each = load(rows.x, row, 1, row_scores).data;
            for (index_t c = 0; c < k; ++c) {
                if (!(each[c] <= kLargest)) offend("score", row, c, each[c]);
            }
        }
        scores.read(first, count);
    });
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
