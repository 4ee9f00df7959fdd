#include "core/term_json.hpp"

#include <charconv>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

Json term_json(const std::vector<ClientId>& clients) {
  std::string text;
  for (std::size_t i = 0; i < clients.size();) {
    std::size_t end = i + 1;
    while (end < clients.size() && clients[end] == clients[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(clients[i]);
    if (end - i > 1) text += '-' + std::to_string(clients[end - 1]);
    i = end;
  }
  return text;
}

void TermReader::read(const Json& json, std::string_view name, std::vector<ClientId>& into) {
  std::string text;
  read(json, name, text);
  const auto bad = [&] {
    return failure("clients '" + text.substr(0, 60) + "' are invalid; valid: ascending ranges such as '0-4,7'");
  };
  std::uint64_t next = 0;
  for (const auto piece : split(text, ',')) {
    const char* const end = piece.data() + piece.size();
    ClientId low = 0;
    auto [at, error] = std::from_chars(piece.data(), end, low);
    if (error != std::errc{}) throw bad();
    ClientId high = low;
    if (at != end) {
      if (*at != '-') throw bad();
      const auto second = std::from_chars(at + 1, end, high);
      if (second.ec != std::errc{} || second.ptr != end) throw bad();
    }
    if (low < next || high < low) throw bad();
    if (high >= clients_)
      throw failure("client " + std::to_string(high) + " is not in the ledger; the last is " + std::to_string(clients_ - 1));
    const std::uint64_t listed = std::uint64_t{high} - low + 1;
    if (listed > left_) throw failure("lists of clients have more than 4 entries per client of the ledger");
    left_ -= listed;
    for (std::uint64_t client = low; client <= high; ++client) into.push_back(static_cast<ClientId>(client));
    next = std::uint64_t{high} + 1;
  }
}

// nlohmann's parser allocates as it reads, mostly for nested brackets, so the depth is checked first.
Json parse_terms(std::string_view text) {
  constexpr int kMaxDepth = 8;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxDepth) throw failure("brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  Json json = parse_json(text);
  if (!json.is_object()) throw failure("not a JSON object");
  return json;
}

}  // namespace fedstride
