#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "partitions/from_file.hpp"
#include "partitions/given_sizes.hpp"
#include "partitions/label_distribution.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/partitions.hpp"

namespace fedstride::test {

/// True for a partition whose settings cannot fit any input, and whose tests are its own: `file` reads what somebody else dealt out,
/// `own` and `outside` deal nothing out, `sizes` and `label-distribution` are told how many rows of what; the natural ones need data that name clients.
inline bool is_told(std::string_view name) {
  return name == FromFile::kName || name == OwnRows::kName || name == OutsideRows::kName || name == GivenSizes::kName ||
         name == LabelDistribution::kName || name.starts_with("natural");
}

/// The partitions that draw nothing, so that their lists are the same for every seed.
inline const std::set<std::string_view> kDrawNothing = {};

/// Every other registered partition, with settings that fit any input.
inline std::vector<Partitioner> dealers() {
  std::vector<Partitioner> all;
  for (const auto& name : PartitionPart::family().names()) {
    if (is_told(name)) continue;
    Partitioner& dealer = all.emplace_back();
    dealer.choose(name);
    if (const SettingInfo* least = dealer.part().find("least-rows")) dealer.part().set(*least, std::int64_t{0});
    if (const SettingInfo* shards = dealer.part().find("shards-per-client")) dealer.part().set(*shards, std::int64_t{1});
  }
  return all;
}

}  // namespace fedstride::test
