#include "sim/settings/methods.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/field_words.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using Pieces = std::vector<std::pair<std::string_view, std::string_view>>;

struct Method {
  std::string_view name;
  std::string_view summary;
  Pieces own;  ///< what it adds to, or has in place of, the pieces of FedAvg
};

// FedAvg: clients take steps of SGD on their own losses, and the server's model is their weighted mean.
const Pieces kFedAvg = {{"optimizer", "sgd"},    {"local-objective", "plain"},    {"personal", "none"},
                        {"aggregation", "mean"}, {"server-optimizer", "average"}, {"server-schedule", "constant"},
                        {"mode", "sync"}};

const Method kMethods[] = {
    {"fedavg", "SGD, and the mean of the models (McMahan et al. 2017)", {}},
    {"fedprox", "FedAvg with a proximal term (Li et al. 2020)", {{"local-objective", "prox"}}},
    {"scaffold", "FedAvg with control variates (Karimireddy et al. 2020)", {{"local-objective", "scaffold"}}},
    {"fedavgm", "FedAvg with server momentum (Hsu et al. 2019)", {{"server-optimizer", "momentum"}}},
    {"fedadam", "FedAvg with Adam at the server (Reddi et al. 2021)", {{"server-optimizer", "adam"}}},
    {"fedyogi", "FedAvg with Yogi at the server (Reddi et al. 2021)", {{"server-optimizer", "yogi"}}},
    {"fedadagrad", "FedAvg with Adagrad at the server (Reddi et al. 2021)", {{"server-optimizer", "adagrad"}}},
    {"fedbn",
     "FedAvg whose batch normalizations stay with the clients (Li et al. 2021)",
     {{"personal", "local-layers"}, {"local-layers", "batchnorm"}}},
    {"fednova", "FedAvg with updates normalized by local work (Wang et al. 2020)", {{"local-objective", "nova"}}},
    {"feddyn", "dynamic regularization (Acar et al. 2021)", {{"local-objective", "dyn"}}},
    {"dp-fedavg",
     "FedAvg with clipped updates, noise on their sum and Poisson cohorts (McMahan et al. 2018)",
     {{"dp", "client"}, {"client-noise", "central"}, {"clip-rule", "fixed"}, {"cohort", "poisson"}, {"weights", "equal"}}},
    {"dp-sgd",
     "FedAvg whose steps have clipped gradients, noise on their sum and Poisson lots (Abadi et al. 2016)",
     {{"dp", "example"},
      {"sampling", "poisson"},
      {"clip-rule", "fixed"},
      {"clip-schedule", "constant"},
      {"noise-schedule", "constant"}}},
};

constexpr std::string_view kDefault = "default";
const Pieces kDefaultPieces = {{"optimizer", "auto"}, {"server-optimizer", "auto"}};

Pieces pieces_of(std::string_view name) {
  if (name == kDefault) return kDefaultPieces;
  const auto method = std::ranges::find(kMethods, name, &Method::name);
  if (method == std::end(kMethods)) {
    std::vector<std::string> names;
    for (const KnownName& known : known_methods()) names.push_back(known.name);
    throw usage_error(unknown_name("method", name, names));
  }
  Pieces pieces = method->own;
  for (const auto& piece : kFedAvg)
    if (std::ranges::find(pieces, piece.first, &Pieces::value_type::first) == pieces.end()) pieces.push_back(piece);
  return pieces;
}

}  // namespace

std::vector<KnownName> known_methods() {
  std::vector<KnownName> names{{std::string(kDefault), "what runs without a method: no rate to tune (docs/adaptive.md)"}};
  for (const Method& method : kMethods) names.push_back({std::string(method.name), std::string(method.summary)});
  return names;
}

Settings with_method(Settings settings) {
  const auto given = settings.extract("method");
  if (given.empty() || value_text(given.mapped().value).empty()) return settings;
  const std::string method = value_text(given.mapped().value);
  for (const auto& [key, value] : pieces_of(method)) {
    const Setting piece{std::string(value), given.mapped().from_command_line};
    const auto [other, is_new] = settings.try_emplace(std::string(key), piece);
    if (is_new || value_text(other->second.value) == value) continue;
    if (piece.from_command_line && !other->second.from_command_line)
      other->second = piece;
    else
      throw usage_error("method is '" + method + "', which has " + std::string(key) + " " + std::string(value) + ", and " +
                        std::string(key) + " is '" + value_text(other->second.value) + "'; set only one of them");
  }
  return settings;
}

}  // namespace fedstride
