#include "data/built_in.hpp"

#include <string>

#include "core/random.hpp"

namespace fedstride {
namespace {

constexpr std::uint32_t kFcubeRound = 2;  // `round` in the addresses of FCUBE's draws; data/synthetic_li.cpp uses 1
constexpr std::uint32_t kParties = 4;

Dataset make_fcube(std::uint32_t part, std::size_t rows) {
  Dataset data;
  data.shape = {1, 1, 3};
  data.classes = 2;
  data.class_names = {"x1 > 0", "x1 < 0"};
  for (std::uint32_t party = 0; party < kParties; ++party) data.client_names.push_back(std::to_string(party));
  for (std::uint32_t row = 0; row < rows; ++row) {
    RandomStream random(0, {.purpose = Purpose::synthetic_data, .round = kFcubeRound, .client = part, .row = row});
    const std::uint32_t party = row % kParties;
    const std::uint32_t label = row / kParties % 2;
    const float mirror = label == 0 ? 1.0F : -1.0F;
    const float signs[] = {mirror, party < 2 ? mirror : -mirror, party % 2 == 0 ? mirror : -mirror};
    for (const float sign : signs) data.features.push_back(sign * (random.uniform_float() + 0x1.0p-25F));  // never 0
    data.labels.push_back(static_cast<Label>(label));
    data.clients.push_back(party);
  }
  return data;
}

}  // namespace

DataPair load_fcube(const std::filesystem::path& /*folder*/) {
  DataPair pair{make_fcube(0, kFcubeTrainRows), make_fcube(1, kFcubeTestRows), {}};
  pair.train.mean.assign(3, 0);
  pair.train.deviation.assign(3, 1);
  return pair;
}

}  // namespace fedstride
