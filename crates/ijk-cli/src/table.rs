//! Tables that are printed row by row.

/// Columns have a least width; a wider cell widens those below it.
#[derive(Debug)]
pub struct Table {
    names: Vec<String>,
    widths: Vec<usize>,
}

impl Table {
    /// A table with columns of these names.
    pub fn new(names: &[&str], least: usize) -> Self {
        let widths = names.iter().map(|name| name.chars().count().max(least)).collect();
        Self { names: names.iter().map(|name| name.to_string()).collect(), widths }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// The line of names.
    pub fn head(&mut self) -> String {
        self.row(&self.names.clone())
    }

    /// A line of cells.
    pub fn row(&mut self, cells: &[String]) -> String {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&mut self.widths) {
            *width = cell.chars().count().max(*width);
            line.push_str(&format!("{cell:<width$}  "));
        }
        format!("{}\n", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other() {
        let mut table = Table::new(&["a", "batch"], 3);
        assert_eq!(table.head(), "a    batch\n");
        assert_eq!(table.row(&["2x3".into(), "1".into()]), "2x3  1\n");
        assert_eq!(table.row(&["2x3x4".into(), "1".into()]), "2x3x4  1\n");
        assert_eq!(table.row(&["2".into(), String::new()]), "2\n");
        assert_eq!(table.columns(), 2);
    }
}
