//! What can be chosen on the command line.

use std::{error::Error, path::PathBuf, str::FromStr};

pub const HELP: &str = "\
LeNet-5 with gates, trained, compacted, compared.

  --data FOLDER       the four IDX files of MNIST, packed (.gz) or not; without it digits are drawn
  --epochs N          10
  --rows N            rows of training at most: all (2000 of drawn digits)
  --lambda A,B,C,D    price of a parameter of conv1, conv2, fc1, fc2, divided by the rows of training: 0.1,0.1,0.1,0.1
  --decay D           weight decay inside the gate: 0.0005
  --batch N           100
  --rate R            learning rate (Adam): 0.001
  --gate-rate R       that of the gates: the same
  --last SHARE        both fall from epoch to epoch, along half a cosine to this share of them; 1 leaves them as they are: 0.01
  --seed N            0
";

pub struct Settings {
    pub data: Option<PathBuf>,
    pub epochs: u64,
    pub rows: Option<usize>,
    pub lambda: [f64; 4],
    pub decay: f64,
    pub batch: usize,
    pub rate: f64,
    pub gate_rate: Option<f64>,
    pub last: f64,
    pub seed: u64,
}

impl Settings {
    /// `None` if help was asked for.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Option<Self>, Box<dyn Error>> {
        let mut settings = Settings {
            data: None,
            epochs: 10,
            rows: None,
            lambda: [0.1; 4],
            decay: 5e-4,
            batch: 100,
            rate: 1e-3,
            gate_rate: None,
            last: 0.01,
            seed: 0,
        };
        let mut arguments = arguments;
        while let Some(option) = arguments.next() {
            if option == "--help" || option == "-h" {
                return Ok(None);
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("{option} needs a value (--help shows them all)"))?;
            match option.as_str() {
                "--data" => settings.data = Some(value.into()),
                "--epochs" => settings.epochs = number(&option, &value)?,
                "--rows" => settings.rows = Some(number(&option, &value)?),
                "--lambda" => {
                    let parts: Vec<f64> = value
                        .split(',')
                        .map(|part| number(&option, part.trim()))
                        .collect::<Result<_, _>>()?;
                    settings.lambda = parts.try_into().map_err(|parts: Vec<f64>| {
                        format!("--lambda has {} values, expected four", parts.len())
                    })?;
                }
                "--decay" => settings.decay = number(&option, &value)?,
                "--batch" => settings.batch = number::<usize>(&option, &value)?.max(1),
                "--rate" => settings.rate = number(&option, &value)?,
                "--gate-rate" => settings.gate_rate = Some(number(&option, &value)?),
                "--last" => settings.last = number(&option, &value)?,
                "--seed" => settings.seed = number(&option, &value)?,
                _ => {
                    return Err(
                        format!("there is no option {option} (--help shows them all)").into(),
                    );
                }
            }
        }
        Ok(Some(settings))
    }
}

impl Settings {
    /// The share of the learning rates that an epoch has.
    pub fn share(&self, epoch: u64) -> f64 {
        let turn = std::f64::consts::PI * (epoch - 1) as f64 / self.epochs as f64;
        self.last + (1.0 - self.last) * 0.5 * (1.0 + turn.cos())
    }
}

fn number<T: FromStr>(option: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{option} {value}: expected a number"))
}
