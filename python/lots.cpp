#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/outside_lots.hpp"
#include "core/error.hpp"
#include "python/bindings.hpp"

namespace fedstride::python {
namespace {

using Values = py::array_t<float, py::array::c_style>;

// Wraps OutsideLots for the package's own code (python/fedstride/code.py), in any process that trains a client.
class Lots {
 public:
  Lots(const std::string& terms, const std::vector<std::pair<std::size_t, std::size_t>>& tensors)
      : lots_(OutsideLotsTerms::load(terms), ranges(tensors)) {}

  py::object next() {
    if (!lots_.next()) return py::none();
    const auto drawn = lots_.drawn();
    py::array_t<std::int64_t> numbers(static_cast<py::ssize_t>(drawn.size()));
    std::copy(drawn.begin(), drawn.end(), numbers.mutable_data());
    return numbers;
  }

  // `part` returns None, or the number of examples and a list of (offset, size, values).
  py::array release(const py::function& part) {
    std::vector<Values> held;
    const auto next = [&]() -> std::optional<ExampleGradients> {
      held.clear();
      const py::object given = part();
      if (given.is_none()) return std::nullopt;
      const auto [examples, tensors] =
          given.cast<std::pair<std::size_t, std::vector<std::tuple<std::size_t, std::size_t, Values>>>>();
      ExampleGradients gradients{.examples = examples};
      for (const auto& [offset, size, values] : tensors) {
        if (static_cast<std::size_t>(values.size()) != examples * size)
          throw failure("the number of a part's values is not its number of examples times the tensor's size");
        held.push_back(values);
        gradients.tensors.push_back({offset, size, values.data()});
      }
      return gradients;
    };
    const Vector gradient = lots_.release(next);
    return Values(static_cast<py::ssize_t>(gradient.size()), gradient.data());
  }

  py::tuple told() const {
    const LotReport& all = lots_.lots();
    return py::make_tuple(lots_.examples(), lots_.empty_lots(), all.examples, all.clipped, all.nonfinite, all.norms);
  }

 private:
  static std::vector<ParameterRange> ranges(const std::vector<std::pair<std::size_t, std::size_t>>& tensors) {
    std::vector<ParameterRange> ranges;
    for (const auto& [offset, size] : tensors) ranges.push_back({offset, size});
    return ranges;
  }

  OutsideLots lots_;
};

}  // namespace

void register_lots(py::module_& module) {
  py::class_<Lots>(module, "Lots")
      .def(py::init([](const py::bytes& terms, const std::vector<std::pair<std::size_t, std::size_t>>& tensors) {
        return std::make_unique<Lots>(terms, tensors);
      }))
      .def("next", &Lots::next)
      .def("release", &Lots::release)
      .def("told", &Lots::told);
}

}  // namespace fedstride::python
