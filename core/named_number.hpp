#pragma once

#include <string_view>

namespace fedstride {

/// A number that a part reports of a round, for rounds.jsonl and `fedstride explain`.
struct NamedNumber {
  std::string_view name;
  double value = 0;
};

}  // namespace fedstride
