// Centred moments per class. Rows are shifted by a reference near their class's mean before anything is squared, and
// the reference follows the running mean. It is the mean only up to rounding, which at a large offset is much: what is
// left over is kept as `rest`. With N the weight behind the reference, n the weight since, and delta the mean of the
// shifted rows since, the groups before and since merge by Chan's rule:
//     mean    = reference + rest + n / (N + n) (delta - rest)
//     spread += (sum of shifted squares - n delta^2) + N n / (N + n) (delta - rest)^2
// A class not seen before takes its first row of any weight as reference, N = 0 and rest = 0.
#pragma once

#include "counts.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kFoldRows = 2048;      // rows between two moves of the reference
constexpr index_t kFirstFoldRows = 64;   // the first rows alone may be a bad guess at the mean: move on soon

// Moves a reference and its rest by a step: together they stay exact.
inline void move_reference(double step, double* reference, double* rest) {
    step += *rest;
    const double moved = *reference + step, back = moved - *reference;
    *rest = (*reference - (moved - back)) + (step - back);
    *reference = moved;
}

inline void fold_diagonal(index_t d, double n, double* weight, double* reference, double* rest, double* spread,
                          double* sum, double* squares) {
    const double total = *weight + n, share = n / total, between = *weight * share;
    for (index_t j = 0; j < d; ++j) {
        const double delta = sum[j] / n, apart = delta - rest[j];
        spread[j] += (squares[j] - delta * sum[j]) + between * apart * apart;
        move_reference(share * apart, reference + j, rest + j);
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

inline void dense_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread) {
    const index_t d = rows.x.cols;
    const index_t period = k * 2 > kFoldRows ? k * 2 : kFoldRows;
    Buffer<double> since(k), sums(k, d), squares(k, d), rest(k, d);
    Buffer<bool> seen(k);
    index_t left = kFirstFoldRows;
    auto fold = [&] {
        for (index_t c = 0; c < k; ++c) {
            if (since[c] > 0) {
                const index_t i = c * d;
                fold_diagonal(d, since[c], weights + c, mean + i, rest + i, spread + i, sums + i, squares + i);
                since[c] = 0;
            }
        }
        left = period;
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
            since[code] += weight;
            if (rows.weight == nullptr) {
                add_row<false>(d, x, 1.0, reference, sums + code * d, squares + code * d);
            } else {
                add_row<true>(d, x, weight, reference, sums + code * d, squares + code * d);
            }
            if (--left == 0) fold();
        }
    });
    fold();
    for (index_t i = 0; i < k * d; ++i) {
        spread[i] = spread[i] < 0 ? 0.0 : spread[i];  // by rounding, where the first row hardly weighed
        mean[i] += sums[i];  // rows of weight 0 alone are never folded in: 0, or NaN, which must show
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

// As dense_diagonal, but every cell has a weight, a first value and a fold of its own. Returns whether any is missing.
inline bool known_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread, double* cells) {
    const index_t d = rows.x.cols;
    const index_t period = k * 2 > kFoldRows ? k * 2 : kFoldRows;
    Buffer<double> rows_since(k), since(k, d), sums(k, d), squares(k, d), rest(k, d);
    index_t left = kFirstFoldRows;
    bool found = false;
    for (index_t i = 0; i < k * d; ++i) mean[i] = NAN;
    auto fold = [&] {
        for (index_t c = 0; c < k; ++c) {
            weights[c] += rows_since[c];
            rows_since[c] = 0.0;
        }
        for (index_t i = 0; i < k * d; ++i) {
            if (!(since[i] > 0)) continue;
            fold_diagonal(1, since[i], cells + i, mean + i, rest + i, spread + i, sums + i, squares + i);
            since[i] = 0.0;
        }
        left = period;
    };
    each_block(rows, kCacheBlock, [&](index_t first, index_t count, Block block) {
        for (index_t r = 0; r < count; ++r) {
            const index_t row = first + r, code = code_of(rows, row, k), i = code * d;
            const double* x = block.data + r * block.stride;
            const double weight = weight_of(rows, row);
            found |= any_not_finite(x, d);
            if (weight > 0) {
                rows_since[code] += weight;
                add_known_cells(d, x, weight, mean + i, since + i, sums + i, squares + i);
            } else {  // adds nothing, but infinity must show here too
                blame_not_finite(row, x, d, true);
            }
            if (--left == 0) fold();
        }
    });
    fold();
    for (index_t i = 0; i < k * d; ++i) {
        spread[i] = spread[i] < 0 ? 0.0 : spread[i];  // by rounding, where the first value hardly weighed
        mean[i] = cells[i] > 0 ? mean[i] : 0.0;
    }
    return found;
}

