// A fuzz target (libFuzzer) of the reader of HDF5 files, on files in memory. The library works in a process of its own, where it may
// break down and be an error; so this asks that no fault of it gets here, and that the data that do are whole. tests/fuzz/hdf5 has
// seeds, made by tests/fuzz/hdf5_seeds.py: most in the library's oldest form, which has no checksums, so that altered bytes get far.

#include <fcntl.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "data/files/hdf5.hpp"
#include "tests/fuzz/checks.hpp"

namespace fedstride {
namespace {

void read_bytes(const std::string& bytes) {
  const ReadSettings settings;
  Assembly both("the file", "the file", settings);
  read_hdf5(fuzz::file_of(bytes, "hdf5"), {}, both, false);
  const DataPair pair = both.finish(false);
  fuzz::check(pair.train);
  fuzz::check(pair.test);
}

// A process that reads is not the fuzzer: its end writes no input and no report, and comes soon.
void forget_fuzzer() {
  __sanitizer_set_death_callback(nullptr);
  const rlimit time{.rlim_cur = 2, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &time);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(fault, SIG_DFL);
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerInitialize(int*, char***) { return pthread_atfork(nullptr, nullptr, fedstride::forget_fuzzer); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fedstride::fuzz::read_or_refuse([&] { fedstride::read_bytes({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
