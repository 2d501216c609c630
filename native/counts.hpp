// Counts per class: rows, events, presences and categories.
#pragma once

#include <cmath>

#include "missing.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kCacheBlock = 8192;  // doubles: 64 KiB, a small part of any second-level cache

inline void class_weights(const Rows& rows, index_t k, double* weights) {
    for (index_t row = rows.begin; row < rows.end; ++row) weights[code_of(rows, row, k)] += weight_of(rows, row);
}

// Calls act(row, class, weight, features) for every row as doubles, adding up the weights of the classes.
template <class Act>
void each_dense_row(const Rows& rows, index_t k, double* weights, Act&& act) {
    each_block(rows, kCacheBlock, [&](index_t first, index_t count, Block block) {
        for (index_t r = 0; r < count; ++r) {
            const index_t code = code_of(rows, first + r, k);
            const double weight = weight_of(rows, first + r);
            weights[code] += weight;
            act(first + r, code, weight, block.data + r * block.stride);
        }
    });
}

// The same with act(row, class, weight, stored) for sparse rows, whose values stored.visit(row, ...) yields.
template <class Act>
void each_sparse_row(const Rows& rows, index_t k, double* weights, Act&& act) {
    with_sparse(rows.x, [&](auto stored) {
        for (index_t row = rows.begin; row < rows.end; ++row) {
            const index_t code = code_of(rows, row, k);
            const double weight = weight_of(rows, row);
            weights[code] += weight;
            act(row, code, weight, stored);
        }
    });
}

// Adds a row's weight to the cells that it knows.
inline void add_known(index_t d, const double* __restrict x, double weight, double* __restrict cells) {
    for (index_t j = 0; j < d; ++j) cells[j] += is_nan(x[j]) ? 0.0 : weight;
}

inline void add_events(const Rows& rows, index_t k, double* weights, double* counts) {
    const index_t d = rows.x.cols;
    if (rows.x.sparse) {
        each_sparse_row(rows, k, weights, [&](index_t row, index_t code, double weight, const auto& stored) {
            double* to = counts + code * d;
            stored.visit(row, [&](index_t j, double value) {
                if (value < 0) offend("negative", row, j, value);
                to[j] += weight * value;
            });
        });
        return;
    }
    each_dense_row(rows, k, weights, [&](index_t row, index_t code, double weight, const double* __restrict x) {
        double* __restrict to = counts + code * d;
        std::int64_t negative = 0;
        for (index_t j = 0; j < d; ++j) {
            negative |= x[j] < 0 ? 1 : 0;
            to[j] += weight * x[j];
        }
        for (index_t j = 0; negative != 0 && j < d; ++j) {
            if (x[j] < 0) offend("negative", row, j, x[j]);
        }
    });
}

// The same without the cells that are missing, once add_events has found no negative count.
inline bool add_known_events(const Rows& rows, index_t k, double* weights, double* counts, double* cells) {
    const index_t d = rows.x.cols;
    if (rows.x.sparse) {
        Missing missing(rows, k, true);
        each_sparse_row(rows, k, weights, [&](index_t row, index_t code, double weight, const auto& stored) {
            double* to = counts + code * d;
            index_t last = -1;
            stored.visit(row, [&](index_t j, double value) {
                if (j <= last) offend("unsorted", row, j, value);  // a cell stored twice is missing once
                last = j;
                if (std::isfinite(value)) {
                    to[j] += weight * value;
                } else {
                    missing.add(row, code, j, weight, value);
                }
            });
        });
        return missing.finish(weights, cells);
    }
    bool found = false;
    each_dense_row(rows, k, weights, [&](index_t, index_t code, double weight, const double* __restrict x) {
        double* __restrict to = counts + code * d;
        found |= any_not_finite(x, d);
        for (index_t j = 0; j < d; ++j) to[j] += is_nan(x[j]) ? 0.0 : weight * x[j];
        add_known(d, x, weight, cells + code * d);
    });
    return found;
}

inline bool event_counts(const Rows& rows, index_t k, double* weights, double* counts, double* cells) {
    add_events(rows, k, weights, counts);
    if (cells == nullptr || !any_not_finite(counts, k * rows.x.cols)) return false;
    std::memset(weights, 0, sizeof(double) * k);
    std::memset(counts, 0, sizeof(double) * k * rows.x.cols);
    return add_known_events(rows, k, weights, counts, cells);
}

inline bool sparse_presence(const Rows& rows, index_t k, double threshold, double* weights, double* counts,
                            double* cells) {
    const index_t d = rows.x.cols;
    Missing missing(rows, k, cells != nullptr);
    // What is not stored is 0: present only if the threshold is below it. Then count all others, and turn round.
    const bool inverted = 0.0 > threshold;
    each_sparse_row(rows, k, weights, [&](index_t row, index_t code, double weight, const auto& stored) {
        double* to = counts + code * d;
        index_t last = -1;
        stored.visit(row, [&](index_t j, double value) {
            if (j <= last) offend("unsorted", row, j, value);
            last = j;
            if (value > threshold) {
                if (value > kLargest) offend("finite", row, j, value);
                if (!inverted) to[j] += weight;
            } else {
                if (!(value >= -kLargest)) missing.add(row, code, j, weight, value);
                if (inverted) to[j] += weight;
            }
        });
    });
    for (index_t c = 0; inverted && c < k; ++c) {
        for (index_t j = 0; j < d; ++j) counts[c * d + j] = weights[c] - counts[c * d + j];
    }
    return missing.finish(weights, cells);
}

inline bool presence_counts(const Rows& rows, index_t k, double threshold, double* weights, double* counts,
                            double* cells) {
    if (rows.x.sparse) return sparse_presence(rows, k, threshold, weights, counts, cells);
    const index_t d = rows.x.cols;
    bool found = false;
    each_dense_row(rows, k, weights, [&](index_t row, index_t code, double weight, const double* __restrict x) {
        double* __restrict to = counts + code * d;
        if (any_not_finite(x, d)) {
            if (cells == nullptr || any_infinite(x, d)) blame_not_finite(row, x, d, cells != nullptr);
            found = true;
        }
        for (index_t j = 0; j < d; ++j) to[j] += x[j] > threshold ? weight : 0.0;  // NaN is above nothing
    });
    if (!found) return false;
    Buffer<double> again(k);
    each_dense_row(rows, k, again, [&](index_t, index_t code, double weight, const double* x) {
        add_known(d, x, weight, cells + code * d);
    });
    return true;
}

// Whether a code stands for a missing cell: NaN, or a negative whole number.
inline bool is_no_category(double code) {
    return is_nan(code) || (code < 0 && code >= -kLargest && std::floor(code) == code);
}

// With `missing`, NaN and negative codes are cells that are not known: they add nothing.
inline void category_counts(const Rows& rows, index_t k, const index_t* sizes, bool missing, double* weights,
                            double* counts) {
    const index_t d = rows.x.cols;
    index_t width = 0;
    for (index_t j = 0; j < d; ++j) width += sizes[j];
    each_dense_row(rows, k, weights, [&](index_t row, index_t code, double weight, const double* x) {
        double* to = counts + code * width;
        for (index_t j = 0; j < d; ++j) {
            // The order matters: only a number within the range may be turned into an index.
            if (x[j] >= 0 && x[j] < static_cast<double>(sizes[j])) {
                const index_t category = static_cast<index_t>(x[j]);
                if (static_cast<double>(category) != x[j]) offend("category", row, j, x[j]);
                to[category] += weight;
            } else if (!missing || !is_no_category(x[j])) {
                offend("category", row, j, x[j]);
            }
            to += sizes[j];
        }
    });
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
