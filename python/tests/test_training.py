"""Training in our worlds and in those of others."""

import copy
import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.spaces import Box, Dict, Discrete  # noqa: E402

import ell0  # noqa: E402

COMMAND = Path(__file__).parents[2] / "target/release/ell0"

#: Short episodes; the policy learns in the last of them.
SHORT = {"episodes": 55, "updates": 4, "progress": False}
PENDULUM = "pendulum(g=9.81, limit=20)"


class Mass(gymnasium.Env):
    """A point in the plane, pushed by two forces of different strength."""

    observation_names = ["x", "y", "vx", "vy"]

    def __init__(self, breaks_at=None, wrong=None):
        self.observation_space = Box(-np.inf, np.inf, (2, 2))
        self.action_space = Box(np.array([-1, -2], "f"), np.array([1, 2], "f"))
        self.breaks_at, self.wrong = breaks_at, wrong
        self.begun = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.begun += 1
        self.steps = 0
        self.state = np.concatenate([self.np_random.uniform(-1, 1, 2), np.zeros(2)])
        return self.seen(), {}

    def seen(self):
        seen = self.state.reshape(2, 2).astype(np.float32)
        if self.wrong == "nan" and self.steps == 3:
            seen[0, 1] = np.nan
        return seen[:1] if self.wrong == "shape" and self.steps == 3 else seen

    def step(self, action):
        assert action.shape == (2,) and action.dtype == np.float32
        assert self.action_space.contains(action)
        self.steps += 1
        if self.breaks_at is not None and self.begun >= self.breaks_at and self.steps == 2:
            raise RuntimeError("the cable broke")
        x, v = self.state[:2], self.state[2:]
        v = 0.9 * v + 0.2 * action
        self.state = np.concatenate([x + 0.2 * v, v])
        reward = -float(self.state @ self.state)
        result = self.seen(), reward, False, self.steps == 10, {}
        return result[:4] if self.wrong == "old" else result


def policy_bytes(folder):
    return (Path(folder) / "policies/seed0.safetensors").read_bytes()


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not built")
def test_the_policy_is_that_of_the_command_line(tmp_path):
    training = ell0.train(PENDULUM, **SHORT, folder=tmp_path / "here")
    options = ["--env", PENDULUM, "--episodes", "55", "--updates", "4"]
    call = [COMMAND, "train", *options, "--out", tmp_path / "there"]
    subprocess.run(call, check=True, capture_output=True)
    assert policy_bytes(tmp_path / "here") == policy_bytes(tmp_path / "there")
    for part in ("policies/seed0.json", "config.toml"):
        here, there = ((tmp_path / f / part).read_text() for f in ("here", "there"))
        assert here.splitlines()[1:] == there.splitlines()[1:]
    other = ell0.Training.load(tmp_path / "there")
    assert training.policy.equation == other.policy.equation
    assert training.report().read_text().startswith("<!")
    assert other.policy.environment == PENDULUM


def test_the_names_of_a_world_are_one_world(tmp_path):
    env = gymnasium.make("ell0/Pendulum-v0", g=9.81, limit=20)
    trained = [ell0.train(e, episodes=3, progress=False) for e in (PENDULUM, env, lambda: env)]
    assert len({t.policy.equation for t in trained}) == 1
    assert trained[1].policy.environment.startswith("pendulum(")


@pytest.mark.parametrize("env", [Mass, Mass(), lambda: Mass()])
def test_a_world_of_somebody_else(env):
    training = ell0.train(env, "polynomial(1)", **SHORT)
    policy = training.policy
    assert policy.inputs == ["x", "y", "vx", "vy"] and policy.outputs == ["a0", "a1"]
    assert [e.split(" = ")[0] for e in policy.equations] == ["a0", "a1"]
    assert training.environment_steps["learning"] == 550
    one, batch = np.zeros((2, 2)), np.zeros((7, 2, 2))
    assert policy(one).shape == (2,) and policy(one).dtype == np.float32
    assert policy.predict(batch)[0].shape == (7, 2)
    with pytest.raises(ValueError, match="an observation has shape"):
        policy(np.zeros(3))
    with pytest.raises(ValueError, match="not known in closed form"):
        policy.analyze()


