#!/usr/bin/env python3
"""Trains a small convolutional network for a fixed number of samples at a precision and a batch size, and says how good it became.

    quality.py --precision bf16 --batch 256

Pictures are made here: ten classes of overlapping random textures under noise, so that accuracy is well below 100 % and depends on how it was
trained. Region `train` holds the training; metrics: `samples`, `accuracy` (of 10 000 held-out pictures) and `correct`, the held-out pictures a
training of this length gets right, so that `per: correct` is energy per useful result.
--precision: fp32, tf32, bf16 and fp16 (autocast; fp16 with loss scaling), bf16-pure (weights too, no master copy), fp16-pure.
"""
import argparse
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "regions")]
import dvfs_plan_regions as mark  # noqa: E402

PRECISIONS = ["fp32", "tf32", "bf16", "fp16", "bf16-pure", "fp16-pure"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--samples", type=int, default=400_000, help="pictures that are seen in training, whatever the batch")
    parser.add_argument("--rate", type=float, default=0.1, help="of learning at a batch of 256; it goes with the batch")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--noise", type=float, default=1.4, help="over the pictures, whose textures have a deviation of 1: the more, the harder")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and the order; the pictures are always the same")
    return parser.parse_args()


def pictures(torch, count, seed, device, noise):
    chance = torch.Generator(device="cpu").manual_seed(7)
    textures = torch.randn(10, 6, 3, 32, 32, generator=chance).to(device)
    chance = torch.Generator(device="cpu").manual_seed(seed)
    labels = torch.randint(10, (count,), generator=chance).to(device)
    which = torch.randint(6, (count,), generator=chance).to(device)
    shift = torch.randint(32, (count,), generator=chance).to(device)
    data = torch.empty(count, 3, 32, 32, device=device)
    for first in range(0, count, 8192):
        part = slice(first, first + 8192)
        rolled = textures[labels[part], which[part]]
        columns = (torch.arange(32, device=device)[None, :] + shift[part][:, None]) % 32
        data[part] = rolled.gather(3, columns[:, None, None, :].expand(-1, 3, 32, -1))
        data[part] += noise * torch.randn(data[part].shape, generator=chance).to(device)
    return data, labels


def main():
    options = arguments()
    try:
        import torch
    except ImportError:
        sys.exit("quality: PyTorch is not installed for this python3")
    nn, device = torch.nn, options.device
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    data, labels = pictures(torch, 50_000, 1, device, options.noise)
    held_data, held_labels = pictures(torch, 10_000, 2, device, options.noise)
    width = options.width
    network = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(2 * width, 4 * width, 3, padding=1), nn.BatchNorm2d(4 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4 * width, 10)).to(device)
    name, _, pure = options.precision.partition("-")
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(name)
    if pure:
        network = network.to(half)
        data, held_data = data.to(half), held_data.to(half)
    optimizer = torch.optim.SGD(network.parameters(), lr=options.rate * options.batch / 256, momentum=0.9)
    scaler = torch.amp.GradScaler(device, enabled=options.precision == "fp16") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler(enabled=False)
    chance = torch.Generator().manual_seed(options.seed)

    def autocast():
        return torch.autocast(device, dtype=half or torch.bfloat16, enabled=bool(half) and not pure)

    def step():
        which = torch.randint(len(data), (options.batch,), generator=chance).to(device)
        with autocast():
            loss = nn.functional.cross_entropy(network(data[which]).float(), labels[which])
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    start = {key: value.clone() for key, value in network.state_dict().items()}
    for _ in range(3):  # kernels are chosen; what was learnt is forgotten
        step()
    network.load_state_dict(start)
    optimizer = torch.optim.SGD(network.parameters(), lr=options.rate * options.batch / 256, momentum=0.9)
    if device == "cuda":
        torch.cuda.synchronize()
    steps = max(1, options.samples // options.batch)
    mark.wait_for_others()
    with mark.region("train"):
        for _ in range(steps):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
    network.eval()
    correct = 0
    with torch.no_grad(), autocast():
        for first in range(0, len(held_data), 2000):
            correct += int((network(held_data[first:first + 2000]).argmax(1) == held_labels[first:first + 2000]).sum())
    mark.metric("samples", steps * options.batch)
    mark.metric("correct", correct)
    mark.metric("accuracy", correct / len(held_data))


if __name__ == "__main__":
    main()
