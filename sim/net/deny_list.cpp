#include "sim/net/deny_list.hpp"

#include <algorithm>
#include <cctype>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::uint64_t kMaxDenyBytes = std::uint64_t{1} << 24;
constexpr std::string_view kSerial = "serial ";
constexpr std::string_view kFingerprint = "fingerprint ";

/// Returns the text's hexadecimal digits in lower case, without colons; empty if the text has other characters.
std::string hex_digits(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == ':') continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return {};
    digits += c;
  }
  return lower_case(digits);
}

/// Returns the line's normalized entry; empty if the line is invalid.
std::string entry_of(std::string_view line) {
  if (line.starts_with(kSerial)) {
    const std::string digits = hex_digits(trimmed(line.substr(kSerial.size())));
    return digits.empty() || digits.size() > 40 ? std::string() : std::string(kSerial) + digits;
  }
  if (line.starts_with(kFingerprint)) {
    const std::string digits = hex_digits(trimmed(line.substr(kFingerprint.size())));
    return digits.size() != 64 ? std::string() : std::string(kFingerprint) + digits;
  }
  constexpr std::string_view kClient = "client-";
  const bool is_name = line.starts_with(kClient) && line.size() > kClient.size() && line.size() < 20 &&
                       std::ranges::all_of(line.substr(kClient.size()), [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_name ? std::string(line) : std::string();
}

}  // namespace

DenyList DenyList::read(const std::filesystem::path& path) {
  const std::string text = read_text_file(path, kMaxDenyBytes);
  DenyList list;
  std::size_t number = 0;
  for (const auto whole : split(text, '\n')) {
    ++number;
    const auto line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const std::string entry = entry_of(line);
    if (entry.empty())
      throw failure("'" + path.string() + "', line " + std::to_string(number) +
                    " is not a valid entry; valid: 'client-K', 'serial HEX', 'fingerprint HEX' (64 digits)");
    list.entries_.insert(entry);
  }
  return list;
}

std::string DenyList::entry_for(const PeerCertificate& certificate) const {
  for (const std::string& entry :
       {certificate.name, std::string(kSerial) + certificate.serial, std::string(kFingerprint) + certificate.fingerprint})
    if (entries_.contains(entry)) return entry;
  return {};
}

}  // namespace fedstride
