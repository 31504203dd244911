#include "base/units.hpp"

#include <gtest/gtest.h>
#include <random>

#include <cmath>

#include <algorithm>

#include "base/sysfs.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

TEST(Units, ReadsQuantitiesWithTheirDimension) {
  EXPECT_EQ(parse_quantity("1.8 GHz")->value, 1.8e9);
  EXPECT_EQ(parse_quantity("1.8 GHz")->dimension, Dimension::frequency);
  EXPECT_EQ(parse_quantity("500ms")->value, 0.5);
  EXPECT_EQ(parse_quantity("10 %")->value, 0.1);
  EXPECT_EQ(parse_quantity(" 2 MiB ")->value, 2.0 * 1024 * 1024);
  EXPECT_EQ(parse_quantity("3")->dimension, Dimension::none);
}

TEST(Units, RefusesWhatIsNoQuantity) {
  for (const char* text : {"", "GHz", "1.8 Ghz", "1,8 GHz", "nan", "inf", "0x10", "1 2", "--1"}) {
    EXPECT_FALSE(parse_quantity(text)) << text;
  }
}

TEST(Units, CaseOfAUnitMatters) {
  EXPECT_EQ(parse_quantity("5 mW")->value, 5e-3);
  EXPECT_FALSE(parse_quantity("5 MW"));
  EXPECT_EQ(suggest_unit("1.8 ghz"), "GHz");
  EXPECT_EQ(unit_hint("1.8 ghz", Dimension::frequency), " (did you mean the unit 'GHz'?)");
  EXPECT_EQ(unit_hint("5m", Dimension::time), " (did you mean the unit 'ms' or 'min'?)");
  EXPECT_EQ(unit_hint("0 ms", Dimension::time), "") << "the unit is right";
  EXPECT_EQ(unit_hint("10 sec", Dimension::time), " (did you mean the unit 's'?)");
  EXPECT_EQ(unit_hint("3 minutes", Dimension::time), " (did you mean the unit 'min'?)");
  EXPECT_EQ(unit_hint("2 K", Dimension::time), "");
  EXPECT_EQ(unit_hint("10 GB", Dimension::bytes), " (did you mean the unit 'GiB'?)");
}

TEST(Units, OneUnitInAnotherWhereTheyCompare) {
  EXPECT_DOUBLE_EQ(*unit_factor("ms", "us"), 1000);
  EXPECT_DOUBLE_EQ(*unit_factor("GiB", "MiB"), 1024);
  EXPECT_DOUBLE_EQ(*unit_factor("tokens/s", "tokens/s"), 1);
  EXPECT_DOUBLE_EQ(*unit_factor("1", ""), 1);
  for (const auto& [from, to] :
       {std::pair{"ms", "GiB"}, {"ms", ""}, {"", "ms"}, {"%", ""}, {"GB/s", "MB/s"}, {"k", ""}})
    EXPECT_FALSE(unit_factor(from, to)) << from << " in " << to;
}

TEST(Units, PrintsFrequenciesWithoutTrailingZeros) {
  EXPECT_EQ(format(Hertz{1.8e9}), "1.8 GHz");
  EXPECT_EQ(format(Hertz{3e9}), "3 GHz");
  EXPECT_EQ(format(Hertz{2.401e9}), "2.401 GHz");
  EXPECT_EQ(format(Hertz{545e6}), "545 MHz");
}

TEST(Units, PrintsDurationsAsPeopleSayThem) {
  EXPECT_EQ(format_duration(Seconds{0.08}), "80 ms");
  EXPECT_EQ(format_duration(Seconds{3.21}), "3.2 s");
  EXPECT_EQ(format_duration(Seconds{750}), "12 min 30 s");
  EXPECT_EQ(format_duration(Seconds{3900}), "1 h 05 min");
  EXPECT_EQ(format_duration(Seconds{59.97}), "1 min 00 s");
}

TEST(Units, JoulesAreWattsTimesSeconds) {
  EXPECT_EQ((Watts{50} * Seconds{2}).value(), 100);
}

TEST(Text, NearestWordIsNearEnoughOrNone) {
  EXPECT_EQ(nearest_word("repetitons", {"repetitions", "reference"}), "repetitions");
  EXPECT_EQ(nearest_word("qqq", {"repetitions", "reference"}), "");
}

TEST(Text, ShowsControlAndBidirectionalCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("x\xE2\x80\xAEy"), "x\\xe2\\x80\\xaey");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("Grüße ±"), "Grüße ±");
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
}

TEST(Text, FindsTheFirstByteThatIsNotUtf8) {
  EXPECT_EQ(first_invalid_utf8("abc"), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xC0\xAF"), 2U);     // overlong
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0U);   // a surrogate
  EXPECT_EQ(first_invalid_utf8("x\xF0\x9F\x98"), 1U);  // cut short
}

TEST(Text, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(valid_utf8("caf\xC3\xA9 ok\n"), "caf\xC3\xA9 ok\n");
  EXPECT_EQ(valid_utf8("\xA9 the rest of what was cut off"), " the rest of what was cut off");
  EXPECT_EQ(valid_utf8(std::string_view("a\xFF\0b\xC3", 5)),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8(""), "");
}

TEST(Text, NumbersAreInTheirOrder) {
  std::vector<std::string> names{"w n=10", "w n=2 b", "v n=3",     "w n=02",
                                 "w n=2",  "w",       "w n=100 x", "w n=2 a"};
  std::sort(names.begin(), names.end(), NaturalOrder());
  EXPECT_EQ(join(names, ", "), "v n=3, w, w n=02, w n=2, w n=2 a, w n=2 b, w n=10, w n=100 x");
  for (const std::string& a : names) {
    EXPECT_FALSE(NaturalOrder()(a, a)) << a;
    for (const std::string& b : names)
      EXPECT_TRUE(a == b || NaturalOrder()(a, b) != NaturalOrder()(b, a)) << a << b;
  }
}

TEST(Text, QuotesForTheShell) {
  EXPECT_EQ(shell_quote("plain-1.8"), "plain-1.8");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a\x1b[2J"), "'a'\"$(printf '\\033')\"'[2J'");
}

// What /bin/sh makes of it is the word, and nothing that a terminal obeys stands in it.
TEST(Text, QuotesAnyWordForTheShell) {
  std::minstd_rand random(7);
  const std::vector<std::string> pieces{"a",  " ",  "'",    "\"",   "$x",       "`id`",         "\\",   "\n",
                                        "\t", "\r", "\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xff", "ü"};
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (auto left = random() % 8; left > 0; --left) word += pieces[random() % pieces.size()];
    const std::string quoted = shell_quote(word);
    EXPECT_EQ(printable(quoted, true), quoted);
    FILE* const shell = ::popen(("printf %s " + quoted).c_str(), "r");
    ASSERT_NE(shell, nullptr);
    std::string said;
    for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) said += static_cast<char>(c);
    ::pclose(shell);
    EXPECT_EQ(said, word);
  }
}

TEST(CpuList, ReadsWhatTheKernelPrints) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
  for (const char* text : {"3-1", "a", "1-", "0-99999999", "1;2"}) EXPECT_FALSE(parse_cpu_list(text)) << text;
  EXPECT_EQ(format_cpu_list({8, 0, 1, 2}), "0-2,8");
}

// As a command gets it: any command reads it, and what it reads is what was asked for.
TEST(Units, ANumberOfAnySizeIsWrittenOutAndReadAgain) {
  EXPECT_EQ(format_quantity(0.00005, Dimension::none), "0.00005");
  EXPECT_EQ(format_quantity(-0.00003, Dimension::none), "-0.00003");
  EXPECT_EQ(format_quantity(40e-6, Dimension::time, 15), "0.00004 s");
  EXPECT_EQ(format_quantity(8e-6, Dimension::none), "0.000008");
  EXPECT_EQ(format_quantity(1.5e17, Dimension::none), "150000000000000000");
  EXPECT_EQ(format_quantity(1e-40, Dimension::none), "1e-40");
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> power(-45, 25), digit(1, 10);
  for (int i = 0; i < 20'000; ++i) {
    const double value = (i % 2 == 0 ? 1 : -1) * digit(random) * std::pow(10, std::floor(power(random)));
    for (const Dimension dimension : {Dimension::none, Dimension::time, Dimension::power, Dimension::ratio}) {
      const std::string text = format_quantity(value, dimension, 15);
      const auto again = parse_quantity(text);
      ASSERT_TRUE(again) << text;
      EXPECT_NEAR(again->value, value, 1e-14 * std::abs(value)) << text;
    }
  }
}

}  // namespace
}  // namespace dvfs_plan
