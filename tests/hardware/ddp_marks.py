"""Data-parallel training on all boards, started by torchrun: every rank marks `train`, or its leader alone.

torchrun --standalone --nproc-per-node=2 ddp_marks.py every|leader

Each rank first opens a checkpoint of its own, which takes the lowest descriptor free; it must be untouched at the end.
"""
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

checkpoint = open(f"checkpoint-{os.environ['RANK']}", "wb")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments/regions"))
import dvfs_plan_regions as regions  # noqa: E402

SECONDS, BATCH, WIDTH = 6.0, 4096, 4096
every = sys.argv[1] == "every"
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(8)]).cuda()
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
batch = torch.randn(BATCH, WIDTH, device="cuda")


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(batch).square().mean()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


for _ in range(20):
    step()
torch.cuda.synchronize()
# As many steps as take about SECONDS, the same on each rank.
began = time.monotonic()
for _ in range(20):
    step()
torch.cuda.synchronize()
steps = torch.tensor([int(SECONDS / (time.monotonic() - began) * 20)], device="cuda")
dist.broadcast(steps, 0)
dist.barrier()
torch.cuda.synchronize()
if every or rank == 0:
    regions.begin("train")
for _ in range(int(steps.item())):
    step()
torch.cuda.synchronize()
dist.barrier()
torch.cuda.synchronize()
if every or rank == 0:
    regions.end("train")
samples = BATCH * int(steps.item())
if every:
    regions.metric("samples", samples)          # its own
elif rank == 0:
    regions.metric("samples", world * samples)  # of all
time.sleep(2)  # what follows training does not count
checkpoint.close()
assert os.path.getsize(f"checkpoint-{rank}") == 0, "somebody wrote into a checkpoint"
dist.destroy_process_group()
