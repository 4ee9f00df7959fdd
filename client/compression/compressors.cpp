#include <algorithm>
#include <cmath>

#include "client/compression/bfloat16.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/drive.hpp"
#include "client/compression/float16.hpp"
#include "client/compression/no_compression.hpp"
#include "client/compression/power_sgd.hpp"
#include "client/compression/qsgd.hpp"
#include "client/compression/random_k.hpp"
#include "client/compression/rounding.hpp"
#include "client/compression/scaled_sign.hpp"
#include "client/compression/sparse_ternary.hpp"
#include "client/compression/terngrad.hpp"
#include "client/compression/top_k.hpp"

namespace fedstride {
namespace {

// Adds each part, made for one direction (up or down).
template <class Way, template <class> class... P>
void add_compressors(PartFamily& family) {
  (family.add(std::make_unique<P<Way>>()), ...);
}

template <class Way>
PartFamily made(std::string_view key, std::string_view purpose) {
  PartFamily all(key, purpose, Question::federation);
  add_compressors<Way, NoCompression, Float16, BrainFloat16, StochasticRounding, Qsgd, ScaledSign, TopK, SparseTernary, Drive>(
      all);
  // The error of these codes can exceed their input, which would break a model that is sent as a series of changes.
  if constexpr (Way::kIsUp) add_compressors<Way, TernGrad, RandomK>(all);
  if constexpr (Way::kIsUp) add_parts<UpCompressor, PowerSgd>(all);
  return all;
}

}  // namespace

PartFamily& UpCompressor::family() {
  static PartFamily family = made<UpCompressor>("compress-up", "how clients compress their updates");
  return family;
}
PartFamily& DownCompressor::family() {
  static PartFamily family = made<DownCompressor>("compress-down", "how the server compresses changes to its model");
  return family;
}

std::size_t kept_of(double keep, std::size_t d) {
  if (d == 0) return 0;
  const double wanted = keep < 1 ? std::ceil(keep * static_cast<double>(d)) : std::floor(keep);
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(d)));
}

}  // namespace fedstride
