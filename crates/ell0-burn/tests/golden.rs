//! The gates on tensors against the values that PyTorch and SciPy computed, and against the distribution that they are.

use burn::tensor::{DType, Device, Tensor, TensorData};
use ell0::gates::{GatePrior, HardConcrete, Penalty};
use ell0_burn::distribution::{divergence, prob_active, sample, test_gate};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/gates.json");
    let text = std::fs::read_to_string(path).expect("the reference values");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all["cases"].as_array().expect("cases").clone()
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap_or_else(|| panic!("{name}"))
}

fn tensor(value: f64, dtype: DType) -> Tensor<1> {
    let device = Device::flex().autodiff();
    Tensor::from_data(TensorData::new(vec![value], [1]), (&device, dtype))
}

/// A function of log α and its derivative.
fn with_slope(log_alpha: f64, dtype: DType, f: impl Fn(Tensor<1>) -> Tensor<1>) -> (f64, f64) {
    let log_alpha = tensor(log_alpha, dtype).require_grad();
    let value = f(log_alpha.clone());
    let gradients = value.sum().backward();
    let slope = log_alpha
        .grad(&gradients)
        .map_or(0.0, |g| g.into_scalar::<f64>());
    (f(log_alpha).into_scalar::<f64>(), slope)
}

fn compare(dtype: DType, tolerance: f64) {
    let cases = cases();
    assert!(cases.len() > 20);
    for case in &cases {
        let gate = HardConcrete::new(
            number(case, "beta"),
            number(case, "gamma"),
            number(case, "zeta"),
        )
        .expect("parameters");
        let log_alpha = number(case, "log_alpha");
        let u = number(case, "u");
        let close = |name: &str, got: f64, scale: f64| {
            let expected = number(case, name);
            assert!(
                (got - expected).abs() <= tolerance * scale,
                "{name}: {got} instead of {expected} in {case}"
            );
        };
        let (z, slope) = with_slope(log_alpha, dtype, |a| sample(&gate, a, tensor(u, dtype)));
        // A step of log α or u is multiplied by up to (ζ − γ)/β.
        let steep = ((gate.zeta() - gate.gamma()) / gate.beta()).max(1.0);
        close("z", z, steep);
        close("dz_dlog_alpha", slope, steep * steep);
        let (prob, slope) = with_slope(log_alpha, dtype, |a| prob_active(&gate, a));
        close("prob_active", prob, 1.0);
        close("dprob_dlog_alpha", slope, 1.0);
        let (mode, slope) = with_slope(log_alpha, dtype, |a| test_gate(&gate, a));
        close("mode_gate", mode, steep);
        let expected = gate.test_gate_with_slope(log_alpha).slope;
        assert!((slope - expected).abs() <= tolerance * steep);
    }
}

#[test]
fn golden_values_in_double_precision() {
    compare(DType::F64, 1e-12);
}

#[test]
fn golden_values_in_single_precision() {
    compare(DType::F32, 2e-6);
}

#[test]
fn the_divergence_is_that_of_bernoulli_variables() {
    let gate = HardConcrete::default();
    let penalty = Penalty::none().with_prior(0.1, 0.7).expect("a prior");
    let prior: GatePrior = penalty.prior().expect("a prior");
    for log_alpha in [-30.0, -4.0, -0.5, 0.0, 2.0, 30.0] {
        let (value, slope) = with_slope(log_alpha, DType::F64, |a| divergence(&gate, a, prior));
        let p = gate.prob_active(log_alpha);
        let q = gate.prob_zero(log_alpha);
        let x_ln_x = |x: f64, of: f64| if x == 0.0 { 0.0 } else { x * (x / of).ln() };
        let expected = 0.7 * (x_ln_x(p, 0.1) + x_ln_x(q, 0.9));
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        // d KL/dp·dp/d log α = (logit p − logit π₀)·p·q.
        let expected = 0.7 * p * q * ((p / q).ln() - (0.1f64 / 0.9).ln());
        assert!((slope - expected).abs() < 1e-11, "{slope} {expected}");
    }
}
