// Centred moments per class. Rows are shifted by a reference near their class's mean before anything is squared, and
// the reference follows the running mean: with N the weight behind the reference, n the weight since, and delta the
// mean of the shifted rows since,
//     mean    = reference + n / (N + n) delta
//     spread += (sum of shifted squares) - n^2 / (N + n) delta^2
// which is Chan's merge of the rows before and since. A class not seen before takes its first row
// of any weight as reference, N = 0.
#pragma once

#include "counts.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kFoldRows = 2048;  // rows between two moves of the reference

inline void fold_diagonal(index_t d, double n, double* weight, double* mean, double* spread, double* sum,
                          double* squares) {
    const double total = *weight + n;
    const double share = 1.0 / total;
    for (index_t j = 0; j < d; ++j) {
        spread[j] += squares[j] - share * sum[j] * sum[j];
        mean[j] += share * sum[j];
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
    Buffer<double> since(k), sums(k * d), squares(k * d);
    Buffer<bool> seen(k);
    index_t left = period;
    auto fold = [&] {
        for (index_t c = 0; c < k; ++c) {
            if (since[c] > 0) {
                fold_diagonal(d, since[c], weights + c, mean + c * d, spread + c * d, sums + c * d, squares + c * d);
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

// What CSR stores of one class and feature: moments of the stored values alone.
struct Cell {
    double weight, reference, sum, squares;
};

// The stored values are one group and the zeros between them another: each is centred, then the two are merged.
inline void sparse_diagonal(const Rows& rows, index_t k, double* weights, double* mean, double* spread) {
    const index_t d = rows.x.cols;
    Buffer<Cell> cells(k * d);
    Buffer<double> before(k * d);  // the weight behind each reference
    Buffer<bool> seen(k * d);
    auto fold = [&] {
        for (index_t i = 0; i < k * d; ++i) {
            Cell& cell = cells[i];
            if (cell.weight <= 0) continue;
            fold_diagonal(1, cell.weight, before + i, &cell.reference, spread + i, &cell.sum, &cell.squares);
            cell.weight = 0;
        }
    };
    const index_t period = 8 * k * d > 65536 ? 8 * k * d : 65536;
    index_t left = period;
    with_sparse(rows.x, [&](auto stored) {
        for (index_t row = rows.begin; row < rows.end; ++row) {
            const index_t code = code_of(rows, row, k);
            const double weight = weight_of(rows, row);
            weights[code] += weight;
            index_t last = -1;
            stored.visit(row, [&](index_t j, double value) {
                if (j <= last) offend("unsorted", row, j, value);
                if (!(value - value == 0)) offend("finite", row, j, value);
                last = j;
                Cell& cell = cells[code * d + j];
                if (!seen[code * d + j] && weight > 0) {
                    cell.reference = value;
                    seen[code * d + j] = true;
                }
                const double shifted = value - cell.reference;
                cell.weight += weight;
                cell.sum += weight * shifted;
                cell.squares += weight * shifted * shifted;
                --left;
            });
            if (left <= 0) {
                fold();
                left = period;
            }
        }
    });
    fold();
    for (index_t c = 0; c < k; ++c) {
        for (index_t i = c * d; i < (c + 1) * d; ++i) {
            if (before[i] <= 0) continue;
            const double share = before[i] / weights[c];
            const double absent = weights[c] - before[i];
            mean[i] = share * cells[i].reference;
            spread[i] = spread[i] < 0 ? 0.0 : spread[i];
            if (absent > 0) spread[i] += share * absent * cells[i].reference * cells[i].reference;
        }
    }
}

inline void diagonal_moments(const Rows& rows, index_t k, double* weights, double* mean, double* spread) {
    if (rows.x.sparse) {
        sparse_diagonal(rows, k, weights, mean, spread);
    } else {
        dense_diagonal(rows, k, weights, mean, spread);
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
