#include "sim/outside_fleet.hpp"

namespace fedstride {

void OutsideFleet::collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
  train_(
      task, cohort,
      [&](ClientId client) {
        return outside_task(training_, task, client, row_counts_[client], states_ ? states_->read(client) : std::string());
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

}  // namespace fedstride
