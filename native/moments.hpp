// Centred moments per class. Rows are shifted by a reference near their class's mean before anything is squared, and
// the reference follows the running mean. It is the mean only up to rounding, which at a large offset is much: what is
// left over is kept as `rest`. With N the weight behind the reference, n the weight since, and delta the mean of the
// shifted rows since, the groups before and since merge by Chan's rule:
//     mean    = reference + rest + n / (N + n) (delta - rest)
//     spread += (sum of shifted squares - n delta^2) + N n / (N + n) (delta - rest)^2
// A class not seen before takes its first row of any weight as reference, N = 0 and rest = 0.
//
// A reference far from the mean of many rows costs digits: n delta^2 is taken out of the squares. What is taken out is
// added up, times the number of rows between two folds, and where it is more than kMostCancelled times the spread and
// the most rows of a fold, all rows are summed again about the means just found, which then do not move: the error of
// every spread is at most a few roundings per row of a fold, relative to itself, for any order and weights of the rows.
#pragma once

#include "counts.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kFoldRows = 2048;      // rows between two moves of the reference
constexpr index_t kAddedRows = 256;      // rows that are added up one after another: their sums are added to others
constexpr index_t kFirstFoldRows = 64;   // the first rows alone may be a bad guess at the mean: move on soon
constexpr double kMostCancelled = 4.0;   // in units of the spread
constexpr int kRounds = 4;               // each finds the means to the digits of the one before

// The most rows that are summed one after another; the more classes, the more, as their sums are added to others.
inline index_t added_rows(index_t k) { return 16 * k > kAddedRows ? 16 * k : kAddedRows; }

inline double depth_of(index_t count, index_t most) { return static_cast<double>(count < most ? count : most); }

// Adds sums to others, and sets them to 0.
inline void add_up(index_t size, double* __restrict sums, double* __restrict totals) {
    for (index_t i = 0; i < size; ++i) {
        totals[i] += sums[i];
        sums[i] = 0.0;
    }
}

// Whether what cancelled leaves any spread too few digits.
inline bool cancelled_much(const double* cancelled, const double* spread, index_t size, index_t step, double rows) {
    for (index_t i = 0; i < size; ++i) {
        const double most = kMostCancelled * rows * spread[i * step];
        if (cancelled[i] > most && cancelled[i] <= kLargest) return true;
    }
    return false;
}

// Moves a reference and its rest by a step: together they stay exact.
inline void move_reference(double step, double* reference, double* rest) {
    step += *rest;
    const double moved = *reference + step, back = moved - *reference;
    *rest = (*reference - (moved - back)) + (step - back);
    *reference = moved;
}

// Folds `rows` rows of weight n; a reference that is fixed stays, and the step is added to the rest.
inline void fold_diagonal(index_t d, double n, double rows, bool fixed, double* weight, double* reference,
                          double* rest, double* spread, double* sum, double* squares, double* cancelled) {
    const double total = *weight + n, share = n / total, between = *weight * share;
    for (index_t j = 0; j < d; ++j) {
        const double delta = sum[j] / n, apart = delta - rest[j], out = delta * sum[j];
        spread[j] += (squares[j] - out) + between * apart * apart;
        cancelled[j] += rows * out;
        if (fixed) {
            rest[j] += share * apart;
        } else {
            move_reference(share * apart, reference + j, rest + j);
        }
        sum[j] = squares[j] = 0.0;
    }
    *weight = total;
}

template <bool weighted>
inline void add_row(index_t d, const double* __restrict x, double weight, const double* __restrict mean,
                    double* __restrict sum, double* __restrict squares) {
    for (index_t j = 0; j < d; ++j) {
        const double shifted = x[j] - mean[j];
        const double scaled = weighted ? weight * shifted : shifted;
        sum[j] += scaled;
        squares[j] += scaled * shifted;
    }
}

