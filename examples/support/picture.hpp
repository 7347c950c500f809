#pragma once

// Pictures for the examples: a field as PNG (through libpng), curves as SVG.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <png.h>

namespace picture {

using Colour = std::array<double, 3>;  // red, green, blue in [0, 1]

// Piecewise linear through the given colours, t in [0, 1].
template <std::size_t N>
Colour between(const std::array<Colour, N>& stops, double t) {
  const double x = std::clamp(t, 0.0, 1.0) * static_cast<double>(N - 1);
  const auto i = std::min(static_cast<std::size_t>(x), N - 2);
  const double w = x - static_cast<double>(i);
  Colour out{};
  for (std::size_t c = 0; c < 3; ++c) out[c] = (1 - w) * stops[i][c] + w * stops[i + 1][c];
  return out;
}

// Dark blue over green to yellow: for fields of one sign.
inline Colour sequential(double t) {
  static constexpr std::array<Colour, 5> stops = {{{0.27, 0.00, 0.33},
                                                   {0.23, 0.32, 0.55},
                                                   {0.13, 0.57, 0.55},
                                                   {0.37, 0.79, 0.38},
                                                   {0.99, 0.91, 0.14}}};
  return between(stops, t);
}

// Blue over white to red: for fields of both signs; 0.5 is zero.
inline Colour diverging(double t) {
  static constexpr std::array<Colour, 5> stops = {{{0.02, 0.19, 0.38},
                                                   {0.26, 0.58, 0.76},
                                                   {0.97, 0.97, 0.97},
                                                   {0.84, 0.38, 0.30},
                                                   {0.40, 0.00, 0.12}}};
  return between(stops, t);
}

struct Panel {
  std::vector<double> values;  // shape (height, width), row by row
  bool both_signs = false;     // symmetric about zero
};

// Panels of one size side by side, each scaled to its own range.
inline void write_png(const std::string& path, std::size_t width, std::size_t height,
                      const std::vector<Panel>& panels) {
  constexpr std::size_t gap = 8;
  const std::size_t whole = panels.size() * (width + gap) - gap;
  std::vector<std::uint8_t> pixels(3 * whole * height, 255);
  for (std::size_t n = 0; n < panels.size(); ++n) {
    const Panel& panel = panels[n];
    double low = *std::min_element(panel.values.begin(), panel.values.end());
    double high = *std::max_element(panel.values.begin(), panel.values.end());
    if (panel.both_signs) {
      high = std::max(std::abs(low), std::abs(high));
      low = -high;
    }
    const double range = high > low ? high - low : 1;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const double t = (panel.values[y * width + x] - low) / range;
        const Colour colour = panel.both_signs ? diverging(t) : sequential(t);
        for (std::size_t c = 0; c < 3; ++c) {
          pixels[3 * (y * whole + n * (width + gap) + x) + c] =
              static_cast<std::uint8_t>(std::lround(255 * colour[c]));
        }
      }
    }
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(whole);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot write " + path + ": " + image.message);
  }
}

struct Series {
  std::string label;
  std::string colour;
  bool line = true;  // a line, or dots
  std::vector<double> x;
  std::vector<double> y;
};

// A chart with linear axes.
inline void write_svg(const std::string& path, const std::string& title, const std::string& x_label,
                      const std::string& y_label, const std::vector<Series>& series) {
  constexpr double width = 720;
  constexpr double height = 400;
  constexpr double left = 70;
  constexpr double right = 20;
  constexpr double top = 40;
  constexpr double bottom = 50;
  double x0 = std::numeric_limits<double>::infinity();
  double x1 = -x0;
  double y0 = x0;
  double y1 = -x0;
  for (const Series& s : series) {
    for (const double x : s.x) x0 = std::min(x0, x), x1 = std::max(x1, x);
    for (const double y : s.y) y0 = std::min(y0, y), y1 = std::max(y1, y);
  }
  y0 = std::min(y0, 0.0);
  y1 += 0.05 * (y1 - y0);
  const auto px = [&](double x) { return left + (x - x0) / (x1 - x0) * (width - left - right); };
  const auto py = [&](double y) {
    return height - bottom - (y - y0) / (y1 - y0) * (height - top - bottom);
  };
  // Ticks at 1, 2 or 5 times a power of ten.
  const auto spacing = [](double range) {
    const double power = std::pow(10, std::floor(std::log10(range / 5)));
    const double rest = range / 5 / power;
    return (rest < 1.5 ? 1 : (rest < 3.5 ? 2 : 5)) * power;
  };

  std::ofstream out(path);
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
      << "' font-family='sans-serif' font-size='13'>\n<rect width='100%' height='100%' "
         "fill='white'/>\n<text x='"
      << left << "' y='24' font-size='16'>" << title << "</text>\n";
  const double dx = spacing(x1 - x0);
  for (double x = std::ceil(x0 / dx) * dx; x <= x1 + 1e-9 * dx; x += dx) {
    out << "<line x1='" << px(x) << "' x2='" << px(x) << "' y1='" << py(y0) << "' y2='" << py(y1)
        << "' stroke='#eee'/><text x='" << px(x) << "' y='" << py(y0) + 18
        << "' text-anchor='middle'>" << std::round(x / dx) * dx << "</text>\n";
  }
  const double dy = spacing(y1 - y0);
  for (double y = std::ceil(y0 / dy) * dy; y <= y1 + 1e-9 * dy; y += dy) {
    out << "<line x1='" << px(x0) << "' x2='" << px(x1) << "' y1='" << py(y) << "' y2='" << py(y)
        << "' stroke='#eee'/><text x='" << left - 8 << "' y='" << py(y) + 4
        << "' text-anchor='end'>" << std::round(y / dy) * dy << "</text>\n";
  }
  out << "<text x='" << (left + width - right) / 2 << "' y='" << height - 12
      << "' text-anchor='middle'>" << x_label << "</text>\n<text transform='translate(18,"
      << (top + height - bottom) / 2 << ") rotate(-90)' text-anchor='middle'>" << y_label
      << "</text>\n";
  double key = left + 10;
  for (const Series& s : series) {
    if (s.line) {
      out << "<polyline fill='none' stroke-width='2' stroke='" << s.colour << "' points='";
      for (std::size_t i = 0; i < s.x.size(); ++i) out << px(s.x[i]) << ',' << py(s.y[i]) << ' ';
      out << "'/>\n";
    } else {
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        out << "<circle r='4' fill='" << s.colour << "' cx='" << px(s.x[i]) << "' cy='"
            << py(s.y[i]) << "'/>\n";
      }
    }
    out << "<circle r='5' cx='" << key << "' cy='" << top + 4 << "' fill='" << s.colour
        << "'/><text x='" << key + 10 << "' y='" << top + 8 << "'>" << s.label << "</text>\n";
    key += 30 + 7.5 * static_cast<double>(s.label.size());
  }
  out << "</svg>\n";
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace picture
