#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// One entry of the registry: a name for --dataset and where its examples come from.
struct DatasetSource {
  std::string_view name;
  std::string_view summary;
  std::string_view files;  ///< what lies in its folder, for people
  DataPlace place;         ///< no file: built in
  DataPair (*load)(const std::filesystem::path& folder);
};

/// Every data set there is, in the order help lists them.
std::span<const DatasetSource> dataset_sources();

/// The entry of that name. Throws Error (usage) with the valid names.
const DatasetSource& dataset_source(std::string_view name);

/// Where it lies; empty if it is built in. Throws Error (failure) if it is not there.
std::filesystem::path dataset_folder(const DatasetSource& source, const DataOptions& options);

/// Reads (or makes) a data set: both parts named, normalised by the training part, checked to fit each other, hashed.
/// Throws Error: usage for an unknown name, failure for anything that is missing or wrong in its files.
DataPair load_dataset(std::string_view name, const DataOptions& options);

/// SHA-256 over shape, classes, labels and contents of both parts: what was trained on, whatever it is called.
std::string content_hash(const Dataset& train, const Dataset& test);

}  // namespace fedstride
