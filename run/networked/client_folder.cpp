#include "run/networked/client_folder.hpp"

#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/string.hpp>
#include <sstream>

#include "core/sealed_file.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kMemoryKind = "fedstride client 3";

template <class Archive>
void fields(Archive& archive, ClientMemory& memory) {
  archive(memory.experiment, memory.terms, memory.round, memory.model_hash, memory.state_before, memory.state_after,
          memory.ledger.head, memory.ledger.lines);
}

const std::filesystem::path& made(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw failure("cannot make folder '" + path.string() + "': " + error.message());
  return path;
}

}  // namespace

ClientFolder::ClientFolder(const std::filesystem::path& path) : path_(path), lock_(locked(made(path))) {}

std::optional<ClientMemory> ClientFolder::load() const {
  std::error_code error;
  if (!std::filesystem::exists(path_ / "memory", error)) return std::nullopt;
  std::istringstream stream{read_sealed(path_ / "memory", kMemoryKind, "a client's memory")};
  ClientMemory memory;
  try {
    cereal::PortableBinaryInputArchive archive(stream);
    fields(archive, memory);
  } catch (const std::exception&) {
    throw failure("a client's memory '" + (path_ / "memory").string() + "' is damaged: it ends early");
  }
  return memory;
}

void ClientFolder::save(const ClientMemory& memory) const {
  std::ostringstream stream;
  {
    cereal::PortableBinaryOutputArchive archive(stream);
    fields(archive, const_cast<ClientMemory&>(memory));  // cereal names one function for both directions
  }
  write_sealed(path_ / "memory", kMemoryKind, stream.view());
}

}  // namespace fedstride
