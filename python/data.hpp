#pragma once

#include <pybind11/numpy.h>

#include <functional>
#include <span>
#include <vector>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {

/// Calls visit(values, shape of a row) for the inputs of a part, and for its answers.
py::array visit_inputs(const Dataset& part, const auto& visit) {
  using Sides = std::vector<py::ssize_t>;
  const py::ssize_t height = part.shape.height, width = part.shape.width, channels = part.shape.channels;
  if (part.is_pictures()) return visit(part.pixels, Sides{channels, height, width});
  if (part.vocabulary > 0) return visit(part.tokens, Sides{height});
  return visit(part.features, height * width == 1 ? Sides{channels} : Sides{height, width, channels});
}
py::array visit_answers(const Dataset& part, const auto& visit) {
  using Sides = std::vector<py::ssize_t>;
  const auto answers = static_cast<py::ssize_t>(part.form().answers());
  if (part.targets == Targets::classes) return visit(part.labels, Sides{});
  if (part.targets == Targets::positions) return visit(part.position_labels, Sides{answers});
  return visit(part.values, Sides{answers});
}

using Bringer = std::function<DataPair(const ReadSettings&)>;

/// Row numbers in the user's file or arrays, for rows of a data set's training part.
py::array rows_in_file(const Dataset& data, std::span<const Row> rows);

/// The data set 'file' from NumPy arrays by key (x, y, client, x_test, ...), as read_npz makes it from a file. The arrays,
/// contiguous and in this machine's byte order, are kept as long as the function or a data set from it exists; 8-bit pictures
/// (channels first, or gray) and float32 rows are read in place. Empty for None. Throws Error (usage) for other arrays. Needs the
/// GIL; the function does not.
Bringer bringer_of(const py::object& arrays);

}  // namespace fedstride::python
