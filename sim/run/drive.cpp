#include "sim/run/drive.hpp"

#include <chrono>
#include <utility>

#include "core/hash.hpp"
#include "core/seconds_since.hpp"
#include "server/round.hpp"

namespace fedstride {

Drive::Drive(const Setup& its_setup, RunPrivacy& its_privacy, Server fresh, const FleetMaker& maker,
             const std::filesystem::path& folder, const std::atomic<bool>* stop, Checkpoint from)
    : setup(its_setup),
      privacy(its_privacy),
      state(std::move(from)),
      threads(setup.configuration.threads),
      fleet(std::make_shared<WiredFleet>(setup, maker.make({setup, threads, stop, folder, state.configuration, state.round}))),
      server(std::move(fresh)),
      hash(model_hash(state.model)) {
  if (!state.fleet_state.empty()) fleet->load(state.fleet_state);
  if (!state.server_state.empty()) server.load(state.server_state);
  if (has_time(setup.configuration)) time.emplace(setup, folder, state.configuration).load(state.time_state, state.round);
  server.prolong(static_cast<std::uint32_t>(setup.configuration.rounds));
}

std::string Drive::next(RoundRecord& record) {
  record.round = state.round + 1;
  const RunPrivacy::Permission permission = privacy.reserve(record.round, hash, server.counted_clip());
  if (!permission.refusal.empty()) return permission.refusal;
  const auto spread = [&](int count, function_ref<void(int)> piece) {
    threads.for_each_task(static_cast<std::size_t>(count), [&](std::size_t i) { piece(static_cast<int>(i)); });
  };
  const auto start = std::chrono::steady_clock::now();
  record.clients = time ? time->run().advance(record.round, setup.rules, *fleet, server, state.model, permission.releases, spread)
                        : run_round(record.round, setup.rules, *fleet, server, state.model, permission.releases, spread);
  record.seconds = seconds_since(start);
  if (time) record.time = time->commit(record.round);
  record.numbers = server.numbers();
  record.model_hash = hash = model_hash(state.model);
  fleet->end_round(record.round);
  privacy.record(record.round, record.clients);

  record.bytes = fleet->bytes_of(record.clients, record.time ? std::span(record.time->tasks) : std::span<const TimedTask>());
  record.totals = server.totals();
  state.round = record.round;
  state.examples += record.totals.sums.examples;
  state.uplink_bytes += record.bytes.uplink;
  state.downlink_bytes += record.bytes.downlink;
  state.wasted_bytes += record.bytes.wasted;
  state.seconds += record.seconds;
  state.idle_rounds += record.is_idle() ? 1 : 0;
  return {};
}

}  // namespace fedstride
