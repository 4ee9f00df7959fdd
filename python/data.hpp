#pragma once

#include <pybind11/numpy.h>

#include <functional>
#include <span>
#include <vector>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {

/// Call visit(values, shape of a row): visit_inputs for the inputs of a part, visit_answers for its answers.
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

/// Converts rows of a data set's training part to row numbers in the user's file or arrays.
py::array rows_in_file(const Dataset& data, std::span<const Row> rows);

/// Returns a function that makes the data set 'file' from NumPy arrays by key (x, y, client, x_test, ...), as read_npz does from
/// a file, or an empty function for None. The arrays live as long as the function or a data set from it; 8-bit images (channels
/// first, or gray) and float32 rows are read in place. Throws Error (usage) unless all arrays are contiguous and in this
/// machine's byte order. Needs the GIL; the returned function does not.
Bringer bringer_of(const py::object& arrays);

}  // namespace fedstride::python
