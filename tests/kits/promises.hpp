#pragma once

#include <exception>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/part.hpp"

namespace fedstride {

/// Something every part of a family does, in words, and a trial of it. Family: a Chosen<Interface> (core/part.hpp).
template <class Family>
struct Promise {
  std::string_view text;
  bool (*kept)(const Family& part);
};

/// A line for each promise that the part breaks: "optimizer 'mine' does not keep: no gradient, no change". A trial that
/// throws is a promise broken; the line then says what it threw.
template <class Family>
std::vector<std::string> broken_promises(const Family& part, std::span<const Promise<Family>> promises) {
  std::vector<std::string> lines;
  for (const Promise<Family>& promise : promises) {
    const std::string line =
        std::string(part.family().key()) + " '" + std::string(part.name()) + "' does not keep: " + std::string(promise.text);
    try {
      if (!promise.kept(part)) lines.push_back(line);
    } catch (const std::exception& error) {
      lines.push_back(line + " (" + error.what() + ")");
    }
  }
  return lines;
}

/// Every setting has a name of its own and a value that is valid. Throws Error (usage) that says which has not.
inline bool has_valid_settings(const Part& part) {
  std::set<std::string_view> names;
  for (const SettingInfo& setting : part.settings())
    if (!names.insert(setting.name).second)
      throw usage_error("'" + std::string(part.name()) + "' has two settings with the name '" + std::string(setting.name) + "'");
  part.check();
  return true;
}

}  // namespace fedstride
