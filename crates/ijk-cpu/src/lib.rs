//! ijk-cpu
