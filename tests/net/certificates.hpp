#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "net/certificates.hpp"

namespace fedstride::test {

template <class Action>
std::string failure_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::failure);
    return error.what();
  }
  return "no error";
}

inline std::string refusal(const TlsFiles& files, std::string_view name) {
  return failure_of([&] { check_files(files, name); });
}

inline bool says(const std::string& message, const std::string& part) {
  CHECK(message.find('\n') == message.npos);
  const bool found = message.find(part) != message.npos;
  if (!found) MESSAGE("it says: " << message);
  return found;
}

inline std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files[entry.path().filename()] = read_file(entry.path());
  return files;
}

}  // namespace fedstride::test
