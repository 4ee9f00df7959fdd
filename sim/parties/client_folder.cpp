#include "sim/parties/client_folder.hpp"

#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cstring>
#include <tuple>

#include "core/files.hpp"
#include "core/part_state.hpp"
#include "core/secret_key.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kMemoryKind = "fedstride client 3";
constexpr std::string_view kSurvivorsKind = "fedstride kept survivors 1";

// Returns the members in the order in which they are written.
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
  write_sealed(path_ / "memory", kMemoryKind, [&](std::ostream& stream) { write_archive(stream, members(memory)); });
}

secagg::Secret ClientFolder::signing_key() const { return secagg::Secret(load_or_create_key(path_ / "signing.key")); }

std::optional<secagg::KeptList> ClientFolder::kept() const {
  std::error_code error;
  if (!std::filesystem::exists(path_ / "survivors", error)) return std::nullopt;
  const std::string bytes = read_sealed(path_ / "survivors", kSurvivorsKind, "a list of survivors");
  secagg::KeptList list;
  if (bytes.size() != sizeof list.round + list.survivors.size())
    throw failure("the list of survivors '" + (path_ / "survivors").string() + "' is damaged");
  std::memcpy(&list.round, bytes.data(), sizeof list.round);
  std::memcpy(list.survivors.data(), bytes.data() + sizeof list.round, list.survivors.size());
  return list;
}

void ClientFolder::keep(const secagg::KeptList& list) const {
  std::string bytes(reinterpret_cast<const char*>(&list.round), sizeof list.round);
  bytes += secagg::text_of(list.survivors);
  write_sealed(path_ / "survivors", kSurvivorsKind, bytes);
}

}  // namespace fedstride