// One pass over the rows; with `fixed`, about the means given. Returns whether it cancelled much.
inline bool dense_pass(const Rows& rows, index_t k, bool fixed, double* weights, double* mean, double* spread) {
    const index_t d = rows.x.cols;
    const index_t period = k * 2 > kFoldRows ? k * 2 : kFoldRows;
    const index_t most = added_rows(k);
    Buffer<double> since(k), sums(k, d), squares(k, d), rest(k, d), cancelled(k, d);
    Buffer<double> row_weights(k), row_sums(k, d), row_squares(k, d);  // of the rows not yet added
    Buffer<bool> seen(k);
    for (index_t c = 0; c < k; ++c) seen[c] = fixed;
    index_t left = kFirstFoldRows, next = kFirstFoldRows, until = most;
    auto add = [&] {
        add_up(k, row_weights, since);
        add_up(k * d, row_sums, sums);
        add_up(k * d, row_squares, squares);
        until = most;
    };
    auto fold = [&] {
        add();
        const double folded = depth_of(next - left, most);
        for (index_t c = 0; c < k; ++c) {
            if (since[c] > 0) {
                const index_t i = c * d;
                fold_diagonal(d, since[c], folded, fixed, weights + c, mean + i, rest + i, spread + i, sums + i,
                              squares + i, cancelled + i);
                since[c] = 0;
            }
        }
        left = next = period;
    };
    each_block(rows, kCacheBlock, [&](index_t first, index_t count, Block block) {
        for (index_t r = 0; r < count; ++r) {
            const index_t code = code_of(rows, first + r, k);
            const double* x = block.data + r * block.stride;
            const double weight = weight_of(rows, first + r);
            double* reference = mean + code * d;
            if (!seen[code] && weight > 0) {
                std::memcpy(reference, x, sizeof(double) * d);
                seen[code] = true;
            }
            row_weights[code] += weight;
            if (rows.weight == nullptr) {
                add_row<false>(d, x, 1.0, reference, row_sums + code * d, row_squares + code * d);
            } else {
                add_row<true>(d, x, weight, reference, row_sums + code * d, row_squares + code * d);
            }
            if (--until == 0) add();
            if (--left == 0) fold();
        }
    });
    fold();
    for (index_t i = 0; i < k * d; ++i) {
        spread[i] = spread[i] < 0 ? 0.0 : spread[i];  // by rounding, where the first row hardly weighed
        if (fixed) mean[i] += rest[i];
        mean[i] += sums[i];  // rows of weight 0 alone are never folded in: 0, or NaN, which must show
    }
    return cancelled_much(cancelled + 0, spread, k * d, 1, depth_of(rows.end - rows.begin, most));
}

inline void dense_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread) {
    bool again = dense_pass(rows, k, false, weights, mean, spread);
    for (int round = 1; again && round < kRounds; ++round) {
        std::memset(weights, 0, sizeof(double) * k);
        std::memset(spread, 0, sizeof(double) * k * rows.x.cols);
        again = dense_pass(rows, k, true, weights, mean, spread);
    }
}

// Adds the known cells of a row. A reference that is NaN has met no value: the first becomes it.
inline void add_known_cells(index_t d, const double* __restrict x, double weight, double* __restrict reference,
                            double* __restrict since, double* __restrict sum, double* __restrict squares) {
    for (index_t j = 0; j < d; ++j) {
        const double from = is_nan(reference[j]) ? x[j] : reference[j];
        const double shifted = is_nan(x[j]) ? 0.0 : x[j] - from;
        const double scaled = weight * shifted;
        reference[j] = from;
        since[j] += is_nan(x[j]) ? 0.0 : weight;
        sum[j] += scaled;
        squares[j] += scaled * shifted;
    }
}

struct KnownPass {
    bool missing, again;  // whether a cell is missing; whether much cancelled
};

