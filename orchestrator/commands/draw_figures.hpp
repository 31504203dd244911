// Figures drawn by gnuplot, which is asked for once it is needed.
#pragma once

#include <string>

#include "results/figures/figures.hpp"

namespace dvfs_plan {

// Throws Error if there is no gnuplot in $PATH or it refuses; returns the files.
std::vector<std::string> draw_figures(const Summary& summary, const std::string& prefix, FigureFormat format);

}  // namespace dvfs_plan