def test_a_gymnasium_name_and_an_instance_are_one_world():
    env = gymnasium.make("MountainCarContinuous-v0", max_episode_steps=30)
    names = {"observation_names": ["position", "velocity"], "action_names": ["force"]}
    trained = ell0.train(env, episodes=2, progress=False, **names)
    assert trained.environment == "MountainCarContinuous-v0"
    assert trained.environment_steps["learning"] == 60
    assert trained.policy.outputs == ["force"]


def test_every_step_of_an_environment_is_reported():
    class Counted(Mass):
        taken = 0

        def step(self, action):
            Counted.taken += 1
            return super().step(action)

    settings = {**SHORT, "terms": 2, "fine_tune": True, "seeds": 2}
    training = ell0.train(Counted, "polynomial(1)", **settings)
    spent = training.environment_steps
    assert sum(spent.values()) == Counted.taken
    assert spent["learning"] == 2 * 550 and all(spent.values())
    # Six evaluations and the last, of 50 episodes each.
    assert spent["evaluation"] == 2 * 7 * 50 * 10
    assert f"{Counted.taken // 2:,}" in repr(training) or "steps" in repr(training)


def test_a_name_of_gymnasium_is_gymnasiums():
    names = []
    make = gymnasium.make

    def watched(name, *args, **kwargs):
        names.append(name)
        return make(name, *args, **kwargs)

    gymnasium.make = watched
    try:
        training = ell0.train("Pendulum-v1", "polynomial(1)", episodes=1, progress=False)
    finally:
        gymnasium.make = make
    assert set(names) == {"Pendulum-v1"} and training.environment == "Pendulum-v1"
    assert training.policy.inputs == ["cos_theta", "sin_theta", "theta_dot"]
    assert training.policy.outputs == ["torque"] and training.policy.environment is None
    found = training.policy.analyze("Pendulum-v1", prove_seconds=0)
    assert found["environment"].startswith("pendulum(g=10,")


def test_optimal_control_is_compared_with_on_request():
    gaps = [
        ell0.train(PENDULUM, episodes=1, progress=False, optimum=wanted).results[0]["gap"]
        for wanted in (False, True)
    ]
    assert gaps[0] is None and gaps[1] > 0


def test_a_finished_run_goes_on_to_more_episodes(tmp_path):
    short = ell0.train(PENDULUM, **SHORT, folder=tmp_path)
    longer = ell0.train(PENDULUM, folder=tmp_path, resume=True, episodes=60, progress=False)
    assert (len(short.episodes), len(longer.episodes)) == (55, 60)
    assert longer.episodes[:54] == short.episodes[:54]
    assert longer.environment_steps["learning"] == 60 * 20
    again = ell0.train(PENDULUM, folder=tmp_path, resume=True, episodes=60, progress=False)
    assert again.policy.equation == longer.policy.equation
    assert again.environment_steps == longer.environment_steps
    with pytest.raises(ValueError, match="the run has 60"):
        ell0.train(PENDULUM, folder=tmp_path, resume=True, episodes=50, progress=False)


def test_a_progress_function_ends_a_training_early(tmp_path):
    def enough(kind, task, number, note):
        return not (kind == "reached" and number >= 20)

    for folder in (None, tmp_path):
        settings = {**SHORT, "episodes": 5000, "folder": folder, "progress": enough}
        training = ell0.train(PENDULUM, **settings)
        done = len(training.episodes)
        assert 20 <= done < 5000
        assert training.environment_steps["learning"] == 20 * done
        assert training.results[0]["return_mean"] < 0 and training.policy.equation
    assert ell0.Training.load(tmp_path).results == training.results
    longer = ell0.train(
        PENDULUM,
        folder=tmp_path,
        resume=True,
        progress=lambda kind, task, number, note: not (kind == "reached" and number > done),
    )
    assert done < len(longer.episodes) < 5000


