#pragma once

#include <vector>

#include "partitions/from_file.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/partitions.hpp"

namespace fedstride::test {

/// Every registered partition that deals rows out by itself, with settings that fit any input. `file` reads what somebody
/// else dealt out, `own` deals nothing out, the natural ones need data that name clients: their tests are their own.
inline std::vector<Partitioner> dealers() {
  std::vector<Partitioner> all;
  for (const auto& name : PartitionPart::family().names()) {
    if (name == FromFile::kName || name == OwnRows::kName || name.starts_with("natural")) continue;
    Partitioner& dealer = all.emplace_back();
    dealer.choose(name);
    if (const SettingInfo* shards = dealer.part().find("shards-per-client")) dealer.part().set(*shards, std::int64_t{1});
  }
  return all;
}

}  // namespace fedstride::test
