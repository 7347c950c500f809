#include "svg.hpp"

#include <cmath>
#include <cstdio>

namespace costate::cli {
namespace {

std::string pixels(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Svg::Svg(double width, double height) {
  const std::string w = pixels(width);
  const std::string h = pixels(height);
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h +
         "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#333333\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& colour,
               double width) {
  out_ += "<line x1=\"" + pixels(x1) + "\" y1=\"" + pixels(y1) + "\" x2=\"" + pixels(x2) +
          "\" y2=\"" + pixels(y2) + "\" stroke=\"" + colour + "\" stroke-width=\"" + pixels(width) +
          "\"/>\n";
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, const std::string& colour,
                   double width) {
  out_ += "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" + pixels(width) +
          "\" points=\"";
  for (const auto& [x, y] : points) out_ += pixels(x) + "," + pixels(y) + " ";
  out_ += "\"/>\n";
}

void Svg::dot(double x, double y, double radius, const std::string& colour) {
  out_ += "<circle cx=\"" + pixels(x) + "\" cy=\"" + pixels(y) + "\" r=\"" + pixels(radius) +
          "\" fill=\"" + colour + "\"/>\n";
}

void Svg::label(double x, double y, const std::string& text, const char* anchor) {
  out_ += "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" text-anchor=\"" + anchor + "\">" +
          escaped(text) + "</text>\n";
}

void Svg::label_upwards(double x, double y, const std::string& text) {
  out_ += "<text text-anchor=\"middle\" transform=\"translate(" + pixels(x) + "," + pixels(y) +
          ") rotate(-90)\">" + escaped(text) + "</text>\n";
}

std::vector<double> round_ticks(double end, int wanted) {
  std::vector<double> ticks;
  if (!(end > 0)) return {0};
  double step = std::pow(10.0, std::floor(std::log10(end / wanted)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (end / (step * factor) <= wanted) {
      step *= factor;
      break;
    }
  }
  step = std::max(step, 1.0);
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

double LogAxis::at(double value) const {
  if (!(high > low)) return (first + last) / 2;
  return first + (last - first) * std::log(value / low) / std::log(high / low);
}

std::vector<double> LogAxis::ticks() const {
  std::vector<double> all;
  const bool few = high / low < 2e3;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = power * factor;
      if ((few || factor == 1.0) && value >= low && value <= high) all.push_back(value);
    }
  }
  return all;
}

std::vector<double> LogAxis::doublings() const {
  const int first_power = static_cast<int>(std::ceil(std::log2(low)));
  const int last_power = static_cast<int>(std::floor(std::log2(high)));
  constexpr int wanted = 8;
  const int stride = 1 + (last_power - first_power) / wanted;
  std::vector<double> all;
  for (int power = first_power; power <= last_power; power += stride) {
    all.push_back(std::exp2(power));
  }
  return all;
}

std::string axis_label(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  const std::string plain = text;
  const std::size_t power = plain.find("e+");
  if (power == std::string::npos) return plain;
  // 10⁷, 2·10⁷, …
  static constexpr const char* raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = plain.substr(0, power);
  out = out == "1" ? "10" : out + "·10";
  for (const char digit : std::to_string(std::stoi(plain.substr(power + 2)))) {
    out += raised[digit - '0'];
  }
  return out;
}

}  // namespace costate::cli
