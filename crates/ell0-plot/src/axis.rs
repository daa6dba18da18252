//! Axes: their range, their ticks, and where a value stands on them.

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm; values that are not positive are not drawn.
    Log,
}

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// How values are laid out.
    pub scale: Scale,
    /// The range, where it is not that of the data.
    pub range: Option<(f64, f64)>,
    /// Names of the places 0, 1, 2, … instead of numbers.
    pub categories: Vec<String>,
}

impl Axis {
    /// An even axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
            categories: Vec::new(),
        }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(label)
        }
    }

    /// An axis of names, at 0, 1, 2, …
    pub fn categories<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let categories: Vec<String> = names.into_iter().map(Into::into).collect();
        Axis {
            range: Some((-0.5, categories.len().max(1) as f64 - 0.5)),
            categories,
            ..Axis::linear("")
        }
    }

    /// The same axis with a given range.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// An axis with its range settled.
#[derive(Clone, Debug)]
pub(crate) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Ruler {
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let usable = |v: &f64| v.is_finite() && (axis.scale == Scale::Linear || *v > 0.0);
        let (low, high) = axis.range.unwrap_or_else(|| {
            values
                .filter(usable)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                    (low.min(v), high.max(v))
                })
        });
        let (low, high) = match axis.scale {
            _ if !(low.is_finite() && high.is_finite()) => (1.0, 10.0),
            Scale::Linear if axis.range.is_some() => (low, high),
            Scale::Linear => {
                let room = if high > low {
                    0.05 * (high - low)
                } else {
                    low.abs().max(1.0) * 0.5
                };
                (low - room, high + room)
            }
            Scale::Log => {
                // In logarithms: the ratio of the ends may be more than a number can hold.
                let ends = |v: f64| v.clamp(1e-290, 1e290).log10();
                let (low, high) = (ends(low), ends(high));
                let room = (0.05 * (high - low)).clamp(0.114, 10.0);
                (10f64.powf(low - room), 10f64.powf(high + room))
            }
        };
        Ruler {
            scale: axis.scale,
            low,
            high,
        }
    }

    /// An even axis around a range and values, without room beyond them.
    pub(crate) fn around(
        axis: &Axis,
        range: (f64, f64),
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let values = values.filter(|v| v.is_finite());
        let ends = || values.fold(range, |(low, high), v| (low.min(v), high.max(v)));
        let range = axis.range.unwrap_or_else(ends);
        Ruler::new(
            &Axis::linear("").within(range.0, range.1),
            std::iter::empty(),
        )
    }

    /// Where a value stands between 0 and 1; none if it cannot be drawn.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        };
        place.is_finite().then_some(place)
    }

    /// The low end, where bars stand.
    pub(crate) fn foot(&self) -> f64 {
        match self.scale {
            Scale::Linear if self.low <= 0.0 && self.high >= 0.0 => 0.0,
            _ => self.low,
        }
    }

    /// Values with a label, and what the label says: a number, or a power of ten.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, Tick)> {
        match self.scale {
            Scale::Linear => {
                let step = nice_step((self.high - self.low) / most as f64);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step).floor() as i64;
                let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
                (first..=last)
                    .take(100)
                    .map(|k| {
                        let value = k as f64 * step;
                        let text = if value.abs() >= 1e6 || (value != 0.0 && value.abs() < 1e-4) {
                            format!("{value:.1e}")
                        } else {
                            format!("{value:.digits$}")
                        };
                        (value, Tick::Number(text.replace('-', "−")))
                    })
                    .collect()
            }
            Scale::Log => {
                let (first, last) = (
                    self.low.log10().ceil() as i32,
                    self.high.log10().floor() as i32,
                );
                let every = ((last - first) / most as i32 + 1).max(1);
                let powers: Vec<_> = (first..=last)
                    .filter(|k| k.rem_euclid(every) == 0)
                    .map(|k| (10f64.powi(k), Tick::Power(k)))
                    .collect();
                if powers.len() >= 2 {
                    return powers;
                }
                // Less than two decades: 1, 2 and 5 of each.
                let plain = |value: f64| {
                    let text = if (1e-3..1e5).contains(&value) {
                        format!("{}", (value * 1e6).round() / 1e6)
                    } else {
                        format!("{value:e}")
                    };
                    (value, Tick::Number(text.replace('-', "−")))
                };
                (first - 1..=last)
                    .flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)))
                    .filter(|v| (self.low..=self.high).contains(v))
                    .map(plain)
                    .collect()
            }
        }
    }
}

/// What stands at a tick.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tick {
    Number(String),
    /// 10 to this power.
    Power(i32),
}

/// 1, 2 or 5 times a power of ten, at least as large.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ruler = Ruler::new(&Axis::linear("x").within(-0.3, 1.2), std::iter::empty());
        let texts: Vec<_> = ruler.ticks(6).into_iter().map(|(_, t)| t).collect();
        assert_eq!(texts[0], Tick::Number("0.0".into()));
        assert!(texts.contains(&Tick::Number("1.0".into())));
        let ruler = Ruler::new(&Axis::log("x"), [1e-9, 1e3, 0.0, f64::NAN].into_iter());
        let ticks = ruler.ticks(6);
        assert!(ticks.len() >= 3 && ticks.len() <= 7, "{ticks:?}");
        for (value, _) in ticks {
            let at = ruler.at(value).expect("inside");
            assert!((0.0..=1.0).contains(&at));
        }
        assert_eq!(ruler.at(0.0), None);
        // Ends so far apart that their ratio is not a number any more.
        let ruler = Ruler::new(&Axis::log("x"), [1e-200, 1e200].into_iter());
        assert!(ruler.ticks(6).len() <= 8);
        assert!((ruler.at(1.0).expect("inside") - 0.5).abs() < 1e-9);
        // Nothing to draw, or one value, is no reason to fail.
        for values in [vec![], vec![2.0]] {
            for axis in [Axis::linear(""), Axis::log("")] {
                assert!(
                    !Ruler::new(&axis, values.clone().into_iter())
                        .ticks(5)
                        .is_empty()
                );
            }
        }
    }
}
