#include "server/checkpoint.hpp"

#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/string.hpp>
#include <sstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/serialize.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kKind = "fedstride checkpoint 8";

void fields(auto& archive, Checkpoint& checkpoint) {
  archive(checkpoint.configuration, checkpoint.round, checkpoint.model, checkpoint.fleet_state, checkpoint.server_state,
          checkpoint.results_bytes, checkpoint.results_hash, checkpoint.examples, checkpoint.uplink_bytes,
          checkpoint.downlink_bytes, checkpoint.wasted_bytes, checkpoint.seconds, checkpoint.evaluation_seconds,
          checkpoint.idle_rounds, checkpoint.time_state, checkpoint.ledger.head, checkpoint.ledger.lines);
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  write_sealed(path, kKind, [&](std::ostream& stream) {
    cereal::PortableBinaryOutputArchive archive(stream);
    fields(archive, const_cast<Checkpoint&>(checkpoint));  // cereal uses one function for both directions
  });
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  std::istringstream stream{read_sealed(path, kKind, "checkpoint")};
  Checkpoint checkpoint;
  try {
    cereal::PortableBinaryInputArchive archive(stream);
    fields(archive, checkpoint);
  } catch (const std::exception&) {
    throw failure("checkpoint '" + path.string() + "' is damaged: it is truncated");
  }
  return checkpoint;
}

}  // namespace fedstride