// As dense_pass, but every cell has a weight, a first value and a fold of its own.
inline KnownPass known_pass(const Rows& rows, index_t k, bool fixed, double* weights, double* mean, double* spread,
                            double* cells) {
    const index_t d = rows.x.cols;
    const index_t period = k * 2 > kFoldRows ? k * 2 : kFoldRows;
    const index_t most = added_rows(k);
    Buffer<double> rows_since(k), since(k, d), sums(k, d), squares(k, d), rest(k, d), cancelled(k, d);
    Buffer<double> row_weights(k), row_cells(k, d), row_sums(k, d), row_squares(k, d);  // of the rows not yet added
    index_t left = kFirstFoldRows, next = kFirstFoldRows, until = most;
    bool found = false;
    for (index_t i = 0; i < k * d && !fixed; ++i) mean[i] = NAN;
    auto add = [&] {
        add_up(k, row_weights, rows_since);
        add_up(k * d, row_cells, since);
        add_up(k * d, row_sums, sums);
        add_up(k * d, row_squares, squares);
        until = most;
    };
    auto fold = [&] {
        add();
        const double folded = depth_of(next - left, most);
        for (index_t c = 0; c < k; ++c) {
            weights[c] += rows_since[c];
            rows_since[c] = 0.0;
        }
        for (index_t i = 0; i < k * d; ++i) {
            if (!(since[i] > 0)) continue;
            fold_diagonal(1, since[i], folded, fixed, cells + i, mean + i, rest + i, spread + i, sums + i,
                          squares + i, cancelled + i);
            since[i] = 0.0;
        }
        left = next = period;
    };
    each_block(rows, kCacheBlock, [&](index_t first, index_t count, Block block) {
        for (index_t r = 0; r < count; ++r) {
            const index_t row = first + r, code = code_of(rows, row, k), i = code * d;
            const double* x = block.data + r * block.stride;
            const double weight = weight_of(rows, row);
            found |= any_not_finite(x, d);
            if (weight > 0) {
                row_weights[code] += weight;
                add_known_cells(d, x, weight, mean + i, row_cells + i, row_sums + i, row_squares + i);
            } else {  // adds nothing, but infinity must show here too
                blame_not_finite(row, x, d, true);
            }
            if (--until == 0) add();
            if (--left == 0) fold();
        }
    });
    fold();
    for (index_t i = 0; i < k * d; ++i) {
        spread[i] = spread[i] < 0 ? 0.0 : spread[i];  // by rounding, where the first value hardly weighed
        if (fixed) mean[i] += rest[i];
        mean[i] = cells[i] > 0 ? mean[i] : 0.0;
    }
    return {found, cancelled_much(cancelled + 0, spread, k * d, 1, depth_of(rows.end - rows.begin, most))};
}

// Returns whether any cell is missing.
inline bool known_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread, double* cells) {
    KnownPass pass = known_pass(rows, k, false, weights, mean, spread, cells);
    for (int round = 1; pass.again && round < kRounds; ++round) {
        std::memset(weights, 0, sizeof(double) * k);
        std::memset(spread, 0, sizeof(double) * k * rows.x.cols);
        std::memset(cells, 0, sizeof(double) * k * rows.x.cols);
        pass = known_pass(rows, k, true, weights, mean, spread, cells);
    }
    return pass.missing;
}

// What CSR stores of one class and feature: moments of the stored values alone.
struct Cell {
    double weight, reference, rest, sum, squares;
    index_t rows;  // those that weigh anything
};

// Moments of the stored values of each class and feature, before zeros are added.
class StoredMoments {
public:
    StoredMoments(const Rows& rows, index_t k, bool may_miss)
        : rows_(rows), k_(k), cells_(k, rows.x.cols), before_(k, rows.x.cols), class_rows_(k),
          cancelled_(k, rows.x.cols), missing_(rows, k, may_miss) {}

    // The stored values are one group and the zeros between them another: each is centred, then the two are merged.
    bool run(double* weights, double* mean, double* spread, double* known) {
        pass(weights, spread);
        const index_t size = k_ * rows_.x.cols;
        for (int round = 1; cancelled_much(cancelled_ + 0, spread, size, 1, depth_of(rows_.end - rows_.begin, period())) && round < kRounds; ++round) {
            fixed_ = true;
            std::memset(weights, 0, sizeof(double) * k_);
            std::memset(spread, 0, sizeof(double) * size);
            for (index_t i = 0; i < size; ++i) {
                Cell& cell = cells_[i];
                cell = {0.0, cell.reference + cell.rest, 0.0, 0.0, 0.0, cell.rows};
                before_[i] = cancelled_[i] = 0.0;
            }
            pass(weights, spread);
        }
        return merge_zeros(weights, mean, spread, known);
    }

private:
    index_t period() const {
        const index_t size = 8 * k_ * rows_.x.cols;
        return size > 65536 ? size : 65536;
    }

