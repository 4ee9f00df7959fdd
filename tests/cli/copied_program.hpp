#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/command_line.hpp"
#include "core/process.hpp"
#include "tests/cli/program.hpp"

namespace fedstride::test {

/// run_program() in a copy of this process, which spares the start of another: the sanitized program needs a second for it. For
/// commands that start no further programs, in tests without threads of their own.
inline Outcome run_copy(const Words& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder / "stdout.txt", err = folder / "stderr.txt";
  Words all{"fedstride"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = argument_pointers(all);
  std::fflush(nullptr);
  std::cout.flush();
  ChildProcess copy = forked([&] {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), kFlags, 0644), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), kFlags, 0644), STDERR_FILENO);
    const int code = command_line(static_cast<int>(all.size()), const_cast<char**>(pointers.data()));
    std::cout.flush();
    std::fflush(nullptr);
    return code;
  });
  const int code = copy.wait();
  return {code, read_file(out), read_file(err)};
}

}  // namespace fedstride::test
