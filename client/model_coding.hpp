#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/compression/compressor.hpp"
#include "core/vector.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// How the server codes the changes of the clients' model, over the parameters that the federation trains.
struct ModelCoding {
  DownCompression compression = {};
  std::vector<ParameterRange> sent = {};
  std::uint64_t seed = 0;

  bool on() const { return compression->codes(); }
  /// The code of `model` minus `held`, the model that clients hold; `held` then becomes the decoded model.
  std::string advance(std::uint32_t round, const Vector& model, Vector& held) const;
  /// Applies this code on a client. Returns false, with arbitrary contents, if it is invalid.
  bool apply(std::string_view code, std::uint32_t round, Vector& held) const;
};

}  // namespace fedstride
