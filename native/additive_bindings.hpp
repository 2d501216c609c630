#pragma once

#include <nanobind/nanobind.h>

#include "kernels.hpp"

// Steps of additive models. `active` is the variable that holds the kernels in use.
void bind_additive(nanobind::module_& m, const suffice::Kernels* const& active);
