"""FSDP on several ranks, checkpoints by torch.distributed.checkpoint: every rank writes its shard."""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from windlass_job import run


def main(last: int) -> None:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    saves = run.checkpoint("checkpoints")
    step = load(saves.latest(), model, optimizer)
    print("from", step, flush=True)
    batches = torch.Generator().manual_seed(2)
    data = torch.randn(1000, 8, 16, generator=batches)
    while step < last:
        loss = model(data[step]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step == 3:
            print("training", flush=True)
        if run.should_stop(all_ranks=True):
            break
    weights, moments = get_state_dict(model, optimizer)
    with saves.save(step, all_ranks=True) as folder:
        dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=folder)
    print("saved", step, "loss", f"{loss.item():.6f}", flush=True)


def load(newest, model, optimizer) -> int:
    if newest is None:
        return 0
    weights, moments = get_state_dict(model, optimizer)
    found = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(found, checkpoint_id=newest)
    set_state_dict(model, optimizer, model_state_dict=found["model"], optim_state_dict=found["optimizer"])
    return found["step"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    main(int(sys.argv[1]))
    dist.destroy_process_group()
