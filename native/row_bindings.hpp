// The Python side of row_hash.hpp and row_kernels.hpp.
#pragma once

#include <nanobind/nanobind.h>

#include "row_kernels.hpp"

// The kernels in use; bindings.cpp chooses them.
extern const suffice::RowKernels* active_row_kernels;

// Adds the submodule `rows`.
void bind_rows(nanobind::module_& module);
