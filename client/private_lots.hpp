#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/canaries.hpp"
#include "client/lot_draws.hpp"
#include "core/task.hpp"
#include "data/batch.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// A trainer's input for example-level private training, in addition to rows.
struct PrivateTraining {
  std::vector<std::shared_ptr<const PrivatePlan>> plans;  ///< one per client; clients of the same size share one
  RandomSource source{std::uint64_t{0}};                  ///< for lots and noise
  std::shared_ptr<Canaries> canaries = {};                ///< added to the rows of one client to measure privacy; null: none
  ClientId canary_client = 0;
};

/// The stretches into which a network's noisy gradient is divided.
std::vector<GradientStretch> gradient_stretches(const Model& model, const std::vector<bool>& frozen);

/// One thread's buffers for a network's noisy gradients.
class PrivateBuffers {
 public:
  PrivateBuffers(const Model& model, const std::vector<bool>& frozen);

 private:
  friend class PrivateLots;
  ClippedSum sum_;
  std::vector<Row> drawn_;
  AnswerRoom answers_;
  std::vector<double> norms_;
  Vector of_user_;  ///< one user's mean gradient
};

/// One client's noisy gradients in one round: draws a lot, has the network compute its gradients part by part, and releases the
/// clipped and noised sum. The training loop uses this class just as it uses batches for a client without privacy.
class PrivateLots {
 public:
  struct Places {  ///< the objects used, all of which must outlive this one
    const Dataset& data;
    Augmentation augmentation;
    Network& network;
    PrivateBuffers& buffers;
    ForEachPiece for_each_piece;
    ClientSkew skew = {};          ///< the client's feature skew
    Canaries* canaries = nullptr;  ///< canaries among the rows that lots are drawn from
  };

  /// `address` is the address of the round's first batch; `draws` selects each lot's rows and releases the lot.
  PrivateLots(const Places& places, LotDraws draws, const BatchAddress& address)
      : places_(places), draws_(std::move(draws)), address_(address) {}

  void begin_epoch(int epoch) { draws_.begin_epoch(epoch); }
  std::size_t steps(int epoch, int /*gradients*/) const { return draws_.steps(epoch); }
  bool has(int gradients) const { return draws_.has(gradients); }
  double next_noise() const { return draws_.next_deviation(places_.buffers.sum_.numbers()); }

  struct Result {
    double loss_sum = 0;
    std::size_t examples = 0;
    double sink_sum = 0;
  };
  /// Makes one noisy release of the gradient at `weights`.
  Result gradient(const float* weights, GradientSink sink);

  /// Writes the releases to the report.
  void report(ClientReport& report) const { draws_.report(report); }

 private:
  class Lot;
  class UserLot;

  Places places_;
  LotDraws draws_;
  BatchAddress address_;
};

}  // namespace fedstride
