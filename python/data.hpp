#pragma once

#include <functional>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {

using Bringer = std::function<DataPair(const ReadSettings&)>;

/// The data set 'file' out of NumPy arrays by their keys (x, y, client, x_test, ...), as read_npz makes it of a file. The arrays,
/// contiguous and in this machine's byte order, are kept for as long as the function or a data set made by it lives; 8-bit
/// pictures (channels first, or grey) and float32 numbers of rows are read where they lie. Empty for None. Throws Error (usage) for
/// other arrays. Needs the GIL; the function does not.
Bringer bringer_of(const py::object& arrays);

}  // namespace fedstride::python
