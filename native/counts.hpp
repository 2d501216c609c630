// Counts per class: rows, events, presences and categories.
#pragma once

#include <cmath>
#include <cstring>

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kCacheBlock = 8192;  // doubles: 64 KiB, a small part of any second-level cache

// Whether any of n doubles is NaN or infinite. Works on the bits, because a compare would not vectorise.
inline bool any_not_finite(const double* x, index_t n) {
    std::uint64_t found = 0;
    for (index_t i = 0; i < n; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        found |= ((bits & 0x7ff0000000000000ull) + 0x0010000000000000ull) & 0x8000000000000000ull;
    }
    return found != 0;
}

inline void blame_not_finite(index_t row, const double* x, index_t d) {
    for (index_t j = 0; j < d; ++j) {
        if (!std::isfinite(x[j])) offend("finite", row, j, x[j]);
    }
}

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

inline void event_counts(const Rows& rows, index_t k, double* weights, double* counts) {
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

inline void sparse_presence(const Rows& rows, index_t k, double threshold, double* weights, double* counts) {
    const index_t d = rows.x.cols;
    // What is not stored is 0: present only if the threshold is below it. Then count the absent, and turn round.
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
                if (!(value >= -kLargest)) offend("finite", row, j, value);
                if (inverted) to[j] += weight;
            }
        });
    });
    for (index_t c = 0; inverted && c < k; ++c) {
        for (index_t j = 0; j < d; ++j) counts[c * d + j] = weights[c] - counts[c * d + j];
    }
}

inline void presence_counts(const Rows& rows, index_t k, double threshold, double* weights, double* counts) {
    if (rows.x.sparse) {
        sparse_presence(rows, k, threshold, weights, counts);
        return;
    }
    const index_t d = rows.x.cols;
    each_dense_row(rows, k, weights, [&](index_t row, index_t code, double weight, const double* __restrict x) {
        double* __restrict to = counts + code * d;
        if (any_not_finite(x, d)) blame_not_finite(row, x, d);
        for (index_t j = 0; j < d; ++j) to[j] += x[j] > threshold ? weight : 0.0;
    });
}

inline void category_counts(const Rows& rows, index_t k, const index_t* sizes, double* weights, double* counts) {
    const index_t d = rows.x.cols;
    index_t width = 0;
    for (index_t j = 0; j < d; ++j) width += sizes[j];
    each_dense_row(rows, k, weights, [&](index_t row, index_t code, double weight, const double* x) {
        double* to = counts + code * width;
        for (index_t j = 0; j < d; ++j) {
            // The order matters: only a number within the range may be turned into an index.
            if (!(x[j] >= 0 && x[j] < static_cast<double>(sizes[j]))) offend("category", row, j, x[j]);
            const index_t category = static_cast<index_t>(x[j]);
            if (static_cast<double>(category) != x[j]) offend("category", row, j, x[j]);
            to[category] += weight;
            to += sizes[j];
        }
    });
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
