// Log-probabilities of categories: one row of a table per feature and category.
#pragma once

#include "posterior.hpp"
#include "tables.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class CategoryScores {
public:
    // tables (sum of sizes, k) holds the categories of all features, one feature under another.
    CategoryScores(const Rows& rows, const double* tables, const index_t* sizes, const double* intercept,
                   const Reading& reading)
        : rows_(rows), k_(reading.classes), d_(rows.x.cols), sizes_(sizes), offsets_(d_), places_(d_),
          nothing_(place_features(sizes)), table_(nothing_ + 1, k_), scores_(rows, reading, intercept) {
        for (index_t i = 0; i < nothing_; ++i) {
            for (index_t c = 0; c < k_; ++c) table_.row(i)[c] = tables[i * k_ + c];
        }
    }

    void run() {
        Buffer<double> dense(rows_.x.sparse ? d_ : 0);
        each_strip(rows_, [&](index_t first, index_t count) {
            scores_.start();
            for (index_t r = 0; r < count; ++r) {
                const index_t row = first + r;
                if (rows_.x.sparse) {
                    densify(rows_.x, row, 1, dense);
                    place(static_cast<double*>(dense), 1, row);
                } else {
                    with_type(rows_.x.type, [&](auto zero) {
                        const auto* x = static_cast<const decltype(zero)*>(rows_.x.data) + row * rows_.x.row_stride;
                        place(x, rows_.x.col_stride, row);
                    });
                }
                const index_t* places = places_;
                const auto entry = [places](index_t j) SUFFICE_INLINE { return Entry{places[j], 1.0}; };
                table_.add(0, d_, entry, scores_.of_class(0) + r, kStrip);
            }
            scores_.read(first, count);
        });
    }

private:
    // Where each feature's categories start in the table. Returns the row below all of them, which stays zero.
    index_t place_features(const index_t* sizes) {
        index_t height = 0;
        for (index_t j = 0; j < d_; ++j) {
            offsets_[j] = height;
            height += sizes[j];
        }
        return height;
    }

    // Finds the table's row for each cell, that of zeros where a cell is missing.
    template <class T>
    void place(const T* x, index_t step, index_t row) {
        if (step == 1) {
            place_steps<1>(x, 1, row);
        } else {
            place_steps<0>(x, step, row);
        }
    }

    template <int known_step, class T>
    void place_steps(const T* __restrict x, index_t step, index_t row) {
        if (known_step != 0) step = known_step;
        const index_t *__restrict offsets = offsets_, *__restrict sizes = sizes_;
        index_t* __restrict places = places_;
        std::int64_t bad = 0;
        for (index_t j = 0; j < d_; ++j) {
            const T value = x[j * step];
            bad |= is_category(value, sizes[j]) ? 0 : 1;
            // Unsigned: the code of a value that is refused below may be the largest there is.
            const auto code = static_cast<std::uint64_t>(code_of_category(value, sizes[j]));
            places[j] = value >= T{} ? static_cast<index_t>(static_cast<std::uint64_t>(offsets[j]) + code) : nothing_;
        }
        for (index_t j = 0; bad != 0 && j < d_; ++j) {
            if (!is_category(x[j * step], sizes[j])) offend("category", row, j, static_cast<double>(x[j * step]));
        }
    }

    // Whether a value is a category or missing: below 0 or NaN.
    template <class T>
    static bool is_category(T value, index_t size) {
        if constexpr (static_cast<T>(0.5) != T{}) {
            const double number = static_cast<double>(value);
            const bool whole = std::trunc(number) == number || number != number;
            return whole && !(number >= static_cast<double>(size)) && !(number < -kLargest);
        } else if constexpr (static_cast<T>(-1) < T{}) {
            return static_cast<index_t>(value) < size;
        } else {
            return static_cast<std::uint64_t>(value) < static_cast<std::uint64_t>(size);
        }
    }

    // The code in a value that may turn out to be none: a number out of range must not be turned into an index.
    template <class T>
    static index_t code_of_category(T value, index_t size) {
        if constexpr (static_cast<T>(0.5) != T{}) {
            return static_cast<index_t>(value >= T{} && value < static_cast<T>(size) ? value : T{});
        } else {
            return static_cast<index_t>(value);
        }
    }

    const Rows& rows_;
    const index_t k_, d_;
    const index_t* sizes_;
    Buffer<index_t> offsets_, places_;
    const index_t nothing_;
    Table table_;
    Scores scores_;
};

inline void category_scores(const Rows& rows, const double* tables, const index_t* sizes, const double* intercept,
                            const Reading& reading) {
    CategoryScores(rows, tables, sizes, intercept, reading).run();
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
