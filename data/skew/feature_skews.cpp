#include "core/error.hpp"
#include "core/text.hpp"
#include "data/skew/color.hpp"
#include "data/skew/no_skew.hpp"
#include "data/skew/noise.hpp"
#include "data/skew/rotation.hpp"

namespace fedstride {

PartFamily& FeatureSkewPart::family() {
  static PartFamily family = [] {
    PartFamily all("feature-skew", "how inputs differ between clients", Question::clients);
    add_parts<FeatureSkewPart, NoSkew, NoiseSkew, RotationSkew, ColorSkew>(all);
    return all;
  }();
  return family;
}

void FeatureSkewPart::check_data(const Dataset& data) const {
  const std::string reason = objection(data);
  if (reason.empty()) return;
  std::vector<std::string> valid;
  for (const auto& part : family().parts())
    if (static_cast<const FeatureSkewPart&>(*part).objection(data).empty()) valid.emplace_back(part->name());
  throw usage_error("feature-skew is '" + std::string(name()) + "', " + reason + "; valid: " + joined(valid));
}

}  // namespace fedstride
