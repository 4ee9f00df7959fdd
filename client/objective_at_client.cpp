#include "client/objective_at_client.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/exact_sum.hpp"

namespace fedstride {

void ObjectiveAtClient::begin(const Task& task, Vector& kept) {
  const std::size_t size = task.model.size();
  if (objective_.hears() && task.beside.size() != size)
    throw failure("round " + std::to_string(task.round) +
                  ": the server sent no vector of the model's size, which local-objective '" + std::string(objective_.name()) +
                  "' needs");
  if (objective_.keeps() && kept.size() != size) kept.assign(size, 0);
  if (objective_.has_fixed()) {
    fixed_.resize(size);
    objective_.fixed(view(std::as_const(kept)), task.beside, view(fixed_));
  }
  if (needs_start()) start_.assign(size, 0);
  corrected_ = {.anchor = task.model.data(),
                .fixed = objective_.has_fixed() ? fixed_.data() : nullptr,
                .pull = static_cast<float>(objective_.pull()),
                .decay = static_cast<float>(optimizer_.weight_decay_factor()),
                .decayed = decayed_};
  unit_ = {.pull = objective_.pull()};
  start_loss_ = rate_ = 0;
}

double ObjectiveAtClient::end(const Task& task, const Vector& weights, Vector& kept, Vector& update, double weight) const {
  const std::size_t size = weights.size();
  update.resize(objective_.update_size(size));
  const std::span<float> change = view(update).first(size);
  std::ranges::fill(view(update).subspan(size), 0.0F);
  if (!ExactSum::admits_change(weights.data(), task.model.data(), change)) return 0;
  const ObjectiveEnd end{.heard = task.beside,
                         .change = change,
                         .start = view(start_),
                         .start_loss = start_loss_,
                         .rate = rate_,
                         .weight = weight,
                         .reach = unit_.moved,
                         .kept = view(kept),
                         .sent = view(update).subspan(size)};
  objective_.end(end);
  if (!objective_.scales()) return 0;
  const ObjectiveScale scale = objective_.scale(end);
  const auto factor = static_cast<float>(scale.factor);
  for (float& value : change) value *= factor;
  return scale.measure;
}

}  // namespace fedstride
