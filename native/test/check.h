// What a test program of the core needs: cases that register themselves, checks that count, and a main that
// fails where nothing was checked.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace wafstate::test {

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}

inline long g_checks = 0;
inline long g_failures = 0;

struct Registration {
  Registration(const char* name, void (*run)()) { Cases().push_back({name, run}); }
};

inline void Check(bool holds, const char* what, const char* file, int line) {
  ++g_checks;
  if (holds) return;
  ++g_failures;
  // More of the same says nothing new.
  if (g_failures <= 20) std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

inline int RunAll(const char* program) {
  for (const Case& test : Cases()) {
    const long failures = g_failures;
    test.run();
    if (g_failures != failures) std::fprintf(stderr, "%s: case '%s' failed\n", program, test.name);
  }
  std::printf("%s: %zu cases, %ld checks, %ld failures\n", program, Cases().size(), g_checks, g_failures);
  return g_failures == 0 && g_checks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace wafstate::test

#define TEST_CASE(function)                                                                    \
  static void function();                                                                      \
  static const ::wafstate::test::Registration registration_of_##function(#function, function); \
  static void function()

#define CHECK(condition) ::wafstate::test::Check((condition), #condition, __FILE__, __LINE__)

#define TEST_MAIN(program)                    \
  int main() {                                \
    return ::wafstate::test::RunAll(program); \
  }
