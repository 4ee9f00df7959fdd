#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

/// The names and versions of user code in a run, as in the setting `code`: "aggregation=median 1; train=mover 2 (clipped sum)".
/// Text without "=" is a piece without a part.
struct CodeNames {
  struct Piece {
    std::string part;    ///< "train", or the family of the part it implements
    std::string name;    ///< name and version, separated by a space; "?" if it has none
    bool clips = false;  ///< declared to use examples only through sums clipped and noised by fedstride (client/outside_lots.hpp)
  };
  std::vector<Piece> pieces = {};

  static CodeNames read(std::string_view text);
  std::string text() const;
  /// Returns the code for a part; null if there is none.
  const Piece* of(std::string_view part) const;
  /// Returns the first part whose code has no name; empty if all code is named. `by_user`: a name by its source is none, since the
  /// source does not show all that the code computes, and a repeated round has the same noise.
  std::string_view unnamed(bool by_user = false) const;
};

}  // namespace fedstride
