//! Forward and backward through a policy.

use ell0::{
    features::{Lift, LiftSpace},
    network::{Draw, Head, Pass},
};

use super::{
    super::head::{backward, may_leave_its_range},
    Actor,
};
use crate::{
    environment::Tied,
    error::{Result, require_size},
};

/// Workspace for a policy's forward and backward pass.
#[derive(Clone, Debug)]
pub struct ActorPass {
    pass: Pass,
    lift: Option<Lifted>,
    heads: Vec<Head>,
    /// Actions of the last forward pass, column after column.
    action: Vec<f32>,
    /// Least and greatest value of each action.
    bounds: Vec<(f32, f32)>,
    rows: usize,
    observations: usize,
}

#[derive(Clone, Debug)]
struct Lifted {
    lift: Lift,
    space: LiftSpace,
    /// For a law that all actions share: its inputs, the rows of one action after those of another.
    tied: Option<(Tied, Vec<f32>)>,
}

impl ActorPass {
    /// A workspace for batches of at most `capacity` rows.
    #[must_use]
    pub fn new(actor: &Actor, capacity: usize) -> Self {
        let body = actor.body_rows(capacity);
        let tied = |tied: &Tied| (tied.clone(), vec![0.0; body * tied.names.len()]);
        let lift = actor.lift.as_ref().map(|lift| Lifted {
            space: lift.workspace(body),
            lift: lift.clone(),
            tied: actor.tied.as_ref().map(tied),
        });
        let actions = actor.action.components();
        ActorPass {
            pass: Pass::new(&actor.architecture, body),
            lift,
            heads: actor.heads(),
            action: vec![0.0; capacity * actions.len()],
            bounds: actions
                .iter()
                .map(|c| (c.low as f32, c.high as f32))
                .collect(),
            rows: 0,
            observations: actor.observation.len(),
        }
    }

    /// The actions for observations; both stand column after column.
    pub fn forward(
        &mut self,
        parameters: &[f32],
        observation: &[f32],
        rows: usize,
        draw: Draw,
    ) -> Result<&[f32]> {
        require_size(
            "the observations of a policy",
            observation.len(),
            rows * self.observations,
        )?;
        if rows == 0 {
            return Ok(&[]);
        }
        let output = match &mut self.lift {
            None => self.pass.forward(parameters, observation, draw)?,
            Some(Lifted { lift, space, tied }) => {
                let (inputs, body) = match tied {
                    None => (observation, rows),
                    Some((tied, inputs)) => {
                        let body = rows * tied.inputs.len();
                        let inputs = &mut inputs[..body * tied.names.len()];
                        tied.gather(observation, rows, inputs);
                        (&inputs[..], body)
                    }
                };
                // Terms whose gates are closed are not even computed.
                let fill = |open: &[usize], seen: &mut [f32]| -> ell0::Result<()> {
                    lift.apply_some(open, inputs, seen, space)
                };
                self.pass.forward_open(parameters, body, draw, fill)?
            }
        };
        self.rows = rows;
        let columns = self
            .action
            .chunks_exact_mut(rows)
            .zip(output.chunks_exact(rows));
        for ((action, output), (head, &(low, high))) in
            columns.zip(self.heads.iter().zip(&self.bounds))
        {
            let pairs = action.iter_mut().zip(output);
            pairs.for_each(|(a, y)| *a = head.apply(*y));
            if may_leave_its_range(*head) {
                action.iter_mut().for_each(|a| *a = a.clamp(low, high));
            }
        }
        Ok(&self.action[..rows * self.heads.len()])
    }

    /// Overwrites `gradient` with the gradient by all parameters, given that by the actions of the last forward pass.
    pub fn backward(
        &mut self,
        parameters: &[f32],
        d_action: &[f32],
        gradient: &mut [f32],
    ) -> Result<()> {
        let rows = self.rows;
        let d_output = self.pass.d_output_mut();
        let columns = d_output
            .chunks_exact_mut(rows.max(1))
            .zip(self.action.chunks_exact(rows.max(1)))
            .zip(d_action.chunks_exact(rows.max(1)));
        for (((d, action), d_action), (head, &(low, high))) in
            columns.zip(self.heads.iter().zip(&self.bounds))
        {
            backward(*head, action, d_action, d);
            if may_leave_its_range(*head) {
                // At a bound, what would lead further out leads nowhere; the way back stays open.
                for ((d, a), da) in d.iter_mut().zip(action).zip(d_action) {
                    if *a >= high && *da < 0.0 || *a <= low && *da > 0.0 {
                        *d = 0.0;
                    }
                }
            }
        }
        Ok(self.pass.backward(parameters, gradient, None)?)
    }
}
