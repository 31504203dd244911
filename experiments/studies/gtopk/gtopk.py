#!/usr/bin/env python3
"""Data-parallel training that sends all gradients, or of each only the largest (gTop-k, arXiv 1901.04359), to a target loss.

    torchrun --standalone --nproc-per-node 2 gtopk.py --density 0.01 --batch 512 --target 0.3

Each rank keeps what it did not send (error feedback), chooses its k largest by magnitude, and the ranks merge theirs pairwise in a tree: of the sum of two
the k largest go on, at log2(ranks) messages of 2k numbers, where the dense all-reduce sends every gradient. --density 1 is that.
The task is made here: points of random clusters, labelled by a random network, so that the loss has a floor and nothing is fetched.
It marks the region `train` and the metric `loss` (of a held-out set, the same on all ranks) every --look steps, and ends once the target is reached: energy
to a target is  objective: {minimise: energy, to: {loss: "<= 0.3"}}.
"""
import argparse
import os
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "regions")]
import dvfs_plan_regions as mark  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--density", type=float, default=1.0, help="share of the gradients that is sent: 1 (all), 0.01, 0.001")
    parser.add_argument("--batch", type=int, default=512, help="samples a step and rank")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.1, help="of learning")
    parser.add_argument("--target", type=float, default=0.3)
    parser.add_argument("--most-seconds", type=float, default=60, help="then it gives up: the trial is a lower bound")
    parser.add_argument("--look", type=int, default=10, help="steps between two looks at the held-out loss")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def task(torch, device, seed, inputs=256, classes=32, points=65536):
    """The same on all ranks."""
    chance = torch.Generator().manual_seed(seed)
    centres = 2 * torch.randn(classes * 8, inputs, generator=chance)
    labels_of = torch.randint(classes, (classes * 8,), generator=chance)
    which = torch.randint(classes * 8, (points + 4096,), generator=chance)
    data = centres[which] + 1.5 * torch.randn(points + 4096, inputs, generator=chance)
    labels = labels_of[which]
    return (data[:points].to(device), labels[:points].to(device)), (data[points:].to(device), labels[points:].to(device))


class TopK:
    """What is sent of a flat gradient: its k largest with what was left over from before, summed over all ranks as a tree."""

    def __init__(self, torch, distributed, size, density, device):
        self.torch, self.distributed = torch, distributed
        self.k = max(1, int(size * density))
        self.left_over = torch.zeros(size, device=device)
        self.sent_bytes = 0

    def largest(self, indices, values):
        if len(indices) <= self.k:
            return indices, values
        chosen = self.torch.topk(values.abs(), self.k, sorted=False).indices
        return indices[chosen], values[chosen]

    def exchange(self, other, indices, values):
        distributed, torch = self.distributed, self.torch
        theirs_i, theirs_v = torch.empty_like(indices), torch.empty_like(values)
        work = distributed.batch_isend_irecv([
            distributed.P2POp(distributed.isend, indices, other), distributed.P2POp(distributed.irecv, theirs_i, other),
            distributed.P2POp(distributed.isend, values, other), distributed.P2POp(distributed.irecv, theirs_v, other)])
        for one in work:
            one.wait()
        self.sent_bytes += indices.numel() * (indices.element_size() + values.element_size())
        return theirs_i, theirs_v

    def __call__(self, gradient):
        torch, ranks, rank = self.torch, self.distributed.get_world_size(), self.distributed.get_rank()
        total = gradient + self.left_over
        chosen = torch.topk(total.abs(), self.k, sorted=False).indices
        chosen_values = total[chosen]
        indices, values = chosen.to(torch.int32), chosen_values
        self.left_over = total
        self.left_over[chosen] = 0
        step = 1
        while step < ranks:  # a hypercube: after each round twice as many ranks have the same
            theirs_i, theirs_v = self.exchange(rank ^ step, indices, values)
            both = torch.cat([indices, theirs_i]).long()
            unique, place = torch.unique(both, return_inverse=True)
            summed = torch.zeros(len(unique), device=gradient.device).index_add_(0, place, torch.cat([values, theirs_v]))
            kept_i, kept_v = self.largest(unique, summed)
            if len(kept_i) < self.k:  # of fixed size: the rest adds nothing
                more = self.k - len(kept_i)
                kept_i, kept_v = torch.cat([kept_i, kept_i[:1].repeat(more)]), torch.cat([kept_v, kept_v.new_zeros(more)])
            indices, values = kept_i.to(torch.int32), kept_v
            step *= 2
        result = torch.zeros_like(gradient).index_add_(0, indices.long(), values)
        # What was chosen here and dropped on the way is not lost.
        mine = torch.zeros_like(gradient, dtype=torch.bool)
        mine[indices.long()] = True
        dropped_place = ~mine[chosen]
        dropped = chosen[dropped_place]
        self.left_over[dropped] = chosen_values[dropped_place]
        return result / ranks


