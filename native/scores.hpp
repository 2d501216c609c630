// Linear log-scores: one weighted sum of features per class.
#pragma once

#include "counts.hpp"
#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// scores (rows, k) = x coef' + intercept; coef is (k, d) row by row.
inline void linear_scores(const Rows& rows, index_t k, const double* coef, const double* intercept, double* scores) {
    const index_t d = rows.x.cols;
    for (index_t r = 0; r < rows.end - rows.begin; ++r) {
        for (index_t c = 0; c < k; ++c) scores[r * k + c] = intercept[c];
    }
    if (d == 0 || k == 0) return;
    const bool narrow = k <= 4;  // too narrow for tiles to pay
    const index_t wide = narrow ? k : padded(k);
    Buffer<double> by_feature(d * wide);  // one value of a row meets all classes at once
    for (index_t c = 0; c < k; ++c) {
        for (index_t j = 0; j < d; ++j) by_feature[j * wide + c] = coef[c * d + j];
    }
    if (rows.x.sparse) {
        with_sparse(rows.x, [&](auto stored) {
            for (index_t row = rows.begin; row < rows.end; ++row) {
                double* to = scores + (row - rows.begin) * k;
                stored.visit(row, [&](index_t j, double value) {
                    const double* from = by_feature + j * wide;
                    for (index_t c = 0; c < k; ++c) to[c] += value * from[c];
                });
            }
        });
        return;
    }
    const index_t most = clamp(kCacheBlock / d, 16, 1024);
    Buffer<double> buffer(most * d), sums(most * wide);
    for (index_t row = rows.begin; row < rows.end; row += most) {
        const index_t count = row + most < rows.end ? most : rows.end - row;
        const Block x = load(rows.x, row, count, buffer);
        double* to = scores + (row - rows.begin) * k;
        if (narrow) {
            for (index_t r = 0; r < count; ++r) {
                for (index_t c = 0; c < k; ++c) to[r * k + c] += dot(x.data + r * x.stride, coef + c * d, d);
            }
            continue;
        }
        for (index_t i = 0; i < count * wide; ++i) sums[i] = 0.0;
        add_product(count, k, d, x.data, x.stride, 1, by_feature, sums);
        for (index_t r = 0; r < count; ++r) {
            for (index_t c = 0; c < k; ++c) to[r * k + c] += sums[r * wide + c];
        }
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
