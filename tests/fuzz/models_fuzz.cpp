// A fuzz target (libFuzzer) of model lines: the first byte says the form of the examples, the others are the line. A line is a model,
// whose own line leads back to it, or one line of error. tests/fuzz/models has seeds, tests/fuzz/models.dict the words.

#include <array>
#include <string_view>

#include "nn/model.hpp"
#include "tests/fuzz/checks.hpp"

namespace fedstride {
namespace {

const std::array kForms{
    ExampleForm{{32, 32, 3}, 10},
    ExampleForm{{28, 28, 1}, 62},
    ExampleForm{{1, 1, 60}, 10},
    ExampleForm{{1, 1, 3}, 2, Targets::values},
    ExampleForm{{1, 1, 1}, 4, Targets::flags},
    ExampleForm{{80, 1, 1}, 80, Targets::classes, 80},
    ExampleForm{{20, 1, 1}, 90, Targets::positions, 90},
    ExampleForm{{16384, 16384, 1}, 1},
};

bool have_equal_shapes(const Model& a, const Model& b) {
  if (a.size() != b.size() || a.parameters().size() != b.parameters().size() || a.layers().size() != b.layers().size())
    return false;
  for (std::size_t i = 0; i < a.parameters().size(); ++i)
    if (a.parameters()[i].name != b.parameters()[i].name || a.parameters()[i].shape != b.parameters()[i].shape) return false;
  for (std::size_t i = 0; i < a.shapes().size(); ++i)
    if (a.shapes()[i] != b.shapes()[i]) return false;
  return true;
}

void read_line(std::string_view bytes) {
  if (bytes.empty()) return;
  const ExampleForm& form = kForms[static_cast<unsigned char>(bytes.front()) % kForms.size()];
  const Model model = Model::parse(bytes.substr(1), form);
  const Model again = Model::parse(model.line(), form);
  fuzz::require(again.line() == model.line() && have_equal_shapes(model, again));
  std::size_t end = 0;
  for (const Parameter& parameter : model.parameters()) {
    fuzz::require(parameter.size > 0 && parameter.offset >= end && model.find(parameter.name) == &parameter);
    end = parameter.offset + parameter.size;
  }
  fuzz::require(end <= model.size() && model.parameter_count() <= model.size());
  for (const Shape& shape : model.shapes()) fuzz::require(shape.height >= 1 && shape.width >= 1 && shape.channels >= 1);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fedstride::fuzz::read_or_refuse([&] { fedstride::read_line({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
