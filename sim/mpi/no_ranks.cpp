#include "core/error.hpp"
#include "sim/mpi/ranks.hpp"

// In a build without MPI, join() always throws, so nothing else here is ever called.
namespace fedstride {

struct Ranks::Group {};

std::unique_ptr<Ranks> Ranks::join() {
  throw usage_error(
      "fleet is 'mpi', but this build has no MPI; valid: in-process. For MPI, install libopenmpi-dev and openmpi-bin and rebuild "
      "with -DFEDSTRIDE_MPI=ON");
}

Ranks::Ranks(std::unique_ptr<Group> group) : group_(std::move(group)) {}
Ranks::~Ranks() = default;
int Ranks::rank() const { return 0; }
int Ranks::size() const { return 1; }
std::string Ranks::name(int) const { return {}; }
std::unique_ptr<Ranks> Ranks::split(int) { return nullptr; }
void Ranks::watch(const std::atomic<bool>*, double) {}
void Ranks::broadcast(std::string&, std::uint64_t) {}
void Ranks::broadcast(std::span<float>) {}
std::vector<std::string> Ranks::gather(const std::string&, std::uint64_t, function_ref<void()>, int) { return {}; }
void Ranks::sum(std::span<__int128>) {}
void Ranks::send(int, const Note&) {}
std::optional<std::pair<int, Note>> Ranks::next_note() { return std::nullopt; }
void Ranks::abort(const std::string& message) const { throw failure(message); }

}  // namespace fedstride
