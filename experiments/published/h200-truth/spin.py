#!/usr/bin/env python3
"""spin.py LOAD: a load of known shape on every board that CUDA_VISIBLE_DEVICES leaves, through libcuda alone (a start takes
half a second); marks it as region 'load'.

LOAD: same LAUNCHES (the same work each time, metric 'launches'); region SECONDS; step; many; on-off MILLISECONDS; square
MILLISECONDS. All but the first rest 1.3 s before and behind, so that an independent reader sees rest on both sides.
"""
import ctypes
import sys
import time

from load_shapes import play, regions

# Four chains of fused multiply-adds a thread; the result is stored only if it is one it never is, so that nothing is left out.
PTX = b"""
.version 6.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
    .reg .f32 %f<6>; .reg .u32 %r<3>; .reg .u64 %d<2>; .reg .pred %p<3>;
    ld.param.u32 %r1, [rounds];
    ld.param.u64 %d1, [out];
    mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3E800000; mov.f32 %f4, 0f3E000000;
    mov.f32 %f5, 0f3F7FFFFE;
    mov.u32 %r2, 0;
again:
    fma.rn.f32 %f1, %f1, %f5, %f5; fma.rn.f32 %f2, %f2, %f5, %f5; fma.rn.f32 %f3, %f3, %f5, %f5; fma.rn.f32 %f4, %f4, %f5, %f5;
    fma.rn.f32 %f1, %f1, %f5, %f5; fma.rn.f32 %f2, %f2, %f5, %f5; fma.rn.f32 %f3, %f3, %f5, %f5; fma.rn.f32 %f4, %f4, %f5, %f5;
    fma.rn.f32 %f1, %f1, %f5, %f5; fma.rn.f32 %f2, %f2, %f5, %f5; fma.rn.f32 %f3, %f3, %f5, %f5; fma.rn.f32 %f4, %f4, %f5, %f5;
    fma.rn.f32 %f1, %f1, %f5, %f5; fma.rn.f32 %f2, %f2, %f5, %f5; fma.rn.f32 %f3, %f3, %f5, %f5; fma.rn.f32 %f4, %f4, %f5, %f5;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3; add.f32 %f1, %f1, %f4;
    setp.eq.f32 %p2, %f1, 0f00000000;
    @%p2 st.global.f32 [%d1], %f1;
    ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def must(answer, what):
    if answer != 0:
        sys.exit(f"spin.py: {what}: CUDA error {answer}")


class Board:
    def __init__(self, index):
        self.context, self.module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        device, processors, self.out = ctypes.c_int(), ctypes.c_int(), ctypes.c_uint64()
        must(cuda.cuDeviceGet(ctypes.byref(device), index), "cuDeviceGet")
        must(cuda.cuDeviceGetAttribute(ctypes.byref(processors), 16, device), "cuDeviceGetAttribute")
        must(cuda.cuCtxCreate_v2(ctypes.byref(self.context), 4, device), "cuCtxCreate")  # 4: wait without spinning
        must(cuda.cuModuleLoadData(ctypes.byref(self.module), PTX), "cuModuleLoadData")
        must(cuda.cuModuleGetFunction(ctypes.byref(self.kernel), self.module, b"spin"), "cuModuleGetFunction")
        must(cuda.cuMemAlloc_v2(ctypes.byref(self.out), 256), "cuMemAlloc")
        self.processors = processors.value

    def launch(self, share=1.0, rounds=30000):
        must(cuda.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        count = ctypes.c_uint32(rounds)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(self.out), ctypes.addressof(count))
        blocks = max(1, int(self.processors * 4 * share))
        must(cuda.cuLaunchKernel(self.kernel, blocks, 1, 1, 256, 1, 1, 0, None, arguments, None), "cuLaunchKernel")

    def wait(self):
        must(cuda.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        must(cuda.cuCtxSynchronize(), "cuCtxSynchronize")


must(cuda.cuInit(0), "cuInit")
count = ctypes.c_int()
must(cuda.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
boards = [Board(i) for i in range(count.value)]


def once(share=1.0):
    for board in boards:
        board.launch(share)
    for board in boards:
        board.wait()


def work(until, share=1.0):
    while time.monotonic() < until:
        once(share)


kind, length = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0
work(time.monotonic() + 0.1)
if kind == "same":
    regions.begin("load")
    for _ in range(int(length)):
        once()
    regions.end("load")
    regions.metric("launches", length)
    sys.exit(0)
play(kind, length, work, lambda until: work(until, 0.25))
