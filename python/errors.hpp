#pragma once

#include "python/bindings.hpp"

namespace fedstride::python {

/// The exceptions' types, which live as long as the interpreter: fedstride.Error and, for requests that make no sense,
/// fedstride.UsageError, which is a ValueError too.
PyObject* error_type();
PyObject* usage_error_type();

/// "the callback failed: ValueError: no": a Python exception in one line, for where it cannot be raised. Needs the GIL.
std::string one_line(const py::error_already_set& error);

}  // namespace fedstride::python
