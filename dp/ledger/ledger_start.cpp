#include "dp/ledger/ledger_start.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {

bool holds_reservation(const std::filesystem::path& ledger) {
  std::error_code error;
  if (!std::filesystem::exists(ledger, error) && !error) return false;
  size_of_file(ledger);
  std::ifstream file(ledger, std::ios::binary);
  std::array<char, 4096> some{};
  for (std::ptrdiff_t ended = 0; file;) {
    file.read(some.data(), some.size());
    // A line that does not end was never synced: what it would have reserved had not begun.
    ended += std::count(some.begin(), some.begin() + file.gcount(), '\n');
    if (ended > 1) return true;
  }
  if (!file.eof()) throw failure("cannot read the ledger '" + ledger.string() + "'");
  return false;
}

void remove_unused_ledger(const std::filesystem::path& ledger) {
  if (holds_reservation(ledger))
    throw failure("the ledger '" + ledger.string() +
                  "' holds releases, but what continues them is gone; beginning anew here would use their noise again: put the "
                  "checkpoint back (a client: its memory), or begin in another folder");
  std::error_code error;
  std::filesystem::remove(ledger, error);
  if (error) throw failure("cannot remove '" + ledger.string() + "': " + error.message());
}

}  // namespace fedstride
