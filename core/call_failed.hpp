#pragma once

#include <cerrno>
#include <string>

#include "core/error.hpp"

namespace fedstride {

/// The error for a system call that failed with `error`: temporary if it may be gone later (a full disk, no free descriptors), or a
/// failure.
inline Error call_failed(const std::string& message, int error) {
  const bool may_pass = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE;
  return may_pass ? temporary(message) : failure(message);
}

}  // namespace fedstride
