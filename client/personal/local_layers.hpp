#pragma once

#include "client/personal/personal.hpp"

namespace fedstride {

struct LocalLayersSettings {
  std::string local_layers = "last";
  int first = 0;
  static constexpr auto kFields = fields(
      Field{"local-layers", &LocalLayersSettings::local_layers,
            "layers that stay with the client, e.g. \"fc2,fc3\"; last: the last layer; batchnorm: all of that kind (FedBN)"},
      Field{"local-first", &LocalLayersSettings::first,
            "local epochs that train only the client's own layers; the rest train only the shared ones (FedRep); 0: all train "
            "together (FedPer)",
            Valid{.low = 0, .high = 1e6}});
};

/// Layers that stay with the client. FedPer (Arivazhagan, Aggarwal, Singh & Choudhary 2019, Algorithm 1) trains them along with
/// the shared layers; FedRep (Collins, Hassani, Mokhtari & Shakkottai 2021, Algorithm 1) trains them first, then the shared
/// layers. A client starts from the model received with its own tensors in these layers, keeps them after training, and sends a
/// change of 0 for them, so the server's tensors never change. Layers not being trained get a gradient of 0 and are restored
/// after each step, so that momentum does not move them. ADADP's error estimate then covers only the layers being trained; own
/// and shared layers have the same learning rate.
struct LocalLayers final : PartBase<PersonalPart, LocalLayers, LocalLayersSettings> {
  static constexpr std::string_view kName = "local-layers";
  static constexpr std::string_view kSummary =
      "some layers stay with the client (FedPer, Arivazhagan et al. 2019; FedRep, Collins et al. 2021)";

  bool keeps() const override { return true; }
  std::string_view layers() const override { return local_layers.empty() ? std::string_view("last") : local_layers; }
  int local_first() const override { return first; }
};

}  // namespace fedstride
