#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/broadcast.hpp"
#include "server/fleet.hpp"
#include "sim/net/frame_bytes.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/time/round_time.hpp"

namespace fedstride {

/// The maximum numbers of bytes that a client receives and sends in a round. They depend only on the settings and the model, and
/// are used before a round begins, and under privacy, where savings by compression may depend on rows.
TransferBytes transfer_bytes(const Setup& setup);

/// A fleet treated as if on a network: if the server compresses, clients train from the model that they hold, and every frame of
/// a round is counted, even if it is only simulated. Clients that `leave-out` names are not asked.
class WiredFleet final : public Fleet {
 public:
  /// The setup must outlive the fleet.
  WiredFleet(const Setup& setup, std::shared_ptr<Fleet> fleet);

  void collect(const Task& task, const std::vector<ClientId>& drawn, Accumulator& updates) override;
  void collect_each(const std::vector<ClientTask>& tasks, const std::vector<ClientTask>& ahead, Accumulator& updates) override;
  /// The bytes of the last round, with these reports and, in virtual time, these tasks. Each client received the model, and sent
  /// an update if its task ended in time. Tasks outside the sum are not carried out, so their planned bytes are counted.
  RoundBytes bytes_of(std::span<const ClientReport> reports, std::span<const TimedTask> tasks);

  const std::atomic<std::uint64_t>& progress() const override { return fleet_->progress(); }
  bool secures() const override { return fleet_->secures(); }
  std::uint64_t absent() override { return fleet_->absent(); }
  void end_round(std::uint32_t round) override { fleet_->end_round(round); }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return fleet_->abandon_round(last_round); }
  void checkpointed(std::uint32_t round) override { fleet_->checkpointed(round); }
  void keep_states(const std::filesystem::path& folder, const std::string& run, std::uint32_t round) override {
    fleet_->keep_states(folder, run, round);
  }
  std::string save() override;
  void load(const std::string& bytes) override;
  std::optional<Evaluation> evaluate(const Vector& model, EvaluatedOn examples) override {
    return fleet_->evaluate(model, examples);
  }
  void finish(std::uint32_t rounds, const std::string& model_hash) override { fleet_->finish(rounds, model_hash); }

 private:
  const Setup& setup_;
  const std::shared_ptr<Fleet> fleet_;
  std::uint64_t model_bytes_;             ///< bytes of a whole model's floats
  std::optional<Broadcast> broadcast_;    ///< set if the server compresses
  std::vector<std::uint32_t> held_ = {};  ///< by client: the round whose model the client holds; 0: none
  std::uint64_t downlink_ = 0;
  std::uint64_t whole_ = 0;  ///< bytes for a client that receives the whole model
};

}  // namespace fedstride
