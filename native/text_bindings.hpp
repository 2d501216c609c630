#pragma once

#include <nanobind/nanobind.h>

// Adds the submodule `text`.
void bind_text(nanobind::module_& module);