def test_several_policies_prices_and_seeds():
    training = ell0.train(
        PENDULUM,
        ["polynomial(1)", "network(8)"],
        lambda_=np.array([0.001, 0.01]),
        seeds=np.int64(2),
        episodes=2,
        progress=False,
    )
    training = pickle.loads(pickle.dumps(training))
    assert len(training.policies) == len(training.results) == 6
    best = max(training.results, key=lambda row: row["return_mean"])
    assert training.results[training.policies.index(training.policy)] is best
    assert "terms" in repr(training) and len(training.episodes) == 12
    network = training.policies[-1]
    assert network.law is None and network.equation is None and network.equations == []
    with pytest.raises(ValueError, match="no closed form"):
        network.analyze()


def test_an_exception_of_the_world_comes_out_and_nothing_is_lost(tmp_path):
    whole = ell0.train(Mass, "polynomial(1)", **SHORT, folder=tmp_path / "whole")
    folder = tmp_path / "broken"
    reached = []
    settings = {**SHORT, "progress": lambda kind, task, number, note: reached.append(number)}
    with pytest.raises(RuntimeError, match="the cable broke") as caught:
        ell0.train(lambda: Mass(breaks_at=53), "polynomial(1)", **settings, folder=folder)
    assert any(
        "resume=True" in note for note in getattr(caught.value, "__notes__", ["resume=True"])
    )
    saved = (folder / "checkpoints/seed0.jsonl").read_text().splitlines()
    assert 40 < len(saved) == max(n for n in reached[1:] if n is not None) < 53
    again = ell0.train(Mass, folder=folder, resume=True, progress=False)
    assert policy_bytes(folder) == policy_bytes(tmp_path / "whole")
    assert again.policy.equation == whole.policy.equation
    returns = [[e["training_return"] for e in t.episodes] for t in (whole, again)]
    assert returns[0] == returns[1]


def test_an_exception_while_policies_are_compared_loses_nothing(tmp_path):
    class Compared(Mass):
        """Breaks in the middle of the third comparison: there, many begin before any acts."""

        made = waiting = comparisons = 0
        breaks = False

        def __init__(self):
            super().__init__()
            Compared.made += 1

        def reset(self, *, seed=None, options=None):
            Compared.waiting += 1
            return super().reset(seed=seed)

        def step(self, action):
            Compared.comparisons += Compared.waiting > 10
            Compared.waiting = 0
            if self.breaks and self.comparisons == 3 and self.steps == 5:
                raise RuntimeError("the cable broke")
            return super().step(action)

    whole = ell0.train(Compared, "polynomial(1)", **SHORT, folder=tmp_path / "whole")
    # Worlds that nobody acts in any more are used again.
    assert Compared.comparisons > 6 and Compared.made < 60
    Compared.comparisons, Compared.breaks = 0, True
    folder = tmp_path / "broken"
    with pytest.raises(RuntimeError, match="the cable broke"):
        ell0.train(Compared, "polynomial(1)", **SHORT, folder=folder)
    saved = (folder / "checkpoints/seed0.jsonl").read_text().splitlines()
    assert len(saved) == 30 and json.loads(saved[-1])["evaluation_return"] is None
    Compared.breaks = False
    again = ell0.train(Compared, folder=folder, resume=True, progress=False)
    assert policy_bytes(folder) == policy_bytes(tmp_path / "whole")
    returns = [[e["evaluation_return"] for e in t.episodes] for t in (whole, again)]
    assert returns[0] == returns[1] and sum(r is not None for r in returns[0]) == 6


