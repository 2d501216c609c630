// Linear log-scores: one weighted sum of features, or of presences, per class.
#pragma once

#include "posterior.hpp"
#include "tables.hpp"

namespace suffice {
namespace SUFFICE_ISA {

class DenseLinear {
public:
    DenseLinear(const Rows& rows, const Linear& model, const Reading& reading)
        : rows_(rows), model_(model), k_(reading.classes), strips_(rows), scores_(rows, reading, model.intercept) {}

    void run() {
        const index_t d = rows_.x.cols;
        each_strip(rows_, [&](index_t first, index_t count) {
            strips_.move(first, count);
            scores_.start();
            strips_.each_chunk([&](index_t j, index_t width, double* lanes) {
                const bool gaps = (model_.presence || model_.missing != nullptr) && prepare(first, count, width, lanes);
                add_lanes_product(k_, width, model_.coef + j, d, lanes, scores_.of_class(0));
                if (gaps) add_lanes_product(k_, width, model_.missing + j, d, absent_, scores_.of_class(0));
            });
            if (!scores_.finite()) {
                blame_rows(rows_, first, count, model_.missing != nullptr);
                scores_.blame_overflow(first);
            }
            scores_.read(first, count);
        });
    }

private:
    // Turns features into what is multiplied: presences, and zeros where cells are missing. Returns whether any is.
    bool prepare(index_t first, index_t count, index_t width, double* lanes) {
        const index_t cells = width * kStrip;
        const bool gaps = any_not_finite(lanes, cells);
        if (gaps) {
            for (index_t i = 0; i < cells; ++i) {
                absent_[i] = lanes[i] == lanes[i] ? 0.0 : 1.0;
                lanes[i] = lanes[i] == lanes[i] ? lanes[i] : 0.0;
            }
            if (model_.missing == nullptr || any_not_finite(lanes, cells)) {
                blame_rows(rows_, first, count, model_.missing != nullptr);
            }
        }
        for (index_t i = 0; model_.presence && i < cells; ++i) lanes[i] = lanes[i] > model_.threshold ? 1.0 : 0.0;
        // Zero may be above the threshold.
        for (index_t i = 0; model_.presence && gaps && i < cells; ++i) lanes[i] *= 1.0 - absent_[i];
        return gaps;
    }

    const Rows& rows_;
    const Linear& model_;
    const index_t k_;
    Strips strips_;
    Scores scores_;
    alignas(64) double absent_[kChunk * kStrip];
};

class SparseLinear {
public:
    SparseLinear(const Rows& rows, const Linear& model, const Reading& reading)
        : rows_(rows), model_(model), scores_(rows, reading, model.intercept),
          inverted_(model.presence && 0.0 > model.threshold),
          table_((model.missing ? 2 : 1) * rows.x.cols, reading.classes) {
        const index_t d = rows.x.cols;
        for (index_t first = 0; first < d; first += kLine) {  // a cache line of each class at a time
            const index_t last = first + kLine < d ? first + kLine : d;
            for (index_t c = 0; c < reading.classes; ++c) {
                for (index_t j = first; j < last; ++j) put(c, j, d);
            }
        }
    }

    void run() {
        with_sparse(rows_.x, [&](auto stored) {
            each_strip(rows_, [&](index_t first, index_t count) {
                scores_.start();
                for (index_t r = 0; r < count; ++r) {
                    const Span span = stored.span(first + r);
                    double* sums = scores_.of_class(0) + r;
                    if (model_.presence || model_.missing) {
                        const auto entry = [&](index_t s) SUFFICE_INLINE { return cell(stored, span, first + r, s); };
                        table_.add(span.first, span.last, entry, sums, kStrip);
                    } else {
                        const auto entry = [stored](index_t s) SUFFICE_INLINE {
                            return Entry{stored.column_of(s), static_cast<double>(stored.value[s])};
                        };
                        table_.add(span.first, span.last, entry, sums, kStrip);
                    }
                }
                if (!scores_.finite()) {
                    blame_rows(rows_, first, count, model_.missing != nullptr);
                    scores_.blame_overflow(first);
                }
                scores_.read(first, count);
            });
        });
    }

private:
    static constexpr index_t kLine = 8;  // doubles

    void put(index_t c, index_t j, index_t d) {
        const double coef = model_.coef[c * d + j];
        table_.row(j)[c] = coef;
        // What is not stored is 0. Where that is above the threshold, all cells count from the start, and the stored
        // ones that do not are taken back.
        if (inverted_) scores_.raise(c, coef);
        if (model_.missing) table_.row(d + j)[c] = model_.missing[c * d + j] - (inverted_ ? coef : 0.0);
    }

    // What a stored value adds where presence counts or cells may be missing: then a column must be stored once.
    template <class Stored>
    SUFFICE_INLINE Entry cell(const Stored& stored, Span span, index_t row, index_t s) {
        const index_t j = stored.column_of(s);
        const double value = static_cast<double>(stored.value[s]);
        if (s > span.first && stored.column_of(s - 1) >= j) offend("unsorted", row, j, value);
        if (value != value && model_.missing) return {rows_.x.cols + j, 1.0};
        if (!(value >= -kLargest && value <= kLargest)) offend("finite", row, j, value);
        const double shown = model_.presence ? (value > model_.threshold ? 1.0 : 0.0) : value;
        return {j, shown - (inverted_ ? 1.0 : 0.0)};
    }

    const Rows& rows_;
    const Linear& model_;
    Scores scores_;
    const bool inverted_;
    Table table_;  // (d, k), what each feature adds; with another (d, k) below, what it adds where it is missing
};

inline void linear_scores(const Rows& rows, const Linear& model, const Reading& reading) {
    if (rows.x.sparse) {
        SparseLinear(rows, model, reading).run();
    } else {
        DenseLinear(rows, model, reading).run();
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
