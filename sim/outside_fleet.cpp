#include "sim/outside_fleet.hpp"

namespace fedstride {

void OutsideFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  train_(
      task, cohort,
      [&](ClientId client) {
        return outside_task(training_, task.round, client, row_counts_[client], states_ ? states_->read(client) : std::string());
      },
      [&](OutsideAnswer answer) {
        const ClientId client = answer.client;
        const bool has_failed = !answer.failure.empty();
        progress_ += has_failed ? 0 : answer.examples;
        if (states_ && !has_failed) states_->write(client, answer.state);
        send_answer(training_, task, row_counts_[client], std::move(answer),
                    [&](const ClientUpdate& update) { updates.add(update); });
      });
}

void OutsideFleet::end_round(std::uint32_t round) {
  if (states_) states_->end_round(round);
}

std::uint32_t OutsideFleet::abandon_round(std::uint32_t last_round) { return states_ ? states_->abandon_round() : last_round; }

void OutsideFleet::checkpointed(std::uint32_t round) {
  if (states_) states_->checkpointed(round);
}

}  // namespace fedstride
