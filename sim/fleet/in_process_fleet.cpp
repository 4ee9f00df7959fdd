#include "sim/fleet/in_process_fleet.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "sim/fleet/dealt_states.hpp"

namespace fedstride {

void LocalFleet::keep_states(const std::filesystem::path& folder, const std::string& run, std::uint32_t round) {
  if (!states_) return;
  deal_out_states(folder, run, 0, {}, 1);
  StateStore kept(state_store_path(folder, 0, 1), run, 0);
  states_->for_each([](ClientId) { return true; }, [&](ClientId client, std::string_view state) { kept.write(client, state); });
  kept.end_round(round);
}

InProcessFleet::InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                               Threads& threads)
    : model_(model), data_(data), training_(training), rows_(rows), threads_(threads) {
  for (const auto& client : rows) max_rows_ = std::max(max_rows_, client.size());
}

std::string InProcessFleet::train(const Task& task, ClientId client, UpdateSink sink) {
  const bool keeps = training_.keeps_clients();
  ClientState state;
  if (keeps)
    if (std::string kept = states_->read(client); !kept.empty()) state.load(training_, std::move(kept));
  auto trainer = trainers_.borrow([&] { return std::make_unique<Trainer>(model_, data_, training_, max_rows_); });
  trainer->train(task, client, rows_[client], state, threads_, {&progress_, stop_}, sink);
  trainers_.give_back(std::move(trainer));
  return keeps ? state.save(training_) : std::string();
}

void InProcessFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  // Starts with the largest clients, so that only small ones are left at the end. Sums are exact, so the order does not affect
  // the result.
  std::vector<ClientId> order = cohort;
  std::ranges::stable_sort(order, std::greater{}, [&](ClientId client) { return rows_[client].size(); });
  const bool keeps = training_.keeps_clients();
  if (keeps && !states_) states_.emplace(StateStore::temporary());
  threads_.for_each_task(order.size(), [&](std::size_t i) {
    const std::string state = train(task, order[i], [&](const ClientUpdate& update) { updates.add(update, task.scale); });
    if (keeps) states_->write(order[i], state);
  });
}

void InProcessFleet::collect_each(const std::vector<ClientTask>& tasks, const std::vector<ClientTask>& ahead,
                                  Accumulator& updates) {
  const bool keeps = training_.keeps_clients();
  if (keeps && !states_) states_.emplace(StateStore::temporary());
  std::vector<const ClientTask*> order;  // required tasks, then tasks to train ahead
  for (const ClientTask& one : tasks) {
    const auto found = ready_.extract(one.client);
    if (found.empty() || found.mapped().round != one.task.round) {
      order.push_back(&one);
      continue;
    }
    const Ready& ready = found.mapped();
    updates.add({ready.report, view(ready.change), ready.code}, one.task.scale);
    if (keeps) states_->write(one.client, ready.state);
  }
  std::ranges::stable_sort(order, std::greater{}, [&](const ClientTask* one) { return rows_[one->client].size(); });
  const std::size_t now = order.size();
  const auto threads = static_cast<std::size_t>(threads_.count());
  const std::size_t enough = threads == 1 || now == 0 ? now : std::max(now, 4 * threads);
  for (const ClientTask& one : ahead) {
    if (order.size() >= enough) break;
    if (!ready_.contains(one.client)) order.push_back(&one);
  }
  std::mutex mutex;
  threads_.for_each_task(order.size(), [&](std::size_t i) {
    const ClientTask& one = *order[i];
    if (i < now) {
      const std::string state =
          train(one.task, one.client, [&](const ClientUpdate& update) { updates.add(update, one.task.scale); });
      if (keeps) states_->write(one.client, state);
      return;
    }
    Ready ready{.round = one.task.round};
    ready.state = train(one.task, one.client, [&](const ClientUpdate& update) {
      ready.report = update.report;
      ready.change = Vector(update.change);
      ready.code = update.code;
    });
    const std::lock_guard lock(mutex);
    ready_[one.client] = std::move(ready);
  });
  // Discards results whose tasks are no longer in `ahead`.
  std::erase_if(ready_, [&](const auto& kept) {
    return std::ranges::none_of(
        ahead, [&](const ClientTask& one) { return one.client == kept.first && one.task.round == kept.second.round; });
  });
}

}  // namespace fedstride
