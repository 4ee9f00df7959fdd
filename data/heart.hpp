#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "data/dataset.hpp"

namespace fedstride {

/// A hospital of the heart-disease data, whose patients are in the file processed.NAME.data.
struct HeartHospital {
  std::string_view name;
  std::size_t patients = 0;  ///< complete records
  /// The test rows of FLamby (Ogier du Terrail et al. 2022): hexadecimal digit i covers records 4 i to 4 i + 3, the first in its
  /// lowest bit. They are drawn by scikit-learn's train_test_split (shares 0.66 and 0.34, random_state 43), stratified by the
  /// label where both labels have more than two records.
  std::string_view test = {};

  bool is_test(std::size_t record) const;
};

extern const std::array<HeartHospital, 4> kHeartHospitals;

/// UCI Heart Disease (Janosi, Steinbrunn, Pfisterer & Detrano 1988; CC BY 4.0) as prepared by FLamby. The hospitals are natural
/// clients. The columns slope, ca and thal are omitted, then all records with a missing value. Chest pain and the
/// electrocardiogram become 0/1 columns, for all values but the first, after the eight other columns. The answer is a flag: a
/// diagnosis above 0. Inputs are not normalized here. Throws Error (failure) if a file is missing or does not have the published
/// form.
DataPair load_heart(const std::filesystem::path& folder);

}  // namespace fedstride
