#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/files.hpp"
#include "sim/net/certificates.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test {

/// The files of a folder and their contents.
inline std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files[entry.path().filename()] = read_file(entry.path());
  return files;
}

}  // namespace fedstride::test
