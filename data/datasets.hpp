#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// One entry of the registry: a name for --dataset and the source of its examples.
struct DatasetSource {
  std::string_view name;
  std::string_view summary;
  std::string_view files;  ///< the contents of its folder, as shown to users
  DataPlace place;         ///< where to find the data set; built in if it has no file
  /// Classes, mean and deviation from its loader are published facts, never derived from protected rows. If false, they must be
  /// specified under DP.
  bool is_published = false;
  bool has_public_test = false;  ///< it has a published test part
  /// Reads the folder. Leaves the test part empty if there is none, and mean and deviation if the training rows are to determine
  /// them.
  std::function<DataPair(const std::filesystem::path& folder)> load = {};
  /// Used instead of `load` for a set generated from parameters, which may follow its name: "synthetic-li:0.5,0.5".
  std::function<DataPair(std::string_view parameters)> make = {};
  /// Used instead of `load` for a user's own files: reads according to the settings; `own_rows` is as in load_own_files.
  std::function<DataPair(const std::filesystem::path& folder, const ReadSettings& settings, bool own_rows)> read = {};
};

/// The data sets that come with this program, in the order of the help text: built-in, published, and formats of users' files.
std::vector<DatasetSource> shipped_datasets();

/// The name of the data set that --data specifies.
inline constexpr std::string_view kOwnFile = "file";

/// The data sets that are shipped or were added.
std::span<const DatasetSource> dataset_sources();

/// Registers a custom data set under its name. Must be called before the other functions here. Throws Error (usage) if the name
/// is taken or the loader is missing.
void add_dataset(DatasetSource source);

/// Returns the entry with this name; the set's parameters may follow the name. If there is none, throws Error (usage) listing the
/// valid names.
const DatasetSource& dataset_source(std::string_view name);

/// The folder of the data set, or the file of a user's own; empty if built in. Throws Error (failure) if it is not found.
std::filesystem::path dataset_folder(const DatasetSource& source, const DataOptions& options);

/// Reads (or generates) a data set, sets both parts' names, normalizes them (normalization.hpp), checks their consistency and
/// hashes them. If there is no test part, a sixth of the rows becomes the test part (split.hpp), and the notes say so. If rows
/// are protected (ReadSettings), nothing derived from their contents is used, only their types and specified or published facts
/// (docs/privacy.md). Throws Error: usage for an unknown name, failure for a missing or invalid file.
DataPair load_dataset(std::string_view name, const DataOptions& options);

/// Reads the rows that a client supplies: the training part, or all rows of a set without a test part. The result's test part is
/// empty, and its hash covers only these rows; fit() then sets the normalization and the number of classes.
DataPair load_own_rows(std::string_view name, const DataOptions& options);

/// The public hash of a client's own rows (load_own_rows): an HMAC under a key next to the rows (`roster.key` in their folder,
/// mode 0600, created when needed), so guesses about the rows cannot be checked against it. Throws Error (failure).
std::string told_hash(std::string_view name, const DataOptions& options, const std::string& hash);

/// Sets the rows' classes and normalization to those of `schema`. Throws Error (failure) if their shape differs, a label has no
/// class, or the normalization is invalid (non-finite numbers, a deviation that is not above 0, too few or too many). Protected
/// rows are never refused because of a label or token: labels without a class become class 0 (make_valid).
void fit(Dataset& rows, const Schema& schema, const ReadSettings& settings = {});

/// True if this data set's test part is public: published with the set, or declared public by the settings (load_dataset refuses
/// such a declaration if there is no test part).
bool names_public_test(std::string_view name, const ReadSettings& settings);

/// SHA-256 over shape, classes, labels and contents of both parts; independent of the data set's name.
std::string content_hash(const Dataset& train, const Dataset& test);

}  // namespace fedstride
