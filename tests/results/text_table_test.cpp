// Tables and paragraphs on terminals of any width.
#include <gtest/gtest.h>

#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

TextTable clocks_table() {
  TextTable table;
  table.row({" ", "cpu.frequency", "energy", "saving"});
  table.row({"*", "1.8 GHz", "52.84 ± 0.16 J", "27.7 % [26.5, 29.3]"}, true);
  table.row({" ", "3 GHz", "73.1 ± 1.2 J", "reference"});
  return table;
}

TEST(TextTable, IsInColumnsWhereTheyFit) {
  const std::string text =
      "  cpu.frequency   energy           saving\n"
      "* 1.8 GHz         52.84 ± 0.16 J   27.7 % [26.5, 29.3]\n"
      "  3 GHz           73.1 ± 1.2 J     reference\n";
  EXPECT_EQ(clocks_table().text({}), text);
  EXPECT_EQ(clocks_table().text({false, 54}), text);
  EXPECT_EQ(clocks_table().text({true, 0}).find("\x1b[1m* 1.8 GHz"), text.find("* 1.8 GHz"));
}

TEST(TextTable, IsInBlocksWhereTheyDoNotAndBreaksNoCell) {
  EXPECT_EQ(clocks_table().text({false, 53}),
            "* cpu.frequency 1.8 GHz, energy 52.84 ± 0.16 J,\n"
            "    saving 27.7 % [26.5, 29.3]\n"
            "  cpu.frequency 3 GHz, energy 73.1 ± 1.2 J,\n"
            "    saving reference\n");
}

TEST(Wrapped, BreaksAtSpacesAndGoesOnAsFarIn) {
  EXPECT_EQ(wrapped("one two three\n  four five six\n", 9), "one two\nthree\n  four\n  five\n  six\n");
  EXPECT_EQ(wrapped("a_word_without_a_space and more", 10), "a_word_without_a_space\nand more");
  EXPECT_EQ(wrapped("± ± ± ±", 3), "± ±\n± ±");
  EXPECT_EQ(wrapped("\x1b[1mbold text\x1b[0m", 9), "\x1b[1mbold text\x1b[0m");
  EXPECT_EQ(wrapped("as it is", 0), "as it is");
  EXPECT_EQ(wrapped("", 5), "");
}

}  // namespace
}  // namespace dvfs_plan
