#include "row_bindings.hpp"

#include <nanobind/ndarray.h>

#include "row_hash.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using suffice::rows::RowKeys;
using suffice::text::Column;

namespace {

using Hashes = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_numbers(Hashes hashes, const Column<double>& cells, std::uint64_t factor, int loose) {
    if (hashes.shape(0) != cells.shape(0)) throw nb::value_error("there must be one hash for each cell");
    if (loose < 0 || loose > 51) throw nb::value_error("loose must be 0 to 51");
    suffice::rows::add_numbers(hashes.data(), cells.data(), cells.shape(0), factor, loose);
}

suffice::text::Result<std::uint64_t> mixed(const Column<std::uint64_t>& numbers) {
    std::vector<std::uint64_t> found(numbers.shape(0));
    std::transform(numbers.data(), numbers.data() + found.size(), found.begin(), suffice::rows::mixed);
    return suffice::text::handed(std::move(found));
}

suffice::text::Result<std::uint64_t> keys(RowKeys& rows, const Column<std::uint64_t>& hashes) {
    std::vector<std::uint64_t> found(hashes.shape(0));
    rows.keys(hashes.data(), found.size(), found.data());
    return suffice::text::handed(std::move(found));
}

}  // namespace

void bind_rows(nb::module_& module) {
    nb::module_ rows = module.def_submodule("rows");
    rows.def("add_numbers", &add_numbers, nb::arg("hashes").noconvert(), nb::arg("cells"), nb::arg("factor"),
             nb::arg("loose"));
    rows.def("mixed", &mixed, nb::arg("numbers"));
    nb::class_<RowKeys>(rows, "RowKeys")
        .def(nb::init<std::uint64_t, std::size_t>(), nb::arg("seed"), nb::arg("most"))
        .def("keys", &keys, nb::arg("hashes"));
}
