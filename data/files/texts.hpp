#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/part_builder.hpp"

namespace fedstride {

// Text as sequences of tokens whose labels are the next tokens, as in the baselines of TensorFlow Federated
// (simulation/baselines/shakespeare and stackoverflow). Padded positions have no label.

inline constexpr std::size_t kCharactersASequence = 80;  // McMahan et al. 2017
inline constexpr std::size_t kWordsASentence = 20;       // Reddi et al. 2021
inline constexpr std::size_t kMaxFrequentWords = 10000;

/// The single-character tokens that a benchmark publishes for Shakespeare.
class Characters {
 public:
  /// The tokens of LEAF (models/utils/language_utils.py, ALL_LETTERS): tokens from 0 for 80 letters, then one for all other
  /// characters.
  static Characters leaf();
  /// The tokens of TensorFlow Federated (simulation/baselines/shakespeare, CHAR_VOCAB): 0 for padding, 1 to 86 for characters,
  /// then one token each for all other characters, the beginning and the end: 90 in all.
  static Characters tensorflow_federated();

  /// Appends the tokens of UTF-8 text, one per character.
  void append_tokens(std::string_view text, std::vector<std::uint16_t>& tokens) const;
  int size() const { return static_cast<int>(names_.size()); }
  /// One readable name per token.
  const std::vector<std::string>& names() const { return names_; }
  std::uint16_t other() const { return other_; }
  std::uint16_t pad() const { return 0; }                                         ///< only tensorflow_federated
  std::uint16_t begin() const { return static_cast<std::uint16_t>(other_ + 1); }  ///< only tensorflow_federated
  std::uint16_t end() const { return static_cast<std::uint16_t>(other_ + 2); }    ///< only tensorflow_federated

 private:
  Characters(std::string_view letters, std::uint16_t first);

  std::array<std::uint16_t, 256> token_{};
  std::uint16_t other_ = 0;
  std::vector<std::string> names_;
};

/// Adds a client's texts, each with beginning, end and padding, cut into pieces of 81 tokens, the first 80 of which are the
/// example. Returns the number of examples.
std::size_t add_snippets(std::span<const std::string> texts, PartBuilder& part);

/// Counts the words of the training part, separated by blanks.
class WordCounts {
 public:
  void add(std::string_view sentence);
  /// The most frequent words in decreasing order of frequency; ties in alphabetical order.
  std::vector<std::string> most_frequent(std::size_t count) const;

 private:
  Names words_;
  std::vector<std::uint64_t> counts_;
};

/// Turns sentences into examples with a vocabulary: token 0 pads, words are numbered from 1, and the next tokens stand for all
/// other words, the beginning and the end. A sentence becomes the beginning, its first 20 words and, if it has fewer, the end and
/// padding: 21 tokens, of which the first 20 are the example.
class Sentences {
 public:
  explicit Sentences(const std::vector<std::string>& words);
  void add(std::span<const std::string> texts, PartBuilder& part) const;

 private:
  Names words_;
};

}  // namespace fedstride
