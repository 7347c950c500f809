#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>

/// What running the command gave.
struct Ran {
  int status;          ///< exit status
  std::string output;  ///< stdout and stderr together
};

/// Runs `costate` with these arguments (of the shell's syntax).
inline Ran costate_command(const std::string& arguments) {
  const std::string line = std::string(COSTATE_COMMAND) + " " + arguments + " 2>&1";
  std::FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot run " + line};
  Ran ran{-1, ""};
  char buffer[4096];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) ran.output.append(buffer, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.status = WEXITSTATUS(status);
  return ran;
}

/// The value of a key of one of our JSON objects, as text; of nested objects the first one's.
inline std::string json_value(const std::string& json, const std::string& key) {
  const std::string name = "\"" + key + "\": ";
  const std::size_t at = json.find(name);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size();
  return json.substr(begin, json.find_first_of(",}\n", begin) - begin);
}
