#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/attacks/attack_plan.hpp"
#include "client/objective_at_client.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "client/personal_at_client.hpp"
#include "client/private_lots.hpp"
#include "client/update_coding.hpp"
#include "core/function_ref.hpp"
#include "core/task.hpp"
#include "data/batch.hpp"
#include "data/skew/feature_skew.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/evaluator.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// Client-level privacy in which each client adds all the noise to its own clipped update.
struct LocalRelease {
  UpdateClip clip;
  NoiseGrid grid;
  std::vector<ParameterRange> trained;  ///< trainable parameters; noise on frozen parameters is dropped
  RandomSource source;
};

/// Receives updates as they arrive, from any thread.
using UpdateSink = function_ref<void(const ClientUpdate&)>;

/// The rules of local training, the same for every client.
struct LocalTraining {
  Optimizer optimizer = {};
  LocalObjective objective = {};
  AttackPlan attack = {};
  int epochs = 1;
  int steps = 0;  ///< above 0: steps per epoch, with batches of `batch` rows; may take many passes over the rows
  int batch = 10;
  Augmentation augmentation = Augmentation::none;
  FeatureSkew feature_skew = {};
  std::uint32_t clients = 1;    ///< number of clients in the federation; affects feature skew
  bool weighs_examples = true;  ///< a client's weight in the mean is its number of examples; otherwise 1
  bool keep_state = true;       ///< the optimizer's state is kept between rounds
  std::uint64_t seed = 0;
  std::vector<bool> frozen = {};                   ///< one flag per layer, or empty
  std::optional<PrivateTraining> privacy = {};     ///< example-level privacy
  std::optional<LocalRelease> local_release = {};  ///< client-level privacy in which each client adds all the noise
  UpdateCoding coding = {};
  Personal personal = {};
  std::vector<bool> local = {};                                         ///< one flag per layer: true if clients own it; or empty
  std::function<std::span<const Row>(ClientId client)> test_rows = {};  ///< for testing personal models; empty: no tests
  std::shared_ptr<const Dataset> test_examples = {};                    ///< data set of test_rows; null: the training data

  /// True if clients keep anything between rounds.
  bool keeps_clients() const { return keep_state || objective->keeps() || personal->keeps() || coding.keeps(); }
  /// Flags the layers that no update changes: one flag per layer, or empty.
  std::vector<bool> unsent() const;
  /// The skew of a client's inputs. The result refers to this object.
  ClientSkew skew_of(ClientId client) const;
  /// The skew of the test part, if its rows are read with the clients' skew. The result refers to this object.
  ClientSkew skew_of_test() const;

  /// The number of local epochs in all earlier rounds, which is the epoch of schedules and plans when this round starts.
  int first_epoch(std::uint32_t round) const { return static_cast<int>(round - 1) * epochs; }
};

/// The largest number of examples a network processes at once for clients with at most `max_rows` rows.
int rows_at_once(const LocalTraining& training, std::size_t max_rows);

/// The number of steps a client with `rows` rows takes in rounds 1 to `rounds`; under example-level privacy, as planned.
double steps_of(const LocalTraining& training, ClientId client, std::size_t rows, std::uint32_t rounds);

/// The maximum number of passes over its rows that a client with `rows` rows makes in a round, without privacy.
std::uint64_t passes_of_round(const LocalTraining& training, std::size_t rows);

/// The planned number of gradient examples that a client with `rows` rows computes in a round. It depends on `rows` and the
/// settings, not on the steps actually taken or the lots drawn: under example-level privacy, lots count at their expected size.
double planned_examples(const LocalTraining& training, ClientId client, std::size_t rows, std::uint32_t round);

/// One client's state between rounds: its optimizer's state, its local objective's vector, its personal parameters and
/// the error kept by compression, all empty before its first round.
class ClientState {
 public:
  /// Converts the state to bytes and back; training then continues bit for bit. load throws Error (failure) if the bytes are
  /// not a state of this kind.
  std::string save(const LocalTraining& training) const;
  void load(const LocalTraining& training, std::string bytes);