def test_finer_settings(tmp_path):
    class Watched(Mass):
        episodes: list[list[float]] = []

        def reset(self, *, seed=None, options=None):
            self.episodes.append([])
            return super().reset(seed=seed)

        def step(self, action):
            self.episodes[-1].append(float(action[0]))
            return super().step(action)

    settings = {"hold": np.int64(5), "random_episodes": 2, "agent": {"critic_hidden": (8, 8)}}
    place = {"folder": tmp_path / "run", "episodes": 2, "progress": False}
    ell0.train(Watched, "polynomial(1)", **place, settings=settings)
    config = (tmp_path / "run/config.toml").read_text()
    assert "hold = 5" in config and "critic_hidden = [8, 8]" in config
    # Both episodes of ten steps are random, each half of them one action.
    halves = [(set(e[:5]), set(e[5:])) for e in Watched.episodes if len(e) == 10]
    held = [first != second for first, second in halves if len(first) == len(second) == 1]
    assert held == [True, True]
    for name, value, words in [
        ("holt", 3, "did you mean `hold`"),
        ("hold", "long", "invalid type"),
        ("hold", 0, "hold = 0 is not allowed: from 1"),
        ("episodes", 3, "words of its own"),
        ("exploration", np.nan, "must be finite"),
    ]:
        with pytest.raises(ValueError, match=words):
            ell0.train(Mass, episodes=1, settings={name: value}, progress=False)
    with pytest.raises(TypeError, match="give a number"):
        ell0.train(Mass, episodes=1, settings={"hold": object()})


def test_an_interruption_goes_on_to_the_same_bits(tmp_path):
    ell0.train(PENDULUM, **SHORT, folder=tmp_path / "whole")

    def interrupted(kind, task, number, note):
        if kind == "reached" and number == 20:
            raise KeyboardInterrupt

    folder = tmp_path / "stopped"
    settings = {**SHORT, "progress": interrupted}
    with pytest.raises(KeyboardInterrupt):
        ell0.train(PENDULUM, **settings, folder=folder)
    ell0.train(PENDULUM, folder=folder, resume=True, progress=False)
    assert policy_bytes(folder) == policy_bytes(tmp_path / "whole")


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ("nan", ValueError, "y.*NaN"),
        ("shape", ValueError, "an observation has 2 numbers; the observation space has 4"),
        ("old", ValueError, "step of Mass must give five things"),
    ],
)
def test_what_a_world_does_wrong_is_said(wrong, error, words):
    with pytest.raises(error, match=words):
        ell0.train(Mass(wrong=wrong), "polynomial(1)", episodes=2, progress=False)


def test_a_world_that_cannot_begin():
    class Broken(Mass):
        def reset(self, *, seed=None, options=None):
            raise OSError("no device")

    with pytest.raises(OSError, match="no device"):
        ell0.train(Broken, episodes=1, progress=False)


class Strange(Mass):
    def __init__(self, **spaces):
        super().__init__()
        self.__dict__.update(spaces)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("CartPole-v1", r"the actions of CartPole-v1 are Discrete\(2\): .*Box"),
        (Strange(observation_space=Dict(x=Discrete(2))), "the observations of Strange are Dict"),
        (Strange(action_space=Box(0, 3, (1,), np.int64)), "boxes of floats"),
        (Strange(observation_names=["x"]), "4 names are needed"),
        (Strange(observation_names=["x", "x", "y", "z"]), "x"),
        ("NoSuchThing-v3", "there is no world `NoSuchThing-v3`.*pendulum"),
        ("pendulum(lenght=1)", "did you mean `length`"),
        (gymnasium.make_vec("Pendulum-v1", num_envs=2), "many worlds at once"),
    ],
)
def test_what_cannot_be_trained_in_is_said(env, words):
    with pytest.raises(ValueError, match=words):
        ell0.train(env, episodes=1, progress=False)


def test_other_mistakes(tmp_path):
    with pytest.raises(TypeError, match="give the name of a world"):
        ell0.train(3)
    with pytest.raises(ValueError, match="folder"):
        ell0.train(PENDULUM, resume=True)
    with pytest.raises(ValueError, match="names of its own"):
        ell0.train(PENDULUM, action_names=["u"])
    for name, value in {"episodes": -1, "seed": 0.5, "penalty": "l3", "lambda_": np.nan}.items():
        with pytest.raises(ValueError, match=f"{name} = .* is not allowed"):
            ell0.train(PENDULUM, **{name: value})
    with pytest.raises(ValueError, match="polynomal"):
        ell0.train(PENDULUM, "polynomal(3)")
    with pytest.raises(ValueError, match="holds no run to go on with"):
        ell0.train(PENDULUM, folder=tmp_path / "nothing", resume=True)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError):
        ell0.train(PENDULUM, episodes=1, folder=tmp_path)


