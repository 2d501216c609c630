// The kernels of a table's columns for one instruction set. Compiled several times: see kernels.cpp.
#include "row_kernels.hpp"

#include <algorithm>
#include <cmath>

#define SUFFICE_TEXT_(name) #name
#define SUFFICE_TEXT(name) SUFFICE_TEXT_(name)

namespace suffice {
namespace SUFFICE_ISA {
namespace {

// Rows that are worked on at a time, so that they stay in the first cache.
constexpr std::size_t kBlock = 128;

// The loops below are kept simple, each over numbers of one width: compilers then turn them into vector code.

// Writes at most kBlock numbers as multiples of 1 / unit; returns whether all are.
bool are_multiples(const double* cells, std::size_t n, double unit, std::int32_t* found) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: what is added to it loses its fraction
    double multiples[kBlock];
    std::int64_t bad = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double cell = cells[i], k = (cell * unit + kRound) - kRound;
        const bool fits = std::abs(k) <= 2147483647.0;  // as NaN does not
        const bool is_multiple = fits & (k / unit == cell);
        bad |= ((cell == cell) & !is_multiple) ? 1 : 0;
        multiples[i] = fits ? k : double(kMissing<std::int32_t>);
    }
    for (std::size_t i = 0; i < n; ++i) found[i] = static_cast<std::int32_t>(multiples[i]);
    return bad == 0;
}

// Returns the place of the first unit from `place` on of which every `step`-th number is a multiple.
std::size_t unit_of(const double* cells, std::size_t n, std::size_t step, std::size_t place) {
    for (std::size_t i = 0; i < n; i += step) {
        std::int32_t found;
        while (place < kNoUnit && !are_multiples(cells + i, 1, kUnits[place], &found)) ++place;
    }
    return place;
}

std::size_t as_multiples(const double* cells, std::size_t n, std::int32_t* found, std::int32_t& bits) {
    constexpr std::size_t kFew = 64;
    std::size_t place = unit_of(cells, n, std::max<std::size_t>(n / kFew, 1), 0);
    for (std::size_t start = 0; start < n && place < kNoUnit;) {
        const std::size_t rows = std::min(kBlock, n - start);
        if (are_multiples(cells + start, rows, kUnits[place], found + start)) {
            start += rows;
        } else {
            place = unit_of(cells + start, rows, 1, place);  // from the first number again, in a smaller unit
            start = 0;
        }
    }
    std::int32_t any = 0;
    if (place < kNoUnit)
        for (std::size_t i = 0; i < n; ++i) any |= found[i] == kMissing<std::int32_t> ? 0 : std::abs(found[i]);
    bits = any;
    return place;
}

bool are_short(const double* cells, std::size_t n) {
    for (std::size_t start = 0; start < n; start += kBlock) {
        std::int32_t bad = 0;
        for (std::size_t i = start; i < std::min(start + kBlock, n); ++i) {
            const double cell = cells[i];
            bad |= (cell == cell) & (static_cast<double>(static_cast<float>(cell)) != cell);
        }
        if (bad != 0) return false;
    }
    return true;
}

template <class T>
void narrow(const std::int32_t* cells, std::size_t n, T* found) {
    for (std::size_t i = 0; i < n; ++i)
        found[i] = cells[i] == kMissing<std::int32_t> ? kMissing<T> : static_cast<T>(cells[i]);
}

// Writes at most kBlock cells as they were before they were packed.
template <class T>
void unpack_block(const T* cells, std::size_t n, double unit, double* found) {
    if constexpr (!std::numeric_limits<T>::is_integer) {
        for (std::size_t i = 0; i < n; ++i) found[i] = static_cast<double>(cells[i]);
    } else {
        std::int32_t whole[kBlock];
        for (std::size_t i = 0; i < n; ++i) whole[i] = cells[i];
        for (std::size_t i = 0; i < n; ++i) {
            const double k = whole[i];
            found[i] = k == double(kMissing<T>) ? std::numeric_limits<double>::quiet_NaN() : k / unit;
        }
    }
}

void unpack_block(const PackedColumn& column, std::size_t start, std::size_t n, double* found) {
    const auto block = [&](const auto* cells) { unpack_block(cells + start, n, column.unit, found); };
    switch (column.type) {
        case Type::i8: return block(static_cast<const std::int8_t*>(column.cells));
        case Type::i16: return block(static_cast<const std::int16_t*>(column.cells));
        case Type::i32: return block(static_cast<const std::int32_t*>(column.cells));
        case Type::f32: return block(static_cast<const float*>(column.cells));
        default: return block(static_cast<const double*>(column.cells));
    }
}

void unpack(const PackedColumn& column, std::size_t n, double* found) {
    for (std::size_t start = 0; start < n; start += kBlock)
        unpack_block(column, start, std::min(kBlock, n - start), found + start);
}

// The columns of all numbers for at most kBlock rows, one after another. They do not lie a power of two apart, which
// would have all of them compete for the same lines of a cache.
constexpr std::size_t kColumn = kBlock + 8;

// Writes the columns of a number; a missing cell counts as the mean. Returns where the next number's columns start.
double* write_number(const NumberTerm& term, std::size_t start, std::size_t n, double* out) {
    double cells[kBlock];
    unpack_block(term.column, start, n, cells);
    const double centre = term.centre, rate = 1.0 / term.scale;  // a quotient takes four times as long as a product
    double* z = out;
    for (std::size_t i = 0; i < n; ++i) z[i] = cells[i] == cells[i] ? (cells[i] - centre) * rate : 0.0;
    out += kColumn;
    for (const double bend : term.bends) {
        const double from = (bend - centre) * rate;
        for (std::size_t i = 0; i < n; ++i) out[i] = z[i] > from ? z[i] - from : 0.0;
        out += kColumn;
    }
    if (term.has_gaps) {
        for (std::size_t i = 0; i < n; ++i) out[i] = cells[i] == cells[i] ? 0.0 : 1.0;
        out += kColumn;
    }
    return out;
}

// Numbers as columns of a matrix, of which `width` are stored in each row.
class NumberColumns {
public:
    NumberColumns(const std::vector<NumberTerm>& terms, std::size_t width) : terms_(terms), width_(width) {
        for (const NumberTerm& term : terms)
            for (std::size_t j = 0; j < 1 + term.bends.size() + term.has_gaps; ++j) places_.push_back(term.place + j);
        columns_.resize(places_.size() * kColumn);
    }

