#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "data/dataset.hpp"

namespace fedstride {

/// A hospital of the heart-disease data: its patients in the file processed.NAME.data.
struct HeartHospital {
  std::string_view name;
  std::size_t patients = 0;  ///< complete records
  /// The test rows of FLamby (Ogier du Terrail et al. 2022): digit i, hexadecimal, has the records 4 i to 4 i + 3, the first as its
  /// lowest bit. They are drawn by scikit-learn's train_test_split (shares 0.66 and 0.34, random_state 43), stratified by the label
  /// where both have more than two records.
  std::string_view test = {};

  bool is_test(std::size_t record) const;
};

extern const std::array<HeartHospital, 4> kHeartHospitals;

/// UCI Heart Disease (Janosi, Steinbrunn, Pfisterer & Detrano 1988; CC BY 4.0) as prepared by FLamby: the hospitals are natural
/// clients; slope, ca and thal are left out, and then every record with a missing value; chest pain and the electrocardiogram
/// become columns of 0 and 1 for all values but the first, after the eight other columns. The answer is a flag: a diagnosis above
/// 0. Inputs are not normalized here. Throws Error (failure) for a file that is missing or not the published one in form.
DataPair load_heart(const std::filesystem::path& folder);

}  // namespace fedstride