 private:
  friend class Trainer;
  friend Vector personal_weights(const LocalTraining&, const Model&, const Vector&, const ClientState&);
  std::unique_ptr<PartState> state_;
  Vector kept_;
  Vector personal_;
  KeptBack kept_back_;
};

/// The personal model of a client with this state: the client's own parameters, and the rest from the federation's model
/// `weights`. For a kind that keeps nothing, the result is `weights`, from which its second pass starts.
Vector personal_weights(const LocalTraining& training, const Model& model, const Vector& weights, const ClientState& state);

/// Thrown by Trainer::train when training must stop at once.
struct Interrupted {};

/// One thread's network, optimizer scratch and weights. Trains any client, one at a time. Needs memory for one model and one
/// batch, regardless of the number of clients.
class Trainer {
 public:
  /// Model, data and training must outlive the trainer. `max_rows` is the number of examples of the largest client.
  Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows);

  /// Trainers that share `progress` add the gradient examples they process to it; when `stop` becomes true, they throw
  /// Interrupted.
  struct Signals {
    std::atomic<std::uint64_t>* progress = nullptr;
    const std::atomic<bool>* stop = nullptr;
  };

  /// Trains `client` on its rows, starting from the task's model; then trains its personal model, if it has one; and passes the
  /// update to `sink`.
  /// An epoch visits the rows in an order drawn at (data_order, round, client, epoch). A step reads the next batches_per_step()
  /// batches. An epoch ends when fewer rows are left than a step needs (ADADP: floor(n / 2B) steps), except that an optimizer
  /// with one batch per step uses a smaller last batch. A client with fewer rows than one step reads gets batches of rows /
  /// batches_per_step, at least one row. Under example-level privacy, the client's PrivatePlan determines lots and noise, and
  /// training ends before the step that would release more than task.releases allows. If LocalTraining::steps is set, an
  /// epoch passes over the rows as often as its steps need, each time in an order drawn with the pass's number.
  void train(const Task& task, ClientId client, std::span<const Row> rows, ClientState& state, ForEachPiece for_each_piece,
             const Signals& signals, UpdateSink sink);

 private:
  class PlainBatches;
  /// A sequence of consecutive epochs.
  struct Pass {
    int first_epoch = 0;
    int epochs = 1;
    const CorrectedGradient& corrected;
    bool is_ordinary = true;  ///< true when training the federation's model, with the local objective
  };
  /// Computes the mean gradient over all rows at the model received, for the local objective.
  void gradient_at_start(PlainBatches& batches, std::size_t rows, const Signals& signals, ClientReport& report);
  /// Applies the attack to the update of an attacker. Padding between tensors stays 0, as on a network, where it is not sent.
  void falsify(std::uint32_t round, ClientId client);

  /// `source` supplies the batches: PlainBatches or PrivateLots.
  void train_epochs(const Pass& pass, PartState& state, auto& source, const Signals& signals, ClientReport& report);
  ClientReport train_with(PartState& state, const Task& task, ClientId client, std::span<const Row> rows,
                          ForEachPiece for_each_piece, const Signals& signals);
  /// The server's numbers for the optimizer.
  std::span<const double> told_to_optimizer(const Task& task, ClientId client) const;
  /// Trains the client's personal model if its kind has a second pass, and tests the personal model.
  void train_personal(const Task& task, ClientId client, std::span<const Row> rows, Vector& kept, ForEachPiece for_each_piece,
                      const Signals& signals, ClientReport& report);

  const Dataset& data_;
  const LocalTraining& training_;
  Network network_;
  ClientState spare_state_;
  Vector weights_;
  Vector update_;
  ObjectiveAtClient objective_;
  PersonalAtClient personal_;
  GroupEvaluator tester_;
  std::vector<ParameterRange> running_;  ///< running statistics of batch normalization
  Vector running_before_;                ///< their values before a step
  Vector held_;                          ///< values of the weights that are not being trained now
  std::vector<ParameterRange> sent_;     ///< the trained parameters of an update, if attackers falsify updates
  Vector scratch_;                       ///< for the optimizer
  std::vector<Row> order_;
  AnswerRoom answers_;
  std::optional<PrivateBuffers> private_buffers_;
};

}  // namespace fedstride
