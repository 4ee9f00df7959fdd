#include "core/large_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace fedstride {
namespace {

constexpr std::align_val_t kLine{64};
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kLarge = PTRDIFF_MAX;  // the sanitizer checks bounds only on the heap
#else
constexpr std::size_t kLarge = std::size_t{64} << 10;
#endif
constexpr std::size_t kPage = 4096;

// Freed blocks kept for reuse, by size. Never destroyed, because static vectors may release their memory at any time during exit.
struct Kept {
  std::mutex mutex;
  std::multimap<std::size_t, void*> blocks;
  std::size_t bytes = 0;  // in these blocks
  std::size_t used = 0;   // in blocks now in use
};
Kept& kept() {
  static Kept& one = *new Kept;
  return one;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

void* large_memory(std::size_t bytes) {
  if (bytes < kLarge) return ::operator new(bytes, kLine);
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  const std::size_t size = whole_pages(bytes);
  Kept& all = kept();
  {
    const std::lock_guard lock(all.mutex);
    all.used += size;
    if (const auto found = all.blocks.find(size); found != all.blocks.end()) {
      void* memory = found->second;
      all.blocks.erase(found);
      all.bytes -= size;
      return memory;
    }
  }
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return memory;
  const std::lock_guard lock(all.mutex);
  all.used -= size;
  throw std::bad_alloc();
}

void give_back(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLarge) return ::operator delete(memory, kLine);
  constexpr std::size_t kAlways = std::size_t{64} << 20;
  const std::size_t size = whole_pages(bytes);
  Kept& all = kept();
  {
    const std::lock_guard lock(all.mutex);
    all.used -= size;
    if (all.bytes + size <= std::max(kAlways, all.used / 2)) {
      all.blocks.emplace(size, memory);
      all.bytes += size;
      return;
    }
  }
  ::munmap(memory, size);
}

}  // namespace fedstride