def main():
    options = arguments()
    try:
        import torch
        import torch.distributed as distributed
    except ImportError:
        sys.exit("gtopk: PyTorch is not installed for this python3")
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if ranks & (ranks - 1):
        sys.exit(f"gtopk: the ranks merge pairwise: 1, 2, 4, 8, ... of them; there are {ranks}")
    device = options.device
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if ranks > 1:
        distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(options.seed)  # the same weights everywhere
    torch.backends.cuda.matmul.allow_tf32 = True
    (data, labels), (held_data, held_labels) = task(torch, device, options.seed)
    layers, inputs = [], data.shape[1]
    for _ in range(options.layers):
        layers += [torch.nn.Linear(inputs, options.width), torch.nn.ReLU()]
        inputs = options.width
    network = torch.nn.Sequential(*layers, torch.nn.Linear(inputs, 32)).to(device)
    parameters = list(network.parameters())
    size = sum(p.numel() for p in parameters)
    optimizer = torch.optim.SGD(parameters, lr=options.rate)
    sparse = TopK(torch, distributed, size, options.density, device) if options.density < 1 and ranks > 1 else None
    chance = torch.Generator().manual_seed(1000 * options.seed + rank)
    functional = torch.nn.functional
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None

    def step():
        which = torch.randint(len(data), (options.batch,), generator=chance).to(device)
        loss = functional.cross_entropy(network(data[which]), labels[which])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if ranks > 1:
            flat = torch.cat([p.grad.flatten() for p in parameters])
            if sparse:
                flat = sparse(flat)
            else:
                distributed.all_reduce(flat)
                flat /= ranks
            at = 0
            for p in parameters:
                p.grad = flat[at:at + p.numel()].view_as(p)
                at += p.numel()
        optimizer.step()

    def held_out():
        with torch.no_grad():
            loss = functional.cross_entropy(network(held_data), held_labels)
        if ranks > 1:  # all must come to the same end
            distributed.broadcast(loss, 0)
        return float(loss)

    start = [p.detach().clone() for p in parameters]
    for _ in range(3):  # kernels and connections are made; what was learnt is forgotten
        step()
    held_out()
    with torch.no_grad():
        for p, was in zip(parameters, start):
            p.copy_(was)
    if sparse:
        sparse.left_over.zero_()
        sparse.sent_bytes = 0
    synchronize()
    if ranks > 1:
        distributed.barrier()
    done, loss, began = 0, float("inf"), time.monotonic()
    with mark.region("train"):
        while loss > options.target:
            for _ in range(options.look):
                step()
            done += options.look
            loss = held_out()
            if rank == 0:
                mark.metric("loss", loss)
            over = torch.tensor(float(time.monotonic() - began > options.most_seconds or loss != loss), device=device)
            if ranks > 1:  # all give up, or none
                distributed.broadcast(over, 0)
            if over:
                break
    if rank == 0:
        mark.metric("samples", done * options.batch * ranks)
        sent = sparse.sent_bytes / done if sparse else (0 if ranks == 1 else 2 * (ranks - 1) / ranks * 4 * size)
        print(f"steps {done}\nparameters {size}\nsent_per_step {sent:.0f} B\nfinal_loss {loss:.6f}")
    if ranks > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
