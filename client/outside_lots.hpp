#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/lot_draws.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

// Example-level privacy for training by code of the user's own (client/outside_training.hpp). The code computes the gradient of each
// example of a lot; drawing, clipping, noise and charging are those of every private run. Nothing here can see what else it does
// with the examples.

/// All that a process needs to make one client's noisy gradients in one round.
struct OutsideLotsTerms {
  PrivatePlan plan;
  RandomSource source{std::uint64_t{0}};
  std::uint32_t round = 1;
  ClientId client = 0;
  std::uint64_t rows = 0;  ///< examples of the client
  int first_epoch = 0;
  int epochs = 1;
  std::uint64_t reserved = 0;  ///< releases reserved in the ledger

  /// The terms as bytes, and back, for a process that trains for this one: whoever has them can repeat every draw. load throws Error
  /// (failure) if the bytes are not such terms.
  std::string save() const;
  static OutsideLotsTerms load(std::string_view bytes);
};

/// Gradients of some examples of a lot. A tensor that is missing has none.
struct ExampleGradients {
  struct Tensor {
    std::size_t offset = 0;         ///< in the model's flat vector
    std::size_t size = 0;           ///< values an example
    const float* values = nullptr;  ///< examples x size
  };
  std::size_t examples = 0;
  std::vector<Tensor> tensors = {};
};

/// One client's noisy gradients in one round.
class OutsideLots {
 public:
  /// `tensors` are where the model's lie in its flat vector.
  OutsideLots(const OutsideLotsTerms& terms, std::span<const ParameterRange> tensors);
  OutsideLots(const OutsideLots&) = delete;  // its draws point into it
  OutsideLots& operator=(const OutsideLots&) = delete;

  /// Draws the next lot; false if the round has no more. Throws Error (usage) if the lot before was not released: a lot left out
  /// because of what is in it would tell of it.
  bool next();
  /// Its examples, numbered from 0 within the client's own.
  std::span<const Row> drawn() const { return drawn_; }
  /// The lot's noisy gradient, with zeros between tensors: clipped and summed over all that `part` gives until it gives none, with
  /// noise, divided by the expected number of examples. Throws Error: usage if these are not as many as were drawn, failure if the lot was
  /// released before or none was drawn.
  Vector release(const std::function<std::optional<ExampleGradients>()>& part);

  /// Counts over all lots so far, for the client's report.
  std::uint64_t examples() const { return examples_; }  ///< drawn
  const LotReport& lots() const { return draws_.lots(); }
  std::uint64_t empty_lots() const { return draws_.empty(); }

 private:
  class Lot;

  OutsideLotsTerms terms_;
  std::vector<Row> rows_;
  LotDraws draws_;
  std::vector<GradientStretch> stretches_;
  std::size_t size_ = 0;
  ClippedSum sum_;
  std::vector<Row> drawn_;
  std::vector<double> norms_;
  std::uint64_t examples_ = 0;
  int next_epoch_ = 0;
  std::uint64_t left_in_epoch_ = 0;  ///< lots
  bool is_open_ = false;             ///< a lot is drawn and not released
};

}  // namespace fedstride
