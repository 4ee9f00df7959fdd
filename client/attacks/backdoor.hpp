#pragma once

#include "client/attacks/attack.hpp"
#include "core/error.hpp"

namespace fedstride {

struct BackdoorSettings : Attackers {
  double scale = 0;
  double poisoned = 0.5;
  int trigger_size = 3;
  int backdoor_target = 0;
  static constexpr auto kFields = fields(
      Attackers::kFields,
      Field{"attack-scale", &BackdoorSettings::scale,
            "factor on an attacker's update; 0: clients per attacker in a round, so that the mean becomes the attackers' model",
            Valid{.low = 0, .high = 1e6}},
      Field{"poisoned-share", &BackdoorSettings::poisoned, "share of an attacker's images that get the trigger",
            Valid{.low = 0, .high = 1, .low_included = false}},
      Field{"trigger-size", &BackdoorSettings::trigger_size, "side of the white square in pixels", Valid{.low = 1, .high = 1000}},
      Field{"backdoor-target", &BackdoorSettings::backdoor_target, "class that images with the trigger are labeled as",
            Valid{.low = 0, .high = 65535}});
};

/// Model replacement with a backdoor trigger (Bagdasaryan, Veit, Hua, Estrin & Shmatikov 2020, Sections 3.2 and 3.3; the trigger
/// is from Gu, Dolan-Gavitt & Garg 2017). Attackers train on their images, some of which get a white square in the lower right
/// corner and the label of the target class. They multiply their updates by attack-scale, so that the mean becomes their model.
struct Backdoor final : AttackBase<Backdoor, BackdoorSettings> {
  static constexpr std::string_view kName = "backdoor";
  static constexpr std::string_view kSummary = "backdoor trigger in images, with model replacement (Bagdasaryan et al. 2020)";

  void check_data(const Dataset& data) const override {
    if (!data.is_pictures()) throw usage_error("attack is 'backdoor', which needs images; this data set has none");
    if (trigger_size > data.shape.height || trigger_size > data.shape.width)
      throw usage_error("trigger-size is " + std::to_string(trigger_size) + "; it must fit in the images, which have " +
                        std::to_string(data.shape.height) + " x " + std::to_string(data.shape.width) + " pixels");
    if (backdoor_target >= data.classes)
      throw usage_error("backdoor-target is " + std::to_string(backdoor_target) + "; it must be a class, 0 to " +
                        std::to_string(data.classes - 1));
  }

  bool poisons() const override { return true; }
  void poison(Dataset& data, std::span<const Row> rows, std::uint64_t seed) const override {
    for (const Row row : rows) {
      RandomStream random(seed, {.purpose = Purpose::poisoned_rows, .row = row});
      if (random.uniform() >= poisoned) continue;
      trigger(data, row);
      data.labels[data.place(row)] = target();
    }
  }

  bool falsifies() const override { return true; }
  void falsify(const AttackRound& round, std::uint32_t /*client*/, std::span<float> change) const override {
    const auto factor = static_cast<float>(scale > 0 ? scale : round.clients / round.attackers);
    for (float& value : change) value *= factor;
  }

  bool has_backdoor() const override { return true; }
  Label target() const override { return static_cast<Label>(backdoor_target); }
  void trigger(Dataset& data, Row row) const override {
    const auto height = static_cast<std::size_t>(data.shape.height);
    const auto width = static_cast<std::size_t>(data.shape.width);
    const auto side = static_cast<std::size_t>(trigger_size);
    const auto channels = static_cast<std::size_t>(data.shape.channels);
    std::uint8_t* picture = data.pixels.data() + data.place(row) * height * width * channels;
    for (std::size_t channel = 0; channel < channels; ++channel)
      for (std::size_t y = height - side; y < height; ++y)
        for (std::size_t x = width - side; x < width; ++x) picture[(channel * height + y) * width + x] = 255;
  }
};

}  // namespace fedstride
