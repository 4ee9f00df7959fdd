#pragma once

#include <cstddef>
#include <string>

#include "core/choice.hpp"
#include "core/shape.hpp"
#include "core/term.hpp"

namespace fedstride {

/// The kind of answer to an example, which determines a model's loss and metric (docs/models.md).
enum class Targets {
  classes,    ///< one class per example: softmax cross-entropy; share of correct examples
  positions,  ///< one class per sequence position: mean cross-entropy over an example's positions; share of correct positions
  values,     ///< numbers: mean squared error over an example's numbers; R^2
  flags,      ///< labels, each of which applies or not: mean logistic loss over an example's labels; share of correct labels
};
constexpr auto choice_names(Targets) { return names("classes", "positions", "values", "flags"); }

/// Everything about examples that a model depends on.
struct ExampleForm {
  Shape shape;      ///< for tokens: sequence length x 1 x 1
  int outputs = 0;  ///< number of classes, or of numbers or labels per example
  Targets targets = Targets::classes;
  int vocabulary = 0;  ///< if above 0, an example is a sequence of tokens, each below this number
  bool operator==(const ExampleForm&) const = default;
  static constexpr auto kTerms =
      terms(Term{"shape", &ExampleForm::shape, true}, Term{"outputs", &ExampleForm::outputs, true},
            Term{"targets", &ExampleForm::targets, true}, Term{"vocabulary", &ExampleForm::vocabulary});

  /// Text such as "32x32x3, 10 classes", "80 tokens of 90, 90 classes a position" or "1x1x4, 2 values".
  std::string text() const {
    const std::string examples =
        vocabulary > 0 ? std::to_string(shape.height) + " tokens of " + std::to_string(vocabulary) : shape.text();
    const std::string answers = targets == Targets::positions ? "classes a position" : std::string(choice_name(targets));
    return examples + ", " + std::to_string(outputs) + ' ' + answers;
  }

  /// The number of answers per example: of positions, numbers or labels, or 1 for a class.
  std::size_t answers() const {
    if (targets == Targets::classes) return 1;
    return static_cast<std::size_t>(targets == Targets::positions ? shape.height : outputs);
  }
};

}  // namespace fedstride
