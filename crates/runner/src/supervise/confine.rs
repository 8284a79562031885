//! Landlock: reading anywhere, writing only where it was said.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use rustix::thread::CapabilitySet;

use crate::report::Files;

/// The newest version whose rights this module has thought of.
const NEWEST: ABI = ABI::V7;

/// Devices that programs write to without meaning to change anything.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];

/// Folders of the system that belong to everybody: terminals that a program opens for itself, shared memory.
const SHARED: [&str; 2] = ["/dev/pts", "/dev/shm"];

/// What nobody needs to run a check, though root has it: ways to look into other processes, to change the machine, or to
/// undo the rest of this module.
const RIGHTS: [CapabilitySet; 16] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::SYSLOG,
    CapabilitySet::SYS_TTY_CONFIG,
    CapabilitySet::SYS_CHROOT,
    CapabilitySet::MKNOD,
    CapabilitySet::MAC_ADMIN,
    CapabilitySet::MAC_OVERRIDE,
    CapabilitySet::LINUX_IMMUTABLE,
];

/// Gives up rights that programs started from here would have had.
pub(super) fn give_up_rights() {
    let _ = rustix::thread::clear_ambient_capability_set();
    for right in RIGHTS {
        // Who is not root has none of them to give up.
        let _ = rustix::thread::remove_capability_from_bounding_set(right);
    }
    // Nothing inside gains rights by running a program that has them.
    let _ = rustix::thread::set_no_new_privs(true);
}

/// Confines this process and all that come of it, and says what was really done.
pub(super) fn confine(writable: &[PathBuf]) -> Files {
    match restrict(writable) {
        Ok(status) => told(&status),
        Err(error) => Files::Open { why: format!("landlock refused: {}", brief(&error)) },
    }
}

fn restrict(writable: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
    let writes = AccessFs::from_write(NEWEST);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let shared = SHARED.iter().map(Path::new);
    let folders = writable.iter().map(PathBuf::as_path).chain(shared);
    let ruleset = folders.into_iter().try_fold(ruleset, |ruleset, path| allow(ruleset, path, writes))?;
    let file = writes & AccessFs::from_file(NEWEST);
    let ruleset = DEVICES.iter().map(Path::new).try_fold(ruleset, |ruleset, path| allow(ruleset, path, file))?;
    ruleset.restrict_self()
}

/// Lets one path be written. What does not exist needs no permission.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset.add_rule(PathBeneath::new(opened, access))
}

fn told(status: &RestrictionStatus) -> Files {
    let why = match (&status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => "the kernel has landlock switched off",
        (RulesetStatus::NotEnforced, LandlockStatus::NotImplemented) => "the kernel has no landlock",
        (RulesetStatus::NotEnforced, LandlockStatus::Available { .. }) => "landlock did not take hold",
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            let abi = effective_abi.min(NEWEST) as u8;
            return Files::Landlock { abi };
        }
        (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => "landlock says nothing of itself",
    };
    Files::Open { why: why.to_owned() }
}

/// What went wrong, without the paths in it.
fn brief(error: &RulesetError) -> &'static str {
    match error {
        RulesetError::CreateRuleset(_) => "no ruleset",
        RulesetError::AddRules(_) => "a rule does not fit",
        RulesetError::RestrictSelf(_) => "it cannot be applied",
        _ => "the rules do not fit together",
    }
}
