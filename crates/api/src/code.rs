//! The codes of errors: one list for all commands, the terminal's exit codes and the window.

use dwell_clients::Code;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! codes {
    (fetched { $($(#[$fetched_doc:meta])* $fetched:ident,)* } own { $($(#[$doc:meta])* $own:ident,)* }) => {
        /// What went wrong, as programs branch on it. In JSON and text a stable kebab-case word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS, strum::IntoStaticStr, strum::VariantArray)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        #[ts(rename_all = "kebab-case")]
        pub enum ErrorCode {
            $($(#[$fetched_doc])* $fetched,)*
            $($(#[$doc])* $own,)*
        }

        impl From<Code> for ErrorCode {
            fn from(code: Code) -> Self {
                match code {
                    Code::HistoryFailed => Self::HistoryFailed,
                    Code::SshConfig => Self::SshConfigBroken,
                    $(Code::$fetched => Self::$fetched,)*
                }
            }
        }
    };
}

codes! {
    // A manager, vast.ai or `ssh` did not answer as asked.
    fetched {
        /// No connection: refused, no route, no such name.
        Unreachable,
        /// Connected, but no complete answer in time.
        TimedOut,
        /// The connection ended in the middle of an answer.
        CutShort,
        /// The answer is larger than any real one.
        TooLarge,
        /// The answer is not what a manager says: HTML, other JSON, garbage.
        NotAManager,
        /// 401 or 403: something in front of the manager wants a login.
        Unauthorised,
        /// The manager refused with a reason (4xx).
        Refused,
        /// The manager failed (5xx).
        ManagerFailed,
        /// The address cannot be used as given.
        BadAddress,
        /// vast.ai does not accept the key.
        KeyRefused,
        /// vast.ai, or what stands before the manager, was asked too often: nothing was done.
        TooOften,
        /// vast.ai has no rental of this number.
        NoSuchInstance,
        /// vast.ai failed (5xx).
        VastFailed,
        /// vast.ai gave no complete answer: no connection, none in time, or one that ended in the middle.
        VastSilent,
        /// The answer is not what vast.ai says.
        NotVast,
        /// vast.ai's list is not known to be whole: what is not in it may be rented all the same.
        ListIncomplete,
        /// This machine cannot make HTTPS clients: no CA certificates.
        NoCertificates,
        /// There is no `ssh` on this machine.
        NoSsh,
        /// The other side accepts none of the operator's SSH keys.
        SshKeyRefused,
        /// The host key is not known here yet.
        HostKeyUnknown,
        /// The host key is not the one that is known.
        HostKeyChanged,
        /// The local port is taken.
        PortInUse,
        /// The name of the host is not found.
        NameUnknown,
        /// The host that SSH goes through refuses connections.
        SshRefused,
        /// The host that SSH goes through does not answer.
        SshUnanswered,
        /// `ssh` failed otherwise.
        SshFailed,
    }
    own {
        /// The configuration of `ssh` on this machine is broken: nothing was asked.
        SshConfigBroken,
        /// The fleet is read-only.
        ReadOnly,
        /// The words that confirm were not typed.
        NotConfirmed,
        /// The plan was executed already, is too old, or is of a fleet watched before.
        PlanGone,
        /// The fleet has changed since the plan was shown.
        PlanChanged,
        /// Too many plans wait.
        TooManyPlans,
        /// What was asked is of another fleet than the one watched.
        OtherFleet,
        /// Another row lists the same rental.
        SharedRental,
        /// It is being done already.
        UnderWay,
        /// No step of the plan can be done.
        NothingToDo,
        /// Nothing was written off.
        NothingToAcknowledge,
        /// The machine is not on the list of bad hosts.
        NotBanned,
        /// No rule of this name.
        UnknownRule,
        /// No rollout of this name.
        UnknownRollout,
        /// The rollout has ended.
        RolloutEnded,
        /// The stored rollout cannot be read.
        RolloutUnreadable,
        /// The rollout cannot be begun.
        CannotBegin,
        /// A secret was given in the clear.
        SecretInClear,
        /// The system gives no random numbers.
        NoRandomness,
        /// No fleet is watched.
        NoFleet,
        /// No saved fleet of this name.
        UnknownFleet,
        /// No instance is called so.
        UnknownId,
        /// Several instances are called so.
        AmbiguousId,
        /// No state is called so.
        UnknownState,
        /// No log source is called so.
        UnknownSource,
        /// No cause of the catalogue is called so.
        UnknownCause,
        /// No command is called so.
        UnknownCommand,
        /// The request makes no sense as given.
        BadRequest,
        /// The query for offers cannot be read.
        BadFilter,
        /// The watch over the fleet has ended.
        WatchEnded,
        /// Checks on machines are not allowed for this fleet.
        NotAllowed,
        /// The check cannot be run from here.
        CannotLook,
        /// No channel can be asked.
        NobodyToAsk,
        /// Nothing has been read yet.
        NotReadYet,
        /// It is not stored.
        NotKept,
        /// No key of a vast.ai account is known.
        NoKey,
        /// The key or its name cannot be one.
        BadKey,
        /// No account of this name.
        UnknownAccount,
        /// The keychain cannot be used.
        NoKeychain,
        /// The scenario cannot be read.
        BadScenario,
        /// The simulated fleet cannot be served.
        CannotServe,
        /// No drill is being played.
        NoDrill,
        /// The drill is over.
        DrillOver,
        /// The stored drills cannot be read.
        DrillsUnreadable,
        /// The drill cannot be stored.
        DrillsUnwritable,
        /// No chart is called so.
        UnknownChart,
        /// There is nothing to draw.
        NothingToDraw,
        /// The chart could not be drawn.
        NotDrawn,
        /// The file was not written.
        NotSaved,
        /// There is no history.
        NoHistory,
        /// The history was written by a newer version.
        HistoryNewer,
        /// The history cannot be opened.
        HistoryUnreadable,
        /// The history cannot be read or written.
        HistoryFailed,
        /// The settings cannot be read.
        SettingsUnreadable,
        /// The settings cannot be written.
        SettingsUnwritable,
        /// The system names no folder for settings.
        NoHome,
        /// There is no GPU that can be measured.
        NoCard,
        /// No GPU is called so.
        UnknownCard,
        /// No benchmark is stored.
        NoRecord,
        /// NVIDIA's driver failed.
        DriverFailed,
        /// A benchmark runs already.
        Busy,
        /// The system gives no thread.
        NoThread,
        /// The window's own: what serves it has gone.
        BackendGone,
        /// The window's own: what hosts it failed.
        Host,
        /// It failed otherwise.
        Failed,
        /// A fault of Dwell.
        Bug,
    }
}

impl ErrorCode {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, word: &str) -> bool {
        self.as_str() == word
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn a_code_is_one_word_everywhere() {
        for code in ErrorCode::VARIANTS {
            assert_eq!(serde_json::to_value(code).ok(), Some(code.as_str().into()), "{code:?}");
        }
        // What the clients call their codes is what is shown.
        for code in
            [Code::Unreachable, Code::NotAManager, Code::NoSsh, Code::SshConfig, Code::HistoryFailed, Code::ListIncomplete]
        {
            assert_eq!(ErrorCode::from(code).as_str(), code.as_str());
        }
    }
}
