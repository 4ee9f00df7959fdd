#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/compression/compressor.hpp"
#include "core/choice.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

enum class ErrorFeedback { none, ef, ef21 };
constexpr auto choice_names(ErrorFeedback) { return names("none", "ef", "ef21"); }

/// In units of 2^-40, element by element, and empty before a client's first round: the error that codes kept back so far (ef), or
/// the sum of sent codes, g (ef21).
using KeptBack = std::vector<std::int64_t>;

/// How clients code their updates. Each vector of an update has its own code, over the parameters that the federation trains, so
/// frozen parameters and padding cost nothing.
///
/// Error feedback (Seide et al. 2014; Karimireddy et al. 2019) adds the error of earlier codes, e: p = x + e is coded, and e = p
/// - C(p) is kept. All are in units of 2^-40, to which sums round anyway (core/exact_sum.hpp): the sent sum plus the kept error
/// equals the sum of the changes, as integers.
///
/// EF21 (Richtarik, Sokolov & Fatkhullin 2021): c = C(x - g) is sent, g <- g + c is kept, and g replaces the change. The summing
/// party must also keep each client's g, which a remote coordinator does not.
struct UpdateCoding {
  UpCompression compression = {};
  ErrorFeedback feedback = ErrorFeedback::none;
  std::vector<ParameterRange> sent = {};  ///< ranges of one vector
  std::size_t spread = 0;                 ///< numbers of one vector, padding included
  int copies = 1;                         ///< vectors in an update
  std::uint64_t seed = 0;
  std::vector<CodedMatrix> matrices = {};  ///< of one vector as sent

  bool on() const { return compression->codes(); }
  bool keeps() const { return on() && feedback != ErrorFeedback::none; }
  /// The numbers that one vector sends.
  std::size_t size() const;
  /// The maximum number of bytes of an update's numbers on a network: a public fact.
  std::uint64_t most_bytes() const;

  /// Codes an update, which becomes the decoded code (ef21: g). Empty, with the update unchanged, if updates are not compressed
  /// or exact sums do not admit it; if the kept error or the sent code makes it inadmissible, it becomes infinite and nothing is
  /// kept back.
  std::string code(std::uint32_t round, ClientId client, KeptBack& kept, Vector& update) const;
  /// False unless it is a code of such an update; then `update` is code()'s result (not with ef21).
  bool decode(std::string_view code, std::uint32_t round, ClientId client, Vector& update) const;
};

}  // namespace fedstride
