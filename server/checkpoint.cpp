#include "server/checkpoint.hpp"

#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/string.hpp>
#include <sstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/serialize.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kMagic = "fedstride checkpoint 2\n";
constexpr std::size_t kDigest = 64;

template <class Archive>
void fields(Archive& archive, Checkpoint& checkpoint) {
  archive(checkpoint.configuration, checkpoint.round, checkpoint.model, checkpoint.fleet_state, checkpoint.results_bytes,
          checkpoint.results_hash, checkpoint.examples, checkpoint.seconds, checkpoint.ledger.head, checkpoint.ledger.lines);
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  std::ostringstream stream;
  {
    cereal::PortableBinaryOutputArchive archive(stream);
    fields(archive, const_cast<Checkpoint&>(checkpoint));  // cereal names one function for both directions
  }
  const std::string_view body = stream.view();
  std::string file(kMagic);
  file += Hash().text(body).hex();
  file += '\n';
  file += body;
  write_file(path, file);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  const std::string_view text = file;
  const auto damaged = [&] { return failure("checkpoint '" + path.string() + "' is damaged: its checksum does not match its contents"); };
  if (!text.starts_with(kMagic)) {
    if (text.starts_with("fedstride checkpoint "))
      throw failure("checkpoint '" + path.string() + "' was written in another format; this version reads format 2");
    throw damaged();
  }
  if (text.size() < kMagic.size() + kDigest + 1) throw damaged();
  const std::string_view digest = text.substr(kMagic.size(), kDigest);
  const std::string_view body = text.substr(kMagic.size() + kDigest + 1);
  // The checksum is compared before a length in the body is believed.
  if (Hash().text(body).hex() != digest) throw damaged();
  Checkpoint checkpoint;
  std::istringstream stream{std::string(body)};
  try {
    cereal::PortableBinaryInputArchive archive(stream);
    fields(archive, checkpoint);
  } catch (const std::exception&) {
    throw damaged();
  }
  return checkpoint;
}

}  // namespace fedstride
