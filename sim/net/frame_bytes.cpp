#include "sim/net/frame_bytes.hpp"

#include "core/hash.hpp"
#include "sim/net/messages.hpp"

namespace fedstride {
namespace {

const std::string& any_hash() {
  static const std::string hash(Hash().hex().size(), '0');
  return hash;
}

}  // namespace

std::uint64_t update_frame_bytes(std::uint64_t payload, std::size_t release_runs) {
  static const std::uint64_t rest = encode(UpdateMessage{.model_hash = any_hash(), .report = {}, .change = {}})->size();
  return rest + payload + 3 * sizeof(double) * release_runs;
}

std::uint64_t model_frame_bytes(std::uint64_t payload) {
  static const std::uint64_t rest = encode(ModelMessage{.model_hash = any_hash(), .model = {}})->size();
  return rest + payload;
}

std::uint64_t train_frame_bytes(std::size_t told) {
  static const std::uint64_t rest = encode(Train{.model_hash = any_hash()})->size();
  return rest + sizeof(double) * told;
}

}  // namespace fedstride
