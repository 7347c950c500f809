#pragma once

#include <stdexcept>
#include <string>

namespace example {

// The value after `name` on the command line, or `otherwise`.
inline std::string option(int argc, char** argv, const std::string& name,
                          const std::string& otherwise) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] != name) continue;
    if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
    return argv[i + 1];
  }
  return otherwise;
}

}  // namespace example
