#include "costate/integrate/order_conditions.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "costate/core/error.hpp"

namespace costate {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// The next level sequence in Beyer's and Hedetniemi's order; false after the last one.
bool next(RootedTree& levels) {
  std::size_t p = levels.size() - 1;
  while (p > 0 && levels[p] == 2) --p;
  if (p == 0) return false;
  std::size_t q = p - 1;
  while (levels[q] != levels[p] - 1) --q;
  for (std::size_t i = p; i < levels.size(); ++i) levels[i] = levels[i - (p - q)];
  return true;
}

struct Condition {
  double defect;
  double rounding;  // what the defect may be in floating point
};

// Vertices are treated from the last to the root: each multiplies A Φ of itself into its parent.
// The same with absolute values bounds the rounding errors: with q vertices and s stages, a term of
// the sum is a product of q coefficients, made by q - 1 multiplications and q nested sums of s.
Condition condition(std::span<const double> a, std::span<const double> b, const RootedTree& tree) {
  const std::size_t stages = b.size();
  const std::size_t vertices = tree.size();
  std::vector<std::vector<double>> phi(vertices, std::vector<double>(stages, 1));
  std::vector<std::vector<double>> size_phi = phi;
  std::vector<double> above(vertices, 1);
  double density = 1;
  for (std::size_t v = vertices - 1; v > 0; --v) {
    density *= above[v];
    std::size_t parent = v - 1;
    while (tree[parent] != tree[v] - 1) --parent;
    above[parent] += above[v];
    for (std::size_t i = 0; i < stages; ++i) {
      double sum = 0;
      double size = 0;
      for (std::size_t j = 0; j < stages; ++j) {
        sum += a[i * stages + j] * phi[v][j];
        size += std::abs(a[i * stages + j]) * size_phi[v][j];
      }
      phi[parent][i] *= sum;
      size_phi[parent][i] *= size;
    }
  }
  density *= above[0];
  double sum = 0;
  double size = 0;
  for (std::size_t i = 0; i < stages; ++i) {
    sum += b[i] * phi[0][i];
    size += std::abs(b[i]) * size_phi[0][i];
  }
  const auto roundings = static_cast<double>(vertices * (stages + 2));
  return {std::abs(sum - 1 / density), roundings * std::numeric_limits<double>::epsilon() * size};
}

}  // namespace

std::vector<RootedTree> rooted_trees(int vertices) {
  if (vertices < 1) throw InvalidArgument("rooted_trees: a tree has at least one vertex");
  RootedTree levels(at(vertices));
  for (int i = 0; i < vertices; ++i) levels[at(i)] = i + 1;
  std::vector<RootedTree> trees{levels};
  while (next(levels)) trees.push_back(levels);
  return trees;
}

int order_of(std::span<const double> a, std::span<const double> b, int highest) {
  if (b.empty() || a.size() != b.size() * b.size()) {
    throw InvalidArgument("order_of: a must have as many rows and columns as b has entries");
  }
  if (highest < 1 || highest > 10) {
    throw InvalidArgument("order_of: the highest order must be 1 to 10, not " +
                          std::to_string(highest));
  }
  for (int order = 1; order <= highest; ++order) {
    for (const RootedTree& tree : rooted_trees(order)) {
      const Condition c = condition(a, b, tree);
      if (!(c.defect <= c.rounding)) return order - 1;
    }
  }
  return highest;
}

void check_order(const char* name, std::span<const double> a, std::span<const double> b,
                 int claimed) {
  const int found = order_of(a, b, claimed);
  if (found == claimed) return;
  throw InvalidArgument(std::string(name) + ": order " + std::to_string(claimed) +
                        " is claimed, but the coefficients have order " + std::to_string(found));
}

}  // namespace costate
