//! Who agents talk with: providers as configured, recorded or played back.

use super::run::Tape;
use crate::agent::{Error, Models, OnRetry, Wanted};
use crate::config::{Place, provider_settings};
use crate::output::Mask;
use crate::provider::{self, Boxed, Provider};
use crate::record::{self, Player, Recorder};
use crate::retry::Retrying;

/// The providers of one run.
pub(super) struct Configured {
    place: Place,
    tape: Deck,
}

enum Deck {
    Off,
    Record(Recorder),
    Play(Player),
}

impl Configured {
    pub(super) fn new(place: Place, tape: Tape, mask: Mask) -> Result<Self, record::Error> {
        let tape = match tape {
            Tape::Off => Deck::Off,
            Tape::Record(directory) => Deck::Record(Recorder::new(directory, mask)?),
            Tape::Replay(directory) => Deck::Play(Player::new(directory, mask)?),
        };
        Ok(Self { place, tape })
    }
}

impl Models for Configured {
    fn connect<'a>(
        &'a self,
        wanted: Wanted<'a>,
        on_retry: OnRetry,
    ) -> Boxed<'a, Result<Box<dyn Provider>, Error>> {
        Box::pin(async move {
            // Nothing is sent, so neither a key nor a region is needed.
            if let Deck::Play(player) = &self.tape {
                return Ok(player.play(wanted.agent, wanted.user)?);
            }
            let settings =
                provider_settings(&wanted.model.provider, &self.place.global, &self.place.environment)?;
            let provider = provider::connect(&settings).await?;
            let retrying = Retrying::new(provider, *wanted.retry, Some(wanted.deadline));
            let provider: Box<dyn Provider> = Box::new(retrying.observed(move |attempt| on_retry(attempt)));
            match &self.tape {
                Deck::Record(recorder) => {
                    Ok(recorder.record(wanted.agent, &wanted.model.to_string(), wanted.user, provider)?)
                }
                Deck::Off | Deck::Play(_) => Ok(provider),
            }
        })
    }
}
