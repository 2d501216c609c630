// Rows as the lanes of vectors: a strip of rows, turned so that each feature's values lie side by side. A score is then
// a sum down the features, without sums across a vector, and what is made of the scores works on many rows at once.
#pragma once

#include "counts.hpp"
#include "dense.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kStrip = 64;  // rows of a strip
constexpr index_t kChunk = 32;  // features turned at a time: with a strip's rows, half of a first-level cache

// Calls act(first row, count) for each strip of the rows.
template <class Act>
void each_strip(const Rows& rows, Act&& act) {
    for (index_t row = rows.begin; row < rows.end; row += kStrip) {
        act(row, rows.end - row < kStrip ? rows.end - row : kStrip);
    }
}

// Calls act(T) for a value of the type at hand.
template <class Act>
void with_type(Type type, Act&& act) {
    switch (type) {
        case Type::f64: act(double{}); break;
        case Type::f32: act(float{}); break;
        case Type::i64: act(std::int64_t{}); break;
        case Type::i32: act(std::int32_t{}); break;
        case Type::i16: act(std::int16_t{}); break;
        case Type::i8: act(std::int8_t{}); break;
        case Type::u64: act(std::uint64_t{}); break;
        case Type::u32: act(std::uint32_t{}); break;
        case Type::u16: act(std::uint16_t{}); break;
        case Type::u8: act(std::uint8_t{}); break;
    }
}

// Asks for values that will be turned next. Between strips there is much to compute: left to itself, the machine would
// not read ahead meanwhile. Addresses past an array's end do no harm.
template <class T>
void fetch_next(const T* values, index_t count) {
#if defined(__GNUC__) || defined(__clang__)
    for (index_t i = 0; i < count; i += index_t(64 / sizeof(T))) __builtin_prefetch(values + i, 0, 2);
#else
    (void)values, (void)count;
#endif
}

// to[j kStrip + r] = from[r row_stride + j col_stride], for r < count and j < width. Of rows, `next` is how far off
// the values lie that will be turned next.
template <class T>
void turn(const T* from, index_t row_stride, index_t col_stride, index_t count, index_t width, index_t next,
          double* to) {
    if (row_stride == 1) {
        for (index_t j = 0; j < width; ++j) {
            const T* __restrict in = from + j * col_stride;
            double* __restrict out = to + j * kStrip;
            fetch_next(in + kStrip, kStrip);
            for (index_t r = 0; r < count; ++r) out[r] = static_cast<double>(in[r]);
        }
        return;
    }
    for (index_t r = 0; r < count; ++r) {
        const T* in = from + r * row_stride;
        if (col_stride == 1) fetch_next(in + next, width);
        for (index_t j = 0; j < width; ++j) to[j * kStrip + r] = static_cast<double>(in[j * col_stride]);
    }
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SUFFICE_SHUFFLES
#endif
#endif

#if defined(SUFFICE_SHUFFLES)
typedef double Four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));

// Turns four rows of four.
inline void turn_four(const double* from, index_t row_stride, double* to) {
    const auto row = [&](index_t r) { return *reinterpret_cast<const Four*>(from + r * row_stride); };
    const Four a = row(0), b = row(1), c = row(2), d = row(3);
    const Four even_ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), odd_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const Four even_cd = __builtin_shufflevector(c, d, 0, 4, 2, 6), odd_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    const auto column = [&](index_t j) -> Four& { return *reinterpret_cast<Four*>(to + j * kStrip); };
    column(0) = __builtin_shufflevector(even_ab, even_cd, 0, 1, 4, 5);
    column(1) = __builtin_shufflevector(odd_ab, odd_cd, 0, 1, 4, 5);
    column(2) = __builtin_shufflevector(even_ab, even_cd, 2, 3, 6, 7);
    column(3) = __builtin_shufflevector(odd_ab, odd_cd, 2, 3, 6, 7);
}

// The same for doubles side by side, four rows at a time.
inline void turn(const double* from, index_t row_stride, index_t col_stride, index_t count, index_t width, index_t next,
                 double* to) {
    if (col_stride != 1 || row_stride == 1 || width < 4) {
        turn<double>(from, row_stride, col_stride, count, width, next, to);
        return;
    }
    index_t r = 0;
    for (; r + 4 <= count; r += 4) {
        const double* in = from + r * row_stride;
        for (index_t row = 0; row < 4; ++row) fetch_next(in + row * row_stride + next, width);
        for (index_t j = 0; j < width; j += 4) {
            const index_t first = j + 4 <= width ? j : width - 4;  // the last four may have been turned in part
            turn_four(in + first, row_stride, to + first * kStrip + r);
        }
    }
    turn<double>(from + r * row_stride, row_stride, 1, count - r, width, next, to + r);
}
#endif

