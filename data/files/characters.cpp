#include "data/files/characters.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kLeafLetters = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";
constexpr std::string_view kFederatedLetters =
    "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r";
static_assert(kLeafLetters.size() == 80 && kFederatedLetters.size() == 86);

std::string letter_name(char letter) {
  if (letter == '\n') return "newline";
  if (letter == '\r') return "return";
  return letter == ' ' ? "blank" : std::string(1, letter);
}

}  // namespace

Characters::Characters(std::string_view letters, std::uint16_t first) {
  other_ = static_cast<std::uint16_t>(first + letters.size());
  token_.fill(other_);
  for (std::uint16_t special = 0; special < first; ++special) names_.emplace_back("pad");
  for (std::size_t i = 0; i < letters.size(); ++i) {
    token_[static_cast<unsigned char>(letters[i])] = static_cast<std::uint16_t>(first + i);
    names_.push_back(letter_name(letters[i]));
  }
  names_.emplace_back("other");
}

Characters Characters::leaf() { return {kLeafLetters, 0}; }

Characters Characters::tensorflow_federated() {
  Characters characters(kFederatedLetters, 1);
  characters.names_.emplace_back("begin");
  characters.names_.emplace_back("end");
  return characters;
}

void Characters::append_tokens(std::string_view text, std::vector<std::uint16_t>& tokens) const {
  for (const char byte : text)
    if ((static_cast<unsigned char>(byte) & 0xc0) != 0x80)  // the first byte of a character; letters have no second one
      tokens.push_back(token_[static_cast<unsigned char>(byte)]);
}

}  // namespace fedstride
