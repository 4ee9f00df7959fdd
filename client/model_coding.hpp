#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/compression/compressor.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// How the server codes the changes of the model that clients hold, over the parameters that the federation trains.
struct ModelCoding {
  DownCompression compression = {};
  std::vector<ParameterRange> sent = {};
  std::uint64_t seed = 0;

  bool on() const { return compression->codes(); }
  /// The code of what is missing from `held`, the model that clients hold, to `model`; `held` becomes what it decodes to.
  std::string advance(std::uint32_t round, const Vector& model, Vector& held) const;
  /// What clients do with that code. False, with any contents, unless it is one.
  bool apply(std::string_view code, std::uint32_t round, Vector& held) const;
};

}  // namespace fedstride
