#include "core/sealed_file.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kDigest = 64;

}  // namespace

void write_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view body) {
  std::string file(kind);
  file += '\n';
  file += Hash().text(body).hex();
  file += '\n';
  file += body;
  write_file(path, file);
}

std::string read_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view what) {
  std::string file = read_file(path, size_of_file(path));
  const std::string_view text = file;
  const std::string name = std::string(what) + " '" + path.string() + "'";
  const auto damaged = [&] { return failure(name + " is damaged: its checksum does not match its contents"); };
  const auto version = kind.rfind(' ') + 1;
  if (!text.starts_with(std::string(kind) + "\n")) {
    if (text.starts_with(kind.substr(0, version)))
      throw failure(name + " was written in another format; this version reads format " + std::string(kind.substr(version)));
    throw damaged();
  }
  const std::size_t start = kind.size() + 1;
  if (text.size() < start + kDigest + 1) throw damaged();
  if (Hash().text(text.substr(start + kDigest + 1)).hex() != text.substr(start, kDigest)) throw damaged();
  return file.substr(start + kDigest + 1);
}

}  // namespace fedstride
