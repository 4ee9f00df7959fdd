#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "data/data_folder.hpp"
#include "data/datasets.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test {

/// True if the files of a data set are where fedstride looks for them.
inline bool is_here(std::string_view set) {
  try {
    dataset_folder(dataset_source(set), {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

inline std::filesystem::path write(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// The one-line message of the Error that the call throws, of either kind; empty if it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return error.what();
  }
  return "";
}

/// How a file of the user's own is read, and where it is.
inline ReadSettings reading(const std::string& label, const std::string& client = "",
                            TargetsAre targets = TargetsAre::automatic) {
  return {.format = FileForm::automatic, .label = label, .client_column = client, .targets = targets};
}
inline ReadSettings as_form(FileForm form) {
  return {.format = form, .label = "", .client_column = "", .targets = TargetsAre::automatic};
}
inline DataOptions own(const std::filesystem::path& path, const ReadSettings& read = {}) {
  return {.data_dir = "", .data = path.string(), .read = read};
}

/// Checks that grey pictures are normalized by their own mean and deviation, as printed to four digits.
inline void check_normalization(const Dataset& train) {
  double sum = 0;
  double squares = 0;
  for (const auto pixel : train.pixels) {
    sum += pixel / 255.0;
    squares += pixel / 255.0 * pixel / 255.0;
  }
  const auto count = static_cast<double>(train.pixels.size());
  CHECK(sum / count == doctest::Approx(train.mean[0]).epsilon(0.001));
  CHECK(std::sqrt(squares / count - sum * sum / count / count) == doctest::Approx(train.deviation[0]).epsilon(0.001));
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace fedstride::test
