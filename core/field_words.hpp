#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// Names that papers and other frameworks (Flower, FedML, LEAF, NIID-Bench, Opacus, PFLlib, pfl-research) use for one thing, and
/// fedstride's equivalent.
struct FieldWord {
  std::string_view words;      ///< as people write them, separated by spaces; "dp=local" matches only as a value of dp
  std::string_view here;       ///< flags, with values if they matter ("--local-objective prox"), or a command; empty: none
  std::string_view note = {};  ///< follows `here` in a message
};
std::span<const FieldWord> field_words();

/// Advice for several values where only one is valid.
inline constexpr std::string_view kWhereListsGo = "lists of values go in the [sweep] table of a file for 'fedstride sweep'";

/// Advice on an unknown name, to be followed by the rest of a message: "did you mean 'sgd'? " or "FedProx is --local-objective
/// prox; "; empty if there is none. `what` is the kind of name: "flag", "key", the key whose value it is ("optimizer"), or
/// anything else. Names of flags and keys have no leading dashes. If the first flag of an equivalent is already `given`, only its
/// last flag is suggested.
std::string advice(std::string_view what, std::string_view name, std::span<const std::string> valid,
                   std::span<const std::string> given = {});
/// fedstride's equivalent of this algorithm: "FedProx is --local-objective prox; "; empty if it is not in the table.
std::string advice_on_algorithm(std::string_view name);
/// True for words such as "strategy", whose value names an algorithm.
bool names_algorithms(std::string_view name);

}  // namespace fedstride