def test_policies_are_saved_copied_and_exported(tmp_path):
    policy = ell0.train(PENDULUM, episodes=2, progress=False).policy
    seen = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    policy.save(tmp_path / "p.safetensors")
    for other in (ell0.Policy.load(tmp_path / "p.safetensors"), pickle.loads(pickle.dumps(policy))):
        assert other(seen).tobytes() == policy(seen).tobytes()
        assert other.equation == policy.equation == str(policy)
    policy.save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["format"] == "ell0-model"
    other = ell0.Policy.load(tmp_path / "p.json")
    assert other(seen).tobytes() == policy(seen).tobytes()
    assert (other.kind, other.equation) == (policy.kind, policy.equation)
    # As a model it is the law alone.
    assert ell0.Law.load(tmp_path / "p.json").equations == policy.equations
    np.testing.assert_allclose(policy.law.predict(seen), policy(seen), rtol=1e-4, atol=1e-6)
    assert all(file.exists() for file in policy.export("c", tmp_path / "c"))


@pytest.mark.parametrize("ending", ["json", "safetensors"])
@pytest.mark.parametrize("kind", ["polynomial(3)", "network(8)"])
def test_a_policy_is_what_it_was_before_it_was_saved(tmp_path, kind, ending):
    class Column(Mass):
        """Actions as a column, in double precision."""

        def __init__(self):
            super().__init__()
            self.action_space = Box(-1, 1, (2, 1), np.float64)

        def step(self, action):
            self.action_space, own = Box(-1, 1, (2,)), self.action_space
            result = super().step(action.reshape(2).astype(np.float32))
            self.action_space = own
            return result

    policy = ell0.train(Column, kind, episodes=2, progress=False).policy
    path = tmp_path / f"p.{ending}"
    if kind.startswith("network") and ending == "json":
        with pytest.raises(ValueError, match=r"network\(8\) is no closed form"):
            policy.save(path)
        assert not path.exists()
        return
    policy.save(path)
    other = ell0.Policy.load(path)
    seen = np.random.default_rng(0).normal(size=(50, 2, 2)).astype(np.float32)
    assert other(seen).tobytes() == policy(seen).tobytes()
    assert other(seen).dtype == np.float64 and other(seen).shape == (50, 2, 1)
    assert other(seen[0]).tobytes() == policy(seen[0]).tobytes()
    assert other.environment == policy.environment


def test_a_policy_remembers_where_it_was_trained(tmp_path):
    policy = ell0.train("pendulum(limit=20)", "polynomial(1)", episodes=1, progress=False).policy
    policy.save(tmp_path / "p.json")
    assert ell0.Policy.load(tmp_path / "p.json").environment == policy.environment is not None


def test_json_that_is_no_policy_is_refused(tmp_path):
    policy = ell0.train(PENDULUM, "polynomial(1)", episodes=1, progress=False).policy
    path = tmp_path / "p.json"
    policy.law.save(path)
    with pytest.raises(ValueError, match="equations without the part `policy`"):
        ell0.Policy.load(path)
    policy.save(path)
    written = json.loads(path.read_text())
    for change, words in [
        (lambda it: it["equations"][0].update(expression="1"), "one of them was changed"),
        (lambda it: it["policy"]["parameters"].pop(), "the parameters of a policy has"),
        (lambda it: it["policy"]["parameters"].__setitem__(0, None), "invalid type: null"),
        (lambda it: it["policy"].update(more=1), "unknown field `more`"),
        (lambda it: it["policy"]["about"]["trained_in"].update(action_shape=[7]), "the shape of"),
        (lambda it: it["policy"]["about"]["trained_in"].update(action_type="x"), "type 'x'"),
        (lambda it: it.update(polcy=it.pop("policy")), "unknown field `polcy`"),
    ]:
        spoilt = copy.deepcopy(written)
        change(spoilt)
        path.write_text(json.dumps(spoilt))
        with pytest.raises(ValueError, match=words):
            ell0.Policy.load(path)