    void fold(double* spread, double rows) {
        for (index_t i = 0; i < k_ * rows_.x.cols; ++i) {
            Cell& cell = cells_[i];
            if (cell.weight <= 0) continue;
            fold_diagonal(1, cell.weight, rows, fixed_, before_ + i, &cell.reference, &cell.rest, spread + i,
                          &cell.sum, &cell.squares, cancelled_ + i);
            cell.weight = 0;
        }
    }

    void pass(double* weights, double* spread) {
        const index_t d = rows_.x.cols;
        index_t left = period(), since = 0;
        each_sparse_row(rows_, k_, weights, [&](index_t row, index_t code, double weight, const auto& stored) {
            const index_t counted = weight > 0 && !fixed_ ? 1 : 0;
            class_rows_[code] += counted;
            ++since;
            index_t last = -1;
            stored.visit(row, [&](index_t j, double value) {
                if (j <= last) offend("unsorted", row, j, value);
                last = j;
                if (!(value >= -kLargest && value <= kLargest)) {
                    if (!fixed_) missing_.add(row, code, j, weight, value);
                    return;
                }
                Cell& cell = cells_[code * d + j];
                if (cell.rows == 0 && !fixed_) cell.reference = value;  // until a row weighs, better than none
                const double shifted = value - cell.reference;
                cell.rows += counted;
                cell.weight += weight;
                cell.sum += weight * shifted;
                cell.squares += weight * shifted * shifted;
                --left;
            });
            if (left <= 0) {
                fold(spread, static_cast<double>(since));
                left = period();
                since = 0;
            }
        });
        fold(spread, static_cast<double>(since));
    }

    bool merge_zeros(double* weights, double* mean, double* spread, double* known) {
        const index_t d = rows_.x.cols;
        const bool found = missing_.finish(weights, known);
        for (index_t c = 0; c < k_; ++c) {
            for (index_t i = c * d; i < (c + 1) * d; ++i) {
                if (before_[i] <= 0) continue;
                mean[i] = fixed_ ? cells_[i].reference + cells_[i].rest : cells_[i].reference;
                spread[i] = spread[i] < 0 ? 0.0 : spread[i];
                if (found && !(known[i] > 0)) known[i] = before_[i];
                // Counted, not weighed: the rounding of a weight would be a zero far from the mean.
                if (cells_[i].rows + missing_.rows(i) == class_rows_[c]) continue;
                const double all = found ? known[i] : weights[c];
                const double share = before_[i] / all, absent = all - before_[i], stored_mean = mean[i];
                mean[i] *= share;
                if (absent > 0) spread[i] += share * absent * stored_mean * stored_mean;
            }
        }
        return found;
    }

    const Rows& rows_;
    const index_t k_;
    Buffer<Cell> cells_;
    Buffer<double> before_;  // the weight behind each reference
    Buffer<index_t> class_rows_;  // those that weigh anything
    Buffer<double> cancelled_;
    Missing missing_;
    bool fixed_ = false;
};

inline bool diagonal_moments(const Rows& rows, index_t k, double* weights, double* mean, double* spread,
                             double* cells) {
    if (rows.x.sparse) return StoredMoments(rows, k, cells != nullptr).run(weights, mean, spread, cells);
    dense_diagonal(rows, k, weights, mean, spread);
    const index_t size = k * rows.x.cols;
    if (cells == nullptr || !(any_not_finite(mean, size) || any_not_finite(spread, size))) return false;
    std::memset(weights, 0, sizeof(double) * k);
    std::memset(spread, 0, sizeof(double) * size);
    return known_diagonal(rows, k, weights, mean, spread, cells);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
