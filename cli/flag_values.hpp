#pragma once

#include <string>
#include <vector>

#include "core/setting.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fedstride {

/// The kind of value that a flag or an argument takes: help, manual and completion take it from here.
struct FlagValue {
  std::string word;                   ///< what stands for it in the help: "FILE"; empty for a switch
  Place place = Place::none;          ///< of a path
  std::vector<KnownName> known = {};  ///< values to offer
};

/// Names to offer as values, without a word about each.
std::vector<KnownName> as_known(const std::vector<std::string>& names);

/// Notes at the flag or the argument what its value is. An argument keeps its own name for the word.
void takes(CLI::Option& option, const FlagValue& value);
/// A file or a folder.
void takes(CLI::Option& option, Place place);
/// Returns the kind that was noted.
FlagValue value_of(CLI::Option& option);

/// A flag without a value; --NAME=true and --NAME=false are valid too, anything else is refused with Error (usage).
CLI::Option& add_switch(CLI::App& command, const std::string& name, bool& on, const std::string& help);

/// A flag whose value is one of these names, others are refused with Error (usage); `chosen` holds the default, which may be
/// empty.
CLI::Option& add_choice_flag(CLI::App& command, const std::string& name, std::string& chosen,
                             const std::vector<std::string>& names, const std::string& help);

/// Refuses a switch's value with Error (usage) unless it is true or false. `add_switch` does this already.
void check_switch(CLI::Option& option);

}  // namespace fedstride
