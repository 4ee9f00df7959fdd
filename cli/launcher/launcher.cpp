// The program that the Debian package installs as `fedstride`. It executes the best of the installed builds that this processor
// supports, LIBRARY/fedstride/LEVEL/fedstride. It is compiled for every x86-64 processor, uses no other code of the project, and
// does not affect fedstride --version.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Level {
  const char* name;
  bool possible;
};

// Finds the builds' folder next to bin/: /usr/lib/fedstride for /usr/bin/fedstride. Returns false if the path is too long.
bool builds_folder(char* folder, std::size_t size) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return false;
  self[length] = '\0';
  for (int up = 0; up < 2; ++up) {
    char* slash = std::strrchr(self, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
  }
  const int written = std::snprintf(folder, size, "%s/lib/fedstride", self);
  return written > 0 && static_cast<std::size_t>(written) < size;
}

int complain(const char* text, const char* name, const char* reason) {
  std::fprintf(stderr, "fedstride: %s '%s'%s\n", text, name, reason);
  return 1;
}

}  // namespace

int main(int, char** argv) {
  __builtin_cpu_init();
  const Level levels[] = {{"x86-64-v4", __builtin_cpu_supports("x86-64-v4") != 0},
                          {"x86-64-v3", __builtin_cpu_supports("x86-64-v3") != 0},
                          {"x86-64-v2", __builtin_cpu_supports("x86-64-v2") != 0}};
  char folder[4096];
  if (!builds_folder(folder, sizeof folder)) return complain("cannot find the builds beside", "/proc/self/exe", "");

  const char* wanted = std::getenv("FEDSTRIDE_INSTRUCTIONS");
  if (wanted != nullptr && *wanted == '\0') wanted = nullptr;
  bool known = false, possible = false;
  for (const Level& level : levels) {
    if (wanted != nullptr && std::strcmp(wanted, level.name) != 0) continue;
    known = true;
    if (!level.possible) continue;
    possible = true;
    char program[4200];
    std::snprintf(program, sizeof program, "%s/%s/fedstride", folder, level.name);
    execv(program, argv);
    // This build is not in the package: try the next.
    if (errno == ENOENT && wanted == nullptr) continue;
    return complain("cannot start", program, (errno == ENOENT ? ", which is not installed" : ""));
  }
  if (!known) {
    complain("FEDSTRIDE_INSTRUCTIONS is", wanted, "; valid: x86-64-v2, x86-64-v3, x86-64-v4");
    return 2;
  }
  if (wanted != nullptr) return complain("FEDSTRIDE_INSTRUCTIONS is", wanted, ", which this processor does not support");
  if (possible) return complain("no build for this processor is in", folder, "");
  return complain("this processor does not support", "x86-64-v2", ", the lowest level installed");
}
