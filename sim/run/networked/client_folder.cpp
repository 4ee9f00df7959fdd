#include "sim/run/networked/client_folder.hpp"

#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <tuple>

#include "core/files.hpp"
#include "core/part_state.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kMemoryKind = "fedstride client 3";

// In the order in which they are written.
auto members(auto& memory) {
  return std::tie(memory.experiment, memory.terms, memory.round, memory.model_hash, memory.state_before, memory.state_after,
                  memory.ledger.head, memory.ledger.lines);
}

const std::filesystem::path& made(const std::filesystem::path& path) {
  make_folder(path);
  return path;
}

}  // namespace

ClientFolder::ClientFolder(const std::filesystem::path& path) : path_(path), lock_(locked(made(path))) {}

std::optional<ClientMemory> ClientFolder::load() const {
  std::error_code error;
  if (!std::filesystem::exists(path_ / "memory", error)) return std::nullopt;
  const std::string bytes = read_sealed(path_ / "memory", kMemoryKind, "a client's memory");
  ClientMemory memory;
  auto all = members(memory);
  try {
    load_state(bytes, "a client", std::nullopt, [&](std::istream& stream) { read_archive(stream, all); });
  } catch (const Error&) {
    throw failure("the client's memory '" + (path_ / "memory").string() + "' is damaged: it ends early");
  }
  return memory;
}

void ClientFolder::save(const ClientMemory& memory) const {
  write_sealed(path_ / "memory", kMemoryKind, state_bytes([&](std::ostream& stream) { write_archive(stream, members(memory)); }));
}

}  // namespace fedstride
