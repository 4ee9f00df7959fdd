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
  std::string_view files;  ///< the contents of its folder, for people
  DataPlace place;         ///< no file: built in
  /// Classes, mean and deviation that its loader gives are published facts: none follows from rows that somebody protects. Otherwise, under dp, they must be named.
  bool is_published = false;
  bool has_public_test = false;  ///< it comes with a test part, which is published
  /// Reads the folder. The test part is empty if there is none, mean and deviation if they follow from the training rows.
  std::function<DataPair(const std::filesystem::path& folder)> load = {};
  /// Instead of it, for a set that is made with parameters: its name may be followed by them, "synthetic-li:0.5,0.5".
  std::function<DataPair(std::string_view parameters)> make = {};
  /// Instead of `load` for files of the user's own: reads as the settings say; `own_rows` as load_own_files has it.
  std::function<DataPair(const std::filesystem::path& folder, const ReadSettings& settings, bool own_rows)> read = {};
};

/// The data sets that this program comes with, in the order of the help text: the built-in and the published ones, and the forms of a
/// user's own.
std::vector<DatasetSource> shipped_datasets();

/// The data set that --data names.
inline constexpr std::string_view kOwnFile = "file";

/// These, and those that were added.
std::span<const DatasetSource> dataset_sources();

/// Makes a data set of one's own known under its name. To be called before any of the other functions here. Throws Error
/// (usage) for a name that is taken, or without a loader.
void add_dataset(DatasetSource source);

/// The entry of that name, which parameters may follow where the set has any. Throws Error (usage) with the valid names.
const DatasetSource& dataset_source(std::string_view name);

/// The folder of the data set, or its file if it is the user's own; empty if it is built in. Throws Error (failure) if it is not found.
std::filesystem::path dataset_folder(const DatasetSource& source, const DataOptions& options);

/// Reads (or makes) a data set: both parts named, normalized (normalization.hpp), checked to fit each other, hashed.
/// If there is no test part, a sixth of the rows becomes the test part (split.hpp), and the notes say so. Where rows are protected
/// (ReadSettings) nothing but what is named, published or a matter of types is known of their contents (docs/privacy.md).
/// Throws Error: usage for an unknown name, failure for anything that is missing or wrong in its files.
DataPair load_dataset(std::string_view name, const DataOptions& options);

/// The rows that a client brings itself: the training part, or every row of a set without a test part. The test part is
/// empty, the hash is that of the rows. fit() sets the normalization and the number of classes.
DataPair load_own_rows(std::string_view name, const DataOptions& options);

/// The hash of a client's own rows (load_own_rows) as others may see it: an HMAC under a key that lies beside the rows
/// (`roster.key` in their folder, mode 0600, made when it is needed), so that no guess of the rows can be tested. Throws Error (failure).
std::string told_hash(std::string_view name, const DataOptions& options, const std::string& hash);

/// Gives rows the classes and the normalization of `schema`. Throws Error (failure) if their shape differs, a label has no
/// class, or the normalization is invalid (numbers that are not finite, a deviation that is not above 0, too few or many). Rows that are
/// protected are not refused for a label or a token: what has no class is class 0 (make_valid).
void fit(Dataset& rows, const Schema& schema, const ReadSettings& settings = {});

/// True if the test part of that data set is public: published with it, or named so by the settings (which load_dataset refuses for a set
/// without one).
bool names_public_test(std::string_view name, const ReadSettings& settings);

/// SHA-256 over shape, classes, labels and contents of both parts: identifies the data whatever their name.
std::string content_hash(const Dataset& train, const Dataset& test);

}  // namespace fedstride
