// Columns of a table in a compact encoding, and the matrices that they are expanded to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace suffice {

// Numbers are stored as whole multiples of 1 / unit where that loses nothing. A decimal number is the double nearest to
// k / 10^s, and so is the quotient of k and 10^s, which is rounded once: both have the same bits.
constexpr double kUnits[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
constexpr std::size_t kNoUnit = std::size(kUnits);

// The mark of a missing cell among multiples of a unit.
template <class T>
constexpr T kMissing = std::numeric_limits<T>::min();

// A column of numbers: of multiples of 1 / unit, or of floats, whose unit is 1.
struct PackedColumn {
    Type type = Type::f64;  // f64, f32, i32, i16 or i8
    const void* cells = nullptr;
    double unit = 1.0;
};

// A number as columns of a matrix: in units of a scale about a centre, one more column for each bend, and one for
// missing cells where there are some.
struct NumberTerm {
    PackedColumn column;
    std::size_t place = 0;  // of its first column
    double centre = 0.0, scale = 1.0;
    std::vector<double> bends;
    bool has_gaps = false;
};

// A category as columns of a matrix, one of which is 1 in each row, or none.
struct LevelTerm {
    Type type = Type::i64;  // i64, i32, i16 or i8
    const void* codes = nullptr;
    std::size_t place = 0;              // of its first column; where rows are sparse, of its one stored number
    std::vector<std::int32_t> columns;  // of the codes -1 (a missing cell), 0, 1 ...; -1 for none
};

struct RowKernels {
    const char* name;
    // Writes numbers as multiples of 1 / unit, and the bits that any of them has, without its sign; returns the place of
    // the first unit of which all are multiples, kNoUnit where there is none.
    std::size_t (*as_multiples)(const double* cells, std::size_t n, std::int32_t* found, std::int32_t& bits);
    bool (*are_short)(const double* cells, std::size_t n);  // whether 32 bits hold all numbers exactly
    void (*narrow_to_i8)(const std::int32_t* cells, std::size_t n, std::int8_t* found);
    void (*narrow_to_i16)(const std::int32_t* cells, std::size_t n, std::int16_t* found);
    void (*unpack)(const PackedColumn&, std::size_t n, double* found);
    // Writes a matrix, (n, width), row by row.
    void (*write_dense)(const std::vector<NumberTerm>&, const std::vector<LevelTerm>&, std::size_t n,
                        std::size_t width, double* matrix);
    // Writes the stored numbers and columns of CSR, (n, width); `first` holds the column of each stored number, of
    // levels that of the first.
    void (*write_sparse)(const std::vector<NumberTerm>&, const std::vector<LevelTerm>&, const std::int32_t* first,
                         std::size_t n, std::size_t width, double* data, std::int32_t* indices);
};

// The kernels of the same instruction set as others.
const RowKernels* row_kernels(const Kernels& others);

}  // namespace suffice
