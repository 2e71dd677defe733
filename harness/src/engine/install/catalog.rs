//! The engines that hive can install, and the pinned version of each.

/// A processor that hive runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arch {
    X86_64,
    Aarch64,
}

/// One engine: a single program inside an npm package for each processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Installed when no version is named.
    pub(super) version: &'static str,
    /// Path of the program inside the package's tarball.
    pub(super) member: &'static str,
    packages: [(Arch, Package); 2],
}

/// The package for one processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Package {
    pub(super) name: &'static str,
    /// SHA-512 of the tarball of the pinned version, as the registry writes it.
    pub(super) integrity: &'static str,
}

/// Every engine that can be installed.
pub(super) const ENGINES: [Known; 1] = [Known {
    name: "claude",
    version: "2.1.332",
    member: "package/claude",
    packages: [
        (
            Arch::X86_64,
            Package {
                name: "@anthropic-ai/claude-code-linux-x64",
                integrity: "sha512-f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw==",
            },
        ),
        (
            Arch::Aarch64,
            Package {
                name: "@anthropic-ai/claude-code-linux-arm64",
                integrity: "sha512-BlHNEtK38KBPWU31F4lUSS9sHclCyfWbThT1CErvxxH8+XcljYLZlQwdyXBkTD62rw1TgfE1u1a+quMWS0NSJg==",
            },
        ),
    ],
}];

// === impl Arch ===

impl Arch {
    /// The processor of this program; `None` for one that hive does not run on.
    pub(super) fn current() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// `e_machine` of its ELF files: elf(5).
    pub(super) fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }
}

// === impl Known ===

impl Known {
    pub(super) fn find(name: &str) -> Option<Self> {
        ENGINES.into_iter().find(|engine| engine.name == name)
    }

    pub(super) fn package(&self, arch: Arch) -> Option<Package> {
        let found = self.packages.iter().find(|(of, _)| *of == arch);
        found.map(|(_, package)| *package)
    }

    /// The hash that is compiled in, for the pinned version.
    pub(super) fn pinned(&self, arch: Arch, version: &str) -> Option<&'static str> {
        let package = self.package(arch)?;
        (version == self.version).then_some(package.integrity)
    }
}
