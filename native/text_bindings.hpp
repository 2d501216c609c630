// What the bindings of text share: arrays in, vectors out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "checked.hpp"

namespace suffice::text {

namespace nb = nanobind;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T>;

// A NumPy array that owns the elements of a vector.
template <class T>
Result<T> handed(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return Result<T>(kept->data(), {kept->size()}, owner);
}

inline Result<double> zeros(std::size_t rows, std::size_t columns) {
    auto* data = static_cast<double*>(std::calloc(std::max<std::size_t>(checked_product(rows, columns), 1), sizeof(double)));
    if (data == nullptr) throw std::bad_alloc();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return Result<double>(data, {rows, columns}, owner);
}

inline nb::str text_of(const char* data, std::size_t size) {
    PyObject* text = PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "surrogatepass");
    if (text == nullptr) {  // bytes, which need be no text
        PyErr_Clear();
        text = PyUnicode_DecodeLatin1(data, static_cast<Py_ssize_t>(size), nullptr);
    }
    if (text == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(text);
}

// Adds vocabularies, and what is done with them and with counts.
void bind_words(nb::module_& text);

}  // namespace suffice::text

// Adds the submodule `text`.
void bind_text(nanobind::module_& module);
