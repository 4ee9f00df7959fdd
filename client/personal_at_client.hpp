#pragma once

#include <span>
#include <vector>

#include "client/corrected_gradient.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// Copies the numbers in these ranges of a vector to a contiguous vector, and back.
void gather(std::span<const ParameterRange> ranges, const Vector& from, Vector& numbers);
void scatter(std::span<const ParameterRange> ranges, const Vector& numbers, Vector& into);

/// How personal models divide a model's parameters; each list of ranges is in order.
struct PersonalRanges {
  std::vector<ParameterRange> own = {};      ///< the client's own layers, or the whole model
  std::vector<ParameterRange> shared = {};   ///< trained parameters of the other layers
  std::vector<ParameterRange> trained = {};  ///< trained parameters of all layers
};
/// `local` and `frozen` have one flag per layer, or are empty.
PersonalRanges personal_ranges(const Model& model, const std::vector<bool>& local, const std::vector<bool>& frozen);

/// The client's side of personal models, for successive rounds of any clients. The vector `kept` contains the client's own
/// parameters, gathered, and is empty before the client's first round.
class PersonalAtClient {
 public:
  /// Both parts must outlive this object.
  PersonalAtClient(const PersonalPart& part, const OptimizerPart& optimizer, PersonalRanges ranges)
      : part_(part), optimizer_(optimizer), ranges_(std::move(ranges)) {}

  bool makes() const { return part_.makes(); }
  bool has_layers() const { return !part_.layers().empty(); }
  int epochs() const { return part_.epochs(); }

  /// Copies the client's own parameters into the model received; does nothing before the client's first round.
  void restore_own(const Vector& kept, Vector& weights) const;
  /// Copies the client's own parameters from the trained weights to `kept`. If they have diverged (ExactSum::admits), empties
  /// `kept`, so the client next starts from the model received.
  void keep_own(const Vector& weights, Vector& kept) const;
  /// Resets the client's own parameters to the values received, so that their change is 0.
  void reset_own(const Vector& received, Vector& weights) const;

  /// The parameters that are not trained in this epoch (0, 1, ...) of a round's ordinary training.
  std::span<const ParameterRange> held(int epoch) const;
  /// The gradient of a second pass; `received`, the model received, must outlive the result.
  CorrectedGradient second_pass(const Vector& received) const;

 private:
  const PersonalPart& part_;
  const OptimizerPart& optimizer_;
  PersonalRanges ranges_;
};

}  // namespace fedstride
