// Rows as contiguous doubles, a cache-sized block at a time, whatever their type, strides or sparsity.
// Included under one namespace per instruction set: no standard-library templates here, whose one compiled copy could
// carry instructions that another machine lacks.
#pragma once

#include <cstdlib>
#include <new>

#include "checked.hpp"
#include "kernels.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// Zeroed memory of plain values.
template <class T>
class Buffer {
public:
    // As many values as the product of the lengths.
    template <class... More>
    explicit Buffer(index_t length, More... more) : data_(zeroed(checked_product<index_t>(length, more...))) {}
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    operator T*() { return data_; }
    operator const T*() const { return data_; }

private:
    static T* zeroed(index_t size) {
        void* memory = std::calloc(size > 0 ? static_cast<std::size_t>(size) : 1, sizeof(T));  // checks their product
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }

    T* data_;
};

constexpr double kLargest = 1.7976931348623157e308;  // the largest finite double

inline index_t clamp(index_t value, index_t low, index_t high) {
    return value < low ? low : value > high ? high : value;
}

inline index_t code_of(const Rows& rows, index_t row, index_t classes) {
    if (rows.code == nullptr) return 0;
    const index_t code = rows.code[row - rows.begin];
    if (static_cast<std::uint64_t>(code) >= static_cast<std::uint64_t>(classes)) {
        offend("code", row, -1, static_cast<double>(code));
    }
    return code;
}

inline double weight_of(const Rows& rows, index_t row) {
    if (rows.weight == nullptr) return 1.0;
    const double weight = rows.weight[row - rows.begin];
    if (!(weight >= 0.0 && weight <= kLargest)) offend("weight", row, -1, weight);
    return weight;
}

template <class T>
void convert(const Features& x, index_t row, index_t count, double* out) {
    const T* from = static_cast<const T*>(x.data) + row * x.row_stride;
    const index_t d = x.cols;
    if (x.col_stride == 1) {
        for (index_t r = 0; r < count; ++r) {
            const T* __restrict in = from + r * x.row_stride;
            double* __restrict to = out + r * d;
            for (index_t j = 0; j < d; ++j) to[j] = static_cast<double>(in[j]);
        }
    } else {  // by columns: their elements lie closer together
        for (index_t j = 0; j < d; ++j) {
            const T* in = from + j * x.col_stride;
            for (index_t r = 0; r < count; ++r) out[r * d + j] = static_cast<double>(in[r * x.row_stride]);
        }
    }
}

// Stored values between the one read and the ones fetched into the second-level and the first-level cache.
constexpr index_t kFar = 2048, kNear = 256;

// Asks for memory to be brought closer. Addresses past an array's end do no harm.
template <class T>
void fetch(const T* values, index_t at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(values + at + kFar, 0, 2);
    __builtin_prefetch(values + at + kNear, 0, 3);
#else
    (void)values, (void)at;
#endif
}

struct Span {
    index_t first, last;
};

// The stored values of CSR.
template <class T, class I>
struct SparseRows {
    const Features& x;
    const T* value = static_cast<const T*>(x.data);
    const I* column = static_cast<const I*>(x.indices);

    // Where the stored values of a row begin and end, neither past an array's end.
    Span span(index_t row) const {
        const I* indptr = static_cast<const I*>(x.indptr);
        const index_t first = static_cast<index_t>(indptr[row]), last = static_cast<index_t>(indptr[row + 1]);
        if (first < 0 || last < first || last > x.stored) offend("indptr", row + 1, -1, static_cast<double>(last));
        return {first, last};
    }

    // The column of a stored value, which is not past a row's end.
    index_t column_of(index_t s) const {
        const index_t j = static_cast<index_t>(column[s]);
        if (static_cast<std::uint64_t>(j) >= static_cast<std::uint64_t>(x.cols)) {
            offend("indices", s, -1, static_cast<double>(j));
        }
        return j;
    }

