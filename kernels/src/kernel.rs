//! The kernels by name, and what each is given.

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Reads memory.
    ReadMemory,
    /// Writes memory.
    WriteMemory,
    /// Copies memory.
    CopyMemory,
    /// Multiply-adds of 32 bits.
    MultiplyAdd,
    /// Multiply-adds of 32 bits into 64.
    MultiplyAddWide,
    /// Products in the scalar field, one after another.
    FrChain,
    /// Products in the base field, one after another.
    FpChain,
    /// Powers of an element.
    Powers,
    /// Some levels of a transform.
    Transform,
    /// Elements times powers.
    Scale,
    /// (a b - c) z.
    Quotient,
    /// Elements in the order of their reversed index.
    Reorder,
    /// Distinct points.
    MakePoints,
    /// How many fall into each bucket.
    Count,
    /// Where each bucket begins.
    Prefix,
    /// Entries into their buckets.
    Scatter,
    /// The sum of each bucket.
    Accumulate,
    /// Buckets put together.
    Reduce,
    /// The sum of chosen points.
    SelectedSum,
    /// Into Montgomery form, or out of it.
    Convert,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 20] = [
        Self::ReadMemory,
        Self::WriteMemory,
        Self::CopyMemory,
        Self::MultiplyAdd,
        Self::MultiplyAddWide,
        Self::FrChain,
        Self::FpChain,
        Self::Powers,
        Self::Transform,
        Self::Scale,
        Self::Quotient,
        Self::Reorder,
        Self::MakePoints,
        Self::Count,
        Self::Prefix,
        Self::Scatter,
        Self::Accumulate,
        Self::Reduce,
        Self::SelectedSum,
        Self::Convert,
    ];

    /// Its name in the PTX.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadMemory => "dw_read_memory",
            Self::WriteMemory => "dw_write_memory",
            Self::CopyMemory => "dw_copy_memory",
            Self::MultiplyAdd => "dw_multiply_add",
            Self::MultiplyAddWide => "dw_multiply_add_wide",
            Self::FrChain => "dw_fr_chain",
            Self::FpChain => "dw_fp_chain",
            Self::Powers => "dw_powers",
            Self::Transform => "dw_transform",
            Self::Scale => "dw_scale",
            Self::Quotient => "dw_quotient",
            Self::Reorder => "dw_reorder",
            Self::MakePoints => "dw_make_points",
            Self::Count => "dw_count",
            Self::Prefix => "dw_prefix",
            Self::Scatter => "dw_scatter",
            Self::Accumulate => "dw_accumulate",
            Self::Reduce => "dw_reduce",
            Self::SelectedSum => "dw_selected_sum",
            Self::Convert => "dw_convert",
        }
    }

    /// Threads of a block: as many as it was compiled for.
    pub fn threads(self) -> u32 {
        match self {
            Self::MakePoints | Self::Accumulate | Self::SelectedSum => 128,
            Self::Reduce => 64,
            _ => 256,
        }
    }
}

/// What kernels are given, as they lay it out. Addresses are those of a [`crate::Machine`].
pub mod arguments {
    use bytemuck::{Pod, Zeroable};

    use crate::{Affine, Fr};

