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

/// With ef, the error that coding has left out so far; with ef21, the sum g of the codes sent. One number per element, in units
/// of 2^-40; empty before a client's first round.
using KeptBack = std::vector<std::int64_t>;

/// How clients encode their updates. Each vector of an update has its own code, which covers only the parameters that the
/// federation trains, so frozen parameters and padding cost nothing.
///
/// Error feedback (Seide et al. 2014; Karimireddy et al. 2019) adds the error e of earlier codes: p = x + e is coded, and e = p
/// - C(p) is kept. All use units of 2^-40, to which sums round anyway (core/exact_sum.hpp), so the sum of the codes sent plus the
/// kept error equals the sum of the changes exactly, as integers.
///
/// EF21 (Richtarik, Sokolov & Fatkhullin 2021): c = C(x - g) is sent, g <- g + c is kept, and g replaces the change. The party
/// that sums updates must also keep each client's g; a remote coordinator does not.
struct UpdateCoding {
  UpCompression compression = {};
  ErrorFeedback feedback = ErrorFeedback::none;
  std::vector<ParameterRange> sent = {};  ///< the parts of each vector that are sent
  std::size_t spread = 0;                 ///< length of one vector, including padding
  int copies = 1;                         ///< vectors in an update
  std::uint64_t seed = 0;
  std::vector<CodedMatrix> matrices = {};  ///< matrices of one vector as sent

  bool on() const { return compression->codes(); }
  bool keeps() const { return on() && feedback != ErrorFeedback::none; }
  /// How many numbers are sent of one vector.
  std::size_t size() const;
  /// The maximum number of bytes that an update's numbers take on a network, which is public.
  std::uint64_t most_bytes() const;

  /// Returns an update's code and sets the update to the decoded code (ef21: g). Returns an empty string and leaves the update
  /// unchanged if updates are not compressed or exact sums do not admit it. If the kept error or the code sent makes the update
  /// inadmissible, it becomes infinite and nothing is kept back.
  std::string code(std::uint32_t round, ClientId client, KeptBack& kept, Vector& update) const;
  /// Returns false if `code` is not a possible result of code(); otherwise, sets `update` as code() does (except with ef21).
  bool decode(std::string_view code, std::uint32_t round, ClientId client, Vector& update) const;
};

}  // namespace fedstride
