#pragma once

#include <map>
#include <string>

#include "sweep/results/results.hpp"

namespace fedstride {

class Json;

/// Takes all numbers (true and false as 1 and 0) and texts of a JSON object, each named by its path joined by '_', with '-'
/// as '_': {"a": {"b-c": 1}} gives a_b_c. An entry of a list is named by its name, accountant, level or who, if it has one,
/// else by its index. Lists of more than 100 entries are left out, and all numbers after 10,000.
void take_all_numbers(const Json& json, Numbers& numbers, std::map<std::string, std::string>& texts);

}  // namespace fedstride
