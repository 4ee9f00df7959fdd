#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/part_builder.hpp"

namespace fedstride {

// Texts as sequences of tokens whose labels are the tokens one position on, as the baselines of TensorFlow Federated have them
// (simulation/baselines/shakespeare and stackoverflow). Where a sequence is padded no label counts.

inline constexpr std::size_t kCharactersASequence = 80;  // McMahan et al. 2017
inline constexpr std::size_t kWordsASentence = 20;       // Reddi et al. 2021
inline constexpr std::size_t kMaxFrequentWords = 10000;

/// The tokens of one character each that a benchmark publishes for Shakespeare.
class Characters {
 public:
  /// LEAF's (models/utils/language_utils.py, ALL_LETTERS): 80 letters from 0, then one token for every other character.
  static Characters leaf();
  /// TensorFlow Federated's (simulation/baselines/shakespeare, CHAR_VOCAB): 0 pads, 86 characters from 1, then one token for every other, and the
  /// beginning and the end of a text: 90.
  static Characters tensorflow_federated();

  /// The tokens of a text in UTF-8, one a character.
  void append_tokens(std::string_view text, std::vector<std::uint16_t>& tokens) const;
  int size() const { return static_cast<int>(names_.size()); }
  /// One a token, for people.
  const std::vector<std::string>& names() const { return names_; }
  std::uint16_t other() const { return other_; }
  std::uint16_t pad() const { return 0; }                                         ///< tensorflow_federated alone
  std::uint16_t begin() const { return static_cast<std::uint16_t>(other_ + 1); }  ///< tensorflow_federated alone
  std::uint16_t end() const { return static_cast<std::uint16_t>(other_ + 2); }    ///< tensorflow_federated alone

 private:
  Characters(std::string_view letters, std::uint16_t first);

  std::array<std::uint16_t, 256> token_{};
  std::uint16_t other_ = 0;
  std::vector<std::string> names_;
};

/// Adds a client's texts: beginning, characters, end and pads of each, cut into pieces of 81 tokens, of which the first 80 are the example.
/// Returns how many examples they make.
std::size_t add_snippets(std::span<const std::string> texts, PartBuilder& part);

/// Counts the words of the training part, blanks between them.
class WordCounts {
 public:
  void add(std::string_view sentence);
  /// The most frequent ones, first the most frequent; of equals, the first as texts.
  std::vector<std::string> most_frequent(std::size_t count) const;

 private:
  Names words_;
  std::vector<std::uint64_t> counts_;
};

/// Turns sentences into examples by a vocabulary: 0 pads, the words from 1, then one token for every other word, the beginning and the end.
/// A sentence is the beginning, its first 20 words and, if it has fewer, the end and pads: 21 tokens, of which the first 20 are the example.
class Sentences {
 public:
  explicit Sentences(const std::vector<std::string>& words);
  void add(std::span<const std::string> texts, PartBuilder& part) const;

 private:
  Names words_;
};

}  // namespace fedstride
