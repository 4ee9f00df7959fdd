#include "sim/in_process_fleet.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

InProcessFleet::InProcessFleet(const Model& model, const Dataset& data, const LocalTraining& training, const ClientRows& rows,
                               Threads& threads)
    : model_(model),
      data_(data),
      training_(training),
      rows_(rows),
      threads_(threads),
      states_(training.keeps_clients() ? rows.size() : 0) {
  for (const auto& client : rows) max_rows_ = std::max(max_rows_, client.size());
}

void InProcessFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  // The largest clients first, so that only small ones remain for the end. Sums are exact, so the order has no effect.
  std::vector<ClientId> order = cohort;
  std::ranges::stable_sort(order, std::greater{}, [&](ClientId client) { return rows_[client].size(); });
  threads_.for_each_task(order.size(), [&](std::size_t i) {
    const ClientId client = order[i];
    ClientState none;
    auto trainer = trainers_.borrow([&] { return std::make_unique<Trainer>(model_, data_, training_, max_rows_); });
    trainer->train(
        task, client, rows_[client], states_.empty() ? none : states_[client],
        [&](int count, function_ref<void(int)> piece) { threads_.for_each_piece(count, piece); }, {&progress_, stop_},
        [&](const ClientUpdate& update) { updates.add(update); });
    trainers_.give_back(std::move(trainer));
  });
}

std::string packed_states(const std::vector<std::string>& states) {
  std::ostringstream stream;
  cereal::PortableBinaryOutputArchive archive(stream);
  archive(states);
  return stream.str();
}

std::vector<std::string> unpacked_states(const std::string& bytes, std::size_t clients) {
  std::vector<std::string> states;
  try {
    std::istringstream stream(bytes);
    cereal::PortableBinaryInputArchive archive(stream);
    archive(states);
  } catch (const std::exception&) {
    throw failure("the clients' saved states are damaged");
  }
  if (states.size() != clients)
    throw failure("the checkpoint has the states of " + counted(states.size(), "client") + "; this run has " +
                  std::to_string(clients));
  return states;
}

std::string InProcessFleet::save() const {
  if (states_.empty()) return {};
  std::vector<std::string> states;
  for (const auto& state : states_) states.push_back(state.save(training_));
  return packed_states(states);
}

void InProcessFleet::load(const std::string& bytes) {
  if (states_.empty()) return;
  const std::vector<std::string> states = unpacked_states(bytes, states_.size());
  for (std::size_t i = 0; i < states.size(); ++i) states_[i].load(training_, states[i]);
}

}  // namespace fedstride
