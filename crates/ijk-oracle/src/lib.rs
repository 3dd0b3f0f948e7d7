//! ijk-oracle
