#include "probes/gpu/cuda_load.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

namespace dvfs_plan {
namespace {

// Four chains of fused multiply-adds a thread, on registers alone. The result is stored only where it is 0,
// which it never is: without that the driver's compiler would leave all of it out. PTX 6.0 for sm_70 and
// newer (CUDA 9).
constexpr const char* kernel_text = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .entry load(.param .u64 out, .param .u32 rounds)
{
    .reg .f32 %f<6>;
    .reg .u32 %r<3>;
    .reg .u64 %d<2>;
    .reg .pred %p<3>;
    ld.param.u32 %r1, [rounds];
    ld.param.u64 %d1, [out];
    mov.f32 %f1, 0f3F800000;
    mov.f32 %f2, 0f3F000000;
    mov.f32 %f3, 0f3E800000;
    mov.f32 %f4, 0f3E000000;
    mov.f32 %f5, 0f3F7FFFFE;
    mov.u32 %r2, 0;
again:
    fma.rn.f32 %f1, %f1, %f5, %f5;
    fma.rn.f32 %f2, %f2, %f5, %f5;
    fma.rn.f32 %f3, %f3, %f5, %f5;
    fma.rn.f32 %f4, %f4, %f5, %f5;
    fma.rn.f32 %f1, %f1, %f5, %f5;
    fma.rn.f32 %f2, %f2, %f5, %f5;
    fma.rn.f32 %f3, %f3, %f5, %f5;
    fma.rn.f32 %f4, %f4, %f5, %f5;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    add.f32 %f1, %f1, %f2;
    add.f32 %f1, %f1, %f3;
    add.f32 %f1, %f1, %f4;
    setp.eq.f32 %p2, %f1, 0f00000000;
    @%p2 st.global.f32 [%d1], %f1;
    ret;
}
)";

// The CUDA driver API's handles and the little of it that is used; cuda.h, version 9.0 and newer.
using Device = int;
using Handle = void*;
constexpr int multiprocessors = 16;    // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr unsigned wait_blocking = 4;  // CU_CTX_SCHED_BLOCKING_SYNC
constexpr unsigned threads_a_block = 256, blocks_a_multiprocessor = 4;
// A launch must be short beside the shortest turn.
constexpr Seconds launch_length{0.002};

class Driver {
 public:
  ~Driver() {
    if (context_ != nullptr) context_destroy_(context_);
    if (library_ != nullptr) ::dlclose(library_);
  }

  // Empty, or why not.
  std::string open(const std::string& uuid) {
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return fmt::format("CUDA's driver library cannot be loaded ({})", ::dlerror());
    const bool all = find("cuInit", init_) && find("cuDeviceGetCount", count_) && find("cuDeviceGet", get_) &&
                     find("cuDeviceGetUuid", uuid_) && find("cuDeviceGetAttribute", attribute_) &&
                     find("cuCtxCreate_v2", context_create_) && find("cuCtxDestroy_v2", context_destroy_) &&
                     find("cuModuleLoadData", module_load_) && find("cuModuleGetFunction", function_) &&
                     find("cuMemAlloc_v2", allocate_) && find("cuLaunchKernel", launch_) &&
                     find("cuCtxSynchronize", synchronise_);
    if (!all) return "CUDA's driver library is older than CUDA 9.2";
    if (const std::string why = failed(init_(0), "cuInit"); !why.empty()) return why;
    Device device = -1;
    int boards = 0;
    count_(&boards);
    for (int i = 0; i < boards && device < 0; ++i) {
      Device one = 0;
      if (get_(&one, i) == 0 && uuid_text(one) == uuid) device = one;
    }
    if (device < 0) return fmt::format("CUDA shows no board {} (CUDA_VISIBLE_DEVICES, MIG)", uuid);
    int processors = 0;
    attribute_(&processors, multiprocessors, device);
    blocks_ = std::max(1U, static_cast<unsigned>(processors) * blocks_a_multiprocessor);
    Handle module = nullptr;
    for (const std::string& why :
         {failed(context_create_(&context_, wait_blocking, device), "cuCtxCreate"),
          context_ == nullptr ? "" : failed(module_load_(&module, kernel_text), "cuModuleLoadData"),
          module == nullptr ? "" : failed(function_(&kernel_, module, "load"), "cuModuleGetFunction"),
          kernel_ == nullptr ? "" : failed(allocate_(&out_, 256), "cuMemAlloc")}) {
      if (!why.empty()) return why;
    }
    return find_length();
  }

