#include "core/large_memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <new>
#include <vector>

#include "tests/support/sanitized.hpp"

namespace fedstride::test::large_memory_test {

TEST_CASE("memory of any size is aligned and can be written to its end") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65535}, std::size_t{65536}, std::size_t{1} << 22}) {
    auto* const memory = static_cast<unsigned char*>(large_memory(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<unsigned char>(i);
    give_back(memory, bytes);
  }
  CHECK_THROWS_AS(static_cast<void>(large_memory(PTRDIFF_MAX)), std::bad_alloc);
}

TEST_CASE("what was given back is taken again for the same size, and no more is kept than is agreed") {
  if (is_sanitized()) return;  // the sanitizer's heap has it all
  constexpr std::size_t kSize = std::size_t{8} << 20;
  void* const first = large_memory(kSize);
  give_back(first, kSize);
  void* const second = large_memory(kSize);
  CHECK(second == first);
  give_back(second, kSize);
  std::vector<void*> many;
  for (int i = 0; i < 20; ++i) many.push_back(large_memory(kSize));
  for (void* memory : many) give_back(memory, kSize);  // most go back to the system
  void* const last = large_memory(kSize + 4096);       // another size
  CHECK(last != first);
  give_back(last, kSize + 4096);
}

}  // namespace fedstride::test::large_memory_test