// The features of one strip at a time, turned. Sparse rows are made dense a strip at a time.
class Strips {
public:
    explicit Strips(const Rows& rows) : rows_(rows), x_(rows.x), dense_(rows.x.sparse ? kStrip : 0, rows.x.cols) {}

    // Moves to the strip of rows first to first + count - 1.
    void move(index_t first, index_t count) {
        first_ = first;
        count_ = count;
        if (!rows_.x.sparse) return;
        densify(rows_.x, first, count, dense_);
        x_ = Features{};
        x_.rows = count;
        x_.cols = rows_.x.cols;
        x_.data = static_cast<double*>(dense_);
        x_.row_stride = x_.cols;
        x_.col_stride = 1;
        first_ = 0;
    }

    // Turns the features first to first + width - 1 into lanes (width, kStrip). Rows that are not there are zeros.
    void turn_features(index_t first, index_t width, double* lanes) const {
        for (index_t j = 0; count_ < kStrip && j < width; ++j) {
            for (index_t r = count_; r < kStrip; ++r) lanes[j * kStrip + r] = 0.0;
        }
        // The same features of the next strip; the next features where a strip does not fit in a second-level cache.
        const index_t next = x_.cols <= 512 ? kStrip * x_.row_stride : kChunk;
        with_type(x_.type, [&](auto zero) {
            const auto* from = static_cast<const decltype(zero)*>(x_.data);
            turn(from + first_ * x_.row_stride + first * x_.col_stride, x_.row_stride, x_.col_stride, count_, width,
                 next, lanes);
        });
    }

    // Calls act(first feature, width, lanes) for all features of the strip, a chunk at a time.
    template <class Act>
    void each_chunk(Act&& act) {
        for (index_t j = 0; j < x_.cols; j += kChunk) {
            const index_t width = x_.cols - j < kChunk ? x_.cols - j : kChunk;
            turn_features(j, width, lanes_);
            act(j, width, static_cast<double*>(lanes_));
        }
    }

private:
    const Rows& rows_;
    Features x_;
    index_t first_ = 0, count_ = 0;
    Buffer<double> dense_;
    alignas(64) double lanes_[kChunk * kStrip];
};

// scores (k, kStrip) += coef (k, width), whose rows are coef_row apart, times lanes (width, kStrip).
inline void add_lanes_product(index_t k, index_t width, const double* coef, index_t coef_row, const double* lanes,
                              double* scores) {
    constexpr int vectors = 4, tall = kVector == 8 ? 4 : 2;
    static_assert(kStrip % (vectors * kVector) == 0);
    for (index_t r = 0; r < kStrip; r += vectors * kVector) {
        index_t c = 0;
        for (; c + tall <= k; c += tall) {
            add_tile<tall, vectors>(coef + c * coef_row, coef_row, 1, lanes + r, kStrip, width,
                                    scores + c * kStrip + r, kStrip);
        }
        const double* rest = coef + c * coef_row;
        double* to = scores + c * kStrip + r;
        switch (k - c) {
            case 3: add_tile<3, vectors>(rest, coef_row, 1, lanes + r, kStrip, width, to, kStrip); break;
            case 2: add_tile<2, vectors>(rest, coef_row, 1, lanes + r, kStrip, width, to, kStrip); break;
            case 1: add_tile<1, vectors>(rest, coef_row, 1, lanes + r, kStrip, width, to, kStrip); break;
            default: break;
        }
    }
}

// Offends about the first of some rows' features that is infinite, or NaN where that is no missing cell.
inline void blame_rows(const Rows& rows, index_t first, index_t count, bool nan_is_missing) {
    const index_t d = rows.x.cols;
    Buffer<double> buffer(d);
    for (index_t row = first; row < first + count; ++row) {
        const double* x = load(rows.x, row, 1, buffer).data;
        for (index_t j = 0; j < d; ++j) {
            if (!std::isfinite(x[j]) && !(nan_is_missing && x[j] != x[j])) offend("finite", row, j, x[j]);
        }
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
