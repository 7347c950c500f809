#pragma once

#include <string>
#include <utility>
#include <vector>

namespace costate::cli {

/// The few elements that our figures consist of. Coordinates are in pixels.
class Svg {
 public:
  Svg(double width, double height);

  void line(double x1, double y1, double x2, double y2, const std::string& colour, double width);
  void polyline(const std::vector<std::pair<double, double>>& points, const std::string& colour,
                double width);
  void dot(double x, double y, double radius, const std::string& colour);
  /// @param anchor  "start", "middle" or "end"
  void label(double x, double y, const std::string& text, const char* anchor = "start");
  /// Read from the bottom to the top, centred at (x, y).
  void label_upwards(double x, double y, const std::string& text);

  [[nodiscard]] std::string document() const { return out_ + "</svg>\n"; }

 private:
  std::string out_;
};

/// Round positions for the ticks of an axis from 0 to `end`, about `wanted` of them.
std::vector<double> round_ticks(double end, int wanted);

/// A logarithmic axis: values from `low` to `high`, both > 0, lie between two pixels.
struct LogAxis {
  double low;
  double high;
  double first;  ///< pixel of `low`
  double last;   ///< pixel of `high`
  [[nodiscard]] double at(double value) const;
  /// Powers of ten, and twice and five times them if the axis is short.
  [[nodiscard]] std::vector<double> ticks() const;
  /// Some powers of two, at most nine.
  [[nodiscard]] std::vector<double> doublings() const;
};

/// A tick's value: "0.5", "2", "1000", "1e+06".
std::string axis_label(double value);

/// Colours that are told apart by everybody and in print (Okabe and Ito 2008).
inline constexpr const char* blue = "#0072b2";
inline constexpr const char* orange = "#e69f00";
inline constexpr const char* green = "#009e73";
inline constexpr const char* red = "#d55e00";
inline constexpr const char* purple = "#cc79a7";
inline constexpr const char* black = "#333333";
inline constexpr const char* grey = "#bbbbbb";

}  // namespace costate::cli
