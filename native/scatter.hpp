// Means and centred products of features per class, with one scatter per class or one for all. See moments.hpp for the
// moving reference; here the fold takes products of one row per class back out of the scatter.
#pragma once

#include "dense.hpp"
#include "moments.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class Scatter {
public:
    // With targets, a row is [x, y]. Tied: spread is (p, p); otherwise (k, p, p).
    Scatter(const Rows& rows, const Features* targets, index_t k, bool tied, double* weights, double* mean,
            double* spread)
        : rows_(rows), targets_(targets), k_(k), d_(rows.x.cols), p_(d_ + (targets ? targets->cols : 0)), tied_(tied),
          added_(added_rows(k)), most_(clamp(65536 / (p_ > 0 ? p_ : 1), 256, clamp(added_, 256, 2048))), panels_(p_), weights_(weights), mean_(mean),
          spread_(spread), shifted_(most_, panels_.row_size()), joined_(targets ? p_ : 0), since_(k), sums_(k, p_),
          rest_(k, p_), row_weights_(k), row_sums_(k, p_), cancelled_(tied ? 1 : k, p_), out_(tied ? k : 1, panels_.row_size()),
          in_(tied ? k : 1, panels_.row_size()), seen_(k), code_(most_), start_(k + 1), next_(k) {}

    void run() {
        pass();
        for (int round = 1; cancelled_too_much() && round < kRounds; ++round) {
            std::memset(weights_, 0, sizeof(double) * k_);
            std::memset(spread_, 0, sizeof(double) * groups() * p_ * p_);
            for (index_t i = 0; i < k_ * p_; ++i) rest_[i] = sums_[i] = 0.0;
            for (index_t i = 0; i < groups() * p_; ++i) cancelled_[i] = 0.0;
            for (index_t c = 0; c < k_; ++c) seen_[c] = fixed_ = true;
            pass();
        }
    }

