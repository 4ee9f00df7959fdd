#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

// Data sets that Python programs brought as objects, as converted once (python/fedstride/_kept.py): files in
// $XDG_CACHE_HOME/fedstride/objects, else ~/.cache/fedstride/objects, which their owner alone can read. Their names are an HMAC under a
// key that lies beside them, so that they tell nothing.

/// Where an object is kept.
struct KeptPlace {
  std::filesystem::path folder;
  std::string name;
};

/// The place of an object with this digest. Makes folder and key if they are not there. Throws Error (failure) if nothing names a folder,
/// or it is another user's.
KeptPlace place_of_object(std::string_view digest);

/// A file that is kept.
struct KeptObject {
  std::string name;     ///< without its ending
  std::string made_of;  ///< the class of the object; empty if the file is damaged
  std::uint64_t bytes = 0;
  std::time_t last_used = 0;
};

/// All of them, the one used last first; none if there is no folder.
std::vector<KeptObject> kept_objects();

/// Removes the one whose name begins like that. Throws Error (usage) unless it is one.
KeptObject forget_object(std::string_view beginning);

/// Removes all of them and the key.
void forget_objects();

}  // namespace fedstride
