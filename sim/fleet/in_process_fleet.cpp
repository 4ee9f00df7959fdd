#include "sim/fleet/in_process_fleet.hpp"

#include <algorithm>
#include <string>

namespace fedstride {

InProcessFleet::InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                               Threads& threads)
    : model_(model), data_(data), training_(training), rows_(rows), threads_(threads) {
  for (const auto& client : rows) max_rows_ = std::max(max_rows_, client.size());
}

void InProcessFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  // Largest clients first, so that only small ones are left at the end. Sums are exact, so the order has no effect.
  std::vector<ClientId> order = cohort;
  std::ranges::stable_sort(order, std::greater{}, [&](ClientId client) { return rows_[client].size(); });
  const bool keeps = training_.keeps_clients();
  if (keeps && !states_) states_.emplace(StateStore::temporary());
  threads_.for_each_task(order.size(), [&](std::size_t i) {
    const ClientId client = order[i];
    ClientState state;
    if (keeps)
      if (std::string kept = states_->read(client); !kept.empty()) state.load(training_, std::move(kept));
    auto trainer = trainers_.borrow([&] { return std::make_unique<Trainer>(model_, data_, training_, max_rows_); });
    trainer->train(task, client, rows_[client], state, threads_, {&progress_, stop_},
                   [&](const ClientUpdate& update) { updates.add(update); });
    trainers_.give_back(std::move(trainer));
    if (keeps) states_->write(client, state.save(training_));
  });
}

}  // namespace fedstride
