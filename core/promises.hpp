#pragma once

#include <exception>
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
bool has_valid_settings(const Part& part);

}  // namespace fedstride
