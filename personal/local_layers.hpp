#pragma once

#include <string>

#include "personal/personal.hpp"

namespace fedstride {

/// Layers that stay with the client. Together with the shared ones: FedPer (Arivazhagan, Aggarwal, Singh & Choudhary 2019, Algorithm
/// 1). First these alone, then the shared ones alone: FedRep (Collins, Hassani, Mokhtari & Shakkottai 2021, Algorithm 1). A client
/// begins from the model received with its own tensors in these layers, keeps them as they have become, and sends a change of 0
/// there, so that the server's never change. Layers that do not train at a time get a gradient of 0 and are put back after each
/// step, so that momentum does not move them: ADADP's error estimate is then that of the layers that train, and its rate one for both.
struct LocalLayers : PersonalDefaults {
  std::string local_layers = "last";
  int first = 0;

  static constexpr std::string_view kName = "local-layers";
  static constexpr std::string_view kSummary =
      "some layers stay with the client (FedPer; Arivazhagan et al. 2019; FedRep; Collins et al. 2021)";
  static constexpr auto kFields = std::tuple{
      Field{"local-layers", &LocalLayers::local_layers, "layers that stay with the client: \"fc2,fc3\"; last: the last one"},
      Field{"local-first", &LocalLayers::first,
            "so many of the local epochs train the client's own layers alone, and the others the shared ones alone (FedRep); 0: "
            "all "
            "train together (FedPer)",
            Valid{.low = 0, .high = 1e6}}};
  static constexpr bool kKeeps = true;

  std::string_view layers() const { return local_layers.empty() ? std::string_view("last") : local_layers; }
  int local_first() const { return first; }
};

}  // namespace fedstride
