// Rows sorted by whether other rows have their columns too.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// A coefficient or a value of x, while rows are visited: half the memory to wait for. What rounding does to predictors,
// it does to the gap squared.
using Short = float;

// Calls each(row from 0, column, value) for all values that are not 0.
template <class Each>
void each_value(const Rows& rows, Each&& each) {
    if (rows.x.sparse) {
        with_sparse(rows.x, [&](auto stored) {
            for (index_t row = rows.begin; row < rows.end; ++row) {
                stored.visit(row, [&](index_t j, double value) {
                    if (value != 0) each(row - rows.begin, j, value);
                });
            }
        });
        return;
    }
    Buffer<double> buffer(rows.x.cols);
    for (index_t row = rows.begin; row < rows.end; ++row) {
        const Block x = load(rows.x, row, 1, buffer);
        for (index_t j = 0; j < rows.x.cols; ++j) {
            if (x.data[j] != 0) each(row - rows.begin, j, x.data[j]);
        }
    }
}

// Rows whose values in columns that several rows have come first, then those in columns of their own. What a column of
// its own adds to a row's predictors is the row's residual times a number that does not change: it needs no coefficient
// until the end.
class SortedRows {
public:
    explicit SortedRows(const Rows& rows)
        : n_(rows.end - rows.begin), place_(rows.x.cols), first_(n_ + 1), own_(n_ + 1), column_(counted(rows)),
          value_(first_[n_]) {
        for (index_t j = 0; j < rows.x.cols; ++j) place_[j] = place_[j] > 1 ? shared_++ : -1;
        for (index_t i = 0; i < n_; ++i) own_[i] = first_[i + 1];
        index_t row = -1, front = 0, left = first_[n_];
        each_value(rows, [&](index_t i, index_t j, double value) {
            if (i != row) front = first_[row = i];
            // Another thread may write to x meanwhile: what was counted is room for no more than that.
            if (front >= own_[i]) offend("changed", rows.begin + i, j, value);
            --left;
            const index_t at = place_[j] < 0 ? --own_[i] : front++;
            column_[at] = static_cast<std::int32_t>(place_[j] < 0 ? j : place_[j]);
            value_[at] = static_cast<Short>(value);
        });
        if (left > 0) offend("changed", rows.begin, -1, static_cast<double>(left));  // places that nothing was put in
    }

    index_t shared() const { return shared_; }            // how many columns several rows have
    index_t place(index_t j) const { return place_[j]; }  // of a column among these; -1: it is none of them
    Span shared_of(index_t i) const { return {first_[i], own_[i]}; }
    Span own_of(index_t i) const { return {own_[i], first_[i + 1]}; }
    index_t column(index_t s) const { return column_[s]; }  // of an own value; the place of the column of a shared one
    Short value(index_t s) const { return value_[s]; }

private:
    index_t counted(const Rows& rows) {
        if (rows.x.cols > 0x7fffffff) offend("wide", 0, rows.x.cols, 0.0);
        Buffer<std::int32_t> seen(rows.x.cols);  // the last row that had a column, from 1
        each_value(rows, [&](index_t i, index_t j, double value) {
            if (seen[j] == static_cast<std::int32_t>(i + 1)) offend("unsorted", rows.begin + i, j, value);  // in parts
            seen[j] = static_cast<std::int32_t>(i + 1);
            ++place_[j];
            ++first_[i + 1];
        });
        for (index_t i = 0; i < n_; ++i) first_[i + 1] += first_[i];
        return first_[n_];
    }

    const index_t n_;
    index_t shared_ = 0;
    Buffer<index_t> place_, first_, own_;
    Buffer<std::int32_t> column_;
    Buffer<Short> value_;
};

}  // namespace SUFFICE_ISA
}  // namespace suffice
