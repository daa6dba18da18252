"""Sparse laws beside Stable-Baselines3's TD3, in worlds of Gymnasium, after the same number of steps.

    python benchmarks/policies/study.py [--only mountain] [--seed 200] [--seeds 16] [--ours]

needs ell0, gymnasium[mujoco] and, without --ours, stable-baselines3. Both are measured from the same 50 starts by `ell0.evaluate`. Settings were chosen with seeds 0 to 7, 100 to 107 and 300 to 479; others are reported.
"""

import argparse
import time

import gymnasium
import numpy as np

import ell0


def noise(kind, deviation, size):
    import stable_baselines3.common.noise as noises

    return getattr(noises, kind)(np.zeros(size), np.full(size, deviation))


#: For each environment: ell0's settings, and the exploration of Stable-Baselines3 (that of its zoo for the mountain car; everything else is its default).
WORLDS = {
    "mountain": (
        "MountainCarContinuous-v0",
        {
            "policy": "polynomial(3)",
            "episodes": 150,
            "updates": 500,
            "terms": 2,
            # Random pushes of one step each never reach the goal.
            "settings": {"hold": 50, "exploration": 0.5},
            "observation_names": ["position", "velocity"],
            "action_names": ["force"],
        },
        ("OrnsteinUhlenbeckActionNoise", 0.5),
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
        ("NormalActionNoise", 0.1),
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=WORLDS)
    parser.add_argument("--seed", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ours", action="store_true", help="ell0 alone")
    options = parser.parse_args()
    for name, (world, settings, exploration) in WORLDS.items():
        if options.only in (None, name):
            for seed in range(options.seed, options.seed + options.seeds):
                steps = ours(world, settings, seed)
                if not options.ours:
                    theirs(world, exploration, seed, steps)


def ours(world, settings, seed):
    begin = time.perf_counter()
    training = ell0.train(world, seed=seed, progress=False, **settings)
    row, policy = training.results[0], training.policy
    tell(world, seed, "ell0", row["environment_steps"]["learning"], ell0.evaluate(world, policy), begin)
    print(f"    {row['terms']} terms, steps: {row['environment_steps']}")
    print("    " + policy.equation.replace("\n", "\n    "), flush=True)
    return row["environment_steps"]["learning"]


def theirs(world, exploration, seed, steps):
    import torch
    from stable_baselines3 import TD3

    torch.set_num_threads(1)
    env = gymnasium.make(world)
    begin = time.perf_counter()
    action_noise = noise(*exploration, env.action_space.shape[0])
    model = TD3("MlpPolicy", env, seed=seed, action_noise=action_noise)
    model.learn(steps)
    tell(world, seed, "SB3 TD3", steps, ell0.evaluate(world, model), begin)


def tell(world, seed, who, steps, found, begin):
    seconds = time.perf_counter() - begin
    print(f"{world} seed {seed} {who}: {found['return']:.2f} ± {found['ci95']:.2f}, {steps} steps, {seconds:.0f} s", flush=True)


main()