    void write(std::size_t start, std::size_t n, double* rows) {
        double* out = columns_.data();
        for (const NumberTerm& term : terms_) out = write_number(term, start, n, out);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < places_.size(); ++j)
                rows[i * width_ + places_[j]] = columns_[j * kColumn + i];
    }

private:
    const std::vector<NumberTerm>& terms_;
    const std::size_t width_;
    std::vector<std::size_t> places_;
    std::vector<double> columns_;
};

// Calls write(row, column) for some rows with the column that is 1, -1 for none.
template <class Write>
void each_level(const LevelTerm& term, std::size_t start, std::size_t n, Write&& write) {
    const auto each = [&](const auto* codes) {
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::uint64_t>(static_cast<std::int64_t>(codes[start + i]) + 1);
            write(i, at < term.columns.size() ? term.columns[at] : -1);
        }
    };
    switch (term.type) {
        case Type::i8: return each(static_cast<const std::int8_t*>(term.codes));
        case Type::i16: return each(static_cast<const std::int16_t*>(term.codes));
        case Type::i32: return each(static_cast<const std::int32_t*>(term.codes));
        default: return each(static_cast<const std::int64_t*>(term.codes));
    }
}

void write_dense(const std::vector<NumberTerm>& numbers, const std::vector<LevelTerm>& levels, std::size_t n,
                 std::size_t width, double* matrix) {
    NumberColumns columns(numbers, width);
    for (std::size_t start = 0; start < n; start += kBlock) {
        const std::size_t some = std::min(kBlock, n - start);
        double* rows = matrix + start * width;
        if (!levels.empty()) std::fill_n(rows, some * width, 0.0);
        columns.write(start, some, rows);
        for (const LevelTerm& term : levels)
            each_level(term, start, some, [&](std::size_t row, std::int32_t column) {
                if (column >= 0) rows[row * width + term.place + static_cast<std::size_t>(column)] = 1.0;
            });
    }
}

void write_sparse(const std::vector<NumberTerm>& numbers, const std::vector<LevelTerm>& levels,
                  const std::int32_t* first, std::size_t n, std::size_t width, double* data, std::int32_t* indices) {
    NumberColumns columns(numbers, width);
    for (std::size_t start = 0; start < n; start += kBlock) {
        const std::size_t some = std::min(kBlock, n - start);
        double* rows = data + start * width;
        std::int32_t* places = indices + start * width;
        for (std::size_t row = 0; row < some; ++row) std::copy(first, first + width, places + row * width);
        columns.write(start, some, rows);
        for (const LevelTerm& term : levels)
            each_level(term, start, some, [&](std::size_t row, std::int32_t column) {
                const std::size_t at = row * width + term.place;
                rows[at] = column >= 0 ? 1.0 : 0.0;  // a level without a column is stored as 0
                places[at] += std::max(column, 0);
            });
    }
}

}  // namespace

extern const RowKernels row_table;
const RowKernels row_table{SUFFICE_TEXT(SUFFICE_ISA), as_multiples, are_short, narrow<std::int8_t>,
                           narrow<std::int16_t>,      unpack,       write_dense, write_sparse};

}  // namespace SUFFICE_ISA
}  // namespace suffice
