#include "server/broadcast.hpp"

#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "core/error.hpp"
#include "core/part_state.hpp"

namespace fedstride {

void serialize(auto& archive, ModelChange& change) { archive(change.round, change.code); }

const Vector& Broadcast::advance(std::uint32_t round, const Vector& model) {
  if (held_.empty()) return held_ = model;
  changes_.push_back({round, coding_.advance(round, model, held_)});
  // Keeps as many of the latest changes as take fewer bytes than the model itself.
  std::uint64_t bytes = 0;
  auto first = changes_.end();
  while (first != changes_.begin() && bytes + change_bytes({&*(first - 1), 1}) < whole_) bytes += change_bytes({&*--first, 1});
  changes_.erase(changes_.begin(), first);
  return held_;
}

std::string Broadcast::save() const {
  return state_bytes([&](std::ostream& stream) { write_archive(stream, held_, changes_); });
}

void Broadcast::load(const std::string& bytes) {
  load_state(bytes, "the compressed model", std::nullopt, [&](std::istream& stream) { read_archive(stream, held_, changes_); });
}

std::uint64_t change_bytes(std::span<const ModelChange> changes) {
  std::uint64_t bytes = 0;
  for (const ModelChange& change : changes) bytes += sizeof(std::uint64_t) + change.code.size();
  return bytes;
}

std::span<const ModelChange> changes_since(std::span<const ModelChange> changes, std::uint32_t from, std::uint32_t to,
                                           std::uint64_t whole) {
  if (from == 0 || from >= to || changes.size() < to - from || changes.back().round != to) return {};
  const auto since = changes.last(to - from);
  return change_bytes(since) < whole ? since : std::span<const ModelChange>();
}

}  // namespace fedstride
