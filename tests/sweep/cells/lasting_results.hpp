#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride::test {

/// The rounds and models of a sweep's cells as one text, without what a second run does not repeat.
inline std::string lasting_results(const std::filesystem::path& sweep) {
  using Entries = std::filesystem::directory_iterator;
  std::string text;
  for (const auto& cell : std::set<std::filesystem::path>(Entries(sweep / "cells"), Entries())) {
    text += cell.filename().string() + '\n';
    const std::string rounds = read_file(cell / "rounds.jsonl");
    for (const auto line : split(trimmed(rounds), '\n')) {
      fedstride::Json json = fedstride::parse_json(line);
      for (const char* timing : {"seconds", "evaluation_seconds", "examples_per_second"}) json.erase(timing);
      text += fedstride::dump_json(json) + '\n';
    }
    text += fedstride::parse_json(read_file(cell / "summary.json")).at("model_hash").get<std::string>() + '\n';
  }
  return text;
}

}  // namespace fedstride::test
