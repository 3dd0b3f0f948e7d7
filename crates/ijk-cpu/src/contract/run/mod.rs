//! Execution of the algorithms: packing, loops, and stores of the output.

pub(crate) mod axpy;
pub(crate) mod blocked;
pub(crate) mod context;
pub(crate) mod dot;
pub(crate) mod operand;
pub(crate) mod output;
pub(crate) mod output_tile;
pub(crate) mod pack;
pub(crate) mod pack_job;
pub(crate) mod panels;
pub(crate) mod program;
pub(crate) mod shared_operand;
pub(crate) mod small;
pub(crate) mod split_k;
pub(crate) mod streamed;
pub(crate) mod tasks;
pub(crate) mod thin;
pub(crate) mod transpose;
