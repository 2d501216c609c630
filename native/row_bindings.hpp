// The Python side of row_hash.hpp.
#pragma once

#include <nanobind/nanobind.h>

// Adds the submodule `rows`.
void bind_rows(nanobind::module_& module);
