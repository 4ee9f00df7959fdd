#include "data/files/texts.hpp"

#include <algorithm>
#include <numeric>

#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxDistinctWords = 20'000'000;

constexpr std::string_view kLeafLetters = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";
constexpr std::string_view kFederatedLetters =
    "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r";
static_assert(kLeafLetters.size() == 80 && kFederatedLetters.size() == 86);

std::string letter_name(char letter) {
  if (letter == '\n') return "newline";
  if (letter == '\r') return "return";
  return letter == ' ' ? "blank" : std::string(1, letter);
}

/// Adds examples made from sequences of length + 1 tokens: all but the last form the example, all but the first its labels.
void add_sequences(const std::vector<std::uint16_t>& tokens, std::size_t length, PartBuilder& part, const char* key) {
  const std::size_t count = tokens.size() / (length + 1);
  std::vector<std::uint16_t> inputs;
  std::vector<std::int32_t> labels;
  inputs.reserve(count * length);
  labels.reserve(count * length);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < length; ++k) {
      inputs.push_back(tokens[i * (length + 1) + k]);
      const std::uint16_t next = tokens[i * (length + 1) + k + 1];
      labels.push_back(next == 0 ? -1 : next);  // no label for padding
    }
  part.add_examples(array_of<std::uint16_t>(key, inputs, {count, length}));
  part.add_answers(array_of<std::int32_t>(key, labels, {count, length}));
}

template <class Use>
void for_each_word(std::string_view sentence, Use use) {
  for (const std::string_view word : split(sentence, ' '))
    if (!word.empty()) use(word);
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
    if ((static_cast<unsigned char>(byte) & 0xc0) != 0x80)  // the first byte of a character; `letters` are single bytes
      tokens.push_back(token_[static_cast<unsigned char>(byte)]);
}

std::size_t add_snippets(std::span<const std::string> texts, PartBuilder& part) {
  static const Characters letters = Characters::tensorflow_federated();
  part.shared().vocabulary = part.shared().classes = letters.size();
  part.shared().class_names = letters.names();
  std::vector<std::uint16_t> tokens;
  for (const std::string& text : texts) {
    tokens.push_back(letters.begin());
    letters.append_tokens(text, tokens);
    tokens.push_back(letters.end());
    while (tokens.size() % (kCharactersASequence + 1) != 0) tokens.push_back(letters.pad());
  }
  add_sequences(tokens, kCharactersASequence, part, "snippets");
  return tokens.size() / (kCharactersASequence + 1);
}

void WordCounts::add(std::string_view sentence) {
  for_each_word(sentence, [this](std::string_view word) {
    if (words_.size() >= kMaxDistinctWords && words_.find(word) == words_.size()) return;
    const std::uint32_t number = words_.number(word);
    if (number == counts_.size()) counts_.push_back(0);
    ++counts_[number];
  });
}

std::vector<std::string> WordCounts::most_frequent(std::size_t count) const {
  std::vector<std::uint32_t> order(counts_.size());
  std::iota(order.begin(), order.end(), 0U);
  count = std::min(count, order.size());
  const auto before = [this](std::uint32_t a, std::uint32_t b) {
    if (counts_[a] != counts_[b]) return counts_[a] > counts_[b];
    return words_.all()[a] < words_.all()[b];
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), before);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(words_.all()[order[i]]);
  return words;
}

Sentences::Sentences(const std::vector<std::string>& words) {
  for (const std::string& word : words) words_.number(word);
}

void Sentences::add(std::span<const std::string> texts, PartBuilder& part) const {
  const std::size_t other = words_.size() + 1;
  SharedNames& shared = part.shared();
  shared.vocabulary = shared.classes = static_cast<int>(other) + 3;
  if (shared.class_names.empty()) {
    shared.class_names = {"pad"};
    shared.class_names.insert(shared.class_names.end(), words_.all().begin(), words_.all().end());
    shared.class_names.insert(shared.class_names.end(), {"other", "begin", "end"});
  }
  std::vector<std::uint16_t> tokens;
  for (const std::string& text : texts) {
    const std::size_t begin = tokens.size();
    tokens.push_back(static_cast<std::uint16_t>(other + 1));
    for_each_word(text, [&](std::string_view word) {
      if (tokens.size() - begin > kWordsASentence) return;
      const std::uint32_t number = words_.find(word);
      tokens.push_back(static_cast<std::uint16_t>(number == words_.size() ? other : number + 1));
    });
    if (tokens.size() - begin <= kWordsASentence) tokens.push_back(static_cast<std::uint16_t>(other + 2));
    tokens.resize(begin + kWordsASentence + 1, 0);
  }
  add_sequences(tokens, kWordsASentence, part, "tokens");
}

}  // namespace fedstride
