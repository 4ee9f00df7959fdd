#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// Names that papers and other frameworks (Flower, FedML, LEAF, NIID-Bench, Opacus, PFLlib, pfl-research) use, and fedstride's
/// equivalents.
struct FieldWord {
  std::string_view words;  ///< as people write them, separated by spaces; "dp=local" is for this key's value alone
  std::string_view here;  ///< flags, with values where these matter, or a command: "--local-objective prox"; empty: there is none
  std::string_view note = {};  ///< follows `here` in a message
};
std::span<const FieldWord> field_words();

/// The place for several values where one is valid.
inline constexpr std::string_view kWhereListsGo = "lists of values go in [sweep] of a file for 'fedstride sweep'";

/// The beginning of advice on an unknown name, empty if there is none: "did you mean 'sgd'? ", or "FedProx is --local-objective
/// prox; ". `what` says what was named: "flag", "key", a key whose value it is ("optimizer"), or anything else. Names of flags
/// and keys come without dashes. If a row's first flag is among those `given`, only its last one is suggested.
std::string advice(std::string_view what, std::string_view name, std::span<const std::string> valid,
                   std::span<const std::string> given = {});
/// What this algorithm is called here, empty if it is not in the table: "FedProx is --local-objective prox; ".
std::string advice_on_algorithm(std::string_view name);
/// True for words such as "strategy", whose value names an algorithm.
bool names_algorithms(std::string_view name);

}  // namespace fedstride
