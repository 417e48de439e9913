// The rules of bench/rules on libmodsecurity 3, collections in memory, one transaction after the other as a
// web server makes them.
//
//   modsecurity RULES KEYS SECONDS    prints {"transactions", "seconds", "refused", "state"} as JSON
//
// `state` is one counter as the last transaction of the last address left it: what shows that the rules ran.

#include <modsecurity/modsecurity.h>
#include <modsecurity/rules_set.h>
#include <modsecurity/transaction.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// 10.0.0.0 is number 0, as in bench/load/keys.ts.
std::string address(std::uint32_t number) {
  const std::uint32_t bits = 0x0a000000U + number;
  return std::to_string(bits >> 24U) + '.' + std::to_string((bits >> 16U) & 255U) + '.' +
         std::to_string((bits >> 8U) & 255U) + '.' + std::to_string(bits & 255U);
}

/// Any generator will do: every address is as likely as any other.
class Draw {
 public:
  explicit Draw(std::uint32_t count) : count_(count) {}

  std::uint32_t operator()() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::uint32_t>((state_ >> 32U) % count_);
  }

 private:
  std::uint64_t state_ = 88172645463325252U;
  std::uint32_t count_;
};

void addHeader(modsecurity::Transaction& transaction, std::string_view name, std::string_view value) {
  transaction.addRequestHeader(reinterpret_cast<const unsigned char*>(name.data()), name.size(),
                               reinterpret_cast<const unsigned char*>(value.data()), value.size());
}

bool isRefused(modsecurity::Transaction& transaction) {
  modsecurity::ModSecurityIntervention intervention{};
  intervention.status = 200;
  const bool refused = transaction.intervention(&intervention);
  std::free(intervention.log);
  std::free(intervention.url);
  return refused;
}

/// The request of bench/subjects/ruled-request.ts.
bool judge(modsecurity::ModSecurity& engine, modsecurity::RulesSet& rules, const std::string& client) {
  constexpr std::string_view kBody = "user=alice&password=wrong";
  modsecurity::Transaction transaction(&engine, &rules, nullptr);
  transaction.processConnection(client.c_str(), 40000, "127.0.0.1", 80);
  transaction.processURI("/login?next=%2Faccount", "POST", "1.1");
  addHeader(transaction, "Host", "shop.example");
  addHeader(transaction, "User-Agent", "Mozilla/5.0 (X11; Linux x86_64)");
  addHeader(transaction, "Accept", "text/html,application/xhtml+xml");
  addHeader(transaction, "Content-Type", "application/x-www-form-urlencoded");
  addHeader(transaction, "Content-Length", "25");
  addHeader(transaction, "Cookie", "theme=dark; sid=0123456789abcdef0123456789abcdef");
  transaction.processRequestHeaders();
  transaction.appendRequestBody(reinterpret_cast<const unsigned char*>(kBody.data()), kBody.size());
  transaction.processRequestBody();
  transaction.addResponseHeader("Content-Type", "text/html");
  transaction.processResponseHeaders(401, "HTTP/1.1");
  transaction.processResponseBody();
  const bool refused = isRefused(transaction);
  transaction.processLogging();
  return refused;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: modsecurity RULES KEYS SECONDS\n", stderr);
    return 2;
  }
  modsecurity::ModSecurity engine;
  engine.setServerLogCb([](void*, const void*) {});
  modsecurity::RulesSet rules;
  if (rules.loadFromUri(argv[1]) < 0) {
    std::fprintf(stderr, "%s\n", rules.getParserError().c_str());
    return 1;
  }
  const auto count = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const double seconds = std::strtod(argv[3], nullptr);
  if (count == 0 || !(seconds > 0)) {
    std::fputs("modsecurity: KEYS and SECONDS are positive\n", stderr);
    return 2;
  }
  std::vector<std::string> clients;
  for (std::uint32_t number = 0; number < count; number++)
    clients.push_back(address(number));

  // Every record is there before the clock starts.
  for (const std::string& client : clients)
    judge(engine, rules, client);
  Draw draw(count);
  std::uint64_t transactions = 0;
  std::uint64_t refused = 0;
  const Clock::time_point start = Clock::now();
  std::chrono::duration<double> passed{};
  while (passed.count() < seconds) {
    for (int turn = 0; turn < 32; turn++)
      refused += judge(engine, rules, clients[draw()]) ? 1U : 0U;
    transactions += 32;
    passed = Clock::now() - start;
  }
  std::unique_ptr<std::string> state = engine.m_global_collection->resolveFirst("requests", "all", "");
  std::printf("{\"transactions\":%llu,\"seconds\":%.6f,\"refused\":%llu,\"state\":\"%s\"}\n",
              static_cast<unsigned long long>(transactions), passed.count(),
              static_cast<unsigned long long>(refused), state ? state->c_str() : "");
  return 0;
}
