#include "sim/run/wired_fleet.hpp"

#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "core/part_state.hpp"

namespace fedstride {
namespace {

std::uint64_t floats_of_model(const Setup& setup) {
  return sizeof(float) * std::uint64_t{setup.model.parameter_count()} * (setup.training.objective->hears() ? 2 : 1);
}

}  // namespace

TransferBytes transfer_bytes(const Setup& setup) {
  const std::size_t told = setup.configuration.optimizer->is_told()                          ? kMaxTold
                           : setup.privacy.example && setup.privacy.example->bound->counts() ? 1
                                                                                             : 0;
  const std::uint64_t plain = setup.rules.sum.plain_bytes;
  const UpdateCoding& coding = setup.training.coding;
  return {.down = model_frame_bytes(floats_of_model(setup)) + train_frame_bytes(told),
          .up = update_frame_bytes(coding.on() ? coding.most_bytes() : plain)};
}

WiredFleet::WiredFleet(const Setup& setup, std::shared_ptr<Fleet> fleet)
    : setup_(setup), fleet_(std::move(fleet)), model_bytes_(floats_of_model(setup)) {
  if (!setup.broadcast.on()) return;
  broadcast_.emplace(setup.broadcast, model_bytes_);
  held_.resize(setup.rules.sum.weights.size());
}

void WiredFleet::collect(const Task& task, const std::vector<ClientId>& drawn, Accumulator& updates) {
  const std::vector<ClientId> cohort = setup_.configuration.leave_out.asked(drawn, task.round);
  const std::uint64_t request = train_frame_bytes(task.told.size());
  whole_ = model_frame_bytes(model_bytes_) + request;
  if (!broadcast_) {
    downlink_ = cohort.size() * whole_;
    return fleet_->collect(task, cohort, updates);
  }
  const Vector& held = broadcast_->advance(task.round, task.model);
  const auto changes = broadcast_->changes();
  downlink_ = 0;
  for (const ClientId client : cohort) {
    const auto since = changes_since(changes, held_[client], task.round, model_bytes_);
    downlink_ += model_frame_bytes(since.empty() ? model_bytes_ : change_bytes(since)) + request;
    held_[client] = task.round;
  }
  fleet_->collect({task.round, held, task.releases, task.told, task.beside, task.tests, changes, task.scale}, cohort, updates);
}

// An asynchronous server does not compress its model (sim/settings/rules.cpp).
void WiredFleet::collect_each(const std::vector<ClientTask>& tasks, const std::vector<ClientTask>& ahead, Accumulator& updates) {
  downlink_ = 0;
  for (const ClientTask& one : tasks) {
    whole_ = model_frame_bytes(model_bytes_) + train_frame_bytes(one.task.told.size());
    downlink_ += whole_;
  }
  fleet_->collect_each(tasks, ahead, updates);
}

RoundBytes WiredFleet::bytes_of(std::span<const ClientReport> reports, std::span<const TimedTask> tasks) {
  const std::optional<RoundBytes> sent = fleet_->bytes();
  RoundBytes bytes = sent.value_or(RoundBytes{.downlink = downlink_});
  bytes.wasted = fleet_->absent() * whole_;
  for (const ClientReport& report : reports) {
    const std::uint64_t update = update_frame_bytes(report.payload, report.releases.size());
    if (!sent) bytes.uplink += update;
    if (!report.failure.empty()) bytes.wasted += whole_ + update;
  }
  const std::uint64_t planned = tasks.empty() ? 0 : transfer_bytes(setup_).up;
  for (const TimedTask& task : tasks) {
    if (task.fate == TaskFate::arrived) continue;
    const std::uint64_t update = task.fate == TaskFate::dropped ? planned : 0;
    bytes.downlink += whole_;
    bytes.uplink += update;
    bytes.wasted += whole_ + update;
  }
  return bytes;
}

std::string WiredFleet::save() {
  if (!broadcast_) return fleet_->save();
  const std::string fleet = fleet_->save(), broadcast = broadcast_->save();
  return state_bytes([&](std::ostream& stream) { write_archive(stream, held_, broadcast, fleet); });
}

void WiredFleet::load(const std::string& bytes) {
  if (!broadcast_) return fleet_->load(bytes);
  std::string fleet;
  std::string broadcast;
  load_state(bytes, "the clients' models", std::nullopt,
             [&](std::istream& stream) { read_archive(stream, held_, broadcast, fleet); });
  if (held_.size() != setup_.rules.sum.weights.size()) throw failure("the checkpoint belongs to a run with other clients");
  broadcast_->load(broadcast);
  if (!fleet.empty()) fleet_->load(fleet);
}

}  // namespace fedstride
