#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

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

}  // namespace fedstride
