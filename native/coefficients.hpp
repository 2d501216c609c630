// Coefficients that move with every row, and the sum of all they have been.
#pragma once

#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// Both kinds of coefficients below hold two tables. With `scale` and `clock` kept by whoever walks, theta is
// scale * value, and the sum of theta over all steps is clock * value - late: what a step adds to `value` it adds
// `clock` times to `late`, for the steps that came before it. So a step touches no more than the row's own features.

// Coefficients (d, wide) for dense rows. Rows come by their place in the order in which they are visited. They are
// copied together a few at a time: one by one, each step would wait for its row to come from memory.
class DenseCoefficients {
public:
    DenseCoefficients(const Features& x, const Steps& steps)
        : x_(x), steps_(steps), d_(x.cols), t_(steps.predictors), wide_(t_ == 1 ? 1 : padded(t_)),
          most_(clamp(kTogether / (d_ > 0 ? d_ : 1), 1, 256)), value_(d_, wide_), late_(d_, wide_),
          copies_(most_, d_) {}

    double* value(index_t j) { return value_ + j * wide_; }
    double* late(index_t j) { return late_ + j * wide_; }

    // z (wide,) += value' x
    void predict(index_t place, double* z) {
        const double* x = at(place);
        if (wide_ == 1) {
            z[0] += dot(x, value_, d_);
        } else {
            add_product(1, t_, d_, x, 0, 1, value_, z);
        }
    }

    // value += x gain', late += clock x gain'; gain is (wide,).
    void add(index_t place, const double* gain, double clock) {
        const double* __restrict x = at(place);
        double* __restrict value = value_;
        double* __restrict late = late_;
        if (wide_ == 1) {
            const double now = gain[0], before = clock * gain[0];
            for (index_t j = 0; j < d_; ++j) {
                value[j] += now * x[j];
                late[j] += before * x[j];
            }
            return;
        }
        for (index_t j = 0; j < d_; ++j) {
            for (index_t a = 0; a < wide_; ++a) {
                value[j * wide_ + a] += gain[a] * x[j];
                late[j * wide_ + a] += clock * gain[a] * x[j];
            }
        }
    }

private:
    static constexpr index_t kTogether = 4096;  // numbers

    const double* at(index_t place) {
        if (place < from_ || place >= to_) {
            from_ = place;
            to_ = place + most_ < steps_.count ? place + most_ : steps_.count;
            for (index_t r = from_; r < to_; ++r) {
                double* copy = copies_ + (r - from_) * d_;
                const double* row = load(x_, steps_.order[r], 1, copy).data;
                for (index_t j = 0; j < d_ && row != copy; ++j) copy[j] = row[j];
            }
        }
        return copies_ + (place - from_) * d_;
    }

    const Features& x_;
    const Steps& steps_;
    const index_t d_, t_, wide_, most_;
    Buffer<double> value_, late_;
    Buffer<double> copies_;  // of the rows at the places from_ to to_ - 1
    index_t from_ = 0, to_ = 0;
};

// Coefficients for CSR. The two tables lie side by side, feature by feature: one miss of the cache fetches both.
class SparseCoefficients {
public:
    SparseCoefficients(const Features& x, const Steps& steps)
        : x_(x), steps_(steps), t_(steps.predictors), pairs_(2, x.cols, t_) {}

    double* value(index_t j) { return pairs_ + 2 * j * t_; }
    double* late(index_t j) { return value(j) + t_; }

    void predict(index_t place, double* z) {
        with_sparse(x_, [&](auto stored) {
            if (place + kAhead < steps_.count) fetch_row(stored, steps_.order[place + kAhead]);
            const Span span = stored.span(steps_.order[place]);
            if (t_ > 1) {
                for (index_t s = span.first; s < span.last; ++s) {
                    const double x = static_cast<double>(stored.value[s]), *value = this->value(stored.column_of(s));
                    for (index_t a = 0; a < t_; ++a) z[a] += x * value[a];
                }
                return;
            }
            const double* pairs = pairs_;
            double lane[4] = {};
            index_t s = span.first;
            for (; s + 4 <= span.last; s += 4) {
                for (index_t l = 0; l < 4; ++l) {
                    lane[l] += static_cast<double>(stored.value[s + l]) * pairs[2 * stored.column_of(s + l)];
                }
            }
            for (; s < span.last; ++s) {
                lane[0] += static_cast<double>(stored.value[s]) * pairs[2 * stored.column_of(s)];
            }
            z[0] += (lane[0] + lane[1]) + (lane[2] + lane[3]);
        });
    }

    // As that of dense rows, of a row that was predicted before: its columns are in range.
    void add(index_t place, const double* gain, double clock) {
        with_sparse(x_, [&](auto stored) {
            const Span span = stored.span(steps_.order[place]);
            const double now = gain[0], before = clock * gain[0];
            for (index_t s = span.first; s < span.last; ++s) {
                const double x = static_cast<double>(stored.value[s]);
                double* value = this->value(static_cast<index_t>(stored.column[s]));
                if (t_ == 1) {
                    value[0] += now * x;
                    value[1] += before * x;
                    continue;
                }
                for (index_t a = 0; a < t_; ++a) {
                    value[a] += gain[a] * x;
                    value[t_ + a] += clock * gain[a] * x;
                }
            }
        });
    }

private:
    static constexpr index_t kAhead = 4;  // rows between the one visited and the one asked for

    template <class Stored>
    void fetch_row(const Stored& stored, index_t row) const {
#if defined(__GNUC__) || defined(__clang__)
        const Span span = stored.span(row);
        const index_t last = span.last < span.first + 256 ? span.last : span.first + 256;
        for (index_t s = span.first; s < last; s += 8) {
            __builtin_prefetch(stored.value + s);
            __builtin_prefetch(stored.column + s);
        }
#else
        (void)stored, (void)row;
#endif
    }

    const Features& x_;
    const Steps& steps_;
    const index_t t_;
    Buffer<double> pairs_;
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
