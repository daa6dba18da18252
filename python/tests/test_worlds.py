"""Our worlds in Gymnasium."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.utils.env_match import check_environments_match  # noqa: E402

import ell0  # noqa: E402, F401
from ell0 import _ell0  # noqa: E402
from ell0._registration import IDS  # noqa: E402
from ell0.worlds import World, WorldVector, world_text  # noqa: E402


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_world_of_ours_is_registered():
    assert {names[0] for names, _ in _ell0.worlds()} == set(IDS.values())


@pytest.mark.filterwarnings("ignore:.*Box")
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_no_fault(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("order", ["ell0, gymnasium", "gymnasium, ell0", "ell0.worlds, gymnasium"])
def test_worlds_are_there_in_any_order_of_imports(order):
    out = run(f"import {order}; print(gymnasium.make('ell0/Heat-v0').unwrapped.text)")
    assert out.startswith("heat(")


def test_gymnasium_imports_us_by_the_name_of_the_module():
    assert (
        run("import gymnasium; print(gymnasium.make('ell0:ell0/KS-v0').unwrapped.limit)") == "999\n"
    )


def test_gymnasium_is_not_imported_without_need():
    assert run("import ell0, sys; print('gymnasium' in sys.modules)") == "False\n"


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "heat"),
        ({"noise": 0.1, "limit": 50}, "heat(noise=0.1, limit=50)"),
        ({"kappa": [0.01, np.float32(0.5)]}, "heat(kappa=[0.01, 0.5])"),
        ({"kappa": np.array([0.01, 0.02])}, "heat(kappa=[0.01, 0.02])"),
        ({"kappa": (0.01, 0.02)}, "heat(kappa=0.01..0.02)"),
        ({"published": True}, "heat(published=true)"),
        ({"noise": 1e-7}, "heat(noise=1e-07)"),
    ],
)
def test_parameters_become_text(parameters, text):
    assert world_text("heat", **parameters) == text


def test_parameters_reach_the_world():
    env = gymnasium.make("ell0/Burgers-v0", nu=[0.1, 0.3], force=(-0.5, 0.5), limit=7)
    assert env.unwrapped.text == "burgers(nu=[0.1, 0.3], force=-0.5..0.5, noise=0, limit=7)"


def test_mistakes_have_the_sentence_of_the_command_line():
    with pytest.raises(ValueError, match="did you mean `length`"):
        gymnasium.make("ell0/Pendulum-v0", lenght=2)
    with pytest.raises(TypeError, match="mass is {}"):
        gymnasium.make("ell0/Pendulum-v0", mass={})
    env = gymnasium.make("ell0/Pendulum-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="an action has 1 numbers; 2 were given"):
        env.step([1.0, 2.0])
    with pytest.raises(ValueError, match="must be finite"):
        env.step([np.nan])
    with pytest.raises(ValueError, match="state"):
        env.reset(options={"state": [1.0]})


def test_the_world_cuts_episodes_off_by_itself_and_once():
    env = gymnasium.make("ell0/Pendulum-v0", limit=5)
    env.reset(seed=0)
    assert [env.step([0.0])[3] for _ in range(5)] == [False] * 4 + [True]


def test_an_episode_begins_where_it_is_told():
    env = World("pendulum(g=9.81)")
    seen, _ = env.reset(seed=1, options={"state": [np.pi / 2, -1.0]})
    np.testing.assert_allclose(seen, [0.0, 1.0, -1.0], atol=1e-6)
    assert env.state.tolist() == [np.pi / 2, -1.0]
    assert env.state_names == ["theta", "theta_dot"]


def test_the_physics_is_that_of_gymnasium():
    ours, theirs = World("pendulum"), gymnasium.make("Pendulum-v1").unwrapped
    theirs.reset(seed=0)
    ours.reset(seed=0, options={"state": theirs.state})
    rng = np.random.default_rng(0)
    for _ in range(50):
        action = rng.uniform(-2, 2, 1)
        mine, other = ours.step(action), theirs.step(action)
        np.testing.assert_allclose(mine[0], other[0], atol=1e-4)
        assert mine[1] == pytest.approx(float(other[1]), abs=1e-3)


def test_seeds_give_the_same_bits():
    check_environments_match(World("ks"), World("ks"), num_steps=20, seed=3)
    env = World("heat")
    first, second = (env.reset(seed=5)[0].tolist(), env.reset()[0].tolist())
    assert first != second
    assert [env.reset(seed=5)[0].tolist(), env.reset()[0].tolist()] == [first, second]


def test_without_a_seed_worlds_differ():
    assert World("pendulum").reset()[0].tolist() != World("pendulum").reset()[0].tolist()
    vectors = [WorldVector("pendulum", 2).reset()[0].tolist() for _ in range(2)]
    assert vectors[0] != vectors[1]


def test_copies():
    env = World("pendulum", g=9.81)
    assert pickle.loads(pickle.dumps(env)).text == copy.deepcopy(env).text == env.text


def test_many_worlds_are_the_single_ones():
    n, steps = 5, 12
    many = gymnasium.make_vec(
        "ell0/Pendulum-v0", num_envs=n, vectorization_mode="vector_entry_point", limit=4
    )
    single = [gymnasium.make("ell0/Pendulum-v0", limit=4).unwrapped for _ in range(n)]
    seen, _ = many.reset(seed=10)
    assert seen in many.observation_space
    assert seen.tolist() == [env.reset(seed=10 + k)[0].tolist() for k, env in enumerate(single)]
    over = [False] * n
    for step in range(steps):
        actions = np.linspace(-2, 2, n, dtype=np.float32)[:, None] * np.cos(step).astype("f")
        seen, reward, ended, cut, _ = many.step(actions)
        for k, env in enumerate(single):
            beginning = (env.reset()[0], 0.0, False, False) if over[k] else None
            wanted = beginning or env.step(actions[k])[:4]
            assert seen[k].tolist() == wanted[0].tolist()
            assert (reward[k], ended[k], cut[k]) == wanted[1:]
            over[k] = wanted[2] or wanted[3]


def test_some_of_many_worlds_begin_anew():
    many = WorldVector("heat", 3)
    before, _ = many.reset(seed=0)
    after, _ = many.reset(options={"reset_mask": np.array([True, False, False])})
    assert (before != after).any(axis=1).tolist() == [True, False, False]
    with pytest.raises(ValueError, match="reset_mask has 1 values; there are 3 worlds"):
        many.reset(options={"reset_mask": [True]})
    with pytest.raises(TypeError, match="give one number"):
        many.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="3 worlds with 8 actions"):
        many.step(np.zeros((2, 8)))
