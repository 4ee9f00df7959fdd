#pragma once

#include <span>
#include <vector>

#include "client/corrected_gradient.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/model.hpp"
#include "optim/optimizers.hpp"
#include "personal/personal.hpp"

namespace fedstride {

/// The numbers in these ranges of a vector, one range behind the other; and back to their places.
void take_out(std::span<const ParameterRange> ranges, const Vector& from, Vector& numbers);
void put_back(std::span<const ParameterRange> ranges, const Vector& numbers, Vector& into);

/// The parameters of a model as personal models divide them, in order.
struct PersonalRanges {
  std::vector<ParameterRange> own = {};      ///< the client's: its own layers, or everything
  std::vector<ParameterRange> shared = {};   ///< trained ones of the other layers
  std::vector<ParameterRange> trained = {};  ///< of all layers
};
/// `local` and `frozen` have a flag a layer, or are empty.
PersonalRanges personal_ranges(const Model& model, const std::vector<bool>& local, const std::vector<bool>& frozen);

/// A client's side of its personal model, for one round after the other of any client. The vector that a client keeps is that of its
/// own parameters, one range behind the other; empty before its first round.
class PersonalAtClient {
 public:
  /// Both parts must outlive it.
  PersonalAtClient(const PersonalPart& part, const OptimizerPart& optimizer, PersonalRanges ranges)
      : part_(part), optimizer_(optimizer), ranges_(std::move(ranges)) {}

  bool makes() const { return part_.makes(); }
  bool has_layers() const { return !part_.layers().empty(); }
  int epochs() const { return part_.epochs(); }

  /// Puts what the client keeps into a model received; nothing before its first round.
  void enter(const Vector& kept, Vector& weights) const;
  /// Keeps what is the client's own of trained weights. Numbers that are not finite are not kept: the client then begins anew.
  void keep(const Vector& weights, Vector& kept) const;
  /// Puts the model received where the weights are the client's own, so that they have not changed.
  void leave(const Vector& received, Vector& weights) const;

  /// The parameters that do not train in this epoch (0, 1, ...) of a round's ordinary training.
  std::span<const ParameterRange> held(int epoch) const;
  /// The gradient of a second pass beside this model received, which must outlive it.
  CorrectedGradient second_pass(const Vector& received) const;

 private:
  const PersonalPart& part_;
  const OptimizerPart& optimizer_;
  PersonalRanges ranges_;
};

}  // namespace fedstride
