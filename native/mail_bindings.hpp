// Mail: messages to features, and the memory that learns from them, for Python.
#pragma once

#include <nanobind/nanobind.h>

// Adds the submodule `mail`.
void bind_mail(nanobind::module_& module);
