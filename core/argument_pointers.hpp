#pragma once

#include <span>
#include <string>
#include <vector>

namespace fedstride {

/// The words as a program's argv: a pointer to each and a null at the end, good for as long as the words are. exec and its kin take
/// them without const and change nothing.
inline std::vector<char*> argument_pointers(std::span<const std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace fedstride
