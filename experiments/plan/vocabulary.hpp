// The names that an experiment file may use for what the rooms above this one hold: knobs, probes, searches.
// Handed to the parser, which knows of none by itself; orchestrator/commands/vocabulary.cpp gathers them from
// what is registered.
#pragma once

#include <string>
#include <vector>

namespace dvfs_plan {

struct Vocabulary {
  std::vector<std::string>
      knobs;  // of axes, without target: "cpu.frequency"; a family ends in '.': "devfreq."
  struct Probe {
    std::string name;
    bool of_boards = false;
  };
  std::vector<Probe> probes;
  struct Search {
    std::string name;
    bool by_model = false;  // stops by what a model says of the settings, and may learn from earlier results
  };
  std::vector<Search> searches;          // `full`, which plans all trials ahead, among them
  std::vector<std::string> meters = {};  // on the network: "shelly"
};

}  // namespace dvfs_plan
