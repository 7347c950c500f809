#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace costate::test {

/// A new folder that is gone, with all that is in it, at the end of the scope.
class TempFolder {
 public:
  TempFolder() {
    std::string text = (std::filesystem::temp_directory_path() / "costate-test-XXXXXX").string();
    path_ = mkdtemp(text.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// The paths of what is in it.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().string());
    }
    return found;
  }

 private:
  std::string path_;
};

}  // namespace costate::test
