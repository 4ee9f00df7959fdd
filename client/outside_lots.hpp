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

// Example-level privacy for training by user code (client/outside_training.hpp). The code computes the gradient of each example
// in a lot; drawing, clipping, noise and charging are the same as in every private run. Nothing here can check what else the
// code does with the examples.

/// Everything a process needs to compute one client's noisy gradients in one round.
struct OutsideLotsTerms {
  PrivatePlan plan;
  RandomSource source{std::uint64_t{0}};
  std::uint32_t round = 1;
  ClientId client = 0;
  std::uint64_t rows = 0;  ///< number of the client's examples
  int first_epoch = 0;
  int epochs = 1;
  std::uint64_t reserved = 0;  ///< releases reserved in the ledger

  /// Converts the terms to bytes and back, for another process that trains for this one. The terms are secret: anyone who has
  /// them can repeat every draw. load throws Error (failure) if the bytes are not valid terms.
  std::string save() const;
  static OutsideLotsTerms load(std::string_view bytes);
};

/// Gradients of some of a lot's examples. A missing tensor has gradient 0.
struct ExampleGradients {
  struct Tensor {
    std::size_t offset = 0;         ///< in the model's flat vector
    std::size_t size = 0;           ///< values per example
    const float* values = nullptr;  ///< examples x size
  };
  std::size_t examples = 0;
  std::vector<Tensor> tensors = {};
};

/// One client's noisy gradients in one round.
class OutsideLots {
 public:
  /// `tensors` are the ranges of the model's tensors in its flat vector.
  OutsideLots(const OutsideLotsTerms& terms, std::span<const ParameterRange> tensors);
  OutsideLots& operator=(OutsideLots&&) = delete;  // draws_ refers to members

  /// Draws the next lot; returns false if none is left in the round. Throws Error (usage) if the previous lot was not released:
  /// skipping a lot because of its contents would reveal something about them.
  bool next();
  /// The lot's examples, numbered from 0 within the client's examples.
  std::span<const Row> drawn() const { return drawn_; }
  /// Returns the lot's noisy gradient, with zeros between tensors. Calls `part` until it returns nothing, clips and sums all
  /// gradients, and divides the noisy sum by the expected number of examples. Throws Error: usage if the number of examples is
  /// not the number drawn, failure if no lot is drawn or it was already released.
  Vector release(const std::function<std::optional<ExampleGradients>()>& part);

  /// Counts over all lots so far, for the client's report.
  std::uint64_t examples() const { return examples_; }  ///< number drawn
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
  std::uint64_t left_in_epoch_ = 0;  ///< lots left in the epoch
  bool is_open_ = false;             ///< a lot is drawn and not yet released
};

}  // namespace fedstride
