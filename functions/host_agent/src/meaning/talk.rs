//! Talk that no agent is needed for.

/// What kind of talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    Greeting,
    Thanks,
    Bye,
    Chatter,
    About,
    Help,
}

impl From<nlu::Talk> for Talk {
    fn from(talk: nlu::Talk) -> Self {
        match talk {
            nlu::Talk::Hello => Self::Greeting,
            nlu::Talk::Thanks => Self::Thanks,
            nlu::Talk::Bye => Self::Bye,
            nlu::Talk::Help => Self::Help,
            nlu::Talk::About => Self::About,
            nlu::Talk::Chatter => Self::Chatter,
        }
    }
}
