#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/compression/compressor.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// How the server encodes changes to the clients' model, limited to the parameters that the federation trains.
struct ModelCoding {
  DownCompression compression = {};
  std::vector<ParameterRange> sent = {};
  std::uint64_t seed = 0;

  bool on() const { return compression->codes(); }
  /// Returns the code of `model` minus `held`, the model that clients hold, and sets `held` to the decoded model.
  std::string advance(std::uint32_t round, const Vector& model, Vector& held) const;
  /// Applies a code from advance() to `held`, a client's model. Returns false, leaving `held` unchanged, if the code is invalid.
  bool apply(std::string_view code, std::uint32_t round, Vector& held) const;
};

}  // namespace fedstride
