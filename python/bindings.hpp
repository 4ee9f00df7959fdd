#pragma once

#include <pybind11/pybind11.h>

namespace fedstride::python {

namespace py = pybind11;

// One function a file of this folder: adds the file's names to the module `_core`.

void register_lots(py::module_& module);
void register_joining(py::module_& module);
void register_errors(py::module_& module);
void register_running(py::module_& module);
void register_data(py::module_& module);
void register_commands(py::module_& module);
void register_tensors(py::module_& module);

}  // namespace fedstride::python
