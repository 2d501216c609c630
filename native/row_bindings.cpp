#include "row_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "row_hash.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using suffice::LevelTerm;
using suffice::NumberTerm;
using suffice::PackedColumn;
using suffice::Type;
using suffice::rows::RowKeys;
using suffice::text::Column;

const suffice::RowKernels* active_row_kernels = nullptr;

namespace {

using Hashes = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_numbers(Hashes hashes, const Column<double>& cells, std::uint64_t factor, int loose) {
    if (hashes.shape(0) != cells.shape(0)) throw nb::value_error("there must be one hash for each cell");
    if (loose < 0 || loose > 51) throw nb::value_error("loose must be 0 to 51");
    const nb::gil_scoped_release released;
    suffice::rows::add_numbers(hashes.data(), cells.data(), cells.shape(0), factor, loose);
}

suffice::text::Result<std::uint64_t> mixed(const Column<std::uint64_t>& numbers) {
    std::vector<std::uint64_t> found(numbers.shape(0));
    {
        const nb::gil_scoped_release released;
        std::transform(numbers.data(), numbers.data() + found.size(), found.begin(), suffice::rows::mixed);
    }
    return suffice::text::handed(std::move(found));
}

suffice::text::Result<std::uint64_t> keys(RowKeys& rows, const Column<std::uint64_t>& hashes) {
    std::vector<std::uint64_t> found(hashes.shape(0));
    {
        const nb::gil_scoped_release released;
        rows.keys(hashes.data(), found.size(), found.data());
    }
    return suffice::text::handed(std::move(found));
}

using Cells = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The type of a column's cells: a whole number of up to 64 bits with a sign, or a float.
Type type_of(const Cells& cells) {
    const nb::dlpack::dtype type = cells.dtype();
    const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
    const bool is_float = code == nb::dlpack::dtype_code::Float;
    if (type.lanes == 1 && is_float && type.bits == 64) return Type::f64;
    if (type.lanes == 1 && is_float && type.bits == 32) return Type::f32;
    if (type.lanes == 1 && code == nb::dlpack::dtype_code::Int) {
        switch (type.bits) {
            case 64: return Type::i64;
            case 32: return Type::i32;
            case 16: return Type::i16;
            case 8: return Type::i8;
            default: break;
        }
    }
    throw nb::type_error("a column must hold floats, or whole numbers with a sign");
}

// An array of NumPy's for a kernel to fill, and its elements.
template <class T>
struct Fresh {
    explicit Fresh(std::size_t n) : data(static_cast<T*>(std::malloc(std::max<std::size_t>(n, 1) * sizeof(T)))), size(n) {
        if (data == nullptr) throw std::bad_alloc();
        owner = nb::capsule(data, [](void* memory) noexcept { std::free(memory); });
    }
    suffice::text::Result<T> array() const { return suffice::text::Result<T>(data, {size}, owner); }
    T* data;
    std::size_t size;
    nb::capsule owner;
};

// Returns numbers in few bytes, and the unit that whole numbers are divided by.
std::tuple<nb::object, double> pack_numbers(const Column<double>& given) {
    const suffice::RowKernels& kernels = *active_row_kernels;
    const std::size_t n = given.shape(0);
    const double* cells = given.data();
    std::int32_t bits = 0;
    bool is_short = false;
    std::size_t place;
    const Fresh<std::int32_t> multiples(n);
    {
        const nb::gil_scoped_release released;
        place = kernels.as_multiples(cells, n, multiples.data, bits);
        is_short = place == suffice::kNoUnit && kernels.are_short(cells, n);
    }
    const auto filled = [&](auto element, double unit, auto&& fill) -> std::tuple<nb::object, double> {
        const Fresh<decltype(element)> found(n);
        {
            const nb::gil_scoped_release released;
            fill(found.data);
        }
        return {nb::cast(found.array()), unit};
    };
    const auto copied = [&](auto* to) { std::copy(cells, cells + n, to); };
    if (is_short) return filled(float{}, 1.0, copied);
    if (place == suffice::kNoUnit) return filled(double{}, 1.0, copied);
    const double unit = suffice::kUnits[place];
    if (bits <= INT8_MAX)
        return filled(std::int8_t{}, unit, [&](auto* to) { kernels.narrow_to_i8(multiples.data, n, to); });
    if (bits <= INT16_MAX)
        return filled(std::int16_t{}, unit, [&](auto* to) { kernels.narrow_to_i16(multiples.data, n, to); });
    return {nb::cast(multiples.array()), unit};
}

PackedColumn packed_column(const Cells& cells, double unit) {
    const Type type = type_of(cells);
    if (type == Type::i64) throw nb::type_error("packed numbers have 8, 16 or 32 bits");
    return {type, cells.data(), unit};
}

suffice::text::Result<double> unpack_numbers(const Cells& cells, double unit) {
    const PackedColumn column = packed_column(cells, unit);
    const Fresh<double> found(cells.shape(0));
    {
        const nb::gil_scoped_release released;
        active_row_kernels->unpack(column, found.size, found.data);
    }
    return found.array();
}

// (cells, unit, place, centre, scale, bends, has_gaps)
using GivenNumber = std::tuple<Cells, double, std::size_t, double, double, std::vector<double>, bool>;
// (codes, place, columns)
using GivenLevels = std::tuple<Cells, std::size_t, std::vector<std::int32_t>>;

struct Terms {
    std::vector<NumberTerm> numbers;
    std::vector<LevelTerm> levels;

