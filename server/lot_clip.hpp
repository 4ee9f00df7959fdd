#pragma once

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <istream>
#include <ostream>
#include <span>
#include <vector>

#include "core/client_report.hpp"
#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/pooled_statistic.hpp"
#include "dp/accountants/adaptive_clip.hpp"

namespace fedstride {

/// The bound on examples' gradients under example-level privacy, if it follows a quantile of their norms: one for all clients in a round.
/// With every lot's noisy sum goes a noisy count of the gradients within the bound (ReleaseRules::count_noise); a client reports the sum
/// of its lots' counts, and after the round the bound is next_clip of all clients' sum, divided by what their lots have on average. A
/// client that failed is in neither. A count cannot move the bound further than if all were on one side, and half as much again.
class LotClip final : public PooledStatistic {
 public:
  LotClip(const AdaptiveClip& rules, double first) : rules_(rules), clip_(first) {}

  double clip() const override { return clip_; }
  std::vector<double> tell(std::uint32_t /*round*/) const override { return {clip_}; }
  void take(std::uint32_t /*round*/, const ClientReport& sums) override {
    used_ = clip_;
    if (sums.expected > 0) clip_ = next_clip(rules_, clip_, std::clamp(sums.within / sums.expected, -1.0, 1.0));
  }
  std::vector<NamedNumber> numbers() const override {
    return used_ > 0 ? std::vector<NamedNumber>{{"clip", used_}} : std::vector<NamedNumber>{};
  }
  void save(std::ostream& bytes) const override { write_archive(bytes, clip_); }
  void load(std::istream& bytes) override {
    read_archive(bytes, clip_);
    if (!(clip_ >= kLeastClip && clip_ <= kMostClip)) throw failure("the bound on gradients in the checkpoint is damaged");
  }

 private:
  AdaptiveClip rules_;
  double clip_;
  double used_ = 0;  ///< in the last round
};

}  // namespace fedstride