def test_whatever_acts_is_measured_alike(tmp_path):
    law = "2*tanh(-9.48*cos_theta*sin_theta - 2.38*cos_theta*theta_dot)"

    def rows(seen):
        c, s, v = seen.T.astype(float)
        return 2 * np.tanh(-9.48 * c * s - 2.38 * c * v)[:, None]

    class Model:
        def predict(self, observation, deterministic=False):
            return rows(observation), None

    (tmp_path / "law.json").write_text(
        json.dumps(
            {
                "format": "ell0-model",
                "version": 1,
                "inputs": ["cos_theta", "sin_theta", "theta_dot"],
                "dynamics": "regression",
                "equations": [{"target": "torque", "expression": law}],
            }
        )
    )
    world = "pendulum(g=9.81, limit=30)"
    text = ell0.evaluate(world, law)
    assert text["episodes"] == 2000 and text["situations"] == [] and text["ci95"] > 0
    assert ell0.evaluate(world, f"torque = {law}") == text
    assert ell0.evaluate(world, tmp_path / "law.json") == text
    batches = ell0.evaluate(world, rows, vectorized=True)
    assert batches["return"] == pytest.approx(text["return"], abs=1e-6)
    assert ell0.evaluate(world, Model()) == batches
    single = ell0.evaluate("heat(limit=5)", lambda seen: np.zeros(8))
    assert single["situations"][0]["episodes"] > 0 and single["return"] < 0


def test_policies_that_cannot_act():
    with pytest.raises(TypeError, match="give a policy or law"):
        ell0.evaluate(PENDULUM, 3)
    with pytest.raises(ValueError, match="1 actions each are needed"):
        ell0.evaluate(PENDULUM, lambda seen: np.zeros((len(seen), 2)), vectorized=True)
    with pytest.raises(ZeroDivisionError):
        ell0.evaluate(PENDULUM, lambda seen: 1 / 0)
    with pytest.raises(ValueError, match="each law needs the name of its action"):
        ell0.evaluate(Mass, "x")


def test_a_policy_is_analysed_where_the_world_is_known(tmp_path):
    settings = {"episodes": 1, "worlds": 1, "progress": False}
    policy = ell0.train("heat(limit=5)", "tied(polynomial(1))", **settings).policy
    found = policy.analyze(folder=tmp_path / "page")
    assert found["environment"].startswith("heat(") and len(found["actions"]) == 8
    assert (tmp_path / "page/report.html").exists()
    assert policy.shared_law is not None and "\n" not in policy.equation
    with pytest.raises(ValueError, match="not known in closed form"):
        policy.analyze(Mass)


def test_proofs_hold_for_what_is_uncertain(tmp_path):
    settings = {"episodes": 1, "worlds": 1, "progress": False}
    policy = ell0.train(PENDULUM, "polynomial(1)", **settings).policy
    found = policy.analyze(
        folder=tmp_path / "page",
        prove_seconds=0.5,
        uncertain={"g": (9.79, 9.83)},
        disturb={"torque": (-0.01, 0.01)},
        rounding=True,
        stay={"theta_dot": (-8, 8)},
        avoid=[{"theta": (1, 1.2), "theta_dot": (0, 1)}],
        progress=False,
    )
    named = [(u["name"], u["varies"]) for u in found["uncertain"]]
    assert named == [("g", False), ("torque_error", True)] and found["rounding"]
    # The pendulum's speed is limited, whatever the law.
    assert found["limits"]["invariant"] is True
    for wrong, sentence in [
        ({"uncertain": {"q": (1, 2)}}, "g, mass and length"),
        ({"uncertain": {"g": (2, 1)}}, "the least comes first"),
        ({"disturb": {"speed": (-1, 1)}}, "there is no observation or action"),
        ({"stay": {"speed": (-1, 1)}}, "there is no state"),
        ({"prove_seconds": -1}, "0 to 86400"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            policy.analyze(progress=False, **wrong)
