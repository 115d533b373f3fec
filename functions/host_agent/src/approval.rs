//! Which plans wait for their user's word: an operator's setting.

use std::fmt;
use std::str::FromStr;

use domain::{Approval, TaskPlan};

/// Which plans wait until their user says go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlanApproval {
    /// All of them: every task in which more than one piece of work is handed out.
    Always,
    /// Those of more steps than this.
    Over(usize),
    /// None.
    #[default]
    Never,
}

/// A text that is no [`PlanApproval`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is always, never, or over: and a number of steps, such as over:3")]
pub struct InvalidPlanApproval;

impl FromStr for PlanApproval {
    type Err = InvalidPlanApproval;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => {
                let steps = text.strip_prefix("over:").and_then(|steps| steps.parse().ok());
                steps.map(Self::Over).ok_or(InvalidPlanApproval)
            }
        }
    }
}

impl fmt::Display for PlanApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Over(steps) => write!(f, "over:{steps}"),
            Self::Never => f.write_str("never"),
        }
    }
}

impl PlanApproval {
    /// Whether a plan of so many steps waits.
    pub(crate) fn is_needed_for(self, steps: usize) -> bool {
        match self {
            Self::Always => steps > 1,
            Self::Over(most) => steps > most,
            Self::Never => false,
        }
    }

    /// Has a new or changed plan wait, where it has to. What its user agreed to stays agreed to.
    pub(crate) fn apply(self, plan: &mut TaskPlan) {
        let is_needed = self.is_needed_for(plan.wanted().count());
        if is_needed && !(plan.is_approved() && plan.approval != Approval::NotNeeded) {
            plan.approval = Approval::Awaited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_read_and_counts_steps() {
        for (text, steps) in [
            ("always", Some([false, true, true])),
            ("over:2", Some([false, false, true])),
            ("over:0", Some([true, true, true])),
            ("never", Some([false, false, false])),
            ("over:", None),
            ("over:-1", None),
            ("Always", None),
            ("", None),
        ] {
            let read: Option<PlanApproval> = text.parse().ok();
            assert!(read.is_none_or(|read| read.to_string() == text));
            let needed = read.map(|read| [1, 2, 3].map(|steps| read.is_needed_for(steps)));
            assert_eq!(needed, steps, "{text}");
        }
    }
}
