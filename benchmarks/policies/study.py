"""Sparse laws beside Stable-Baselines3's TD3, in worlds of Gymnasium, after the same number of steps.

    python benchmarks/policies/study.py [--only mountain] [--seeds 3]

needs ell0, gymnasium[mujoco] and stable-baselines3. Both are measured from the same 50 starts by `ell0.evaluate`. Settings were chosen with seeds 100 and 101; seeds 0, 1, … are reported.
"""

import argparse
import time

import gymnasium
import numpy as np
import torch
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise

import ell0


def noise(kind, size):
    mean, deviation = np.zeros(size), np.full(size, 0.5 if kind is OrnsteinUhlenbeckActionNoise else 0.1)
    return kind(mean, deviation)


#: For each world: ell0's settings, and the exploration of Stable-Baselines3 (that of its zoo for the mountain car; everything else is its default).
WORLDS = {
    "mountain": (
        "MountainCarContinuous-v0",
        {
            "policy": "polynomial(3)",
            "episodes": 100,
            "updates": 500,
            "lambda_": 0.003,
            "terms": 2,
            # Random pushes of one step each never reach the goal.
            "settings": {"hold": 50, "exploration": 0.5},
            "observation_names": ["position", "velocity"],
            "action_names": ["force"],
        },
        OrnsteinUhlenbeckActionNoise,
    ),
    "reacher": (
        "Reacher-v5",
        {
            "policy": "polynomial(2)",
            "episodes": 800,
            "updates": 100,
            "lambda_": 0.0003,
            "settings": {"agent.critic_hidden": [128, 128]},
            "observation_names": ["c1", "c2", "s1", "s2", "tx", "ty", "w1", "w2", "ex", "ey"],
            "action_names": ["a1", "a2"],
        },
        NormalActionNoise,
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORLDS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, (world, settings, kind) in WORLDS.items():
        if options.only in (None, name):
            for seed in range(options.seeds):
                both(world, settings, kind, seed)


def both(world, settings, kind, seed):
    begin = time.perf_counter()
    training = ell0.train(world, seed=seed, progress=False, **settings)
    row, policy = training.results[0], training.policy
    tell(world, seed, "ell0", row["environment_steps"]["learning"], ell0.evaluate(world, policy), begin)
    print(f"    {row['terms']} terms, steps: {row['environment_steps']}")
    print("    " + policy.equation.replace("\n", "\n    "), flush=True)
    env = gymnasium.make(world)
    begin = time.perf_counter()
    model = TD3("MlpPolicy", env, seed=seed, action_noise=noise(kind, env.action_space.shape[0]))
    model.learn(row["environment_steps"]["learning"])
    tell(world, seed, "SB3 TD3", row["environment_steps"]["learning"], ell0.evaluate(world, model), begin)


def tell(world, seed, who, steps, found, begin):
    seconds = time.perf_counter() - begin
    print(f"{world} seed {seed} {who}: {found['return']:.2f} ± {found['ci95']:.2f}, {steps} steps, {seconds:.0f} s", flush=True)


main()
