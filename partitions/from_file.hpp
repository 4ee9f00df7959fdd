#pragma once

#include <string>

#include "partitions/partitions.hpp"

namespace fedstride {

struct FromFileSettings {
  std::string partition_file;

  static constexpr auto kFields =
      fields(Field{"partition-file", &FromFileSettings::partition_file, "partition manifest to read (JSON)", kFile});
};

/// Reads the assignment from a JSON file {"clients": [[row, ...], ...]}: one list of rows per client. Each training row must be
/// in exactly one list, except for as many rows as the key "unused" gives (any number if it is "any"). Rows are numbered as in
/// the data file; rows held out for testing may appear and are skipped. Other keys are ignored, so a run's partition.json
/// (manifest.hpp) reads back as the same assignment. Throws Error: usage if no file is named or the number of clients differs,
/// failure if the file is malformed.
struct FromFile final : PartBase<PartitionPart, FromFile, FromFileSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "file";
  static constexpr std::string_view kSummary = "read from your own JSON manifest {\"clients\": [[row, ...], ...]}";

  Dealing dealing() const override { return Dealing::given; }
  const std::string* reads() const override { return &partition_file; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