// What CSR stores of one class and feature: moments of the stored values alone.
struct Cell {
    double weight, reference, rest, sum, squares;
    index_t rows;  // those that weigh anything
};

// The stored values are one group and the zeros between them another: each is centred, then the two are merged.
inline bool sparse_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread, double* known) {
    const index_t d = rows.x.cols;
    Buffer<Cell> cells(k, d);
    Buffer<double> before(k, d);  // the weight behind each reference
    Buffer<index_t> class_rows(k);  // those that weigh anything
    Missing missing(rows, k, known != nullptr);
    auto fold = [&] {
        for (index_t i = 0; i < k * d; ++i) {
            Cell& cell = cells[i];
            if (cell.weight <= 0) continue;
            fold_diagonal(1, cell.weight, before + i, &cell.reference, &cell.rest, spread + i, &cell.sum,
                          &cell.squares);
            cell.weight = 0;
        }
    };
    const index_t period = 8 * k * d > 65536 ? 8 * k * d : 65536;
    index_t left = period;
    each_sparse_row(rows, k, weights, [&](index_t row, index_t code, double weight, const auto& stored) {
        const index_t counted = weight > 0 ? 1 : 0;
        class_rows[code] += counted;
        index_t last = -1;
        stored.visit(row, [&](index_t j, double value) {
            if (j <= last) offend("unsorted", row, j, value);
            last = j;
            if (!(value >= -kLargest && value <= kLargest)) {
                missing.add(row, code, j, weight, value);
                return;
            }
            Cell& cell = cells[code * d + j];
            if (cell.rows == 0) cell.reference = value;  // until a row weighs, each is a better guess than none
            const double shifted = value - cell.reference;
            cell.rows += counted;
            cell.weight += weight;
            cell.sum += weight * shifted;
            cell.squares += weight * shifted * shifted;
            --left;
        });
        if (left <= 0) {
            fold();
            left = period;
        }
    });
    fold();
    const bool found = missing.finish(weights, known);
    for (index_t c = 0; c < k; ++c) {
        for (index_t i = c * d; i < (c + 1) * d; ++i) {
            if (before[i] <= 0) continue;
            mean[i] = cells[i].reference;
            spread[i] = spread[i] < 0 ? 0.0 : spread[i];
            if (found && !(known[i] > 0)) known[i] = before[i];
            // Counted, not weighed: the rounding of a weight would be a zero far from the mean.
            if (cells[i].rows + missing.rows(i) == class_rows[c]) continue;
            const double all = found ? known[i] : weights[c];
            const double share = before[i] / all, absent = all - before[i];
            mean[i] *= share;
            if (absent > 0) spread[i] += share * absent * cells[i].reference * cells[i].reference;
        }
    }
    return found;
}

inline bool diagonal_moments(const Rows& rows, index_t k, double* weights, double* mean, double* spread,
                             double* cells) {
    if (rows.x.sparse) return sparse_diagonal(rows, k, weights, mean, spread, cells);
    dense_diagonal(rows, k, weights, mean, spread);
    const index_t size = k * rows.x.cols;
    if (cells == nullptr || !(any_not_finite(mean, size) || any_not_finite(spread, size))) return false;
    std::memset(weights, 0, sizeof(double) * k);
    std::memset(spread, 0, sizeof(double) * size);
    return known_diagonal(rows, k, weights, mean, spread, cells);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
