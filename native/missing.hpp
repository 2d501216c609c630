// Missing cells: in how much of a class's weight a feature is known.
#pragma once

#include <cmath>
#include <cstring>

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

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

inline bool any_infinite(const double* x, index_t n) {
    std::uint64_t found = 0;
    for (index_t i = 0; i < n; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        found |= ((bits & 0x7fffffffffffffffull) ^ 0x7ff0000000000000ull) - 1;  // infinity alone borrows the top bit
    }
    return (found >> 63) != 0;
}

inline bool is_nan(double value) { return value != value; }

// A sum and what its roundings left over: two such sums may cancel and leave all their digits.
struct Total {
    double sum, rest;

    void add(double value) {
        const double moved = sum + value, back = moved - sum;
        rest += (sum - (moved - back)) + (value - back);
        sum = moved;
    }
    double less(const Total& part) const { return (sum - part.sum) + (rest - part.rest); }
};

// Refuses a dense row that holds what is not finite; with `missing`, NaN may be there.
inline void blame_not_finite(index_t row, const double* x, index_t d, bool missing) {
    for (index_t j = 0; j < d; ++j) {
        if (!std::isfinite(x[j]) && !(missing && is_nan(x[j]))) offend("finite", row, j, x[j]);
    }
}

// The cells of CSR that are not known. What is known is the rest of a class's weight: most of it is not stored.
class Missing {
public:
    // Where cells may not be missing, the first is an offence.
    Missing(const Rows& rows, index_t k, bool allowed)
        : rows_(rows), k_(k), allowed_(allowed), gone_(allowed ? k : 0, rows.x.cols) {}

    void add(index_t row, index_t code, index_t j, double weight, double value) {
        if (!allowed_ || !is_nan(value)) offend("finite", row, j, value);
        Gone& gone = gone_[code * rows_.x.cols + j];
        gone.weight.add(weight);
        gone.rows += weight > 0 ? 1 : 0;
        found_ = true;
    }

    // How many rows that weigh anything miss a cell.
    index_t rows(index_t cell) { return found_ ? gone_[cell].rows : 0; }

    // Writes the weight of the rows in which each cell is known, (k, d), if any is missing, and returns whether so.
    bool finish(const double* weights, double* cells) {
        if (!found_) return false;
        Buffer<Total> all(k_);
        for (index_t row = rows_.begin; row < rows_.end; ++row) {
            all[code_of(rows_, row, k_)].add(weight_of(rows_, row));
        }
        const index_t d = rows_.x.cols;
        for (index_t c = 0; c < k_; ++c) {
            for (index_t i = c * d; i < (c + 1) * d; ++i) {
                const Total& gone = gone_[i].weight;
                const double known = gone.sum > 0 ? all[c].less(gone) : weights[c];
                cells[i] = known > 0 ? known : 0.0;
            }
        }
        return true;
    }

private:
    struct Gone {
        Total weight;
        index_t rows;
    };

    const Rows& rows_;
    const index_t k_;
    const bool allowed_;
    bool found_ = false;
    Buffer<Gone> gone_;
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
