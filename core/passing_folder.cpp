#include "core/passing_folder.hpp"

#include <stdlib.h>

#include <system_error>

#include "core/error.hpp"

namespace fedstride {

PassingFolder::PassingFolder(const std::string& purpose) {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / ("fedstride-" + purpose + "-XXXXXX")).string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw failure("cannot create a temporary folder '" + name + "'; set TMPDIR to another folder");
  path_ = name;
}

PassingFolder::~PassingFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fedstride