    // Calls each(column, value) for the stored values of a row.
    template <class Each>
    void visit(index_t row, Each&& each) const {
        const Span span = this->span(row);
        for (index_t s = span.first; s < span.last;) {
            // Stores all over a table keep the machine from reading ahead by itself.
            fetch(column, s);
            fetch(value, s);
            fetch(value, s + 8);
            for (const index_t stop = s + 16 < span.last ? s + 16 : span.last; s < stop; ++s) {
                each(column_of(s), static_cast<double>(value[s]));
            }
        }
    }
};

// Calls act(SparseRows<value type, index type>) for the types at hand.
template <class T, class Act>
void with_indices(const Features& x, Act&& act) {
    if (x.wide) {
        act(SparseRows<T, std::int64_t>{x});
    } else {
        act(SparseRows<T, std::int32_t>{x});
    }
}

template <class Act>
void with_sparse(const Features& x, Act&& act) {
    switch (x.type) {
        case Type::f64: with_indices<double>(x, act); break;
        case Type::f32: with_indices<float>(x, act); break;
        case Type::i64: with_indices<std::int64_t>(x, act); break;
        case Type::i32: with_indices<std::int32_t>(x, act); break;
        case Type::i16: with_indices<std::int16_t>(x, act); break;
        case Type::i8: with_indices<std::int8_t>(x, act); break;
        case Type::u64: with_indices<std::uint64_t>(x, act); break;
        case Type::u32: with_indices<std::uint32_t>(x, act); break;
        case Type::u16: with_indices<std::uint16_t>(x, act); break;
        case Type::u8: with_indices<std::uint8_t>(x, act); break;
    }
}

inline void densify(const Features& x, index_t row, index_t count, double* out) {
    for (index_t i = 0; i < count * x.cols; ++i) out[i] = 0.0;
    with_sparse(x, [&](auto stored) {
        for (index_t r = 0; r < count; ++r) {
            double* to = out + r * x.cols;
            stored.visit(row + r, [&](index_t j, double value) { to[j] += value; });
        }
    });
}

// A run of rows as doubles: where it starts, and how far apart the rows are.
struct Block {
    const double* data;
    index_t stride;
};

// Returns rows as doubles: where they lie if they are doubles side by side, else converted into the buffer (count, d).
inline Block load(const Features& x, index_t row, index_t count, double* buffer) {
    if (x.sparse) {
        densify(x, row, count, buffer);
        return {buffer, x.cols};
    }
    if (x.type == Type::f64 && (x.col_stride == 1 || x.cols == 1)) {
        return {static_cast<const double*>(x.data) + row * x.row_stride, x.row_stride};
    }
    switch (x.type) {
        case Type::f64: convert<double>(x, row, count, buffer); break;
        case Type::f32: convert<float>(x, row, count, buffer); break;
        case Type::i64: convert<std::int64_t>(x, row, count, buffer); break;
        case Type::i32: convert<std::int32_t>(x, row, count, buffer); break;
        case Type::i16: convert<std::int16_t>(x, row, count, buffer); break;
        case Type::i8: convert<std::int8_t>(x, row, count, buffer); break;
        case Type::u64: convert<std::uint64_t>(x, row, count, buffer); break;
        case Type::u32: convert<std::uint32_t>(x, row, count, buffer); break;
        case Type::u16: convert<std::uint16_t>(x, row, count, buffer); break;
        case Type::u8: convert<std::uint8_t>(x, row, count, buffer); break;
    }
    return {buffer, x.cols};
}

// Calls act(first row, count, block) over blocks of about `doubles` numbers.
template <class Act>
void each_block(const Rows& rows, index_t doubles, Act&& act) {
    const index_t most = clamp(doubles / (rows.x.cols > 0 ? rows.x.cols : 1), 1, 4096);
    const index_t count = rows.end - rows.begin;
    Buffer<double> buffer(most < count ? most : count, rows.x.cols);
    for (index_t row = rows.begin; row < rows.end; row += most) {
        const index_t height = row + most < rows.end ? most : rows.end - row;
        act(row, height, load(rows.x, row, height, buffer));
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
