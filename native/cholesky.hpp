// Cholesky's factor of small matrices, and systems solved with it. A BLAS would bring threads that, once called, keep
// the cores busy waiting for more work while the engine's threads want them.
#pragma once

#include <cmath>

#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// Turns the lower triangle of a, (q, q), into L with L L' = a, as far as every pivot is above `least`. Returns the
// smallest pivot met.
inline double cholesky(index_t q, double least, double* a) {
    double smallest = HUGE_VAL;
    for (index_t i = 0; i < q; ++i) {
        double* row = a + i * q;
        for (index_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, a + j * q, j)) / a[j * q + j];
        const double pivot = row[i] - dot(row, row, i);
        smallest = pivot < smallest ? pivot : smallest;
        if (!(pivot > least)) return pivot;
        row[i] = std::sqrt(pivot);
        for (index_t j = i + 1; j < q; ++j) row[j] = 0.0;
    }
    return smallest;
}

// Turns each row of b, (r, q), into the solution of L L' x = b.
inline void cholesky_solve(index_t q, index_t r, const double* l, double* b) {
    for (index_t k = 0; k < r; ++k) {
        double* x = b + k * q;
        for (index_t i = 0; i < q; ++i) x[i] = (x[i] - dot(l + i * q, x, i)) / l[i * q + i];
        for (index_t i = q; i-- > 0;) {
            const double* row = l + i * q;
            x[i] /= row[i];
            for (index_t j = 0; j < i; ++j) x[j] -= x[i] * row[j];
        }
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