private:
    // One pass over the rows; with fixed_, about the means of the pass before.
    void pass() {
        Buffer<double> converted(most_, d_), converted_targets(most_, p_ - d_);
        const index_t period = this->period();
        index_t pending = period - kFirstFoldRows, count = 0, since = 0;
        for (index_t row = rows_.begin; row < rows_.end; row += count) {
            count = row == rows_.begin ? kFirstFoldRows : most_;
            count = row + count < rows_.end ? count : rows_.end - row;
            const Block x = load(rows_.x, row, count, converted);
            const Block y = targets_ ? load(*targets_, row - rows_.begin, count, converted_targets) : Block{nullptr, 0};
            arrange(row, count);
            for (index_t r = 0; r < count; ++r) {
                shift(row + r, code_[r], join(x.data + r * x.stride, y.data + (targets_ ? r * y.stride : 0)));
            }
            for (index_t c = 0; c < groups(); ++c) {
                const double* group = shifted_ + start_[c] * panels_.row_size();
                panels_.add_products(group, start_[c + 1] - start_[c], 1.0, spread_ + c * p_ * p_, p_);
            }
            add_up(k_, row_weights_, since_);
            add_up(k_ * p_, row_sums_, sums_);
            pending += count;
            since += count;
            if (pending >= period || row + count == rows_.end) {
                fold(depth_of(since, added_));
                pending = since = 0;
            }
        }
        finish();
    }

    index_t groups() const { return tied_ ? 1 : k_; }
    index_t period() const { return 16 * k_ > 4096 ? 16 * k_ : 4096; }

    bool cancelled_too_much() {
        const double rows = depth_of(rows_.end - rows_.begin, added_);
        for (index_t c = 0; c < groups(); ++c) {
            if (cancelled_much(cancelled_ + c * p_, spread_ + c * p_ * p_, p_, p_ + 1, rows)) return true;
        }
        return false;
    }

    // Finds each row's class, and how many rows of the block each scatter takes.
    void arrange(index_t row, index_t count) {
        for (index_t c = 0; c <= groups(); ++c) start_[c] = 0;
        for (index_t r = 0; r < count; ++r) {
            code_[r] = code_of(rows_, row + r, k_);
            ++start_[tied_ ? 1 : code_[r] + 1];
        }
        for (index_t c = 0; c < groups(); ++c) {
            start_[c + 1] += start_[c];
            next_[c] = 0;
        }
    }

    const double* join(const double* x, const double* y) {
        if (targets_ == nullptr) return x;
        for (index_t j = 0; j < d_; ++j) joined_[j] = x[j];
        for (index_t j = d_; j < p_; ++j) joined_[j] = y[j - d_];
        return joined_;
    }

    void shift(index_t row, index_t code, const double* __restrict x) {
        const double weight = weight_of(rows_, row), root = rows_.weight ? std::sqrt(weight) : 1.0;
        double* __restrict reference = mean_ + code * p_;
        double* __restrict sums = row_sums_ + code * p_;
        if (!seen_[code] && weight > 0) {
            seen_[code] = true;
            for (index_t j = 0; j < p_; ++j) reference[j] = x[j];
        }
        row_weights_[code] += weight;
        const index_t c = tied_ ? 0 : code;
        double* group = shifted_ + start_[c] * panels_.row_size();
        auto many = [&](index_t j, double* to) {
            const Vector z = take(x + j) - take(reference + j);
            put(sums + j, take(sums + j) + weight * z);
            put(to, root * z);
        };
        auto one = [&](index_t j, double* to) {
            const double z = x[j] - reference[j];
            sums[j] += weight * z;
            *to = root * z;
        };
        panels_.store(group, start_[c + 1] - start_[c], next_[c]++, many, one);
    }

    // Takes n delta' delta out of the scatter for every class with rows since the last fold, and puts what lies between
    // the rows before and since back in. One scatter for all takes the rows of all classes at once.
    void fold(double rows) {
        index_t moving = 0, moved = 0;
        for (index_t c = 0; c < k_; ++c) moving += since_[c] > 0 ? 1 : 0;
        for (index_t c = 0; c < k_; ++c) {
            if (!(since_[c] > 0)) continue;
            const double n = since_[c], total = weights_[c] + n, share = n / total;
            const double root = std::sqrt(1.0 / n), between = std::sqrt(weights_[c] * share);
            double *mean = mean_ + c * p_, *rest = rest_ + c * p_, *sums = sums_ + c * p_;
            double* cancelled = cancelled_ + (tied_ ? 0 : c * p_);
            store(out_, tied_ ? moving : 1, moved, [&](index_t j) { return root * sums[j]; });
            store(in_, tied_ ? moving : 1, moved, [&](index_t j) { return between * (sums[j] / n - rest[j]); });
            if (tied_) {
                ++moved;
            } else {
                exchange(1, spread_ + c * p_ * p_);
            }
            for (index_t j = 0; j < p_; ++j) {
                const double delta = sums[j] / n, step = share * (delta - rest[j]);
                cancelled[j] += rows * delta * sums[j];
                if (fixed_) {
                    rest[j] += step;
                } else {
                    move_reference(step, mean + j, rest + j);
                }
                sums[j] = 0.0;
            }
            weights_[c] = total;
            since_[c] = 0.0;
        }
        if (tied_) exchange(moved, spread_);
    }

    template <class Value>
    void store(double* group, index_t rows, index_t row, Value&& value) {
        auto one = [&](index_t j, double* to) { *to = value(j); };
        auto many = [&](index_t j, double* to) {
            for (index_t l = 0; l < kVector; ++l) one(j + l, to + l);
        };
        panels_.store(group, rows, row, many, one);
    }

    void exchange(index_t rows, double* spread) {
        panels_.add_products(out_, rows, -1.0, spread, p_);
        panels_.add_products(in_, rows, 1.0, spread, p_);
    }

    void finish() {
        for (index_t i = 0; i < k_ * p_; ++i) mean_[i] += fixed_ ? rest_[i] + sums_[i] : sums_[i];  // as in dense_pass
        for (index_t c = 0; c < groups(); ++c) {
            double* spread = spread_ + c * p_ * p_;
            mirror(spread, p_, p_);
            for (index_t i = 0; i < p_ * p_; i += p_ + 1) spread[i] = spread[i] < 0 ? 0.0 : spread[i];
        }
    }

    const Rows& rows_;
    const Features* targets_;
    const index_t k_, d_, p_;
    const bool tied_;
    bool fixed_ = false;
    const index_t added_, most_;  // rows that are added up one after another; rows of a block
    const Panels panels_;
    double *weights_, *mean_, *spread_;
    Buffer<double> shifted_, joined_, since_, sums_, rest_, row_weights_, row_sums_, cancelled_, out_, in_;
    Buffer<bool> seen_;
    Buffer<index_t> code_, start_, next_;  // of each row; of each scatter's rows in the block
};

inline void scatter(const Rows& rows, const Features* targets, index_t k, bool tied, double* weights, double* mean,
                    double* spread) {
    Scatter(rows, targets, k, tied, weights, mean, spread).run();
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
