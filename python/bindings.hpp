#pragma once

#include <pybind11/pybind11.h>

#include "sim/settings/configuration.hpp"

namespace fedstride::python {

namespace py = pybind11;

// Each function is defined in its own file of this folder and adds that file's names to the module `_core`.

void register_lots(py::module_& module);
void register_joining(py::module_& module);
void register_errors(py::module_& module);
void register_schema(py::module_& module);
void register_running(py::module_& module);
void register_data(py::module_& module);
void register_commands(py::module_& module);
void register_tensors(py::module_& module);
void register_accounting(py::module_& module);

/// Converts keywords to settings of the command line: names get dashes instead of underscores; values are bool, int, float, str,
/// a path, a NumPy scalar, or a list of these, which is joined with commas; None is omitted. Throws Error (usage) for other
/// types. resolve() checks names and ranges later. Needs the GIL.
Settings settings_of(const py::dict& keywords);

}  // namespace fedstride::python
