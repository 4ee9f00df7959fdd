#pragma once

#include <filesystem>
#include <string>

namespace fedstride {

/// A new folder in the system's temporary folder, accessible only to its user, removed with its contents on destruction.
class PassingFolder {
 public:
  /// `purpose` is part of the folder's name. Throws Error (failure) if the folder cannot be created.
  explicit PassingFolder(const std::string& purpose);
  ~PassingFolder();
  PassingFolder& operator=(PassingFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fedstride
