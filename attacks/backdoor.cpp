#include "attacks/backdoor.hpp"

#include "core/error.hpp"

namespace fedstride {

void Backdoor::check_data(const Dataset& data) const {
  if (!data.is_pictures()) throw usage_error("attack is 'backdoor', whose trigger is put into pictures; this data set has none");
  if (trigger_size > data.shape.height || trigger_size > data.shape.width)
    throw usage_error("trigger-size is " + std::to_string(trigger_size) + "; the pictures have " +
                      std::to_string(data.shape.height) + " x " + std::to_string(data.shape.width) + " pixels");
  if (backdoor_target >= data.classes)
    throw usage_error("backdoor-target is " + std::to_string(backdoor_target) + "; the data set has the classes 0 to " +
                      std::to_string(data.classes - 1));
}

void Backdoor::poison(Dataset& data, std::span<const Row> rows, std::uint64_t seed) const {
  for (const Row row : rows) {
    RandomStream random(seed, {.purpose = Purpose::poisoned_rows, .row = row});
    if (random.uniform() >= poisoned) continue;
    trigger(data, row);
    data.labels[data.place(row)] = target();
  }
}

void Backdoor::falsify(const AttackRound& round, std::uint32_t /*client*/, std::span<float> change) const {
  const auto factor = static_cast<float>(scale > 0 ? scale : round.clients / round.attackers);
  for (float& value : change) value *= factor;
}

void Backdoor::trigger(Dataset& data, Row row) const {
  const auto height = static_cast<std::size_t>(data.shape.height);
  const auto width = static_cast<std::size_t>(data.shape.width);
  const auto side = static_cast<std::size_t>(trigger_size);
  const auto channels = static_cast<std::size_t>(data.shape.channels);
  std::uint8_t* picture = data.pixels.data() + data.place(row) * height * width * channels;
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (std::size_t y = height - side; y < height; ++y)
      for (std::size_t x = width - side; x < width; ++x) picture[(channel * height + y) * width + x] = 255;
}

}  // namespace fedstride
