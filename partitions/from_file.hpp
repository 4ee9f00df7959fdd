#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Reads the assignment from a JSON file {"clients": [[row, ...], ...]}: one list of rows a client, each training row in
/// exactly one, but for as many as the key "unused" says. Rows have their numbers in the data's file; those held out as the test part
/// may be there, too, and are left out. Other keys are ignored, so a run's partition.json (manifest.hpp) reads back as the same assignment.
/// Errors: usage if no file is named or it has another number of clients, failure if the file is not of this form.
struct FromFile {
  std::string partition_file;

  static constexpr std::string_view kName = "file";
  static constexpr std::string_view kSummary = "a manifest of your own, JSON {\"clients\": [[row, ...], ...]}";
  static constexpr Dealing kDealing = Dealing::given;
  static constexpr auto kFields = std::tuple{
      Field{"partition-file", &FromFile::partition_file, "the manifest to read (JSON)", kFile},
  };

  std::string& reads() { return partition_file; }
  ClientRows assign(const PartitionInput& input) const;
};

}  // namespace fedstride
