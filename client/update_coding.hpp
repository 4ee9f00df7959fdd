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

/// In units of 2^-40, number by number, and empty before a client's first round: what codes kept back of its changes so far (ef), or
/// the sum of what it sent, g (ef21).
using KeptBack = std::vector<std::int64_t>;

/// How clients code their updates. Each of the vectors that an update consists of has a code of its own, over the parameters that the
/// federation trains, so that neither frozen parameters nor padding cost anything.
///
/// Error feedback (Seide et al. 2014; Karimireddy et al. 2019) adds what earlier codes kept back, e: p = x + e is coded, and
/// e = p - C(p) is kept. All of it in units of 2^-40, to which sums round anyway (core/exact_sum.hpp): the sum of what was sent and what
/// is kept back equals the sum of the changes, as integers.
///
/// EF21 (Richtarik, Sokolov & Fatkhullin 2021): c = C(x - g) is sent, g <- g + c is kept, and g takes the place of the change. Whoever
/// sums must keep the g of each client, too, which a coordinator elsewhere does not.
struct UpdateCoding {
  UpCompression compression = {};
  ErrorFeedback feedback = ErrorFeedback::none;
  std::vector<ParameterRange> sent = {};  ///< of one vector
  std::size_t spread = 0;                 ///< numbers of one vector, padding included
  int copies = 1;                         ///< vectors in an update
  std::uint64_t seed = 0;
  std::vector<CodedMatrix> matrices = {};  ///< of one vector as it is sent

  bool on() const { return compression->codes(); }
  bool keeps() const { return on() && feedback != ErrorFeedback::none; }
  /// The numbers that one vector sends.
  std::size_t size() const;
  /// The most bytes of an update's numbers on a network: a public fact.
  std::uint64_t most_bytes() const;

  /// Codes an update, which becomes what the code decodes to (ef21: g). Empty, with the update as it was, if updates are not compressed or it
  /// is not admitted by exact sums; if what was kept back makes it so, or what is sent, it becomes infinite and nothing is kept back.
  std::string code(std::uint32_t round, ClientId client, KeptBack& kept, Vector& update) const;
  /// False unless it is a code of such an update; then `update` is what code() made of it (not with ef21).
  bool decode(std::string_view code, std::uint32_t round, ClientId client, Vector& update) const;
};

}  // namespace fedstride
