#include "report/gnuplot.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/html.hpp"

namespace fedstride {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

// Files without a name instead of pipes: neither side ever waits for the other.
File nameless(const std::string& contents = {}) {
  File file(std::tmpfile());
  if (!file || std::fwrite(contents.data(), 1, contents.size(), file.get()) != contents.size() || std::fflush(file.get()) != 0 ||
      ::lseek(fileno(file.get()), 0, SEEK_SET) != 0)
    throw failure(std::string("cannot make a temporary file for gnuplot: ") + std::strerror(errno));
  return file;
}

std::string contents(std::FILE* file) {
  std::string text;
  char buffer[1 << 16];
  ::lseek(fileno(file), 0, SEEK_SET);
  for (ssize_t count; (count = ::read(fileno(file), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

// gnuplot shows the line and a caret below it, then says what is wrong.
std::string reason(const std::string& said) {
  std::string last = "no reason";
  for (const auto line : split(said, '\n'))
    if (!trimmed(line).empty()) last = trimmed(line);
  return last;
}

}  // namespace

std::string run_gnuplot(const std::string& script) {
  const File input = nameless(script), output = nameless(), errors = nameless();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::unique_ptr<posix_spawn_file_actions_t, int (*)(posix_spawn_file_actions_t*)> release(
      &actions, posix_spawn_file_actions_destroy);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output.get()), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors.get()), 2);
  char name[] = "gnuplot", defaults[] = "--default-settings", standard_input[] = "-";
  char* arguments[] = {name, defaults, standard_input, nullptr};
  pid_t child = -1;
  if (const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ); error != 0)
    throw failure(error == ENOENT ? "figures need gnuplot, which is not here; install the package 'gnuplot-nox'"
                                  : std::string("cannot start gnuplot: ") + std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw failure(std::string("cannot wait for gnuplot: ") + std::strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw failure("gnuplot cannot draw a figure: " + (WIFEXITED(status)
                                                          ? reason(contents(errors.get()))
                                                          : "it was ended by signal " + std::to_string(WTERMSIG(status))));
  return contents(output.get());
}

std::string gnuplot_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : clean_text(text)) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
    // gnuplot 5.4 takes a doubled quote at the beginning for an empty text, and what follows for more of the command.
    if (c == '\'')
      quoted += "’";
    else
      quoted += is_control ? ' ' : c;
  }
  return quoted + "'";
}

}  // namespace fedstride
