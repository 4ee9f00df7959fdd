#pragma once

#include <map>
#include <string>

namespace fedstride {

/// One case of a file of known answers, as read.
struct PrivacyCase {
  std::string id;
  std::string mechanism = {};
  std::string quantity = {};
  std::string order_grid = {};
  std::map<std::string, double> numbers = {};
  std::map<std::string, std::string> texts = {};
};

/// Throws Error (usage), naming the case, for what is unknown, missing or out of range.
double answer(const PrivacyCase& one);

}  // namespace fedstride
