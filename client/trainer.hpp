#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attacks/attack_plan.hpp"
#include "client/objective_at_client.hpp"
#include "client/personal_at_client.hpp"
#include "client/private_lots.hpp"
#include "core/function_ref.hpp"
#include "core/task.hpp"
#include "data/batch.hpp"
#include "data/skew/feature_skew.hpp"
#include "dp/noise/client_release.hpp"
#include "nn/group_evaluation.hpp"
#include "nn/network.hpp"
#include "objectives/local_objective.hpp"
#include "optim/optimizers.hpp"
#include "personal/personal.hpp"

namespace fedstride {

/// Client-level privacy in which each client adds all the noise itself, to its own clipped update.
struct LocalRelease {
  UpdateClip clip;
  double standard_deviation = 0;
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
  int batch = 10;
  Augmentation augmentation = Augmentation::none;
  FeatureSkew feature_skew = {};
  std::uint32_t clients = 1;    ///< of the federation, by which feature skew is graded
  bool weighs_examples = true;  ///< a client's weight in the mean is its number of examples; otherwise 1
  bool keep_state = true;       ///< the optimiser's state is carried from round to round
  std::uint64_t seed = 0;
  std::vector<bool> frozen = {};                   ///< a flag a layer, or empty
  std::optional<PrivateTraining> privacy = {};     ///< example-level privacy
  std::optional<LocalRelease> local_release = {};  ///< client-level privacy in which each client adds all the noise
  Personal personal = {};
  std::vector<bool> local = {};  ///< a flag for each layer that is the clients' own, or empty
  std::function<std::span<const Row>(ClientId client)> test_rows = {};  ///< that personal models are tested on; empty: none are
  std::shared_ptr<const Dataset> test_examples = {};                    ///< whose rows these are; empty: the training data's

  /// True if a client has anything to keep from round to round.
  bool keeps_clients() const { return keep_state || objective->keeps() || personal->keeps(); }
  /// The layers that no update changes: a flag a layer, or empty.
  std::vector<bool> unsent() const;
  /// The skew of a client's inputs; valid as long as this.
  ClientSkew skew_of(ClientId client) const;
  /// That of the test part, none unless its rows are read as clients have theirs; valid as long as this.
  ClientSkew skew_of_test() const;

  /// The local epochs of all rounds before this one, where schedules and plans stand at its beginning.
  int first_epoch(std::uint32_t round) const { return static_cast<int>(round - 1) * epochs; }
};

/// The largest number of examples a network computes at once for clients with at most `max_rows` rows.
int rows_at_once(const LocalTraining& training, std::size_t max_rows);

/// The steps that a client with so many rows takes in rounds 1 to `rounds`; under example-level privacy those of its plan.
double steps_of(const LocalTraining& training, ClientId client, std::size_t rows, std::uint32_t rounds);

/// One client's state from round to round, besides its rows: its optimiser's state, the vector that its local objective keeps and
/// what is its own of its personal model, all empty before its first round.
class ClientState {
 public:
  /// The state as bytes, and back: save, load, step equals step. load throws Error (failure) if the bytes are not a state
  /// of this kind.
  std::string save(const LocalTraining& training) const;
  void load(const LocalTraining& training, std::string bytes);

 private:
  friend class Trainer;
  friend Vector personal_weights(const LocalTraining&, const Model&, const Vector&, const ClientState&);
  std::unique_ptr<OptimizerState> state_;
  Vector kept_;
  Vector personal_;
};

/// The personal model of a client with this state beside the federation's model `weights`: what it keeps of its own, and the rest
/// of these. A kind that keeps nothing makes its model out of them in its second pass.
Vector personal_weights(const LocalTraining& training, const Model& model, const Vector& weights, const ClientState& state);

/// Thrown by Trainer::train when training must stop at once.
struct Interrupted {};

/// One thread's network, optimiser scratch and weights. Trains one client at a time, any client. Memory is that of the
/// model and one batch, for any number of clients.
class Trainer {
 public:
  /// Both must outlive the trainer. `max_rows` is the number of examples of the largest client.
  Trainer(const Model& model, const Dataset& data, const LocalTraining& training, std::size_t max_rows);

  /// All trainers that share `progress` add the gradient examples they have computed to it as they go; when `stop` becomes
  /// true, they throw Interrupted.
  struct Signals {
    std::atomic<std::uint64_t>* progress = nullptr;
    const std::atomic<bool>* stop = nullptr;
  };

  /// Trains `client` on its rows from the task's model, then its personal model, if it has one, and passes the update on.
  /// An epoch visits the rows in an order drawn at (data_order, round, client, epoch). A step reads the next
  /// gradients_per_step batches; an epoch ends where fewer rows are left than a step needs (ADADP: floor(n / 2B) steps), but
  /// an optimiser of one batch a step takes a last smaller batch. A client with fewer rows than one step reads gets
  /// batches of (rows / kGradientsPerStep), at least one row.
  /// Under example-level privacy the client's PrivatePlan gives lots and noise, and training ends before the step that
  /// would release more than task.releases allows.
  void train(const Task& task, ClientId client, std::span<const Row> rows, ClientState& state, ForEachPiece for_each_piece,
             const Signals& signals, UpdateSink sink);

 private:
  class PlainBatches;
  /// Epochs of training one after the other.
  struct Pass {
    int first_epoch = 0;
    int epochs = 1;
    const CorrectedGradient& corrected;
    bool is_ordinary = true;  ///< that of the federation's model, which local objective and client's own layers follow
  };
  /// The mean gradient over all rows at the model received, for the local objective.
  void gradient_at_start(PlainBatches& batches, std::size_t rows, const Signals& signals, ClientReport& report);
  /// Does to the update what the client does as an attacker. Gaps between tensors stay 0, as over a network, which does not send them.
  void falsify(std::uint32_t round, ClientId client);

  /// `source` gives the batches: PlainBatches or PrivateLots.
  template <class Source>
  void train_epochs(const Pass& pass, OptimizerState& state, Source& source, const Signals& signals, ClientReport& report);
  ClientReport train_with(OptimizerState& state, const Task& task, ClientId client, std::span<const Row> rows,
                          ForEachPiece for_each_piece, const Signals& signals);
  /// The client's personal model: a second pass, if it has one, and its test.
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
  Vector held_;                       ///< weights that do not train at present
  std::vector<ParameterRange> sent_;  ///< the trained parameters of an update, if attackers falsify theirs
  std::unique_ptr<OptimizerScratch> scratch_;
  std::vector<Row> order_;
  AnswerRoom answers_;
  std::optional<PrivateWorkshop> workshop_;
};

}  // namespace fedstride