  // One launch, to its end; false if the driver refuses.
  bool compute() {
    void* arguments[] = {&out_, &rounds_};
    return launch_(kernel_, blocks_, 1, 1, threads_a_block, 1, 1, 0, nullptr, arguments, nullptr) == 0 &&
           synchronise_() == 0;
  }

 private:
  template <class Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  static std::string failed(int code, const char* what) {
    return code == 0 ? "" : fmt::format("{}: CUDA error {}", what, code);
  }

  std::string uuid_text(Device device) const {
    std::array<unsigned char, 16> bytes{};
    if (uuid_(bytes.data(), device) != 0) return {};
    std::string text = "GPU";
    for (std::size_t i = 0; i < bytes.size(); ++i)
      text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    return text;
  }

  // How many rounds a launch of the wanted length has; the first launch also waits for the driver's compiler.
  std::string find_length() {
    const SystemClock clock;
    constexpr std::uint32_t first_rounds = 2000;
    for (int k = 0; k < 3; ++k) {
      rounds_ = first_rounds;
      const Nanoseconds began = clock.now();
      if (!compute()) return "CUDA refuses to launch a kernel";
      const double took = seconds(clock.now() - began).value();
      scale_ = launch_length.value() / std::max(1e-5, took);
    }
    rounds_ = static_cast<std::uint32_t>(std::clamp(first_rounds * scale_, 100.0, 1e7));
    return {};
  }

  void* library_ = nullptr;
  Handle context_ = nullptr, kernel_ = nullptr;
  std::uint64_t out_ = 0;
  std::uint32_t rounds_ = 1;
  double scale_ = 1;
  unsigned blocks_ = 1;

  int (*init_)(unsigned) = nullptr;
  int (*count_)(int*) = nullptr;
  int (*get_)(Device*, int) = nullptr;
  int (*uuid_)(unsigned char*, Device) = nullptr;
  int (*attribute_)(int*, int, Device) = nullptr;
  int (*context_create_)(Handle*, unsigned, Device) = nullptr;
  int (*context_destroy_)(Handle) = nullptr;
  int (*module_load_)(Handle*, const void*) = nullptr;
  int (*function_)(Handle*, Handle, const char*) = nullptr;
  int (*allocate_)(std::uint64_t*, std::size_t) = nullptr;
  int (*launch_)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                 void**) = nullptr;
  int (*synchronise_)() = nullptr;
};

}  // namespace

std::vector<Seconds> random_turns(Seconds length, std::uint64_t seed) {
  constexpr double shortest = 0.03, longest = 0.5;
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::vector<Seconds> turns;
  double sum = 0;
  while (sum < length.value()) {
    const double u = std::generate_canonical<double, 24>(random);
    turns.push_back(Seconds{shortest * std::pow(longest / shortest, u)});
    sum += turns.back().value();
  }
  return turns;
}

CudaLoad load_cuda_board(const std::string& uuid, Seconds length, std::uint64_t seed) {
  CudaLoad load;
  Driver driver;
  load.problem = driver.open(uuid);
  if (!load.problem.empty()) return load;
  const SystemClock clock;
  bool on = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const Seconds turn : random_turns(length, seed)) {
    const Nanoseconds began = clock.now(), until = began + nanoseconds(turn);
    if (on) {
      while (clock.now() < until) {
        if (driver.compute()) continue;
        load.problem = "CUDA refuses to launch a kernel";
        return load;
      }
      load.on.emplace_back(began, clock.now());
    } else {
      std::this_thread::sleep_for(std::chrono::nanoseconds(until - clock.now()));
    }
    on = !on;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return load;
}

}  // namespace dvfs_plan
