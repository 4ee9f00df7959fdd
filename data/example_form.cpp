#include "data/example_form.hpp"

namespace fedstride {

std::string ExampleForm::text() const {
  const std::string examples =
      vocabulary > 0 ? std::to_string(shape.height) + " tokens of " + std::to_string(vocabulary) : shape.text();
  const std::string answers = targets == Targets::positions ? "classes a position" : std::string(choice_name(targets));
  return examples + ", " + std::to_string(outputs) + ' ' + answers;
}

}  // namespace fedstride
