#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "nn/layer.hpp"
#include "nn/model.hpp"

namespace fedstride::test {

/// A model with the layer in it, behind one that trains if it can stand there: it needs the gradient by the layer's inputs.
struct Example {
  std::string line;
  ExampleForm form;
};

inline const ExampleForm kRow{{1, 1, 5}, 3}, kSquare{{6, 6, 2}, 3}, kTokens{{6, 1, 1}, 3, Targets::classes, 7};

inline Example example_of(const Conv&) { return {"conv 4 2 | tanh | conv 3 2 2 1 | dense classes", kSquare}; }
inline Example example_of(const MaxPool&) { return {"conv 3 3 | maxpool 2 1 | dense classes", kSquare}; }
inline Example example_of(const AvgPool&) { return {"conv 3 3 | avgpool 2 1 | dense classes", kSquare}; }
inline Example example_of(const GlobalAvgPool&) { return {"conv 3 3 | globalavgpool | dense classes", kSquare}; }
inline Example example_of(const Dense&) { return {"dense 4 | tanh | dense 6 | dense classes", kRow}; }
inline Example example_of(const LeakyRelu&) { return {"dense 9 | leakyrelu 0.3 | dense classes", kRow}; }
inline Example example_of(const Dropout&) { return {"dense 9 | dropout 0.3 | dense classes", kRow}; }
inline Example example_of(const BatchNorm&) {
  return {"conv 4 2 nobias | batchnorm | relu | conv 5 2 nobias | batchnorm 0.2 | dense classes", kSquare};
}
inline Example example_of(const GroupNorm&) { return {"conv 4 2 | groupnorm 2 | dense classes", kSquare}; }
inline Example example_of(const Embedding&) { return {"embedding 4 | last | dense classes", kTokens}; }
inline Example example_of(const Positions&) { return {"embedding 4 | positions | gru 5 | last | dense classes", kTokens}; }
inline Example example_of(const Lstm&) { return {"embedding 4 | lstm 5 | last | dense classes", kTokens}; }
inline Example example_of(const Gru&) { return {"embedding 4 | gru 5 | last | dense classes", kTokens}; }
inline Example example_of(const Attention&) { return {"embedding 4 | attention 2 | last | dense classes", kTokens}; }
inline Example example_of(const Last&) { return {"embedding 4 | gru 5 | last | dense classes", kTokens}; }
inline Example example_of(const Sequence&) { return {"conv 3 3 | sequence | gru 5 | last | dense classes", kSquare}; }
inline Example example_of(const Fork&) { return {"dense 4 | residual { tanh | dense 4 } | dense classes", kRow}; }
inline Example example_of(const Add&) { return {"conv 3 3 | residual { conv 4 3 2 1 } | dense classes", kSquare}; }
inline Example example_of(const Subsample&) { return {"conv 3 3 | residual pad { conv 4 3 2 1 } | dense classes", kSquare}; }

/// A layer without settings that leaves values in their places needs no example of its own.
template <class Kind>
Example example_of(const Kind&) {
  static_assert(std::is_empty_v<Kind> && Kind::kTraits.keeps_places,
                "the layer needs an example: write one more example_of in tests/nn/layer_examples.hpp");
  return {"dense 9 | " + std::string(Kind::kName) + " | dense classes", kRow};
}

/// Calls visit(layer, example) for every layer of the registry, with its defaults; those of blocks too.
template <class Visit>
void for_each_layer(const Visit& visit) {
  const auto visit_all = [&]<class... Kinds>(const std::variant<Kinds...>&) { (visit(Kinds{}, example_of(Kinds{})), ...); };
  visit_all(Layer{});
}

}  // namespace fedstride::test
