// The two main figures for papers and mail, without a browser: energy against the settings, and against time.
// Gnuplot draws them (Debian: gnuplot-nox); what it is told is text, made here. Pure.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

enum class FigureFormat { svg, png };

struct Figure {
  std::string
      file;  // PREFIX-settings.svg, PREFIX-trade-off.svg; with several scenarios PREFIX-2-settings.svg
  std::string script;  // for gnuplot
};

// Of each scenario those that its points can fill.
std::vector<Figure> figures(const Summary& summary, const std::string& prefix, FigureFormat format);

}  // namespace dvfs_plan
