#include "costate/schedule/action.hpp"

namespace costate {
namespace {

class Printer {
 public:
  std::string operator()(const Advance& a) const {
    return "advance " + std::to_string(a.from) + " " + std::to_string(a.to);
  }
  std::string operator()(const Save& a) const {
    const char* const what = a.what == Content::tape ? "save tape " : "save ";
    return what + std::to_string(a.at) + " -> #" + std::to_string(a.slot);
  }
  std::string operator()(const Load& a) const {
    return "load " + std::to_string(a.at) + " <- #" + std::to_string(a.slot);
  }
  std::string operator()(const Drop& a) const { return "drop #" + std::to_string(a.slot); }
  std::string operator()(const Record& a) const { return "record " + std::to_string(a.step); }
  std::string operator()(const Turn& a) const { return "turn " + std::to_string(a.at); }
  std::string operator()(const Reverse& a) const { return "reverse " + std::to_string(a.step); }
};

}  // namespace

std::string to_string(const Action& action) {
  return std::visit(Printer{}, action);
}

}  // namespace costate
