#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/chart.hpp"

namespace fedstride {

/// Assigns each identity one look for the whole page. An identity that extends a known identity, or is extended by it ("adadp" in
/// a panel of share 0, later "share 0, adadp"), takes the known identity's look unless several looks match. If looks run out,
/// they are reused, but not within a plot.
class Looks {
 public:
  void assign(Plot& plot);

 private:
  using Thing = std::vector<std::pair<std::string, std::string>>;

  std::vector<std::size_t> alike(bool is_part, const Thing& thing) const;

  std::map<std::pair<bool, Thing>, std::size_t> known_;
  std::array<std::size_t, 2 * kMaxLines> uses_{};
};

}  // namespace fedstride
