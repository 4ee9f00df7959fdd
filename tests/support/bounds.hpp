#pragma once

#include <string>
#include <vector>

#include "dp/bounds/bound.hpp"

namespace fedstride::test {

inline Bound bound_named(const std::string& name) {
  Bound bound;
  bound.choose(name);
  return bound;
}

/// The names of the bounds on updates, and of those on examples' gradients.
inline std::vector<std::string> bounds_on_updates() { return BoundPart::family().names(); }
inline std::vector<std::string> bounds_on_lots() {
  std::vector<std::string> names = bounds_on_updates();
  std::erase_if(names, [](const std::string& name) { return !bound_named(name)->is_for_lots(); });
  return names;
}

}  // namespace fedstride::test
