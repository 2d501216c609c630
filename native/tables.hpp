// Sums of a few rows of a table, one column per class: the scores of a sparse row or of categories.
#pragma once

#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// For the small functions inside the loops that sum entries: a call would keep the sums out of registers.
#if defined(__GNUC__) || defined(__clang__)
#define SUFFICE_INLINE __attribute__((always_inline))
#else
#define SUFFICE_INLINE
#endif

// A row of a table and what it counts.
struct Entry {
    index_t row;
    double weight;
};

class Table {
public:
    // Zeros. A narrow table stays narrow, for the cache's sake.
    Table(index_t rows, index_t k) : k_(k), wide_(k <= 4 ? k : padded(k)), data_(rows, wide_) {}

    double* row(index_t i) { return data_ + i * wide_; }

    // sums[c step] += the sum over first <= i < last of weight * row(row)[c], with entry(i) the row and its weight.
    template <class EntryOf>
    void add(index_t first, index_t last, EntryOf&& entry, double* sums, index_t step) const {
        switch (k_) {
            case 1: add_narrow<1>(first, last, entry, sums, step); return;
            case 2: add_narrow<2>(first, last, entry, sums, step); return;
            case 3: add_narrow<3>(first, last, entry, sums, step); return;
            case 4: add_narrow<4>(first, last, entry, sums, step); return;
            default: break;
        }
        for (index_t c = 0; c < wide_; c += kMost * kVector) {
            double* to = sums + c * step;
            const index_t columns = k_ - c;
            switch ((wide_ - c) / kVector) {
                case 1: add_wide<1>(first, last, entry, c, columns, to, step); break;
                case 2: add_wide<2>(first, last, entry, c, columns, to, step); break;
                case 3: add_wide<3>(first, last, entry, c, columns, to, step); break;
                default: add_wide<kMost>(first, last, entry, c, columns, to, step); break;
            }
        }
    }

private:
    static constexpr int kMost = 4;  // vectors summed at a time

    template <int k, class EntryOf>
    void add_narrow(index_t first, index_t last, EntryOf&& entry, double* sums, index_t step) const {
        const double* __restrict table = data_;
        double even[k] = {}, odd[k] = {};  // two sums: one would wait for itself
        index_t i = first;
        for (; i + 2 <= last; i += 2) {
            const Entry one = entry(i), two = entry(i + 1);
            for (int c = 0; c < k; ++c) even[c] += one.weight * table[one.row * k + c];
            for (int c = 0; c < k; ++c) odd[c] += two.weight * table[two.row * k + c];
        }
        if (i < last) {
            const Entry one = entry(i);
            for (int c = 0; c < k; ++c) even[c] += one.weight * table[one.row * k + c];
        }
        for (int c = 0; c < k; ++c) sums[c * step] += even[c] + odd[c];
    }

    template <int vectors, class EntryOf>
    void add_wide(index_t first, index_t last, EntryOf&& entry, index_t column, index_t columns, double* sums,
                  index_t step) const {
        const double* table = data_ + column;
        Vector total[vectors] = {};
        for (index_t i = first; i < last; ++i) {
            const Entry each = entry(i);
            for (int v = 0; v < vectors; ++v) {
                total[v] = total[v] + each.weight * take(table + each.row * wide_ + v * kVector);
            }
        }
        double plain[vectors * kVector];
        for (int v = 0; v < vectors; ++v) put(plain + v * kVector, total[v]);
        for (index_t c = 0; c < vectors * kVector && c < columns; ++c) sums[c * step] += plain[c];
    }

    const index_t k_, wide_;
    Buffer<double> data_;
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