    // Raises where a term has other rows than the matrix, or columns outside it; `stored` where rows are sparse.
    Terms(const std::vector<GivenNumber>& given_numbers, const std::vector<GivenLevels>& given_levels,
          std::size_t rows, std::size_t width, bool is_stored) {
        for (const auto& [cells, unit, place, centre, scale, bends, has_gaps] : given_numbers) {
            check(cells.shape(0) == rows && place < width && 1 + bends.size() + has_gaps <= width - place);
            numbers.push_back({packed_column(cells, unit), place, centre, scale, bends, has_gaps});
        }
        for (const auto& [codes, place, columns] : given_levels) {
            check(!columns.empty());
            const std::int64_t most = *std::max_element(columns.begin(), columns.end());
            const Type type = type_of(codes);
            check(type != Type::f64 && type != Type::f32 && codes.shape(0) == rows && place < width);
            check(is_stored || most < static_cast<std::int64_t>(width - place));
            levels.push_back({type, codes.data(), place, columns});
        }
    }

    static void check(bool fits) {
        if (!fits) throw nb::value_error("a term does not fit the matrix");
    }
};

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void write_dense(Matrix matrix, const std::vector<GivenNumber>& numbers, const std::vector<GivenLevels>& levels) {
    const Terms terms(numbers, levels, matrix.shape(0), matrix.shape(1), false);
    const nb::gil_scoped_release released;
    active_row_kernels->write_dense(terms.numbers, terms.levels, matrix.shape(0), matrix.shape(1), matrix.data());
}

void write_sparse(Matrix data, Indices indices, const Column<std::int32_t>& first,
                  const std::vector<GivenNumber>& numbers, const std::vector<GivenLevels>& levels) {
    Terms::check(data.shape(0) == indices.shape(0) && data.shape(1) == indices.shape(1) &&
                 data.shape(1) == first.shape(0));
    const Terms terms(numbers, levels, data.shape(0), data.shape(1), true);
    const nb::gil_scoped_release released;
    active_row_kernels->write_sparse(terms.numbers, terms.levels, first.data(), data.shape(0), data.shape(1),
                                     data.data(), indices.data());
}

}  // namespace

void bind_rows(nb::module_& module) {
    nb::module_ rows = module.def_submodule("rows");
    rows.def("add_numbers", &add_numbers, nb::arg("hashes").noconvert(), nb::arg("cells"), nb::arg("factor"),
             nb::arg("loose"));
    rows.def("mixed", &mixed, nb::arg("numbers"));
    rows.def("pack_numbers", &pack_numbers, nb::arg("cells"));
    rows.def("unpack_numbers", &unpack_numbers, nb::arg("cells"), nb::arg("unit"));
    rows.def("write_dense", &write_dense, nb::arg("matrix").noconvert(), nb::arg("numbers"), nb::arg("levels"));
    rows.def("write_sparse", &write_sparse, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("first"), nb::arg("numbers"), nb::arg("levels"));
    nb::class_<RowKeys>(rows, "RowKeys")
        .def(nb::init<std::uint64_t, std::size_t>(), nb::arg("seed"), nb::arg("most"))
        .def("keys", &keys, nb::arg("hashes"));
}
