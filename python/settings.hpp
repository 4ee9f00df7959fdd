#pragma once

#include "python/bindings.hpp"
#include "run/configuration.hpp"

namespace fedstride::python {

/// Keywords as settings of the command line: names have dashes for underscores; values are bool, int, float, str, a path, a
/// NumPy scalar, or a list of these, which is joined with commas; None is left out. Throws Error (usage) for other types.
/// Names and ranges are judged later, by resolve(). Needs the GIL.
Settings settings_of(const py::dict& keywords);

}  // namespace fedstride::python