    /// The arguments of [`crate::Kernel::ReadMemory`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct ReadMemory {
        /// Quads of 16 bytes.
        pub from: u64,
        /// How many.
        pub count: u64,
        /// A word for each thread: what it read, folded by exclusive or.
        pub out: u64,
    }

    /// The arguments of [`crate::Kernel::WriteMemory`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct WriteMemory {
        /// Quads of 16 bytes.
        pub to: u64,
        /// How many.
        pub count: u64,
        /// Goes into what is written.
        pub seed: u32,
        /// Nothing.
        pub unused: u32,
    }

    /// The arguments of [`crate::Kernel::CopyMemory`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct CopyMemory {
        /// Quads of 16 bytes.
        pub to: u64,
        /// Quads of 16 bytes.
        pub from: u64,
        /// How many.
        pub count: u64,
    }

    /// The arguments of [`crate::Kernel::MultiplyAdd`] and [`crate::Kernel::MultiplyAddWide`]: sixteen a thread and round.
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct MultiplyAdd {
        /// A word, or a double word, for each thread.
        pub out: u64,
        /// Rounds.
        pub rounds: u32,
        /// Goes into the factors.
        pub seed: u32,
    }

    /// The arguments of [`crate::Kernel::FrChain`] and [`crate::Kernel::FpChain`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Chain {
        /// x, one for each thread; becomes x y^rounds.
        pub x: u64,
        /// y, one for each thread.
        pub y: u64,
        /// Products.
        pub rounds: u32,
        /// Nothing.
        pub unused: u32,
    }

    /// The arguments of [`crate::Kernel::Powers`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(16))]
    pub struct Powers {
        /// Where they go.
        pub out: u64,
        /// Nothing.
        pub padding: u64,
        /// The base, where `log` is 0; Montgomery form.
        pub base: Fr,
        /// How many, from the power of 0.
        pub count: u32,
        /// The base is a root of unity of order 2^log, where this is not 0.
        pub log: u32,
        /// 1 for the inverse of the base.
        pub inverse: u32,
        /// Nothing.
        pub unused: u32,
    }

    /// The arguments of [`crate::Kernel::Transform`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Transform {
        /// 2^log elements.
        pub data: u64,
        /// 512 powers of a root of order 1024.
        pub inner: u64,
        /// The first 2^14 powers of a root of order 2^log.
        pub near: u64,
        /// Every 2^14th power of it.
        pub far: u64,
        /// Size.
        pub log: u32,
        /// Lowest level of this pass.
        pub lo: u32,
        /// Levels of this pass, at most 9.
        pub levels: u32,
        /// 1 to undo.
        pub backward: u32,
    }

    /// The arguments of [`crate::Kernel::Scale`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(16))]
    pub struct Scale {
        /// Elements.
        pub data: u64,
        /// The first 2^14 powers.
        pub near: u64,
        /// Every 2^14th.
        pub far: u64,
        /// Nothing.
        pub padding: u64,
        /// A factor for all; Montgomery form.
        pub scale: Fr,
        /// How many.
        pub count: u64,
        /// Nothing.
        pub end: u64,
    }

    /// The arguments of [`crate::Kernel::Quotient`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(16))]
    pub struct Quotient {
        /// a; becomes (a b - c) z.
        pub a: u64,
        /// b.
        pub b: u64,
        /// c.
        pub c: u64,
        /// Nothing.
        pub padding: u64,
        /// z; Montgomery form.
        pub z: Fr,
        /// How many.
        pub count: u64,
        /// Nothing.
        pub end: u64,
    }

    /// The arguments of [`crate::Kernel::Reorder`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Reorder {
        /// 2^log elements.
        pub data: u64,
        /// Size.
        pub log: u32,
        /// Nothing.
        pub unused: u32,
    }

    /// The arguments of [`crate::Kernel::MakePoints`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(16))]
    pub struct MakePoints {
        /// Where they go.
        pub out: u64,
        /// Nothing.
        pub padding: u64,
        /// G.
        pub generator: Affine,
        /// stride G.
        pub step: Affine,
        /// The first is start G.
        pub start: u64,
        /// From one to the next.
        pub stride: u64,
        /// How many.
        pub count: u64,
        /// Nothing.
        pub end: u64,
    }

    /// The arguments of [`crate::Kernel::Count`] and [`crate::Kernel::Scatter`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Buckets {
        /// Plain scalars.
        pub scalars: u64,
        /// A word for each window and bucket.
        pub counts: u64,
        /// A word for each window and scalar.
        pub entries: u64,
        /// Scalars.
        pub count: u32,
        /// First window.
        pub first_window: u32,
        /// Windows.
        pub windows: u32,
        /// Nothing.
        pub unused: u32,
    }

    /// The arguments of [`crate::Kernel::Prefix`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Prefix {
        /// A word for each window and bucket.
        pub counts: u64,
        /// A word for each window and bucket, and one more a window.
        pub starts: u64,
    }

    /// The arguments of [`crate::Kernel::Accumulate`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Accumulate {
        /// Points.
        pub points: u64,
        /// Where buckets begin.
        pub starts: u64,
        /// What is in them.
        pub entries: u64,
        /// A sum for each window and bucket.
        pub buckets: u64,
        /// Scalars.
        pub count: u32,
        /// Windows.
        pub windows: u32,
    }

    /// The arguments of [`crate::Kernel::Reduce`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Reduce {
        /// Sums that count once.
        pub s: u64,
        /// Sums that count by their place.
        pub t: u64,
        /// One for each group.
        pub s_out: u64,
        /// One for each group.
        pub t_out: u64,
        /// Groups of 32.
        pub groups: u32,
        /// A place counts 2^unit_log.
        pub unit_log: u32,
    }

    /// The arguments of [`crate::Kernel::SelectedSum`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct SelectedSum {
        /// Points.
        pub points: u64,
        /// A bit for each, lowest first, in words.
        pub bits: u64,
        /// A sum for each block.
        pub out: u64,
        /// Points.
        pub count: u64,
    }

    /// The arguments of [`crate::Kernel::Convert`].
    #[derive(Debug, Clone, Copy, Pod, Zeroable)]
    #[repr(C)]
    pub struct Convert {
        /// Elements.
        pub data: u64,
        /// How many.
        pub count: u64,
        /// 1: out of Montgomery form; 0: into it.
        pub to_plain: u32,
        /// Nothing.
        pub unused: u32,
    }
}
