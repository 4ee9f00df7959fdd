#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

// Data sets that Python programs passed as objects (python/fedstride/_kept.py) and data in other formats
// (data/files/convert.hpp), converted once and kept as files in
// $XDG_CACHE_HOME/fedstride/objects, otherwise ~/.cache/fedstride/objects, readable only by their owner. The files' names are
// HMACs under a key stored next to them, so the names reveal nothing.

/// Where an object is kept.
struct KeptPlace {
  std::filesystem::path folder;
  std::string name;
};

/// The place of an object with this digest. Creates folder and key if missing. Throws Error (failure) if no environment variable
/// specifies a folder or the folder belongs to another user.
KeptPlace place_of_object(std::string_view digest);

/// A kept file.
struct KeptObject {
  std::string name;     ///< without its extension
  std::string made_of;  ///< the class of the object; empty if the file is damaged
  std::uint64_t bytes = 0;
  std::time_t last_used = 0;
};

/// All kept objects, most recently used first; none if there is no folder.
std::vector<KeptObject> kept_objects();

/// Removes and returns the kept object whose name begins with this. Throws Error (usage) unless exactly one matches.
KeptObject forget_object(std::string_view beginning);

/// Removes all kept objects and the key.
void forget_objects();

}  // namespace fedstride
